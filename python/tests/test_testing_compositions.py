"""Named compositions meet every kind of probe: range, special values, sparse and long rows, in each format."""
import functools
import math

import pytest

from assay.testing import audit_kernel, probes

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
DTYPES = ("float32", "float16", "bfloat16")
SHORT = 8192  # a kernel that is wrong for longer rows


def same(value):
    return value


def overflowing(value):
    """What an accumulator of float16 makes of a sum, but for its rounding."""
    return torch.where(value.abs() > 65504, value * math.inf, value)


def moments(x, total, rows, one_pass):
    part = x[..., :rows]
    mean = part.sum(-1, keepdim=True) / part.shape[-1]
    if one_pass:
        return mean, ((part * part).sum(-1, keepdim=True) / part.shape[-1] - mean * mean).clamp_min(0)
    return mean, total(((part - mean) ** 2).sum(-1, keepdim=True)) / part.shape[-1]


def layer_norm(x, weight, bias, total=same, rows=1 << 20, one_pass=False):
    mean, variance = moments(x, total, rows, one_pass)
    return (x - mean) / torch.sqrt(variance + 1e-5) * weight + bias


def rms_norm(x, weight, total=same, rows=1 << 20):
    part = x[..., :rows]
    return x / torch.sqrt(total((part * part).sum(-1, keepdim=True)) / part.shape[-1] + 1e-5) * weight


def attention(query, key, value, mask=None, total=same, rows=1 << 20):
    scores = total(query @ key[..., :rows, :].transpose(-1, -2)) / math.sqrt(query.shape[-1])
    if mask is None:
        return torch.softmax(scores, -1) @ value[..., :rows, :]
    scores = scores.masked_fill(~mask[..., :rows], -math.inf)
    weights = torch.softmax(scores, -1)
    return torch.where(mask[..., :rows].any(-1, keepdim=True), weights, torch.zeros_like(weights)) @ value[..., :rows, :]


def softmax(x, total=same, rows=1 << 20):
    high = torch.exp(x - x.amax(-1, keepdim=True).detach())
    return high / total(high[..., :rows].sum(-1, keepdim=True))


def log_softmax_backward(x, cotangent, total=same, rows=1 << 20):
    return cotangent - torch.softmax(x, -1) * total(cotangent[..., :rows].sum(-1, keepdim=True))


def softmax_backward(x, cotangent, total=same, rows=1 << 20):
    y = torch.softmax(x, -1)
    return y * (cotangent - total((y * cotangent)[..., :rows].sum(-1, keepdim=True)))


def backward(function, *operands, **options):
    inputs = [one.detach().clone().requires_grad_() for one in operands[:-1]]
    return torch.autograd.grad(function(*inputs, **options), inputs, operands[-1].clone())


FUNCTIONS = {"layer norm": layer_norm, "rms norm": rms_norm, "attention": attention, "softmax backward": softmax_backward,
             "log softmax backward": log_softmax_backward, "layer norm backward": functools.partial(backward, layer_norm),
             "rms norm backward": functools.partial(backward, rms_norm), "attention backward": functools.partial(backward, attention)}


@functools.lru_cache(maxsize=None)
def plan(region, dtype):
    return probes(region, dtype=dtype)


def audited(region, dtype, wanted=lambda probe: True, **options):
    def kernel(*operands):
        wide = [one.float() if one.is_floating_point() else one for one in operands]
        found = FUNCTIONS[region](*wide, **options)
        narrow = [one.to(operands[0].dtype) for one in (found if isinstance(found, tuple) else [found])]
        return narrow if len(narrow) > 1 else narrow[0]

    chosen = [one for one in plan(region, dtype) if wanted(one)]
    return audit_kernel(region, kernel, plan=chosen, dtype=dtype, arrays="torch", raises=False)


def is_short(probe):
    return max(math.prod(one.shape) for one in probe.operands) < 5000


@pytest.mark.parametrize("region", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_right_kernels_pass_all_kinds(region, dtype):
    """Right kernels pass, and each kind of probe has elements that the contract says something of."""
    report = audited(region, dtype)
    assert report.passed, report.text
    kinds = {one.kind for one in plan(region, dtype)}
    assert kinds >= {"integers", "dense", "one hot", "shifted", "ties", "range", "special values"}
    assert "sparse" in kinds or region == "attention backward"
    assert all(share < 1 for share in report.vacuous_shares.values()), report.vacuous_shares


@pytest.mark.parametrize("region", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sum_that_overflows_float16_fails(region, dtype):
    if (region, dtype) == ("softmax backward", "float16"):
        pytest.skip("a mean of numbers of float16 is one")
    report = audited(region, dtype, lambda one: one.kind == "range" and is_short(one), total=overflowing)
    assert report.failed, report.text


@pytest.mark.parametrize("region", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_kernel_that_is_wrong_for_long_rows_fails(region, dtype):
    report = audited(region, dtype, lambda one: not is_short(one) and one.kind in ("one hot", "special values"), rows=SHORT)
    assert report.failed, report.text


@pytest.mark.parametrize("region", ["layer norm", "layer norm backward"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_variance_that_cancels_fails(region, dtype):
    report = audited(region, dtype, lambda one: one.kind == "shifted", one_pass=True)
    assert report.failed, report.text

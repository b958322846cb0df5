"""Training steps under autocast: tensors in bfloat16 and float16 are judged, right kernels are right, and wrong ones are found."""
from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import assay  # noqa: E402
import assay.torch as recorder  # noqa: E402
from assay._core import programs  # noqa: E402
from torch_runs import summary  # noqa: E402

HALVES = [torch.bfloat16, torch.float16]


class Attention(nn.Module):
    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.fused, self.embedding = fused, nn.Embedding(20, 16)
        self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.last, self.head = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)), nn.Linear(16, 20)

    def forward(self, tokens: Any) -> Any:
        x = self.embedding(tokens)
        q, k, v = self.qkv(self.norm(x)).reshape(*tokens.shape, 3, 2, 8).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True) if self.fused else torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1) @ v
        x = x + self.out(found.transpose(1, 2).reshape(*tokens.shape, 16))
        return self.head(x + self.last(x))


def perceptron() -> tuple[Any, Any]:
    return nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 5)), torch.randn(8, 12)


def convolutions() -> tuple[Any, Any]:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(8, 5)), torch.randn(4, 3, 12, 12)


MODELS = {"perceptron": perceptron, "convolutions": convolutions, "transformer": lambda: (Attention(False), torch.randint(20, (2, 7))),
          "fused attention": lambda: (Attention(True), torch.randint(20, (2, 7)))}


def step(name: str, dtype: Any, seed: int) -> Any:
    torch.manual_seed(seed)
    model, x = MODELS[name]()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2) if seed % 2 else torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    def loss() -> Any:
        with torch.autocast("cpu", dtype=dtype):
            y = model(x).flatten(0, -2)
            return F.cross_entropy(y, torch.randint(y.shape[1], (len(y),)))
    return recorder.step(model, loss, optimizer)


def convolutions_add_in_float32(dtype: Any) -> bool:
    """As declared. On some processors PyTorch's gradients of convolutions add up in float16: their errors, measured here in float64, are beyond one rounding and the sums'."""
    torch.manual_seed(0)
    given = torch.randn(4, 8, 2, 2) * 0.1, torch.randn(4, 8, 6, 6), torch.randn(8, 8, 3, 3) * 0.1

    def gradients(*tensors: Any) -> Any:
        return torch.ops.aten.convolution_backward(*tensors, [8], [2, 2], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])[:2]

    halves = [one.to(dtype) for one in given]
    found, exact, sizes = (gradients(*(f(one) for one in halves)) for f in (lambda t: t, lambda t: t.double(), lambda t: t.double().abs()))
    rounding, terms = torch.finfo(dtype).eps / 2, 100
    return all(bool(((a.double() - b).abs() <= rounding * b.abs() + terms * 2.0**-24 * s + 1e-7).all()) for a, b, s in zip(found, exact, sizes))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_a_training_step_is_judged(name: str, dtype: Any) -> None:
    for seed in range(2):
        report = step(name, dtype, seed)
        if name == "convolutions" and not convolutions_add_in_float32(dtype):
            failed = [one for one in report.findings if one.kind == "fail"]
            assert failed and all("convolution_backward" in str(one) for one in failed), summary(report)
            continue
        assert not report.failed, summary(report)
        assert report.counts["unsupported"] == 0
        assert report.undecided_share < 0.005, (report.undecided_share, summary(report))
        _, tensors = contents(report.trace)
        code = "BF16" if dtype == torch.bfloat16 else "F16"
        assert sum(one["dtype"] == code for one in tensors.values()) > 20


def contents(trace: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    size, = struct.unpack_from("<Q", trace)
    header = json.loads(trace[8:8 + size])
    return json.loads(header.pop("__metadata__")["assay.trace"]), header


def with_tensor(trace: bytes, name: str, data: bytes) -> bytes:
    """The trace with other bytes of one tensor."""
    size, = struct.unpack_from("<Q", trace)
    text, tensors = contents(trace)
    begin, end = tensors[name]["data_offsets"]
    assert end - begin == len(data)
    text["crc32"][name] = zlib.crc32(data)
    header = json.dumps({"__metadata__": {"assay.trace": json.dumps(text)}, **tensors}).encode()
    start = 8 + size
    return b"".join([struct.pack("<Q", len(header)), header, trace[start:start + begin], data, trace[start + end:]])


def test_one_bit_of_a_recorded_result_is_seen() -> None:
    """Every third result in bfloat16 with the last bit of its first element changed: all but those near a midpoint fail."""
    torch.manual_seed(1)
    report = step("perceptron", torch.bfloat16, 0)
    text, tensors = contents(report.trace)
    results = [name for region in text["regions"] for name in region["results"] if tensors[name]["dtype"] == "BF16"]
    found = 0
    for name in results[::3]:
        begin, end = tensors[name]["data_offsets"]
        size, = struct.unpack_from("<Q", report.trace)
        data = bytearray(report.trace[8 + size + begin:8 + size + end])
        data[0] ^= 1
        code, said, words = programs.gate("audit", with_tensor(report.trace, name, bytes(data)))
        found += code == 1
        assert code in (0, 1, 3), words
    assert found >= 0.8 * len(results[::3])


def test_a_step_that_is_stored_shows() -> None:
    """The same network with a bias that is added after the product was stored, as one region's result."""
    torch.manual_seed(2)
    layer = nn.Linear(64, 32).bfloat16()
    x = torch.randn(16, 64).bfloat16()
    with recorder.record(layer) as run:
        layer(x)
    right = recorder.judge(run)
    assert right.passed, right.text
    text, tensors = contents(right.trace)
    (name,) = text["regions"][-1]["results"]
    twice = (x.float() @ layer.weight.float().T).bfloat16() + layer.bias
    code, _, words = programs.gate("audit", with_tensor(right.trace, name, twice.detach().view(torch.int16).numpy().tobytes()))
    assert code == 1 and "bfloat16 step" in words, words


def test_gradcheck_under_autocast() -> None:
    w = torch.randn(6, 3, requires_grad=True)
    def function(x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.tanh(x @ w) * 0.3 + 0.1
    assert assay.gradcheck(function, [(4, 6)], params=[w])
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]
    with pytest.raises(assay.GradcheckError):
        assay.gradcheck(lambda x: Doubled.apply(x.bfloat16()), [(4, 6)])


NORMS = {"batch": lambda: nn.BatchNorm1d(12), "batch, no parameters": lambda: nn.BatchNorm1d(12, affine=False), "group": lambda: nn.GroupNorm(3, 12),
         "group, no parameters": lambda: nn.GroupNorm(3, 12, affine=False), "instance": lambda: nn.InstanceNorm1d(12, affine=True),
         "layer": lambda: nn.LayerNorm(5), "layer, no parameters": lambda: nn.LayerNorm(5, elementwise_affine=False), "root mean square": lambda: nn.RMSNorm(5)}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", NORMS)
def test_normalisations_in_sixteen_bits_are_judged(name: str, dtype: Any) -> None:
    """Their parameters and statistics, too, are kept in 16 bits."""
    for seed in range(3):
        torch.manual_seed(seed)
        model = NORMS[name]().to(dtype)
        for one in model.parameters():
            one.data.normal_()
        x = (torch.randn(6, 12, 5) * (seed + 1)).to(dtype).requires_grad_()
        report = recorder.step(model, lambda: (model(x).float() * torch.randn(6, 12, 5)).sum())
        assert not report.failed and report.counts["unsupported"] == 0, summary(report)
        assert report.undecided_share < 0.01, summary(report)


def test_a_wrong_statistic_in_sixteen_bits_is_found() -> None:
    """The last bit but one of a saved mean, and of a result that reads other statistics."""
    torch.manual_seed(1)
    norm = nn.GroupNorm(3, 12).bfloat16()
    with recorder.record(norm) as run:
        norm(torch.randn(6, 12, 5).bfloat16())
    right = recorder.judge(run)
    assert right.passed, right.text
    text, tensors = contents(right.trace)
    names = [name for region in text["regions"] if "group_norm" in region["name"] for name in region["results"]]
    assert len(names) == 3
    for name in names:
        begin, end = tensors[name]["data_offsets"]
        size, = struct.unpack_from("<Q", right.trace)
        data = bytearray(right.trace[8 + size + begin:8 + size + end])
        data[0] ^= 2
        assert programs.gate("audit", with_tensor(right.trace, name, bytes(data)))[0] == 1, name


def layer(rows: int) -> Any:
    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 2)).bfloat16()
    x, c = torch.randn(rows, 6).bfloat16(), torch.randn(rows, 2)
    return recorder.step(model, lambda: (model(x).float() * c).sum())


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_sums_that_are_kept_in_sixteen_bits_are_judged(threads: int) -> None:
    """The gradients of a layer normalisation's parameters, each thread's rows one after the other."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        report = layer(40)
    finally:
        torch.set_num_threads(before)
    assert report.passed, summary(report)
    text, tensors = contents(report.trace)
    sums = [name for region in text["regions"] if "layer_norm_backward" in region["name"] for name in region["results"] if tensors[name]["shape"] == [8]]
    assert len(sums) == 2 * 40 + 2
    size, = struct.unpack_from("<Q", report.trace)
    for name in sums[1::27]:
        begin, end = tensors[name]["data_offsets"]
        data = bytearray(report.trace[8 + size + begin:8 + size + end])
        data[6] ^= 2
        assert programs.gate("audit", with_tensor(report.trace, name, bytes(data)))[0] == 1, name


def test_longer_sums_in_sixteen_bits_are_opaque() -> None:
    """Undecided, not wrong; the rest is judged."""
    report = layer(600)
    assert report.exit_code == 3 and not report.failed, summary(report)
    opaque, = [one for one in report.findings if one.kind == "undecided"]
    assert opaque.rule == "audit.opaque" and "layer_norm_backward" in opaque.message
    assert report.counts["unsupported"] == 16  # the two gradients, of 8 elements each
    assert any("native_layer_norm" in case["name"] and "vjp" in case["op"] and case["passed"] for case in report.json["cases"]), summary(report)


PRODUCTS: dict[str, tuple[tuple[int, ...], int | None]] = {"a line": ((5,), 0), "rows": ((3, 7), 1), "columns": ((60, 6), 0), "in the middle": ((2, 5, 6), 1), "all": ((6, 20), None),
                                                           "in vectors": ((3, 130), 1), "one factor": ((3, 1), 1)}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_many_factors_are_judged(name: str, dtype: Any) -> None:
    shape, axis = PRODUCTS[name]
    torch.manual_seed(5)
    x = (1 + 0.2 * torch.randn(shape)).to(dtype).requires_grad_()
    with recorder.record({"x": x}) as run:
        y = x.prod() if axis is None else x.prod(axis)
        (y.float() * torch.randn(y.shape)).sum().backward()
    report = recorder.judge(run)
    assert report.passed, summary(report)
    text, tensors = contents(report.trace)
    region = next(one for one in text["regions"] if one["name"].startswith("prod"))
    size, = struct.unpack_from("<Q", report.trace)
    for result in region["results"][:1] + region["results"][1::40]:
        begin, end = tensors[result]["data_offsets"]
        data = bytearray(report.trace[8 + size + begin:8 + size + end])
        data[0] ^= 4
        code, _, words = programs.gate("audit", with_tensor(report.trace, result, bytes(data)))
        assert code == 1 and "prod" in words, (result, words)


def test_products_with_a_zero_or_too_many_factors() -> None:
    for zeros in (1, 2):
        x = torch.randn(2, 6).bfloat16()
        x[0, :zeros] = 0
        x.requires_grad_()
        with recorder.record({"x": x}) as run:
            (x.prod(1).float() * torch.randn(2)).sum().backward()
        report = recorder.judge(run)
        assert not report.failed, summary(report)
    with recorder.record() as run:
        torch.ones(600).bfloat16().prod()
    assert recorder.judge(run, "audit").exit_code == 3

"""Right programs whose constants are rounded in several ways, that sample at computed places or choose among equals: they pass, bent ones do not."""
from __future__ import annotations

import functools
import math
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
import torch.nn.functional as F  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from assay import GradcheckError, gradcheck  # noqa: E402
from assay.torch.numbers import Computed, Known, computed, meant, multiple  # noqa: E402
from wrong_cotangents import own  # noqa: E402


def drawn(*shapes: tuple[int, ...], positive: bool = False, seed: int = 0) -> list[Any]:
    generator = torch.Generator().manual_seed(seed)
    draw = (lambda s: torch.rand(s, generator=generator) + 0.05) if positive else (lambda s: torch.randn(s, generator=generator))
    return [draw(shape).requires_grad_() for shape in shapes]


class Bent(TorchDispatchMode):
    """Kernels that give something else."""

    def __init__(self, name: str, change: Callable[[Any], Any]) -> None:
        super().__init__()
        self.name, self.change, self.met = name, change, 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        if str(function).split(".")[1] != self.name:
            return found
        self.met += 1
        return self.change(found)


def fails(f: Callable[..., Any], inputs: list[Any], name: str = "", change: Callable[[Any], Any] = lambda found: found) -> bool:
    with Bent(name, change) as bent, pytest.raises(GradcheckError) as error:
        gradcheck(f, inputs)
    assert not name or bent.met, "the bent kernel did not run"
    return bool(error.value.report.failed)


UNARY = {
    "x ** 0.7": lambda x: x ** 0.7, "x ** (1/3)": lambda x: x ** (1 / 3), "x ** -0.1": lambda x: x ** -0.1, "x ** 2.4": lambda x: x ** 2.4,
    "x ** 0.1234567": lambda x: x ** 0.1234567, "2.1 ** x": lambda x: 2.1 ** x, "1.01 ** x": lambda x: 1.01 ** x,
    "norm 1.3": lambda x: x.norm(p=1.3), "norm 3": lambda x: x.norm(p=3), "lp_pool 1.3": lambda x: F.lp_pool1d(x.reshape(1, 1, 50), 1.3, 3),
    "local response": lambda x: F.local_response_norm(x.reshape(1, 5, 10), 3, alpha=1e-2, beta=0.7), "log10": torch.log10, "log2": torch.log2,
    "exp2": torch.exp2, "rad2deg": torch.rad2deg, "x * drawn": lambda x: x * 0.123456789123}
FLOAT32 = {"x ** drawn": lambda x: x ** 0.2345678912345678, "celu 0.7": lambda x: F.celu(x - 0.5, 0.7), "celu 1.3": lambda x: F.celu(x - 0.5, 1.3)}  # in float64 celu's slope is a float32's, and a drawn exponent opaque


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", UNARY)
def test_constants_mean_one_number(name: str, dtype: Any) -> None:
    (x,) = drawn((50,), positive=True)
    assert gradcheck(UNARY[name], [x.detach().to(dtype).requires_grad_()])


@pytest.mark.parametrize("name", FLOAT32)
def test_constants_of_float32(name: str) -> None:
    assert gradcheck(FLOAT32[name], drawn((50,), positive=True))


WEIGHTED = {
    "addcdiv": (lambda a, b, c: torch.addcdiv(a, b, c, value=0.3), [(6,), (6,), (6,)]), "addcmul": (lambda a, b, c: torch.addcmul(a, b, c, value=0.3), [(6,), (6,), (6,)]),
    "addmm": (lambda a, b, c: torch.addmm(a, b, c, alpha=0.3, beta=0.7), [(3, 4), (3, 5), (5, 4)]), "addr": (lambda a, b, c: torch.addr(a, b, c, alpha=0.3, beta=0.7), [(3, 4), (3,), (4,)]),
    "baddbmm": (lambda a, b, c: torch.baddbmm(a, b, c, alpha=0.3, beta=0.7), [(2, 3, 4), (2, 3, 5), (2, 5, 4)]), "logaddexp2": (torch.logaddexp2, [(6,), (6,)]),
    "index_add": (lambda a, b: a.index_add(0, torch.tensor([2, 0, 2]), b, alpha=0.3), [(3, 4), (3, 4)]), "add": (lambda a, b: torch.add(a, b, alpha=0.3), [(6,), (6,)])}


@pytest.mark.parametrize("name", WEIGHTED)
def test_factors_mean_one_number(name: str) -> None:
    f, shapes = WEIGHTED[name]
    assert gradcheck(f, drawn(*shapes))


STEP = 1 + 2.0**-22


def mish_back(g: Any, x: Any) -> Any:
    s, t = torch.sigmoid(x), torch.tanh(F.softplus(x))
    return g * (t + x * s * (1 - t * t))


KEYS = torch.linspace(-1, 1, 20).reshape(1, 1, 4, 5)
SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772  # selu's
FUSED = {  # operations that are given a number, with a backward that has it, too, times a factor k that is 1
    "leaky relu": (lambda x: F.leaky_relu(x, 0.1), lambda g, x, k: torch.where(x > 0, g, 0.1 * k * g)),
    "rrelu": (lambda x: F.rrelu(x, 0.1, 0.3), lambda g, x, k: torch.where(x > 0, g, 0.2 * k * g)),
    "elu": (lambda x: F.elu(x, 0.3), lambda g, x, k: torch.where(x > 0, g, g * (0.3 * k) * x.exp())),
    "selu": (F.selu, lambda g, x, k: SCALE * torch.where(x > 0, g, g * (ALPHA * k) * x.exp())),
    "selu, one factor": (F.selu, lambda g, x, k: torch.where(x > 0, g * (SCALE * k), g * (SCALE * ALPHA) * x.exp())),
    "softplus": (lambda x: F.softplus(x, beta=0.3), lambda g, x, k: g * torch.sigmoid(0.3 * k * x)),
    "smooth l1": (lambda x: F.smooth_l1_loss(x, 0 * x.detach(), beta=0.1, reduction="none"), lambda g, x, k: g * (x / (0.1 * k)).clamp(-1, 1)),
    "huber": (lambda x: F.huber_loss(x, 0 * x.detach(), delta=0.3, reduction="none"), lambda g, x, k: g * torch.where(x.abs() < 0.3, x, 0.3 * k * x.sign())),
    "huber by clamp": (lambda x: F.huber_loss(x, 0 * x.detach(), delta=0.3, reduction="none"), lambda g, x, k: g * x.clamp(-0.3 * k, 0.3 * k)),
    "ends of a clamp": (lambda x: x * x.abs().clamp(0.3, 7.7), lambda g, x, k: torch.where(x.abs() < 0.3, 0.3 * k * g, torch.where(x.abs() > 7.7, 7.7 * g, 2 * g * x.abs()))),
    "an end of a clamp": (lambda x: x * x.abs().clamp(max=0.1), lambda g, x, k: torch.where(x.abs() < 0.1, 2 * g * x.abs(), 0.1 * k * g)),
    "addmm": (lambda x: torch.addmm(x[None], x[None], torch.eye(32), beta=0.1, alpha=0.3)[0], lambda g, x, k: g * 0.1 + 0.3 * k * g),
    "mish": (F.mish, lambda g, x, k: k * mish_back(g, x)), "mish of softplus": (lambda x: x * torch.tanh(F.softplus(x)), lambda g, x, k: k * mish_back(g, x))}


@pytest.mark.parametrize("name", FUSED)
def test_numbers_of_fused_operations(name: str) -> None:
    forward, backward = FUSED[name]
    (near, far) = drawn((20,), (10,))
    inputs = [torch.cat([near, 12 * far, torch.tensor([25.0, 80.0])]).detach().requires_grad_()]
    assert gradcheck(own(forward, lambda g, x: backward(g, x, 1.0)), inputs, allow_unreached=True)
    assert fails(own(forward, lambda g, x: backward(g, x, STEP)), inputs)


IN_16_BITS = {
    "huber": (lambda x: F.huber_loss(x, 0 * x.detach(), delta=0.1, reduction="none"), lambda g, x, d: g * torch.where(x.abs() <= 0.1, x, d * x.sign())),
    "smooth l1": (lambda x: F.smooth_l1_loss(x, 0 * x.detach(), beta=0.1, reduction="none"), lambda g, x, d: g * torch.where(x.abs() < 0.1, x / d, x.sign())),
    "add": (lambda x: torch.add(2 * x, x, alpha=0.1), lambda g, x, d: g * 2 + g * d),
    "power": (lambda x: torch.pow(x.abs() + 1, 2.1), lambda g, x, d: g * (2 + d) * torch.pow(x.abs() + 1, 1.1) * x.sign())}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("name", IN_16_BITS)
def test_numbers_of_operations_in_16_bits(name: str, dtype: torch.dtype) -> None:
    forward, backward = IN_16_BITS[name]
    inputs = [torch.cat([1.5 * drawn((14,))[0].detach(), torch.tensor([0.04, -0.06])]).to(dtype).requires_grad_()]
    assert gradcheck(own(forward, lambda g, x: backward(g, x, 0.1)), inputs, allow_unreached=True)
    assert fails(own(forward, lambda g, x: backward(g, x, 0.2)), inputs)


BENT = {
    "power": (lambda x: x ** 0.7, lambda g, x: g * 0.7 * STEP * x ** (0.7 - 1)), "exponent": (lambda x: x ** 0.7, lambda g, x: g * 0.7 * x ** (0.7 - 1 + 1e-6)),
    "base": (lambda x: 2.1 ** x, lambda g, x: g * math.log(2.1) * STEP * 2.1 ** x), "log10": (torch.log10, lambda g, x: g / (x * math.log(10) * STEP)),
    "exp2": (torch.exp2, lambda g, x: g * torch.exp2(x) * 0.6931), "factor": (lambda x: x * 0.3, lambda g, x: g * 0.3000001)}


@pytest.mark.parametrize("k", [1.0, STEP])
def test_the_scale_of_attention(k: float) -> None:
    def back(g: Any, q: Any) -> Any:
        scale = k / math.sqrt(5)
        p, p_bar = torch.softmax(q @ KEYS.mT * scale, -1), g @ KEYS.mT
        return (p * (p_bar - (p * p_bar).sum(-1, keepdim=True)) * scale) @ KEYS

    f = own(lambda q: F.scaled_dot_product_attention(q, KEYS, KEYS), back)
    assert gradcheck(f, drawn((1, 1, 3, 5)), allow_unreached=True) if k == 1 else fails(f, drawn((1, 1, 3, 5)))


@pytest.mark.parametrize("name", BENT)
def test_a_constant_that_is_another_number_is_found(name: str) -> None:
    forward, backward = BENT[name]
    assert fails(own(forward, backward), drawn((50,), positive=True))


@pytest.mark.parametrize("name, change", [("pow", lambda y: y * (1 + 2.0**-20)), ("logaddexp2", lambda y: y + 2.0**-18)])
def test_a_power_that_is_off_is_found(name: str, change: Any) -> None:
    f = (lambda x: x ** 2.4) if name == "pow" else (lambda x: torch.logaddexp2(x, 2 * x))
    assert fails(f, drawn((50,), positive=True), name, change)


# Roots of 2 and of pi, which the derivatives of erf and of the normal distribution have.

def gelu_by_tanh(g: Any, x: Any, k: float) -> Any:
    t = torch.tanh(k * (x + 0.044715 * x ** 3))
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x))


NORMAL = {  # the forward, the backward with a constant, and spellings of it, some with the digits of a float32
    "erf": (torch.erf, lambda g, x, c: g * torch.exp(-x * x) * c, [2 / math.sqrt(math.pi), 1.1283791671]),
    "erf over": (torch.erf, lambda g, x, c: g * torch.exp(-x * x) * 2 / c, [math.sqrt(math.pi), 1.7724538509]),
    "ndtr": (torch.special.ndtr, lambda g, x, c: g * torch.exp(-x * x / 2) / c, [math.sqrt(2 * math.pi), math.sqrt(2) * math.sqrt(math.pi), 2.5066282746]),
    "ndtr times": (torch.special.ndtr, lambda g, x, c: c * g * torch.exp(-x * x / 2), [1 / math.sqrt(2 * math.pi), (2 * math.pi) ** -0.5, 0.3989422804]),
    "half erf": (lambda x: 0.5 * (1 + torch.erf(x / math.sqrt(2))), lambda g, x, c: g * torch.exp(-x * x / 2) / c, [math.sqrt(2 * math.pi)]),
    "times half a root": (lambda x: 0.5 * (1 + torch.erf(x * math.sqrt(0.5))), lambda g, x, c: g * torch.exp(-x * x / 2) * (c / 2), [math.sqrt(2 / math.pi)]),
    "gelu": (F.gelu, lambda g, x, c: g * (0.5 * (1 + torch.erf(x / c)) + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)), [math.sqrt(2), 1.4142135624]),
    "gelu by tanh": (lambda x: F.gelu(x, approximate="tanh"), gelu_by_tanh, [math.sqrt(2 / math.pi), 0.7978845608, 0.79788456])}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NORMAL)
def test_roots_of_2_and_of_pi(name: str, dtype: Any) -> None:
    forward, backward, constants = NORMAL[name]
    inputs = [drawn((4, 3))[0].detach().to(dtype).requires_grad_()]
    for c in constants if dtype == torch.float32 else [one for one in constants if abs(one / constants[0] - 1) < 1e-15]:
        assert gradcheck(own(forward, lambda g, x: backward(g, x, c)), inputs), c
    for off in (1e-6, 2.0**-22 if dtype == torch.float32 else 2.0**-50):
        for c in (constants[0] * (1 + off), constants[0] * (1 - off)):
            assert fails(own(forward, lambda g, x: backward(g, x, c)), inputs), (off, c)


ROOTS = [math.sqrt(2), 1 / math.sqrt(2), math.sqrt(math.pi), 2 / math.sqrt(math.pi), math.sqrt(2 * math.pi), 1 / math.sqrt(2 * math.pi), math.sqrt(2 / math.pi), math.pi]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("c", ROOTS)
def test_programs_of_roots(c: float, dtype: Any) -> None:
    inputs = [drawn((4, 3), positive=True)[0].detach().to(dtype).requires_grad_()]
    for f in (lambda x: x * c, lambda x: x / c, lambda x: torch.sin(c * x), lambda x: x ** c, lambda x: x ** (c - 1), lambda x: c ** x, own(lambda x: x * (1 / c), lambda g, x: g / c)):
        assert gradcheck(f, inputs)


def test_no_other_number_means_a_multiple_of_an_irrational_one() -> None:
    for dtype in (torch.float32, torch.float64):
        for c in ROOTS:
            assert multiple(c, dtype) and multiple(-3 * c, dtype) and not any(multiple(c + k * math.ulp(c), dtype) for k in (-8, -7, -6, 6, 7, 8))
        assert not any(multiple(float(k), dtype) or multiple(k / 1000, dtype) for k in range(-100, 2000))
    for c in ROOTS:
        assert not any(multiple(c + k * math.ulp(c), torch.float64) for k in (-2, 2))
        near = torch.tensor(c, dtype=torch.float32)
        assert multiple(near.item(), torch.float32, True)
        assert not any(multiple(torch.nextafter(near, torch.tensor(to)).item(), torch.float32, True) for to in (-math.inf, math.inf))


# Numbers that Python computes of others, which are rounded in another order.

DRAWN, OTHER = 0.83746523874, 0.61803398876
COMPUTED = {  # the forward, the backward with a factor k that is 1
    "c c": lambda c: (lambda x: x * c * c, lambda g, x, k: g * (c * c * k)),
    "one by one": lambda c: (lambda x: x * c * c, lambda g, x, k: g * c * k * c),
    "over c": lambda c: (lambda x: x / c, lambda g, x, k: g * (1 / c * k)),
    "3 c": lambda c: (lambda x: x ** 3 * c, lambda g, x, k: g * (3 * c * k) * x * x),
    "c d": lambda c: (lambda x: x * c * OTHER, lambda g, x, k: g * (c * OTHER * k)),
    "c over d": lambda c: (lambda x: x * c / OTHER, lambda g, x, k: g * (c / OTHER * k)),
    "cube": lambda c: (lambda x: (c * x) ** 3, lambda g, x, k: g * (3 * c**3 * k) * x * x),
    "sum": lambda c: (lambda x: x * c + x * OTHER, lambda g, x, k: g * ((c + OTHER) * k)),
    "power": lambda c: (lambda x: c ** x, lambda g, x, k: g * c ** x * (math.log(c) * k)),
    "normal": lambda c: (lambda x: torch.exp(-x * x / (2 * c * c)) / (c * math.sqrt(2 * math.pi)),
                         lambda g, x, k: -g * x * torch.exp(-x * x / (2 * c * c)) / (c**3 * math.sqrt(2 * math.pi) * k))}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("c", [math.sqrt(2), math.sqrt(3), math.sqrt(math.pi), math.pi, 1 / math.sqrt(2), math.log(2), DRAWN])
@pytest.mark.parametrize("name", COMPUTED)
def test_numbers_that_are_computed_of_others(name: str, c: float, dtype: Any) -> None:
    inputs = [drawn((4, 3), positive=True)[0].detach().to(dtype).requires_grad_()]
    forward, backward = COMPUTED[name](c)
    assert gradcheck(own(forward, lambda g, x: backward(g, x, 1.0)), inputs)
    for off in (1e-3, 1e-6):
        assert fails(own(forward, lambda g, x: backward(g, x, 1 + off)), inputs), off


def test_numbers_are_computed_of_known_ones_alone() -> None:
    known = Known()
    assert known.of(DRAWN) is None and known.of(OTHER) is None and known.of(0.5) is None
    assert known.of(DRAWN * OTHER) == Computed((DRAWN, OTHER), powers=(1, 1))
    assert all(computed(DRAWN * OTHER + k * math.ulp(DRAWN * OTHER), (DRAWN, OTHER)) is None for k in (-16, -9, 9, 16))
    generator = torch.Generator().manual_seed(1)
    assert not any(known.of(one) for one in torch.randn(60, dtype=torch.float64, generator=generator).tolist())


BASES = [2.1, 3.3, 10.0, 0.7, 1.01, math.e, math.pi, math.sqrt(2)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_powers_of_and_by_numbers_in_16_bits(dtype: Any) -> None:
    """The kernel stores the number in 16 bits first, which its backward does not."""
    inputs = [drawn((20,), positive=True)[0].detach().to(dtype).requires_grad_()]
    for c in BASES:
        for f in (lambda x: c ** x, lambda x: x ** c):
            assert gradcheck(f, inputs), c
    assert gradcheck(lambda x: math.e ** x, [one.detach().float().requires_grad_() for one in inputs])
    for f, op in ((lambda x: 2.1 ** x, "pow"), (lambda x: x ** 2.1, "pow")):
        assert fails(f, inputs, op, lambda y: y * 1.05)


@pytest.mark.parametrize("op, f", [("hardsigmoid_backward", F.hardsigmoid), *(("elu_backward", functools.partial(F.celu, alpha=alpha)) for alpha in (0.7, 1.3, 2.0))])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernels_that_hold_a_float32_of_a_number(op: str, f: Any, dtype: Any) -> None:
    inputs = [drawn((4, 3))[0].detach().to(dtype).requires_grad_()]
    assert gradcheck(f, inputs)
    assert fails(f, inputs, op, lambda y: y * (1 + (2.0**-20 if dtype == torch.float32 else 2.0**-40)))


def test_own_backwards_hold_no_float32() -> None:
    inputs = [drawn((4, 3))[0].detach().double().requires_grad_()]
    assert gradcheck(own(F.hardsigmoid, lambda g, x: torch.where(x.abs() < 3, g / 6, 0 * g)), inputs, allow_unreached=True)
    assert fails(own(F.hardsigmoid, lambda g, x: torch.where(x.abs() < 3, g * torch.tensor(1 / 6).double(), 0 * g)), inputs)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("epsilon", [1e-5, 1e-6, 0.3])
def test_rows_of_few_elements_are_decided(width: int, epsilon: float) -> None:
    inputs = drawn((4, width))
    assert gradcheck(lambda x: F.layer_norm(x, (width,), eps=epsilon), inputs, allow_dead=True)
    assert fails(lambda x: F.layer_norm(x, (width,), eps=epsilon), inputs, "native_layer_norm_backward",
                 lambda found: (found[0] + 2.0**20, *found[1:]))


@pytest.mark.parametrize("f", [torch.erf, torch.special.ndtr, torch.asinh, torch.square, lambda x: x**2])
@pytest.mark.parametrize("at", [1e-5, 1e-19, 1e-21, 1e-30, 1e-38, 1e-44])
def test_tiny_arguments_are_decided(f: Any, at: float) -> None:
    inputs = [torch.linspace(-3 * at, 3 * at, 40).requires_grad_()]
    assert gradcheck(f, inputs)
    assert at < 1e-40 or f is not torch.erf or fails(f, inputs, "erf", lambda y: y * (1 + 2.0**-20))


# Places that are computed.

@pytest.mark.parametrize("options", [{"size": (5, 6)}, {"size": (7, 3), "align_corners": True}, {"scale_factor": (1.7, 2.3)}])
@pytest.mark.parametrize("seed", range(3))
def test_cubic_interpolation(options: dict[str, Any], seed: int) -> None:
    inputs = drawn((1, 2, 4, 5), seed=seed)
    assert gradcheck(lambda x: F.interpolate(x, mode="bicubic", **options), inputs)
    assert fails(lambda x: F.interpolate(x, mode="bicubic", **options), inputs, "upsample_bicubic2d", lambda y: y + 2.0**-16)


@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_samples_on_a_grid(padding: str, aligned: bool, seed: int) -> None:
    (image,), generator = drawn((2, 2, 4, 5), seed=seed), torch.Generator().manual_seed(seed)
    grid = (torch.rand(2, 3, 7, 2, generator=generator) * 2.6 - 1.3).requires_grad_()
    f = lambda a, g: F.grid_sample(a, g, padding_mode=padding, align_corners=aligned)  # noqa: E731
    assert gradcheck(f, [image, grid])
    assert fails(f, [image, grid], "grid_sampler_2d", lambda y: y + 2.0**-16)
    assert fails(f, [image, grid], "grid_sampler_2d_backward", lambda found: (found[0], found[1] * (1 + 2.0**-14)))


# Sums and transforms.

def test_values_are_added_one_after_another() -> None:
    for seed in range(5):
        inputs = drawn((3, 2), (3, 2), seed=seed)
        for f in (lambda a, v: a.index_put((torch.tensor([2, 0, 2]),), v, accumulate=True), lambda a, v: a.scatter_add(0, torch.tensor([[2, 0], [2, 2], [2, 1]]), v)):
            assert gradcheck(f, inputs)
    assert fails(lambda a, v: a.scatter_add(0, torch.tensor([[2, 0], [2, 2], [2, 1]]), v), inputs, "scatter_add", lambda y: y * (1 + 2.0**-19))


class Transform(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        return torch.fft.fft(z)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return torch.fft.ifft(g) * g.shape[-1]


FOURIER = {
    "own": (lambda a: torch.view_as_real(Transform.apply(torch.view_as_complex(a))), (6, 2)), "rfft": (lambda a: torch.view_as_real(torch.fft.rfft(a)), (8,)),
    "irfft": (lambda a: torch.fft.irfft(torch.view_as_complex(a)), (5, 2)), "fft2": (lambda a: torch.view_as_real(torch.fft.fft2(a)), (4, 6)),
    "ortho": (lambda a: torch.view_as_real(torch.fft.ifft(torch.view_as_complex(a), norm="ortho")), (6, 2)),
    "stft": (lambda a: torch.view_as_real(torch.stft(a, 8, return_complex=True, window=torch.hann_window(8))), (32,)),
    "over a number": (lambda a: torch.view_as_real(torch.view_as_complex(a) / 6), (8, 2))}


@pytest.mark.parametrize("name", FOURIER)
def test_transforms(name: str) -> None:
    f, shape = FOURIER[name]
    assert gradcheck(f, drawn(shape))


@pytest.mark.parametrize("op, shape, f", [("_fft_r2c", (8,), FOURIER["rfft"][0]), ("_fft_c2c", (6, 2), FOURIER["ortho"][0]), ("div", (8, 2), FOURIER["over a number"][0])])
def test_a_transform_that_is_off_is_found(op: str, shape: tuple[int, ...], f: Any) -> None:
    assert fails(f, drawn(shape), op, lambda z: z * (1 + 2.0**-11))


# Equals.

CHOICES = {
    "topk": lambda x: torch.topk(x, 2, -1)[0], "in any order": lambda x: torch.topk(x, 3, -1, sorted=False)[0], "least": lambda x: torch.topk(x, 2, 0, largest=False)[0], "sort": lambda x: torch.sort(x, -1)[0],
    "sort down": lambda x: torch.sort(x, 0, descending=True)[0], "stable": lambda x: torch.sort(x, dim=0, stable=True)[0], "argsort": lambda x: x.flatten()[torch.argsort(x.flatten())],
    "kthvalue": lambda x: x.kthvalue(3, 0)[0], "median": lambda x: x.median(1)[0], "cummax": lambda x: x.cummax(0)[0], "cummin": lambda x: x.cummin(1)[0]}


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("shape", [(5, 4), (3, 40)])
def test_any_of_equals_may_be_chosen(name: str, shape: tuple[int, ...]) -> None:
    for values in (torch.zeros(shape), drawn(shape)[0].detach().round()):
        assert gradcheck(CHOICES[name], [values.requires_grad_()])


@pytest.mark.parametrize("op, f", [("topk", CHOICES["topk"]), ("topk", CHOICES["in any order"]), ("sort", CHOICES["sort"]), ("kthvalue", CHOICES["kthvalue"]), ("cummax", CHOICES["cummax"])])
def test_an_element_that_is_no_equal_is_found(op: str, f: Any) -> None:
    other = {"cummax": lambda found: (found[0], torch.zeros_like(found[1]))}
    assert fails(f, drawn((6, 5)), op, other.get(op, lambda found: (found[0], (found[1] + 1) % 5)))
    assert fails(f, drawn((6, 5)), op, lambda found: (found[0] + 1, found[1]))


def test_a_place_that_occurs_twice_is_found() -> None:
    assert fails(CHOICES["topk"], [torch.zeros(3, 5, requires_grad=True)], "topk", lambda found: (found[0], torch.zeros_like(found[1])))


def test_constants_that_are_no_finite_numbers_mean_themselves() -> None:
    for value in (math.inf, -math.inf, math.nan):
        assert meant(value, torch.float64) is None
        with pytest.raises(GradcheckError, match="undecided"):
            gradcheck(functools.partial(torch.pow, exponent=value), [(3,)])


def test_a_logarithm_that_was_typed_with_the_digits_of_a_float32() -> None:
    """0.6931472 is 433217/625000, too."""
    log2 = {digits: own(torch.log2, lambda g, x, c=digits: g / (x * c)) for digits in (0.6931472, 0.693147, 0.69314725)}
    positive = drawn((4, 3), positive=True)
    assert gradcheck(log2[0.6931472], positive)
    for digits, inputs in ((0.693147, positive), (0.69314725, positive), (0.6931472, [positive[0].detach().double().requires_grad_()])):
        with pytest.raises(GradcheckError) as found:
            gradcheck(log2[digits], inputs)
        assert found.value.failed, str(found.value)

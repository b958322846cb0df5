"""Right programs whose backward computes a function in another way than the forward: none is called wrong, and those that are a little bent are."""
from __future__ import annotations

import math
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
import torch.nn.functional as F  # noqa: E402

from assay import GradcheckError, gradcheck  # noqa: E402
from test_torch_constants import Bent  # noqa: E402
from wrong_cotangents import own  # noqa: E402

S, BY_2, OF_2 = (4, 3), 1.4426950408889634, 0.6931471805599453  # log2(e), log(2)


def verdict(f: Any, inputs: list[Any], **options: Any) -> str:
    """The verdict, and the rule of the first finding of what is undecided."""
    try:
        gradcheck(f, inputs, **options)
        return "passed"
    except GradcheckError as error:
        return "failed" if error.report.failed else error.report.findings[0].rule


def masking(forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """A Function of x and a mask, without a gradient of the mask."""
    class Masking(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, mask: Any) -> Any:
            ctx.save_for_backward(x, mask)
            return forward(x, mask)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return backward(g, *ctx.saved_tensors), None
    return Masking.apply


def of_softmax(p: Any, g: Any) -> Any:
    return p * (g - (g * p).sum(-1, keepdim=True))


def by_exp(s: Any) -> Any:
    e = torch.exp(s - s.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def by_sum(s: Any) -> Any:
    return torch.exp(s - torch.logsumexp(s, -1, keepdim=True))


MASK = torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, 1, 1], [1, 0, 1]])  # 1: seen
FILLS: dict[str, Callable[[Any, Any], Any]] = {
    "filled": lambda x, m: x.masked_fill(m < 0.5, -1e9), "chosen": lambda x, m: torch.where(m > 0.5, x, -1e30), "least": lambda x, m: x.masked_fill(m == 0, torch.finfo(x.dtype).min),
    "added": lambda x, m: x + (1 - m) * -1e9, "times": lambda x, m: x * m + (1 - m) * -1e9}
SHARES = {"softmax": lambda s: torch.softmax(s, -1), "exp": by_exp, "log of the sum": by_sum}


@pytest.mark.parametrize("fill", FILLS)
def test_large_masks_that_a_float_decides(fill: str) -> None:
    for name in SHARES if fill in ("filled", "added") else ["softmax"]:
        def f(off: float) -> Any:
            return masking(lambda x, m: torch.softmax(FILLS[fill](x, m), -1), lambda g, x, m: of_softmax(off * SHARES[name](FILLS[fill](x, m)), g))
        assert verdict(f(1.0), [S, MASK]) == "passed", name
        assert verdict(f(1.0001), [S, MASK]) == "failed", name
    without = masking(lambda x, m: torch.softmax(FILLS[fill](x, m), -1), lambda g, x, m: torch.softmax(FILLS[fill](x, m), -1) * g)
    assert verdict(without, [S, MASK]) == "failed"


IN_BASE_2: dict[str, tuple[Any, Any]] = {
    "exp by exp2": (lambda x: torch.exp(x), lambda g, x: g * torch.exp2(x * BY_2)), "exp2 by exp": (lambda x: torch.exp2(x * BY_2), lambda g, x: g * torch.exp(x)),
    "over": (lambda x: torch.exp2(x / OF_2), lambda g, x: g * torch.exp(x)), "scaled": (lambda x: torch.exp2(x * (0.125 * BY_2)), lambda g, x: g * 0.125 * torch.exp(x * 0.125)),
    "softmax": (lambda x: torch.softmax(x, -1), lambda g, x: of_softmax(by_exp2(x), g)), "sigmoid": (lambda x: 1 / (1 + torch.exp2(-x * BY_2)), lambda g, x: g * torch.sigmoid(x) * torch.sigmoid(-x))}


def by_exp2(x: Any) -> Any:
    e = torch.exp2((x - x.amax(-1, keepdim=True)) * BY_2)
    return e / e.sum(-1, keepdim=True)


OF_ANGLES: dict[str, tuple[Any, Any]] = {
    "snake": (lambda x: x + torch.sin(0.7 * x) ** 2 / 0.7, lambda g, x: g * (1 + torch.sin(1.4 * x))), "twice": (lambda x: 2 * torch.sin(x) * torch.cos(x), lambda g, x: g * 2 * torch.cos(2 * x)),
    "half": (lambda x: torch.tan(x / 4), lambda g, x: g * 0.5 / (1 + torch.cos(x / 2)))}


@pytest.mark.parametrize("name", [*IN_BASE_2, *OF_ANGLES])
def test_another_base_and_twice_an_angle(name: str) -> None:
    forward, backward = (IN_BASE_2 | OF_ANGLES)[name]
    assert verdict(own(forward, backward), [S]) == "passed"
    for off in (1e-6, -1e-9):
        assert verdict(own(forward, lambda g, x: backward(g, x) * (1 + off)), [S]) == "failed", off


UNKNOWN: dict[str, tuple[Any, Any]] = {  # equal by what the gate does not know: nothing is decided
    "three times": (lambda x: torch.sin(3 * x), lambda g, x: g * 3 * (4 * torch.cos(x) ** 3 - 3 * torch.cos(x))), "a turn": (torch.sin, lambda g, x: g * torch.sin(x + math.pi / 2)),
    "a sum": (lambda x: torch.sin(x + 0.3), lambda g, x: g * (torch.cos(x) * math.cos(0.3) - torch.sin(x) * math.sin(0.3))),
    "the other sign of a root": (torch.sinh, lambda g, x: g * torch.sqrt(1 + torch.sinh(x) ** 2)), "asinh": (lambda x: x * torch.asinh(x), lambda g, x: g * (
        torch.log(x + torch.sqrt(1 + x * x)) + x / torch.sqrt(1 + x * x))), "a log of a quotient": (lambda x: x * (torch.log(x * x + 1) - torch.log(x * x + 2)), lambda g, x: g * (
            torch.log((x * x + 1) / (x * x + 2)) + 2 * x * x / (x * x + 1) - 2 * x * x / (x * x + 2)))}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_identity_that_is_not_known_accuses_nobody(name: str) -> None:
    forward, backward = UNKNOWN[name]
    x = [torch.linspace(0.3, 1.2, 12).reshape(S).requires_grad_()]
    assert verdict(own(forward, backward), x) in ("passed", "gradient.product")
    for off in (1e-6, -1e-9):
        assert verdict(own(forward, lambda g, x: backward(g, x) * (1 + off)), x) == "failed", off


IN_16_BITS: dict[str, tuple[Any, str]] = {
    "rsqrt": (lambda x: torch.rsqrt(x.abs() + 1), "rsqrt"), "power": (lambda x: (x.abs() + 1) ** -0.5, "pow"), "remainder": (lambda x: torch.remainder(x, 0.7), "remainder"),
    "fmod": (lambda x: torch.fmod(x, 0.7), "fmod"), "xlogy": (lambda x: torch.xlogy(x, x.abs() + 0.3), "xlogy"), "xlogy of a number": (lambda x: torch.xlogy(0.7, x.abs() + 0.3), "xlogy"),
    "soft margin": (lambda x: F.soft_margin_loss(x, torch.ones_like(x)), "soft_margin_loss_backward"), "asinh": (torch.asinh, "rsqrt"),
    "several": (lambda x: F.multilabel_soft_margin_loss(x, torch.eye(4, 3, dtype=x.dtype)), "log_sigmoid_backward")}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("name", IN_16_BITS)
def test_kernels_in_16_bits_that_store_steps(name: str, dtype: Any) -> None:
    f, op = IN_16_BITS[name]
    inputs = [(2 * torch.randn(S, generator=torch.Generator().manual_seed(1))).to(dtype).requires_grad_()]
    assert gradcheck(f, inputs)
    with Bent(op, lambda y: y * 1.05) as bent:
        assert verdict(f, inputs) == "failed" and bent.met


def quantized(back: Callable[..., Any]) -> Any:
    """x / s, rounded to [-4, 3], times s."""
    class Quantized(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, s: Any) -> Any:
            ctx.save_for_backward(x, s)
            return (x / s).clamp(-4, 3).round() * s

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, s = ctx.saved_tensors
            v = x / s
            within = (v >= -4) & (v <= 3)
            return g * within, (g * torch.where(within, back(v), v.clamp(-4, 3))).sum()
    return Quantized


def learned_step(x: Any, s: Any) -> Any:
    v = (x / s).clamp(-4, 3)
    return (v + (v.round() - v).detach()) * s


SURROGATES: dict[str, tuple[Any, Any, Any]] = {
    "straight through": (torch.round, lambda g, x: g, lambda x: x + (x.round() - x).detach()), "a factor": (torch.round, lambda g, x: g * x.abs().max(), lambda x: x * x.detach().abs().max()),
    "sign": (torch.sign, lambda g, x: g * (1 - torch.tanh(x) ** 2), lambda x: torch.tanh(x) + (torch.sign(x) - torch.tanh(x)).detach()),
    "data": (torch.round, lambda g, x: g * x.abs(), lambda x: x * x.abs().data)}


@pytest.mark.parametrize("name", SURROGATES)
def test_surrogates_that_detach(name: str) -> None:
    forward, backward, meant = SURROGATES[name]
    for off in (1, 1.0001):
        f = own(forward, lambda g, x: backward(g, x) * off)
        assert verdict(f, [S], surrogate={f.__self__: meant}) == ("passed" if off == 1 else "failed")


def test_a_learned_step_size() -> None:
    s = torch.tensor(0.6, requires_grad=True)
    for back, expected in ((lambda v: v.round() - v, "passed"), (lambda v: v.round(), "failed"), (lambda v: 0 * v, "failed")):
        f = quantized(back)
        assert verdict(f.apply, [S, s], surrogate={f: learned_step}) == expected

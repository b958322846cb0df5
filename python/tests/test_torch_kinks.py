"""gradcheck at kinks: PyTorch's own derivatives are never called wrong, and with kinks="pytorch" a Function gives PyTorch's numbers."""
from __future__ import annotations

import itertools
import math
import pathlib
import re
import warnings
from typing import Any, Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from assay import GradcheckError, GradcheckWarning, gradcheck
from assay.torch import judge, record

from torch_kinks import KINKS, PLACES, Kink, table

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "explanation" / "kinks.md"
BOTH = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
IDS = [f"{one.operation.replace('`', '')} at {one.where}" for one in KINKS]
# PyTorch's backward kernel of hardsigmoid has a float32 1/6 in float64, which is wrong off kinks, too (docs/reference/pytorch.md).
INEXACT = {"`hardsigmoid`"}


def verdict(function: Callable[..., Any], inputs: Any, kinks: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GradcheckWarning)
        try:
            gradcheck(function, inputs, kinks=kinks, allow_dead=True, allow_unreached=True)
        except GradcheckError as error:
            return "wrong" if error.failed else "undecided"
    return "right"


def test_the_table_is_on_the_page() -> None:
    assert "\n".join(table()) in PAGE.read_text(encoding="utf-8"), "docs/explanation/kinks.md: python python/tests/torch_kinks.py prints the table"


@BOTH
@pytest.mark.parametrize("kink", KINKS, ids=IDS)
def test_pytorch_gives_what_the_table_says(kink: Kink, dtype: torch.dtype) -> None:
    for function in kink.functions:
        inputs = kink.tensors(dtype)
        found = torch.autograd.grad(function(*inputs).sum(), inputs, allow_unused=True)
        for x, one, said in zip(inputs, found, kink.slopes):
            plain = torch.zeros_like(x) if one is None else one
            torch.testing.assert_close(plain.double(), torch.tensor(said, dtype=torch.float64), rtol=2e-6, atol=0, equal_nan=True)


@BOTH
@pytest.mark.parametrize("kink", KINKS, ids=IDS)
def test_pytorch_is_not_called_wrong(kink: Kink, dtype: torch.dtype) -> None:
    if dtype == torch.float64 and kink.operation in INEXACT:
        pytest.skip("inexact off kinks")
    for function, kinks in itertools.product(kink.functions, ("any", "pytorch")):
        found = verdict(function, kink.tensors(dtype), kinks)
        assert found in (("right", "undecided") if kink.verdict == "either" else (kink.verdict,)), kinks


@BOTH
@pytest.mark.parametrize("name", PLACES)
def test_places_of_equal_elements_are_given(name: str, dtype: torch.dtype) -> None:
    for kinks in ("any", "pytorch"):
        assert verdict(PLACES[name], [torch.tensor([2.0, 1.0, 2.0, 3.0, 2.0], dtype=dtype, requires_grad=True)], kinks) == "right"


def own(function: Callable[..., Tensor], backward: Callable[..., Any]) -> Any:
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Tensor) -> Tensor:
            y = function(*inputs)
            ctx.save_for_backward(*inputs, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            return backward(g, *ctx.saved_tensors)
    return Own.apply


def with_other(kink: Kink, other: float | None) -> Any:
    """A Function with PyTorch's derivative, but for another number at the kinks; None: none."""
    def backward(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            found, = torch.autograd.grad(kink.function(leaf), leaf, g)
        for at in kink.inputs[0] if other is not None else []:
            found = torch.where(x == at, g * torch.full((), other, dtype=x.dtype), found)
        return found
    return own(kink.function, backward)


@BOTH
@pytest.mark.parametrize("kink", [one for one in KINKS if one.other is not None], ids=[i for i, one in zip(IDS, KINKS) if one.other is not None])
def test_a_function_has_pytorchs_number(kink: Kink, dtype: torch.dtype) -> None:
    if dtype == torch.float64 and kink.operation in INEXACT:
        pytest.skip("inexact off kinks")
    inputs = [torch.tensor([*kink.inputs[0], -7.25, 0.3, 9.5], dtype=dtype, requires_grad=True)]
    assert verdict(with_other(kink, None), inputs, "pytorch") == "right"
    assert verdict(with_other(kink, kink.other), inputs, "any") == "right"
    assert verdict(with_other(kink, kink.other), inputs, "pytorch") == "wrong"


def shared(x: Tensor, y: Tensor) -> Tensor:
    return x * (y == y.max()) / (y == y.max()).sum()


def halves(x: Tensor, z: Tensor) -> Tensor:
    return torch.where(x == z, torch.full_like(x, 0.5), (x > z).to(x.dtype))


# A function, its backward, the inputs, and whether the backward has PyTorch's number.
WHOLE: dict[str, tuple[Callable[..., Tensor], Callable[..., Any], list[list[float]], bool]] = {
    "maximum, halves": (torch.maximum, lambda g, x, z, y: (g * halves(x, z), g * halves(z, x)), [[1, 2, 3], [1, 3, 2]], True),
    "maximum, the first": (torch.maximum, lambda g, x, z, y: (g * (x >= z), g * (x < z)), [[1, 2, 3], [1, 3, 2]], False),
    "fmax, the first": (torch.fmax, lambda g, x, z, y: (g * (x >= z), g * (x < z)), [[1, 2, 3], [1, 3, 2]], True),
    "fmax, halves": (torch.fmax, lambda g, x, z, y: (g * halves(x, z), g * halves(z, x)), [[1, 2, 3], [1, 3, 2]], False),
    "clamp, the bound": (lambda x, a: torch.clamp(x, min=a), lambda g, x, a, y: (g * (x > a), g * (x <= a)), [[1, 2, 0], [1, 1, 1]], False),
    "clamp, the tensor": (lambda x, a: torch.clamp(x, min=a), lambda g, x, a, y: (g * (x >= a), g * (x < a)), [[1, 2, 0], [1, 1, 1]], True),
    "amax, even": (lambda x: x.amax(0), lambda g, x, y: shared(g, x), [[3, 1, 3, 2]], True),
    "amax, the first": (lambda x: x.amax(0), lambda g, x, y: g * F.one_hot(x.argmax(), 4), [[3, 1, 3, 2]], False),
    "max along an axis, the first": (lambda x: x.max(0).values, lambda g, x, y: g * F.one_hot(x.argmax(), 4), [[3, 1, 3, 2]], True),
    "max along an axis, even": (lambda x: x.max(0).values, lambda g, x, y: shared(g, x), [[3, 1, 3, 2]], False),
    "a product with relu, 0": (lambda x, w: torch.relu(x) * w, lambda g, x, w, y: (g * w * (x > 0), g * x.relu()), [[0, -1, 2], [1.5, 2, 3]], True),
    "a product with relu, 1": (lambda x, w: torch.relu(x) * w, lambda g, x, w, y: (g * w * (x >= 0), g * x.relu()), [[0, -1, 2], [1.5, 2, 3]], False),
    "a shifted relu, 1": (lambda x: 3 * torch.relu(x - 1), lambda g, x, y: 3 * g * (x >= 1), [[1, 0, 2]], False),
    "norm, 0": (torch.linalg.vector_norm, lambda g, x, y: g * torch.where(y == 0, torch.zeros_like(x), x / y), [[0, 0]], True),
    "norm, 1": (torch.linalg.vector_norm, lambda g, x, y: g * torch.where(y == 0, torch.ones_like(x), x / y), [[0, 0]], False),
    "hardswish, outside": (F.hardswish, lambda g, x, y: g * torch.where(x <= -3, 0, torch.where(x < 3, x / 3 + 0.5, 1)), [[-3, 3, 0.5, -4, 4]], True),
    "hardswish, inside": (F.hardswish, lambda g, x, y: g * torch.where(x < -3, 0, torch.where(x <= 3, x / 3 + 0.5, 1)), [[-3, 3, 0.5, -4, 4]], False),
    "l1_loss, 0": (lambda x, t: F.l1_loss(x, t, reduction="sum"), lambda g, x, t, y: (g * (x - t).sign(), -g * (x - t).sign()), [[0, 1, 2], [0, 2, 1]], True),
}


@BOTH
@pytest.mark.parametrize("name", WHOLE)
def test_functions_of_several_operations(name: str, dtype: torch.dtype) -> None:
    function, backward, inputs, is_kept = WHOLE[name]
    given = [torch.tensor(one, dtype=dtype, requires_grad=True) for one in inputs]
    assert verdict(own(function, backward), given, "any") == "right"
    assert verdict(own(function, backward), given, "pytorch") == ("right" if is_kept else "wrong")


def test_the_finding_says_what_pytorch_gives() -> None:
    half = own(torch.relu, lambda g, x, y: g * torch.where(x == 0, 0.5, (x > 0).float()))
    with pytest.raises(GradcheckError, match=r"the cotangent of .input 0. at \[.*which is at a kink: .*admitted is 0, by PyTorch.s convention.*region 0 \(Own\).*\[gradient.convention\]"):
        gradcheck(half, [torch.tensor([0.0, -1.0, 2.0], requires_grad=True)], kinks="pytorch")


def test_what_is_not_run_again() -> None:
    """Random numbers are those that were drawn. A write in place declares no convention: its operations tell."""
    x, state = torch.cat([torch.linspace(-2, 2, 64), torch.zeros(1)]).requires_grad_(), torch.random.get_rng_state()
    for at_0 in (0.0, 1.0):
        noisy = own(lambda x: torch.relu(x) * (1 + torch.bernoulli(torch.sigmoid(x))), lambda g, x, y: g * torch.where(x == 0, at_0, y / x))
        assert verdict(noisy, [x], "any") == "right"
        assert verdict(noisy, [x], "pytorch") == ("right" if at_0 == 0 else "wrong")
    assert torch.equal(state, torch.random.get_rng_state())
    three = [torch.tensor([0.0, -1.0, 2.0], requires_grad=True)]
    for forward, number, found in (((lambda x: (x * 2).relu_()), 0.0, "right"), ((lambda x: (x * 2).relu_()), 1.0, "wrong"),
                                   ((lambda x: (x * 2).clamp_(0)), 0.0, "right"), ((lambda x: (x * 2).clamp_(0)), 1.0, "undecided")):
        written = own(forward, lambda g, x, y: g * 2 * torch.where(x == 0, number, (x > 0).to(x.dtype)))
        assert verdict(written, three, "any") == "right"
        assert verdict(written, three, "pytorch") == found


def test_runs_that_were_recorded_for_it() -> None:
    """`judge` is told by the recording: without `kinks="pytorch"` a Function is judged by what its operations may give."""
    one = own(torch.relu, lambda g, x, y: g * (x >= 0))
    both = own(lambda x: torch.relu(x) * 2, lambda g, x, y: 2 * g * (x >= 0))
    for kinks, function, code in (("pytorch", one, 1), ("any", one, 1), ("pytorch", both, 1), ("any", both, 1)):
        x = torch.tensor([0.0, -1.0, 2.0], requires_grad=True)
        with record({"x": x}, kinks=kinks) as run:
            (function(x) * torch.tensor([0.5, 1.0, 1.5])).sum().backward()
        assert judge(run, "gradcheck", "--kinks", "pytorch", "--allow-dead").exit_code == code, kinks
        assert judge(run, "gradcheck", "--allow-dead").exit_code == 0
    with pytest.raises(Exception, match="kinks"):
        record(kinks="none")
    assert math.isfinite(float(x.grad.sum())) if x.grad is not None else False


class Both(torch.autograd.Function):
    """relu and abs, with a number of its own at 0."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, at_0: float) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(x)
        ctx.at_0 = at_0
        return torch.relu(x), torch.abs(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor, h: Tensor) -> tuple[Tensor, None]:
        x, = ctx.saved_tensors
        return g * torch.where(x == 0, ctx.at_0, (x > 0).to(x.dtype)) + h * x.sign(), None


class Outer(torch.autograd.Function):
    """Applies another Function."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, at_0: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.at_0 = at_0
        return Both.apply(x, at_0)[0] * 2

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        x, = ctx.saved_tensors
        return 2 * g * torch.where(x == 0, ctx.at_0, (x > 0).to(x.dtype)), None


@pytest.mark.parametrize("one", [Both, Outer])
def test_functions_of_several_results_and_of_functions(one: Any) -> None:
    for at_0 in (0.0, 0.5):
        for kinks in ("any", "pytorch"):
            found = verdict(lambda x: one.apply(x, at_0), [torch.tensor([0.0, -1.0, 2.0], requires_grad=True)], kinks)
            assert found == ("right" if kinks == "any" or at_0 == 0 else "wrong"), (at_0, kinks)


def at_twice(at: Callable[[Tensor, float], Tensor], t: float) -> Any:
    """relu beyond t, whose backward gives five times the cotangent where the threshold is said to be met."""
    return own(lambda x: torch.relu(x - t), lambda g, x, y: torch.where(at(x, t), 5 * g, g * (x > t))), [(4, 3)]


def both_of(op: Any, backward: Any, *shapes: tuple[int, ...]) -> Any:
    return own(op, backward), list(shapes or [(4, 3), (4, 3)])


# Right but on thresholds and ties, on which no random number lies.
WRONG_THERE = {
    "both conditions": at_twice(lambda x, t: (x >= t) & (x <= t), 0.25), "neither": at_twice(lambda x, t: ~((x < t) | (x > t)), 0.0), "one of two": at_twice(lambda x, t: (x >= t) ^ (x > t), 3.0),
    "a maximum": both_of(torch.maximum, lambda g, a, b, y: (g * (a >= b), g * (b >= a))), "a minimum, to none": both_of(torch.minimum, lambda g, a, b, y: (g * (a < b), g * (b < a))),
    "amax": both_of(lambda x: x.amax(1, keepdim=True), lambda g, x, y: g * (x == y), (4, 3)),
    "a threshold of a computed number": both_of(lambda x: torch.relu(3 * x - 7.5), lambda g, x, y: 3 * g * (3 * x >= 7.5) * (2 - (3 * x > 7.5).float()), (4, 3)),
    "a sum": both_of(lambda x, w: torch.relu(x @ w), lambda g, x, w, y: (lambda h: (h @ w.T, x.T @ h))(g * (1 + (x @ w <= 0).float()) * (x @ w >= 0)), (4, 3), (3, 2))}


@pytest.mark.parametrize("name", WRONG_THERE)
def test_what_is_wrong_on_kinks_alone_is_found_at_inputs_that_are_drawn(name: str) -> None:
    function, shapes = WRONG_THERE[name]
    with pytest.raises(GradcheckError, match="^failed: "):
        gradcheck(function, shapes, allow_unreached=True)


# Right wherever there is a derivative; at some kinks there is none, or an infinite one.
RIGHT_THERE = {
    "a logarithm": both_of(lambda x: x.abs().log(), lambda g, x, y: g / x, (4, 3)), "a root": both_of(lambda x: x.abs().sqrt(), lambda g, x, y: g * x.sign() / (2 * y), (4, 3)),
    "a norm": both_of(lambda x: x.norm(dim=1, keepdim=True), lambda g, x, y: g * x / y, (4, 3)), "a jump": both_of(lambda x: torch.where(x > 0, x.exp(), -x), lambda g, x, y: torch.where(x > 0, g * x.exp(), -g), (4, 3)),
    "an angle": both_of(lambda a, b: torch.atan2(a, b.relu()), lambda g, a, b, y: (g * b.relu() / (a * a + b.relu() ** 2), -g * a * (b > 0) / (a * a + b.relu() ** 2))),
    "a difference": both_of(lambda a, b: (a - b).abs().log(), lambda g, a, b, y: (g / (a - b), g / (b - a))), "a step": both_of(lambda x: x - x.floor(), lambda g, x, y: g, (4, 3)),
    "distances": both_of(lambda a, b: ((a - b) ** 2).sum(1).sqrt(), lambda g, a, b, y: (lambda d: (d, -d))((g / y)[:, None] * (a - b)))}


@pytest.mark.parametrize("name", RIGHT_THERE)
def test_what_has_no_derivative_on_kinks_is_not_accused(name: str) -> None:
    function, shapes = RIGHT_THERE[name]
    for kinks in ("any", "pytorch"):
        assert gradcheck(function, shapes, kinks=kinks, allow_unreached=True)


def test_a_border_is_pytorchs_where_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list[Any]()
    monkeypatch.setattr("assay.testing._gradcheck.announce", lambda report, _: found.append(report))
    border = own(lambda x: x.clamp(-1, 1), lambda g, x, y: g * ((x > -1) & (x < 1)))
    assert gradcheck(border, [(4, 3)])
    assert re.search(r"\nkinks: [1-9]\d* recorded cotangents at kinks: .* in 1 further run with inputs on thresholds and ties\n", found[0].text)
    assert re.search(rf"\nkinks: {found[0].written['kinks']} recorded", found[0].text)
    with pytest.raises(GradcheckError, match=r"^failed: .*by PyTorch's convention.*shown by inputs on thresholds and ties.*\[gradient.convention\]"):
        gradcheck(border, [(4, 3)], kinks="pytorch")
    with pytest.warns(GradcheckWarning, match="the kinks at which PyTorch's numbers are asked for"):
        assert gradcheck(border, torch.tensor([0.5, -1.5, 2.0], requires_grad=True), kinks="pytorch")
    assert not gradcheck(border, torch.tensor([0.5, -1.0, 2.0, -3.0], requires_grad=True), kinks="pytorch", raise_exception=False)

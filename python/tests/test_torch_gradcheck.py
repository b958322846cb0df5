"""Thirty wrong custom backwards are found, and their right twins pass; what else gradcheck promises."""
from __future__ import annotations

import os

import pytest

import conftest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
import torch.nn.functional as F  # noqa: E402
from assay import GradcheckError, gradcheck  # noqa: E402
from wrong_backwards import PAIRS  # noqa: E402
from wrong_second import PAIRS as SECOND  # noqa: E402


def test_there_are_thirty() -> None:
    assert len(PAIRS) == 30


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_passes(name: str) -> None:
    right, _, shapes = PAIRS[name]
    assert gradcheck(right, shapes)


@pytest.mark.parametrize("name", PAIRS)
def test_the_wrong_one_is_found(name: str) -> None:
    _, wrong, shapes = PAIRS[name]
    with pytest.raises(GradcheckError) as found:
        gradcheck(wrong, shapes)
    assert found.value.report.failed, str(found.value)
    assert any(one.rule.startswith("gradient.") for one in found.value.report.findings)
    assert not gradcheck(wrong, shapes, raise_exception=False)


def test_dead_gradients_are_findings() -> None:
    """Inputs of the user's are taken as they are; shapes are drawn until something is alive."""
    below = (-torch.rand(4, 3) - 1).requires_grad_()
    with pytest.raises(GradcheckError, match="gradient.dead"):
        gradcheck(torch.relu, below)
    assert gradcheck(torch.relu, [(4, 3)])


def test_parameters() -> None:
    layer = torch.nn.Linear(3, 2)
    assert gradcheck(lambda x: torch.tanh(layer(x)), [(4, 3)], params=dict(layer.named_parameters()))
    assert gradcheck(lambda x: torch.tanh(layer(x)), [(4, 3)], params=layer.parameters())


def test_several_results_and_a_computed_input() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    assert gradcheck(lambda a: (a.sin(), a.sum(0)), (x * 2,))


def test_many_elements_are_decided() -> None:
    """Their cotangents are drawn: the sum of so many has no contract that says anything."""
    assert gradcheck(lambda x: x * 2, [(512, 512)])
    assert gradcheck(lambda x: (x, x * 2), [(3, 2)])
    assert gradcheck(lambda x: (x * 2, x.double() * 3), [(3, 2)])


def test_nothing_to_check_is_said() -> None:
    with pytest.raises(ValueError, match="requires a gradient"):
        gradcheck(torch.sin, torch.randn(3))
    with pytest.raises(ValueError, match="no result"):
        gradcheck(lambda x: x.detach(), torch.randn(3).requires_grad_())


def test_options_of_finite_differences_are_accepted() -> None:
    assert gradcheck(torch.sin, torch.randn(3).requires_grad_(), eps=1e-6, atol=1e-5, rtol=1e-3, fast_mode=True)


def doubles(shapes):
    torch.manual_seed(3)
    return [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("name", SECOND)
def test_right_second_derivatives_pass(name: str) -> None:
    right, _, shapes = SECOND[name]
    assert torch.autograd.gradgradcheck(right, doubles(shapes))
    assert gradcheck(right, shapes, check_grad_grad=True)


@pytest.mark.parametrize("name", SECOND)
def test_wrong_second_derivatives_are_found(name: str) -> None:
    """Their first derivatives pass."""
    _, wrong, shapes = SECOND[name]
    assert torch.autograd.gradcheck(wrong, doubles(shapes)) and gradcheck(wrong, shapes)
    assert not torch.autograd.gradgradcheck(wrong, doubles(shapes), raise_exception=False)
    with pytest.raises(GradcheckError) as found:
        gradcheck(wrong, shapes, check_grad_grad=True)
    assert found.value.report.failed, str(found.value)


@pytest.mark.parametrize("name", PAIRS)
def test_right_backwards_have_right_second_derivatives(name: str) -> None:
    right, _, shapes = PAIRS[name]
    if name == "a buffer overwritten in place":
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):  # by autograd itself
            gradcheck(right, shapes, check_grad_grad=True)
    else:
        assert gradcheck(right, shapes, check_grad_grad=True)


def test_second_derivatives_of_modules() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3, padding=1), torch.nn.Softplus(), torch.nn.Flatten(), torch.nn.Linear(32, 3), torch.nn.SiLU())
    assert gradcheck(model, [(2, 1, 4, 4)], params=dict(model.named_parameters()), check_grad_grad=True)


def test_the_random_state_is_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    gradcheck(torch.sin, [(3,)])
    assert torch.equal(torch.rand(1), expected)


INTERRUPTED = """
import sys, time
import torch
from assay.torch import judge, record
layers = torch.nn.Sequential(*[torch.nn.Conv2d(24, 24, 3) for _ in range(4)])
with record(layers) as run:
    layers(torch.randn(6, 24, 40, 40)).square().sum().backward()
print("ready", flush=True)
try:
    judge(run)
    print("ended by itself")
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
    with record() as after:
        torch.ones(3) + 1
    assert judge(after).passed  # and the interpreter goes on
"""


def test_ctrl_c_ends_a_judgement_within_a_second() -> None:
    program, = conftest.interrupt(INTERRUPTED)
    assert not os.path.exists(f"/proc/{program}")


class WeightedLoss(torch.autograd.Function):
    """binary_cross_entropy_with_logits with a weight of positives, whose cotangent of the target is `slope` of the logits and that weight."""

    @staticmethod
    def forward(ctx, x, target, weight, slope):
        ctx.save_for_backward(x, target, weight)
        ctx.slope = slope
        return torch.nn.functional.binary_cross_entropy_with_logits(x, target, pos_weight=weight, reduction="none")

    @staticmethod
    def backward(ctx, g):
        x, target, weight = ctx.saved_tensors
        return g * ((weight * target + 1 - target) * torch.sigmoid(x) - weight * target), g * ctx.slope(x, weight), None, None


def test_a_target_with_a_gradient_and_a_weight_of_positives():
    weight, inputs = torch.tensor([0.5, 1.25, 3.0]), [(4, 3), (4, 3)]
    log_sigmoid = torch.nn.functional.logsigmoid
    assert gradcheck(lambda x, t: torch.nn.functional.binary_cross_entropy_with_logits(x, t, pos_weight=weight), inputs)
    assert gradcheck(lambda x: log_sigmoid(x) * log_sigmoid(-x), [torch.tensor([0.0, -3.0, 40.0, -40.0, 1e-3], requires_grad=True)])
    slopes = {"right": lambda x, w: log_sigmoid(-x) - w * log_sigmoid(x), "without the weight": lambda x, w: log_sigmoid(-x) - log_sigmoid(x),
              "of the positives alone": lambda x, w: -w * log_sigmoid(x)}
    verdicts = {name: gradcheck(lambda x, t, slope=slope: WeightedLoss.apply(x, t, weight, slope), inputs, raise_exception=False) for name, slope in slopes.items()}
    assert verdicts == {"right": True, "without the weight": False, "of the positives alone": False}


@pytest.mark.parametrize("function, shape, dtype", [
    (lambda x: x.std(1, correction=0) + x.var(1, correction=0) * x[:, 0], (3, 1), torch.float32),
    (lambda x: x.asinh() + (x.square() + 1.5).acosh() + (x.tanh() / 2).atanh(), (7,), torch.float64)], ids=["deviations of one element", "hyperbolic functions of doubles"])
def test_right_functions_are_decided(function, shape, dtype):
    torch.manual_seed(2)
    assert gradcheck(function, [torch.randn(shape, dtype=dtype).requires_grad_()], allow_dead=True)


class Norm(torch.autograd.Function):
    """A layer norm, or one of these that are not."""

    fault = ""

    @staticmethod
    def forward(ctx, x, weight, bias):  # type: ignore[no-untyped-def, override]
        centred = x - x.mean(-1, keepdim=True)
        inverse = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)
        normal = centred * inverse
        ctx.save_for_backward(normal, inverse, weight)
        return normal * weight + bias

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def, override]
        normal, inverse, weight = ctx.saved_tensors
        scaled = g * weight
        found = inverse * (scaled - scaled.mean(-1, keepdim=True) - (0 if Norm.fault == "term" else normal * (scaled * normal).mean(-1, keepdim=True)))
        if Norm.fault == "row":
            found[500] = 0
        if Norm.fault == "element":
            found[500, 17] *= 1.5
        return found, (g * normal).mean(0) if Norm.fault == "mean" else (g * normal).sum(0), g.sum(0)


@pytest.mark.parametrize("fault", ["", "term", "mean", "row", "element"])
def test_large_functions_are_decided(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one row, in which all rows are judged; where one is treated otherwise, at the recorded point."""
    monkeypatch.setattr(Norm, "fault", fault)
    shapes = [(1024, 32), (32,), (32,)]
    if not fault:
        assert gradcheck(Norm.apply, shapes)
        return
    with pytest.raises(GradcheckError) as found:
        gradcheck(Norm.apply, shapes)
    assert found.value.failed, str(found.value)


def test_large_functions_run_a_few_times_at_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cotangents of all sizes are tried at the first few rows, if the function does the same there."""
    from assay.testing import _elsewhere, _linearity, _single

    class Clipped(Norm):
        @staticmethod
        def backward(ctx, g):  # type: ignore[no-untyped-def, override]
            return Norm.backward(ctx, torch.where(g > 2.0**20, torch.ones_like(g), g))

    monkeypatch.setattr(_linearity, "MANY", 2**10)
    monkeypatch.setattr(_elsewhere, "MOST_ELEMENTS", 2**10)
    monkeypatch.setattr(_single, "MOST_ELEMENTS", 2**10)
    monkeypatch.setattr(_linearity, "ENOUGH", 2**8)
    rows: list[int] = []

    def function(*args):  # type: ignore[no-untyped-def]
        rows.append(args[0].shape[0])
        return Norm.apply(*args)

    shapes = [(64, 32), (32,), (32,)]
    assert gradcheck(function, shapes)
    assert rows.count(64) < 7 < len(rows)
    with pytest.raises(GradcheckError) as found:
        gradcheck(Clipped.apply, shapes)
    assert found.value.failed, str(found.value)


@pytest.mark.parametrize("decide", [
    lambda x: torch.where(torch.sign(x - 60) > 0, 2.0, 1.0), lambda x: 1.5 + 0.5 * torch.sign(x - 60), lambda x: 1 + torch.heaviside(x - 200, torch.tensor(0.0)),
    lambda x: torch.tensor([1.0, 1.0, 2.0])[torch.bucketize(x, torch.tensor([0.0, 50.0]))], lambda x: torch.tensor([1.0, 2.0])[torch.searchsorted(torch.tensor([30.0]), x)]])
def test_steps_of_an_input_in_a_backward_are_reached(decide) -> None:
    """Beyond what is drawn at first."""
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return 2 * x * g * decide(x)

    with pytest.raises(GradcheckError):
        gradcheck(Square.apply, [(4, 3)])


def judged(forward: object, backward: object, at: float) -> object:
    """The verdict on one run at a given point, which is where rounding decides."""
    from assay.torch import judge, record

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, g):  # type: ignore[no-untyped-def]
            return g * backward(*ctx.saved_tensors)

    x = torch.full((4,), at, requires_grad=True)
    with record({"x": x}) as run:
        torch.autograd.grad(Own.apply(x), x, torch.tensor([1.0, -2.0, 0.3, 0.7]))
    return judge(run, "gradcheck")


def rounded(x):  # type: ignore[no-untyped-def]
    return (x + 1e10) - 1e10


@pytest.mark.parametrize(("step", "at"), [
    (lambda x: torch.where(1 - torch.sigmoid(x) == 0, 2.0, 1.0), 30.0),
    (lambda x: torch.where((x + 1e10) - 1e10 >= x + 20, 5.0, 1.0), 2000.0),
    (lambda x: 1 + torch.floor(torch.sigmoid(x)), 30.0),
    (lambda x: 1 + torch.sigmoid(x).long(), 30.0),
    (lambda x: 1 + torch.trunc(torch.sigmoid(x)), 30.0),  # from here on inside of a region, or of an operation that jumps
    (lambda x: 1 + torch.div(torch.sigmoid(x), 1.0, rounding_mode="trunc"), 30.0),
    (lambda x: 1 + (rounded(x) - torch.remainder(rounded(x), 2048.0)) / 2048, 2000.0),
    (lambda x: 1 + (rounded(x) - torch.fmod(rounded(x), 2048.0)) / 2048, 2000.0),
    (lambda x: 1 + rounded(x) / 2048 - torch.frac(rounded(x) / 2048), 2000.0),
    (lambda x: 1 + F.hardshrink(rounded(x), 2020.0) / 2048, 2000.0),
    (lambda x: 1 + F.threshold(rounded(x), 2020.0, 0.0) / 2048, 2000.0),
])
def test_a_step_that_rounding_decides_is_no_proof(step: object, at: float) -> None:
    """Exact arithmetic takes the other branch, so that it says nothing about what was delivered."""
    report = judged(lambda x: x * x, lambda x: 2 * x * step(x), at)  # type: ignore[operator]
    assert not report.passed and not report.failed, report.text
    assert any(one.rule == "gradient.step" for one in report.findings)
    assert "rounding decided a step" in report.headline and "the derivative at the recorded point" not in report.text  # nobody is accused


@pytest.mark.parametrize("step", [torch.trunc, torch.frac, lambda x: torch.remainder(x, 7.0), lambda x: torch.fmod(x, 7.0), lambda x: F.hardshrink(x, 3.0)])
def test_a_step_of_an_input_is_no_doubt(step: object) -> None:
    for at in (2000.0, 7.0, -3.5):
        report = judged(lambda x: x * x, lambda x: 2 * x * (1 + 0 * step(x)), at)  # type: ignore[operator]
        assert report.passed, report.text


@pytest.mark.parametrize("at", [0.5, 9.0, 12.0, -12.0])
def test_a_branch_where_the_derivative_rounds_to_it_passes(at: float) -> None:
    def slope(x):  # type: ignore[no-untyped-def]
        y = torch.tanh(x)
        return torch.where(y.abs() == 1, 1e-20, 1 - y * y)

    report = judged(torch.tanh, slope, at)
    assert report.passed, report.text


@pytest.mark.parametrize("backward", [
    lambda g, x: 2 * x * g * (x - x) / (x - x), lambda g, x: 2 * x * g + g / (x - x), lambda g, x: 2 * x * g / (x > 1e9), lambda g, x: (torch.diag(2 * x * g) / torch.eye(4)).sum(0),
])
def test_a_product_that_divides_by_0_everywhere_fails(backward: object) -> None:
    """What it delivers is no finite number, and the derivative is one."""
    report = judged(lambda x: x * x, lambda x: backward(torch.ones(4), x), 3.0)  # type: ignore[operator]
    assert report.failed, report.text

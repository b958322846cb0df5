"""Functions as users write them, whose backward reads what the forward pass saved: right ones pass, and twins of them with a mistake do not.

Each kind was judged wrongly once: right ones were called wrong or undecided, or wrong ones passed.
"""
from __future__ import annotations

from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")

from assay import GradcheckError, GradcheckWarning, gradcheck  # noqa: E402

Pass = Callable[..., Any]


def made(forward: Pass, backward: Pass) -> Any:
    """A Function. The forward pass gives its result and what is saved; the backward gets its cotangent and what was saved."""
    def run(ctx: Any, *operands: Any) -> Any:
        y, saved = forward(*operands)
        ctx.save_for_backward(*saved)
        return y
    return type("Written", (torch.autograd.Function,), {"forward": staticmethod(run), "backward": staticmethod(lambda ctx, g: backward(g, *ctx.saved_tensors))})


def keeping(forward: Pass) -> Pass:
    """A forward pass that saves its result."""
    def run(x: Any) -> Any:
        y = forward(x)
        return y, (y,)
    return run


def verdict(function: Any, *inputs: Any, **options: Any) -> str:
    try:
        return "passed" if gradcheck(function.apply, list(inputs), **options) else ""
    except GradcheckError as error:
        return "failed" if error.failed else f"undecided: {error.report.findings[0].rule}"


def tau_by_count(z: Any) -> Any:
    s, _ = z.sort(-1, descending=True)
    sums = s.cumsum(-1) - 1
    count = (torch.arange(1, z.shape[-1] + 1) * s > sums).sum(-1, keepdim=True)
    return sums.gather(-1, count - 1) / count


def tau_by_maximum(z: Any, ordered: Any = None) -> Any:
    s = z.sort(-1, descending=True)[0] if ordered is None else ordered
    return ((s.cumsum(-1) - 1) / torch.arange(1, z.shape[-1] + 1, dtype=z.dtype)).amax(-1, keepdim=True)


def simplex(tau_of: Pass, is_right: bool = True) -> Any:
    """Sparsemax: the nearest point whose numbers are at least 0, and 1 together."""
    def backward(g: Any, y: Any) -> Any:
        taken = (y > 0).to(g.dtype)
        total = (g * taken).sum(-1, keepdim=True)
        return taken * (g - total / (taken.sum(-1, keepdim=True) if is_right else g.shape[-1]))
    return made(keeping(lambda z: (z - tau_of(z)).clamp(min=0)), backward)


def test_a_sort_whose_elements_are_compared_with_their_ranks() -> None:
    """At a point of another order, elements at the recorded places are not sorted, and a range of floats is no operand that may hold other numbers."""
    for tau_of in (tau_by_count, tau_by_maximum):
        assert verdict(simplex(tau_of), (3, 4)) == "passed"
        assert verdict(simplex(tau_of, False), (3, 4)) == "failed"
    assert verdict(simplex(lambda z: tau_by_maximum(z, z.topk(z.shape[-1], -1)[0])), (3, 4)) == "undecided: gradient.product"


RESULTS: dict[str, tuple[Pass, Pass, Pass | None]] = {
    "relu": (lambda x: x.relu(), lambda g, y: g * (y > 0), lambda g, y: g * (y >= 0)),
    "relu in place": (lambda x: x.clone().clamp_(min=0), lambda g, y: g.masked_fill(y <= 0, 0.0), lambda g, y: g),
    "product with a mask": (lambda x: x * (x > 0), lambda g, y: g * (y > 0), lambda g, y: g * (y > 1)),
    "choice by a mask": (lambda x: torch.where(x <= 0, 0.0, x), lambda g, y: g * (y > 0), lambda g, y: g * (y > 1)),
    "relu6": (torch.nn.functional.relu6, lambda g, y: g * ((y > 0) & (y < 6)), lambda g, y: g * (y > 0)),
    "hardtanh": (lambda x: x.clamp(-1, 1), lambda g, y: g * (y.abs() < 1), lambda g, y: g * (y > -1)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_compared_with_the_ends_of_their_range(name: str) -> None:
    """No input takes a relu below 0, so there is no side to be reached; the threshold itself is one."""
    forward, right, wrong = RESULTS[name]
    assert verdict(made(keeping(forward), right), (6,)) == "passed"
    assert verdict(made(keeping(forward), wrong), (6,)) == "failed"  # type: ignore[arg-type]


def test_a_range_says_nothing_of_a_difference() -> None:
    """torch.add(relu(x), one, alpha=-1) is below 0 at some inputs, and a wrong branch there is found."""
    function = made(keeping(lambda x: torch.add(x.relu(), torch.ones_like(x), alpha=-1)), lambda g, y: torch.where(y > -1, torch.where(y < 0, 2 * g, g), 0.0))
    assert verdict(function, (6,)) == "failed"


class Blockwise(torch.autograd.Function):
    """Attention over blocks of two keys, with a running maximum that begins at -infinity."""

    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any) -> Any:
        top, total, out = torch.full(q.shape[:-1], -torch.inf), torch.zeros(q.shape[:-1]), torch.zeros(*q.shape[:-1], v.shape[-1])
        for j in range(0, k.shape[-2], 2):
            scores = q @ k[..., j:j + 2, :].transpose(-1, -2)
            highest = torch.maximum(top, scores.amax(-1))
            p, shrinks = (scores - highest[..., None]).exp(), (top - highest).exp()
            total, out, top = total * shrinks + p.sum(-1), out * shrinks[..., None] + p @ v[..., j:j + 2, :], highest
        out = out / total[..., None]
        ctx.save_for_backward(q, k, v, out, top + total.log())
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        q, k, v, out, level = ctx.saved_tensors
        p = (q @ k.transpose(-1, -2) - level[..., None]).exp()
        scores = p * (g @ v.transpose(-1, -2) - (g * out).sum(-1, keepdim=True))
        return scores @ k, scores.transpose(-1, -2) @ q, p.transpose(-1, -2) @ g


def test_a_running_maximum_that_begins_at_minus_infinity() -> None:
    assert verdict(Blockwise, (4, 3), (5, 3), (5, 2)) == "passed"


def test_a_count_of_truth_values_as_a_divisor() -> None:
    """A loss over the targets that are not ignored: a count of truth values is a whole number at every point."""
    def forward(x: Any, t: Any) -> Any:
        kept, p = t != -100, x.log_softmax(-1)
        return -(p.gather(1, t.clamp(min=0)[:, None])[:, 0] * kept).sum() / kept.sum(), (p, t)

    def backward(g: Any, p: Any, t: Any) -> Any:
        kept = t != -100
        return g * (p.exp() - torch.nn.functional.one_hot(t.clamp(min=0), p.shape[1])) * kept[:, None] / kept.sum(), None
    targets = torch.tensor([0, 1, -100, 2])
    assert verdict(made(forward, backward), (4, 3), targets) == "passed"
    assert verdict(made(forward, lambda g, p, t: (backward(g, p, t)[0] * 0.75, None)), (4, 3), targets) == "failed"
    for targets in (torch.tensor([0, 1, 1, 2]), torch.tensor([2, 1, 0, 1])):  # none of them is ignored
        assert verdict(made(forward, backward), (4, 3), targets) == "passed"
        assert verdict(made(forward, lambda g, p, t: (backward(g, p, t)[0] * (t != -100).sum() / len(t), None)), (4, 3), targets) == "undecided: gradient.elsewhere"


STEEP: dict[str, tuple[Pass, Pass, Pass, int]] = {
    "softplus": (torch.nn.functional.softplus, lambda g, x: g * x.sigmoid(), lambda g, x: g * x.exp() / (1 + x.exp()), 1),
    "sigmoid": (torch.sigmoid, lambda g, x: g * x.sigmoid() * (1 - x.sigmoid()), lambda g, x: g * (-x).exp() / (1 + (-x).exp())**2, 1),
    "logsumexp": (lambda x: x.logsumexp(-1), lambda g, x: g[..., None] * x.softmax(-1), lambda g, x: g[..., None] * x.exp() / x.exp().sum(-1, keepdim=True), 2),
}


@pytest.mark.parametrize("name", STEEP)
def test_backwards_that_overflow_where_the_forward_pass_does_not(name: str) -> None:
    """exp(x) / (1 + exp(x)) is NaN from 89 on, where the derivative of softplus is 1."""
    forward, right, wrong, rank = STEEP[name]
    shape = (3, 4)[:rank]
    assert verdict(made(lambda x: (forward(x), (x,)), right), shape) == "passed"
    with pytest.raises(GradcheckError, match="shown by numbers of size 1") as error:
        gradcheck(made(lambda x: (forward(x), (x,)), wrong).apply, [shape])
    assert error.value.failed


def times(by: Pass) -> Any:
    return made(lambda x, s: (x * s, (x, s)), by)


def test_operands_that_are_repeated_though_none_of_those_asked_for_is() -> None:
    """A backward that decides by sizes which operand was repeated is judged with such operands, too."""
    right = times(lambda g, x, s: ((g * s).sum_to_size(x.shape), (g * x).sum_to_size(s.shape)))
    of_columns = times(lambda g, x, s: (g * s, (g * x).sum(0) if s.dim() < x.dim() else (g * x).mean(-1, keepdim=True) if s.shape[-1] == 1 else g * x))
    of_first = times(lambda g, x, s: ((g * s).sum_to_size(x.shape) * (1 if x.shape == g.shape else 0.5), (g * x).sum_to_size(s.shape)))
    for shapes in (((4, 3), (3,)), ((4, 3), (4, 3))):
        assert verdict(right, *shapes) == "passed"
        assert verdict(of_columns, *shapes) == "undecided: gradient.elsewhere"
        assert verdict(of_first, *shapes) == "undecided: gradient.elsewhere"


def attention(size_of: Pass) -> Any:
    def forward(q: Any, k: Any, v: Any) -> Any:
        p = (q @ k.transpose(-1, -2) * q.shape[-1]**-0.5).softmax(-1)
        return p @ v, (q, k, v, p)

    def backward(g: Any, q: Any, k: Any, v: Any, p: Any) -> Any:
        scores = g @ v.transpose(-1, -2)
        scores = p * (scores - (scores * p).sum(-1, keepdim=True)) * size_of(q, v)**-0.5
        return scores @ k, scores.transpose(-1, -2) @ q, p.transpose(-1, -2) @ g
    return made(forward, backward)


def test_a_size_of_the_wrong_operand_that_is_equal_at_the_shapes_asked_for() -> None:
    assert verdict(attention(lambda q, v: q.shape[-1]), (4, 3), (5, 3), (5, 3)) == "passed"
    assert verdict(attention(lambda q, v: v.shape[-1]), (4, 3), (5, 3), (5, 3)) == "undecided: gradient.elsewhere"


@pytest.mark.parametrize("is_argument", (True, False))
def test_inputs_are_not_repeated_along_targets(is_argument: bool) -> None:
    """The mean of squares by the number of elements of x is right for targets of the shape of x, for which it is meant."""
    target = torch.linspace(-1, 1, 12).reshape(4, 3)
    right, wrong = (made(lambda x, t: (((x - t)**2).mean(), (x, t)), lambda g, x, t, n=n: (g * 2 * (x - t) / (n or x.numel()), None)) for n in (0, 6))
    for function, expected in ((right, "passed"), (wrong, "failed")):
        if is_argument:
            assert verdict(function, (4, 3), target) == expected
        else:
            assert verdict(type("Closed", (), {"apply": staticmethod(lambda x, f=function: f.apply(x, target))}), (4, 3)) == expected


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return -0.5 * g


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, = ctx.saved_tensors
        return g * (x.abs() <= 1)


def test_declared_gradients_of_smooth_functions_and_of_single_elements() -> None:
    """A declared gradient is not compared with that of the forward pass, and counts where it is 0, too."""
    assert verdict(Reversed, (4, 3), surrogate={Reversed: lambda x: -0.5 * x}) == "passed"
    assert verdict(Reversed, (4, 3), surrogate={Reversed: lambda x: 0.5 * x}) == "failed"
    for x in (1.5, 0.5):
        point = torch.tensor(x).requires_grad_()
        assert verdict(Clipped, point, surrogate={Clipped: lambda x: x.clamp(-1, 1)}, allow_dead=True, allow_unreached=True) == "passed"
        assert verdict(Clipped, point, surrogate={Clipped: lambda x: 2 * x}, allow_dead=True, allow_unreached=True) == "failed"
    assert verdict(Clipped, (6,), surrogate={Clipped: lambda x: x.clamp(-1, 1)}) == "passed"


def of_type(is_right: bool) -> Any:
    """A backward that computes in float32 where it is given 16 bits."""
    return made(lambda x: (x.square(), (x,)), lambda g, x: (2 * g.float() * x.float()).to(x.dtype) * (1 if is_right else 0.5) if x.dtype == torch.float16 else 2 * g * x)


def test_gradients_that_are_wrong_in_16_bits_alone() -> None:
    assert verdict(of_type(True), (6,)) == "passed"
    assert verdict(of_type(False), (6,)) == "undecided: gradient.elsewhere"


@pytest.mark.parametrize("name", ("check_batched_grad", "check_batched_forward_grad", "check_fwd_over_rev"))
def test_options_that_ask_for_other_runs_are_named(name: str) -> None:
    with pytest.warns(GradcheckWarning, match=f"does not check what {name} asks for"):
        assert gradcheck(torch.tanh, [(3,)], **{name: True})

"""Checkpoints that the backward pass computes again: equal operations, writes in place, nested ones, several passes; and what differs in the second run."""
from __future__ import annotations

import functools
import itertools
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import create_selective_checkpoint_contexts  # noqa: E402

import assay.torch as recorder  # noqa: E402
from assay import GradcheckError, gradcheck  # noqa: E402
from torch_runs import summary, weighted  # noqa: E402

S = (3, 4)


def again(function: Callable[..., Any], *inputs: Any, **options: Any) -> Any:
    return torch.utils.checkpoint.checkpoint(function, *inputs, use_reentrant=False, **options)


class Sine(torch.autograd.Function):
    """A sine, and its derivative times a factor."""

    factor = 1.0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].cos() * Sine.factor


class Exponential(torch.autograd.Function):
    """A Function that keeps its result."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


def doubled(x: Any) -> Any:
    return x.sin() * x.sin()


def written(x: Any, how: Callable[[Any], Any]) -> Any:
    y = x * 2
    how(y)
    return y.exp() * y


def written_part(y: Any) -> None:
    y[:, :2] = y[:, 2:].sin()


def unwatched(x: Any) -> Any:
    with torch.no_grad():
        return x.sin()


def penalised(x: Any) -> Any:
    slope, = torch.autograd.grad(doubled(x).sum(), x, create_graph=True)
    return slope * x.sin()


def hooked(function: Callable[[Any], Any], pack: Callable[[Any], Any] = torch.clone) -> Callable[[Any], Any]:
    """The function, under hooks of the program's own for what autograd saves."""
    def run(a: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
            return function(a)
    return run


SELECTED = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
RIGHT: dict[str, Callable[[Any], Any]] = {
    "an operation twice": lambda a: again(doubled, a), "to the end": lambda a: again(doubled, a, early_stop=False), "maxima with 0": lambda a: again(lambda x: F.relu(x) * F.relu(x), a),
    "norms": lambda a: again(lambda x: F.layer_norm(x, (4,)) * F.layer_norm(x, (4,)) + F.batch_norm(x, None, None, training=True) * F.batch_norm(x, None, None, training=True), a),
    "a chain twice": lambda a: again(lambda x: x.tanh().exp() * x.tanh().exp(), a), "two checkpoints of one function": lambda a: again(doubled, a) * again(doubled, a),
    "the same outside": lambda a: a.sin().exp() * again(lambda x: x.sin().exp(), a) * a.sin().exp(),
    "nested": lambda a: again(lambda x: x.sin() * again(lambda z: again(doubled, z).exp() * z.sin(), x) * x.sin(), a),
    "one block with shared weights": lambda a: functools.reduce(lambda h, _: again(lambda x: F.linear(x, a.t() @ a).tanh() * F.linear(x, a.t() @ a).tanh(), h), range(3), a),
    "dropout": lambda a: again(lambda x: F.dropout(x.sin(), 0.5) * F.dropout(x.sin(), 0.5), a), "slopes that are drawn": lambda a: again(lambda x: F.rrelu(x, training=True) * F.rrelu(x, training=True), a),
    "parts": lambda a: again(lambda x: torch.mul(*x.chunk(2, 1)) * torch.mul(*x.chunk(2, 1)), a), "places": lambda a: again(lambda x: x.topk(2, 1).values * x.topk(2, 1).values, a),
    "a write": lambda a: again(lambda x: written(x, lambda y: y.add_(x.sin())) * x.clone().relu_() * x.clone().relu_(), a), "a write of a part": lambda a: again(lambda x: written(x, written_part), a),
    "a part that is read": lambda a: again(lambda x: written(x, lambda y: y[:, :2].sigmoid_()), a), "Functions": lambda a: again(lambda x: Sine.apply(x) * Sine.apply(x) * x.sin(), a),
    "Functions of Functions": lambda a: again(lambda x: Exponential.apply(x) * Sine.apply(Exponential.apply(x)) * x.exp(), a),
    "what is detached last": lambda a: again(lambda x: (lambda z: z.detach() * z)(x.sin()), a), "what is detached": lambda a: again(lambda x: x.detach().sin() * x.sin() * x.sin() * unwatched(x), a), "constants": lambda a: again(lambda x: x * torch.tensor([1.0, 2, 3, 4]) * x.sin() * torch.tensor([1.0, 2, 3, 4]), a),
    "systems": lambda a: again(lambda x: torch.linalg.solve(x[:, :3] + 5 * torch.eye(3), x) * torch.linalg.solve(x[:, :3] + 5 * torch.eye(3), x), a),
    "a pass inside": lambda a: again(penalised, a * 1), "two results": lambda a: torch.mul(*again(lambda x: (x.sin().exp(), x.sin().exp()), a)),
    "hooks that copy": hooked(lambda a: doubled(a) * F.layer_norm(a, (4,)) * Sine.apply(a) * a.detach()), "hooks around a checkpoint": hooked(
        lambda a: again(lambda x: doubled(x) * F.layer_norm(x, (4,)) * x.detach(), a)),
    "operations that are kept": lambda a: again(lambda x: (x @ x.t()).sin() * (x @ x.t()).sin(), a, context_fn=SELECTED)}


def judged(function: Callable[[Any], Any], passes: int = 1) -> Any:
    torch.manual_seed(3)
    a = torch.randn(S, requires_grad=True)
    with recorder.record({"a": a}) as run:
        y = weighted(function(a))
        for i in range(passes):
            y.backward(retain_graph=i + 1 < passes)
    return recorder.judge(run)


@pytest.mark.parametrize("name", RIGHT)
def test_right_checkpoints_pass(name: str) -> None:
    report = judged(RIGHT[name], 1 if name == "operations that are kept" else 2)
    assert report.passed, summary(report)


def test_right_checkpoints_pass_where_all_runs_are_judged() -> None:
    for name in ("nested", "a write of a part"):
        assert gradcheck(RIGHT[name], [S])
        assert gradcheck(RIGHT[name], [S], check_grad_grad=True)
    assert gradcheck(lambda a: again(lambda x: F.group_norm(x, 2) * F.group_norm(x, 2), a), [S], check_grad_grad=True)
    assert gradcheck(lambda a: again(lambda x: F.hardswish(x) * x, a), torch.linspace(-1, 1, 12).reshape(S).requires_grad_())  # a side is left out by PyTorch's own operation alone


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_right_recurrent_layers_in_a_checkpoint_pass(kind: Any) -> None:
    torch.manual_seed(0)
    layer, x = kind(3, 2), torch.randn(4, 2, 3)
    report = recorder.step(layer, lambda: weighted(again(layer, x)))
    assert report.passed, summary(report)


def in_turn(*given: Any) -> Callable[[], Any]:
    return functools.partial(next, itertools.cycle(given))


def kept_and_written(x: Any) -> Any:
    return x.exp().add_(1e-4) * x.exp()


def of_turns(function: Callable[[Any, Any], Any], *given: Any) -> Callable[[Any], Any]:
    """A checkpoint that is given another number when it is computed again."""
    turn = in_turn(*given)
    return lambda a: again(lambda x: function(x, turn()), a)


WRONG: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "another constant": lambda: of_turns(lambda x, c: x.sin() * c * x.exp() * x.sin(), 1.0, 1.0 + 1e-6), "another slope, of which no number tells": lambda: of_turns(
        lambda x, c: F.leaky_relu(x.abs() + 0.1, c) * x.sin() * x.sin(), 0.1, 0.2), "another order": lambda: of_turns(lambda x, c: x.sin() * x.cos() if c else x.cos() * x.sin(), True, False),
    "another epsilon": lambda: of_turns(lambda x, c: F.layer_norm(x, (4,), eps=c) * F.layer_norm(x, (4,)), 1e-5, 1e-3), "another mask": lambda: lambda a: again(
        lambda x: F.dropout(x.sin(), 0.5) * x.sin(), a, preserve_rng_state=False), "a result that is written": lambda: lambda a: again(kept_and_written, a),
    "a number inside of a nested one": lambda: (lambda turn: lambda a: again(lambda x: again(lambda z: z.sin() * turn() * z.sin(), x) * x.sin(), a))(in_turn(1.0, 1.0, 1.0001))}


@pytest.mark.parametrize("name", WRONG)
def test_a_checkpoint_that_computes_something_else_again_does_not_pass(name: str) -> None:
    report = judged(WRONG[name]())
    assert not report.passed
    assert name in ("another order", "a result that is written") or "a checkpoint computed other operations or numbers in the backward pass" in report.text, summary(report)


def test_hooks_that_save_another_number_are_found() -> None:
    assert judged(hooked(doubled, lambda saved: saved * (1 + 1e-6))).failed


def test_a_wrong_function_beside_its_twin_is_found() -> None:
    Sine.factor = 1 + 1e-4
    try:
        for function in (lambda x: Sine.apply(x) * x.sin(), lambda x: x.sin() * Sine.apply(x), lambda x: again(doubled, x) * Sine.apply(x)):
            assert judged(lambda a: again(function, a)).failed
            with pytest.raises(GradcheckError) as found:
                gradcheck(lambda a: again(function, a), [S])
            assert found.value.failed
    finally:
        Sine.factor = 1.0

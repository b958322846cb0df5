"""Products of zeros: no reason to stay undecided where another product of the run shows the same operation, and no gradient is 0.

Nor where parameters are 0 as a whole, and the step passes at other numbers for them."""
from __future__ import annotations

from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")

import assay  # noqa: E402
import assay.torch as recorder  # noqa: E402
from torch_runs import summary  # noqa: E402


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def recurrent(a: Any, b: Any, z: Any) -> Any:
    """The last state takes part in the output by a gain that is 0."""
    state, total = torch.zeros(4), 0.0
    for i in range(3):
        total = total + (state * a[i] + (a[i] * b).exp()).sum()
        state = (state * b).tanh() + a[i]
    return total + (state * z).sum()


PROGRAMS: dict[str, tuple[Callable[..., Any], str]] = {
    "a last state": (recurrent, "passed"),
    "a part of a stack": (lambda a, b, z: (torch.stack([a.exp(), a.sin()]) * torch.stack([z + 1, z])[:, None, None]).sum() + a.sin().sum() + b.sum(), "passed"),
    "an operation that nothing else shows": (lambda a, b, z: (a * b).sum() + (a.sin() * z).sum(), "undecided"),
    "a gradient that is 0": (lambda a, b, z: (a * 2 * a).sum() + (b * 2 * z).sum(), "undecided"),
    "a Function": (lambda a, b, z: (Twice.apply(a * b) * z).sum() + Twice.apply(b).sum() + a.sum(), "undecided"),
    "something else that is undecided": (lambda a, b, z: recurrent(a, b, z) + torch.lgamma(b).sum(), "undecided")}


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_of_zeros(name: str) -> None:
    torch.manual_seed(3)
    function, verdict = PROGRAMS[name]
    a, b, z = (one.requires_grad_() for one in (torch.randn(3, 4), torch.randn(4), torch.zeros(())))
    with recorder.record({"a": a, "b": b, "z": z}) as run:
        function(a, b, z).backward()
    report = recorder.judge(run)
    assert report.verdict == verdict, summary(report)
    assert verdict == "undecided" or "the same operation has another product" in report.text, report.text
    assert report.json["verdict"] == verdict and (verdict == "passed") == (report.exit_code == 0)


class Block(torch.nn.Module):
    """A residual block, whose last norm begins with zeros."""

    def __init__(self, middle: Any) -> None:
        super().__init__()
        self.first, self.last, self.norm, self.middle = torch.nn.Linear(6, 5), torch.nn.Linear(5, 6), torch.nn.BatchNorm1d(6), middle
        torch.nn.init.zeros_(self.norm.weight)

    def forward(self, x: Any) -> Any:
        return x + self.norm(self.last(self.middle(self.first(x))))


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3


def doubled(x: Any) -> Any:
    """A hook that changes its cotangent: 0 stays 0."""
    y = x.tanh()
    y.register_hook(lambda g: g * 2)
    return y


def test_a_parameter_that_begins_with_zeros() -> None:
    """Products behind it are dead, and are judged in a second run of the step, which leaves everything as it was."""
    calls = []
    for middle, wanted in ((torch.tanh, "passed"), (Twice.apply, "passed"), (Wrong.apply, "failed"), (lambda x: x.detach(), "undecided"), (doubled, "failed")):
        torch.manual_seed(3)
        model, x = Block(middle), torch.randn(7, 6)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def loss() -> Any:
            calls.append(float(torch.rand(())))
            return (model(x) * torch.rand(7, 6)).square().mean()
        report = recorder.step(model, loss, optimizer)
        assert report.verdict == wanted, summary(report)
        assert wanted != "passed" or "a second run, with other numbers for 'norm.weight', 'norm.bias', which are 0" in report.text, report.text
        assert wanted != "passed" or calls[-1] == calls[-2]  # the same random numbers
        # All is as after one step.
        other = Block(middle)
        torch.manual_seed(3)
        other, again = Block(middle), torch.randn(7, 6)
        plain = torch.optim.SGD(other.parameters(), lr=0.1, momentum=0.9)
        torch.rand(())
        (other(again) * torch.rand(7, 6)).square().mean().backward()
        plain.step()
        assert all(torch.equal(a, b) for a, b in zip([*model.state_dict().values(), *(p.grad for p in model.parameters() if p.grad is not None)],
                                                     [*other.state_dict().values(), *(p.grad for p in other.parameters() if p.grad is not None)]))


def test_a_loss_that_cannot_be_called_twice_stays_undecided() -> None:
    model, batches = Block(torch.tanh), iter([torch.randn(7, 6)])
    assert recorder.step(model, lambda: model(next(batches)).square().mean()).verdict == "undecided"


class Adapter(torch.nn.Module):
    """A layer with an adapter of low rank, whose second factor begins with zeros."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.layer, self.down, self.up, self.function = torch.nn.Linear(4, 3), torch.nn.Linear(4, 2, bias=False), torch.nn.Linear(2, 3, bias=False), function
        torch.nn.init.zeros_(self.up.weight)

    def forward(self, x: Any) -> Any:
        return self.layer(x) + self.up(self.function(self.down(x)))


class Late(torch.autograd.Function):
    """Loses its factor once its cotangent is not 0."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g if bool(g.any()) else g * 2


def test_gradcheck_moves_parameters_that_are_0() -> None:
    for function, wanted in ((torch.tanh, True), (Twice.apply, True), (Late.apply, False)):
        model = Adapter(function)
        try:
            assert assay.gradcheck(model, [(5, 4)], params=model) and wanted
        except assay.GradcheckError as error:
            assert not wanted and error.undecided and "with other numbers for 'up.weight', which are 0, the run is wrong: failed:" in str(error)
        assert not bool(model.up.weight.any())

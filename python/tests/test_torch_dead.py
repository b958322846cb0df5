"""Products of zeros: no reason to stay undecided where another product of the run shows the same operation, and no gradient is 0."""
from __future__ import annotations

from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")

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
    report = recorder.step({"a": a, "b": b, "z": z}, lambda: function(a, b, z))
    assert report.verdict == verdict, summary(report)
    assert verdict == "undecided" or "the same operation has another product" in report.text, report.text
    assert report.json["verdict"] == verdict and (verdict == "passed") == (report.exit_code == 0)

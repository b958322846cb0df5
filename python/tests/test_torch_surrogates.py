"""Functions of which another gradient is meant: their backward is judged by the function that the program declares."""
from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")

import assay.torch  # noqa: E402
from assay import GradcheckError, UsageError, gradcheck  # noqa: E402


class Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, lo: float, hi: float) -> Any:
        ctx.save_for_backward(x)
        ctx.bounds = lo, hi
        return x.round().clamp(lo, hi)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, = ctx.saved_tensors
        return g * ((x >= ctx.bounds[0]) & (x <= ctx.bounds[1])), None, None


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return (x > 0).float()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        s = torch.sigmoid(4 * ctx.saved_tensors[0])
        return 4 * g * s * (1 - s)


def test_a_declared_gradient_is_judged() -> None:
    def quantised(x: Any, w: Any) -> Any:
        return torch.tanh(Through.apply(x @ w, -1.0, 1.0))
    with pytest.raises(GradcheckError):
        gradcheck(quantised, [(4, 3), (3, 2)])
    before = vars(Through)["forward"]
    assert gradcheck(quantised, [(4, 3), (3, 2)], surrogate={Through: lambda x, lo, hi: x.clamp(lo, hi)})
    assert vars(Through)["forward"] is before
    with pytest.raises(GradcheckError, match="that it declares.*backward of Through"):
        gradcheck(quantised, [(4, 3), (3, 2)], surrogate={Through: lambda x, lo, hi: x})
    assert gradcheck(Spike.apply, [(4, 3)], surrogate={Spike: lambda x: torch.sigmoid(4 * x)})
    with pytest.raises(GradcheckError, match="that it declares"):
        gradcheck(Spike.apply, [(4, 3)], surrogate={Spike: lambda x: torch.sigmoid(5 * x)})


def test_a_report_says_that_a_gradient_was_declared() -> None:
    layer, x = torch.nn.Linear(3, 4), torch.randn(5, 3)
    def loss() -> Any:
        return Spike.apply(layer(x)).square().sum()
    report = assay.torch.step(layer, loss, surrogate={Spike: lambda x: torch.sigmoid(4 * x)})
    assert report.passed and "surrogate, not the derivative" in report.text and "surrogates: 1 product" in report.text
    with pytest.raises(GradcheckError, match="failed: .*declares"):
        assay.torch.check_step(layer, loss, surrogate={Spike: lambda x: x})


@pytest.mark.parametrize("given, words", [
    ({"Spike": torch.sigmoid}, "functions by torch.autograd.Function"), ({Spike: lambda x: x.sum()}, r"return one tensor of shape \[4, 3\]"),
    ({Spike: lambda x, offset=torch.ones(3): x * offset}, "no argument of Spike"), ({Spike: lambda x: x, Through: lambda x: x}, "Through did not run"),
])
def test_a_declaration_that_does_not_fit_is_refused(given: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        gradcheck(Spike.apply, [(4, 3)], surrogate=given)

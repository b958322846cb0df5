"""Functions that return one value several times, as views of it: each result has a cotangent of its own, and the backward has to add them up."""
from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
from assay import GradcheckError, gradcheck  # noqa: E402


def squares(views: Any, factors: tuple[float, ...]) -> Any:
    """x^2, and views of it; each cotangent is taken so many times."""
    class Squares(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            h = x * x
            return (h, *views(h))

        @staticmethod
        def backward(ctx: Any, *bars: Any) -> Any:
            x, = ctx.saved_tensors
            total = torch.zeros_like(x)
            for bar, factor in zip(bars, factors):
                total = total + factor * bar.reshape(x.shape)
            return 2 * x * total
    return Squares.apply


VIEWS = {"same shape": lambda h: (h.view(h.shape),), "flat": lambda h: (h.view(-1),), "twice": lambda h: (h.view(h.shape), h.view(h.shape)),
         "detached": lambda h: (h.detach(),)}


@pytest.mark.parametrize("name", VIEWS)
def test_results_that_are_views_of_one_another(name: str) -> None:
    count = 3 if name == "twice" else 2
    assert gradcheck(squares(VIEWS[name], (1.0,) * count), [(4, 3)])
    for wrong in range(count):
        for factor in (0.0, 2.0):
            factors = [factor if i == wrong else 1.0 for i in range(count)]
            with pytest.raises(GradcheckError) as failed:
                gradcheck(squares(VIEWS[name], tuple(factors)), [(4, 3)])
            assert failed.value.failed, (wrong, factor)


@pytest.mark.parametrize("use", [lambda h, v: h * h + 3 * v ** 3, lambda h, v: h + v.sin() * h, lambda h, v: v])
def test_what_comes_after_reads_the_result_that_it_was_given(use: Any) -> None:
    views = VIEWS["same shape"]
    assert gradcheck(lambda x: use(*squares(views, (1.0, 1.0))(x)), [(4, 3)])
    with pytest.raises(GradcheckError) as failed:
        gradcheck(lambda x: use(*squares(views, (1.0, 0.5))(x)), [(4, 3)])
    assert failed.value.failed

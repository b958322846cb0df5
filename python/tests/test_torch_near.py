"""Operations with rules of their own: right values and gradients pass, and fail when one element is off by a few widths of its contract."""
from __future__ import annotations

from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
from torch_bent import Bent, judged  # noqa: E402
from torch_runs import summary  # noqa: E402

INDEX = torch.tensor([[0, 1, 1, 2], [2, 2, 0, 0], [1, 0, 2, 1]])
MASK = torch.tensor([[True, False, True, True], [False, True, True, False], [True, True, False, False]])
# What runs, the operation whose result is bent, and those of the product.
NEAR: dict[str, tuple[Callable[..., Any], str, tuple[str, ...]]] = {
    "atan2": (torch.atan2, "atan2", ("mul", "neg")), "hypot": (torch.hypot, "hypot", ("mul", "div")),
    **{f"scatter_reduce by {how}": (lambda x, y, how=how: x.scatter_reduce(1, INDEX, y, how), "scatter_reduce", ("gather",)) for how in ("sum", "mean")},
    **{f"scatter_reduce by {how}": (lambda x, y, how=how: x.scatter_reduce(1, INDEX, y, how), "scatter_reduce", ("mul",)) for how in ("amax", "amin")},
    "scatter_reduce without itself": (lambda x, y: x.scatter_reduce(0, INDEX, y, "mean", include_self=False), "scatter_reduce", ("div",)),
    "masked_select": (lambda x, y: torch.masked_select(x, MASK) * torch.masked_select(y, MASK), "masked_select", ("masked_scatter",))}
WIDTHS = {"atan2": 3e-6, "hypot": 3e-6}
KINDS = [(torch.float32, 1.0), (torch.float64, 2.0 ** -29)]


def inputs(kind: Any) -> list[Any]:
    torch.manual_seed(5)
    return [torch.randn(3, 4, dtype=kind).requires_grad_() for _ in range(2)]


@pytest.mark.parametrize("kind, scale", KINDS)
@pytest.mark.parametrize("name", NEAR)
def test_values_and_gradients_that_are_nearly_right_are_found(name: str, kind: Any, scale: float) -> None:
    function, op, products = NEAR[name]
    run, report = judged(function, inputs(kind))
    assert report.passed and not run.opaque, summary(report)
    by = WIDTHS.get(name, 2e-6) * scale
    assert judged(function, inputs(kind), Bent(op, by))[1].failed
    for one in products:
        assert judged(function, inputs(kind), Bent(one, by), in_product=True)[1].failed, one


@pytest.mark.parametrize("quarter", range(4))
def test_angles_of_each_quarter(quarter: int) -> None:
    sides = [torch.rand(6) + 0.1, torch.rand(6) + 0.1]
    x, y = ((one * sign).requires_grad_() for one, sign in zip(sides, ((1, 1), (1, -1), (-1, 1), (-1, -1))[quarter]))
    assert judged(torch.atan2, [x, y])[1].passed
    assert judged(torch.atan2, [x, y], Bent("atan2", 3e-6))[1].failed

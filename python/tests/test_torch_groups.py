"""Experts by grouped products of matrices, and the counts of their tokens: right ones pass, also with experts without tokens, and bent ones fail."""
from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
if not hasattr(torch, "_grouped_mm"):
    pytest.skip("grouped products came with PyTorch 2.8", allow_module_level=True)
import assay.torch as recorder  # noqa: E402
from torch_bent import Bent, judged  # noqa: E402
from torch_runs import summary  # noqa: E402

EXPERTS, WIDTH = 5, 8


def experts(x: Any, router: Any, weight: Any) -> Any:
    """Each token goes to the two experts that the router prefers, in the order of the experts."""
    best, which = (x @ router).softmax(-1).topk(2, -1)
    chosen, order = which.reshape(-1).sort()
    ends = torch.histc(chosen.float(), bins=EXPERTS, min=0, max=EXPERTS - 1).cumsum(0, dtype=torch.int32)
    found = torch._grouped_mm(x[order // 2], weight, offs=ends) * best.reshape(-1)[order][:, None]
    return torch.zeros(len(order), weight.shape[-1]).index_add(0, order, found).reshape(*which.shape, -1).sum(1)


def drawn() -> list[Any]:
    torch.manual_seed(3)
    router = torch.randn(WIDTH, EXPERTS)
    router[:, 2] = 0.25 * router[:, 1]  # nearly nobody's first or second choice
    return [one.requires_grad_() for one in (torch.randn(4, WIDTH), router, torch.randn(EXPERTS, WIDTH, 4))]


@pytest.mark.parametrize("op, in_product", [("", False), ("_grouped_mm", False), ("_grouped_mm", True), ("histc", False)])
def test_experts(op: str, in_product: bool) -> None:
    run, report = judged(experts, drawn(), Bent(op, 1e-4 if op != "histc" else 0.0) if op else None, in_product)
    assert not run.opaque, run.opaque
    assert report.passed if op in ("", "histc") else report.failed, summary(report)


def test_counts_of_whole_numbers() -> None:
    x = torch.tensor([0.0, 2.0, 2.0, 7.0, -1.0, 5.0])
    for by, is_right in ((0.0, True), (0.5, False)):
        bent = Bent("histc", by)
        bent.is_on = True
        with bent, recorder.record({"x": x}) as run:
            torch.histc(x, bins=6, min=0, max=5)
        report = recorder.judge(run)
        assert not run.opaque and report.passed == is_right and report.failed != is_right, summary(report)
    with recorder.record({"x": x}) as run:
        torch.histc(x, bins=4, min=0, max=5), torch.histc(x + 0.5, bins=6, min=0, max=5)
    assert len(run.opaque) == 2


def test_groups_that_have_no_meaning_are_opaque() -> None:
    """Rows behind the last group are what memory held."""
    a, b = torch.randn(6, 8), torch.randn(2, 8, 4)
    with recorder.record({"a": a, "b": b}) as run:
        torch._grouped_mm(a, b, offs=torch.tensor([2, 4], dtype=torch.int32))
    assert run.opaque

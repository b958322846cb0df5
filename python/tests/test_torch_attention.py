"""Attention with masks: rows that may meet nothing, as those of padding in a window, have results and gradients of 0."""
from __future__ import annotations

import math
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
import torch.nn.functional as F  # noqa: E402

from torch_bent import Bent, judged  # noqa: E402
from torch_runs import summary  # noqa: E402

OPEN = torch.ones(5, 5, dtype=torch.bool).tril()
OPEN[2] = False
MASKS: dict[str, Callable[[], Any]] = {
    "truth values": lambda: OPEN, "minus infinity": lambda: torch.zeros(5, 5).masked_fill(~OPEN, -math.inf),
    "the least number": lambda: torch.zeros(5, 5).masked_fill(~OPEN, torch.finfo(torch.float32).min),  # equal weights in the row
    "for each head": lambda: torch.stack([OPEN, ~OPEN])[None], "all rows open": lambda: OPEN | torch.eye(5, dtype=torch.bool)}


def drawn() -> list[Any]:
    torch.manual_seed(3)
    return [torch.randn(1, 2, 5, 4).requires_grad_() for _ in range(3)]


@pytest.mark.parametrize("name", MASKS)
def test_rows_that_may_meet_nothing(name: str) -> None:
    run, report = judged(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=MASKS[name]()), drawn())
    assert report.passed and not run.opaque, summary(report)


@pytest.mark.parametrize("in_product", [False, True])
def test_a_result_that_is_off_is_found(in_product: bool) -> None:
    op = "_scaled_dot_product_flash_attention_for_cpu" + ("_backward" if in_product else "")
    bent = Bent(op, 1e-3)
    _, report = judged(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=MASKS["truth values"]()), drawn(), bent, in_product)
    assert report.failed, summary(report)

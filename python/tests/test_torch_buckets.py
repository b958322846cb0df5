"""Embeddings of places that the program computes: buckets of relative positions, which take log(0) and drop it, and indices that real numbers decide."""
from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
import torch.nn.functional as F  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import assay.torch as recorder  # noqa: E402
from torch_runs import summary  # noqa: E402

WORDS, BUCKETS = 7, 8


class Changed(TorchDispatchMode):
    """Adds one to the last element of each result of an operation."""

    def __init__(self, op: str) -> None:
        super().__init__()
        self.op = op

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        if str(function).split(".")[1] == self.op:
            found.view(-1)[-1] += 1
        return found


def buckets(is_kept: bool = False) -> Any:
    """Distances below 4 have a bucket each, others share buckets by their logarithms. The distance 0 becomes -infinity, and an integer that nothing defines."""
    distance = (torch.arange(WORDS)[None, :] - torch.arange(WORDS)[:, None]).abs()
    far = 4 + (torch.log(distance.float() / 4) / math.log(2) * 4).to(torch.long)
    far = torch.min(far, torch.full_like(far, BUCKETS - 1))
    return far if is_kept else torch.where(distance < 4, distance, far)


def judged(op: str = "", is_kept: bool = False) -> Any:
    torch.manual_seed(3)
    weight, scores = (torch.randn(shape).requires_grad_() for shape in ((BUCKETS, 2), (2, WORDS, WORDS)))
    with Changed(op), recorder.record({"weight": weight, "scores": scores}) as run:
        found = buckets(is_kept)
        bias = F.embedding(found.clamp(0, BUCKETS - 1), weight).permute(2, 0, 1)
        ((scores + bias).softmax(-1) * torch.randn(2, WORDS, WORDS)).sum().backward()
    return recorder.judge(run)


def test_buckets_of_relative_positions() -> None:
    report = judged()
    assert report.passed and report.count("vacuous") == 0, summary(report)
    for op in ("where", "clamp", "embedding_dense_backward"):
        assert judged(op).failed, op
    report = judged("minimum")  # judged as a part of the operation that reads it; the last element is that of the distance 0, which is dropped
    assert report.passed, summary(report)
    report = judged(is_kept=True)  # the undefined integers decide the result
    assert report.undecided and report.count("vacuous"), summary(report)


def test_integers_that_are_read_once_more_are_judged_where_they_are_defined() -> None:
    for op, is_right in (("", True), ("sub", False)):
        a = torch.tensor([[1.0, 0.0, 7.5]]).requires_grad_()
        with Changed(op), recorder.record({"a": a}) as run:
            whole = (a.detach() / a.detach().sign()).sub(1).log2().to(torch.long)  # -infinity, NaN and 2
            kept = torch.where(a.detach() > 5, whole - 1, 0) + torch.where(a.detach() > 6, whole, 0)
            (a * kept).sum().backward()
        report = recorder.judge(run)
        assert (report.passed, report.failed) == (is_right, not is_right), summary(report)


@pytest.mark.parametrize("op", ["", "embedding_dense_backward"])
def test_rows_that_real_numbers_choose(op: str) -> None:
    torch.manual_seed(3)
    x, weight = (torch.randn(shape).requires_grad_() for shape in ((5, 4), (4, 3)))
    with Changed(op), recorder.record({"x": x, "weight": weight}) as run:
        (F.embedding((x * 2).argmax(-1), weight) * x[:, :3]).tanh().sum().backward()
    report = recorder.judge(run)
    assert (report.passed, report.failed) == (not op, bool(op)), summary(report)

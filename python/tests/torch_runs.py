"""What the tests of the recorder share: one training step of a module, recorded and judged."""
from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
import assay.torch as recorder  # noqa: E402


def weighted(outputs: Any) -> Any:
    """A sum of all real outputs with random weights: its gradients are not symmetric, and few are 0."""
    flat = torch.utils._pytree.tree_leaves(outputs)
    real = [y for y in flat if isinstance(y, torch.Tensor) and y.is_floating_point()]
    return sum((y * torch.randn(y.shape, dtype=y.dtype)).sum() for y in real)


def step(module: Any, *inputs: Any, options: tuple[str, ...] = ()) -> Any:
    """The report of one forward and backward pass; inputs that require gradients get theirs."""
    with recorder.record(module) as run:
        for i, x in enumerate(inputs):
            if isinstance(x, torch.Tensor):
                run.input(f"input {i}", x)
        weighted(module(*inputs)).backward()
    return recorder.judge(run, "gradcheck", *options)


def summary(report: Any) -> str:
    """Why a report does not pass, in a few lines."""
    findings = [f"{one.rule}: {one.message[:300]} [{one.case}]" for one in report.findings if one.kind in ("fail", "undecided")]
    return "\n".join(findings[:6]) or report.text[-600:]

"""Records runs of PyTorch on the CPU and judges them (docs/reference/pytorch.md).

    with assay.torch.record(model) as run:
        loss(model(x)).backward()
    report = assay.torch.judge(run)
"""
from __future__ import annotations

from typing import Any as _Any

from .backward import Recorder
from .gates import Report, check_step, judge, step, trace_of
from .memory import Refused


def record(model: _Any = None, *, keeps_fused: bool = False, kinks: str = "any", surrogate: _Any = None) -> Recorder:
    """Record what PyTorch runs on the CPU inside of `with record(...) as run:`, `backward()`, `torch.autograd.grad` and optimisers too.

    Args:
        model: A module, a dict of tensors, or nothing: findings call parameters by these names.
        keeps_fused: Whether an `nn.LSTM` runs as oneDNN's one kernel for all steps, which is opaque, in place of step by step.
        kinks: "any", or "pytorch": the forward pass of each torch.autograd.Function runs again and PyTorch differentiates it, so that a gate
            with `--kinks pytorch` can compare its backward with that.
        surrogate: Functions of which another gradient is meant, each with the function whose gradient that is: `{ClampSTE: lambda x: x}`. It
            takes the arguments of the Function.

    Returns:
        The recording, for `judge(run)` and `trace_of(run)`. `run.input(name, tensor)` names one more tensor, before it is used.
    """
    return Recorder(model, keeps_fused=keeps_fused, kinks=kinks, surrogate=surrogate)


__all__ = ["Recorder", "Refused", "Report", "check_step", "judge", "record", "step", "trace_of"]

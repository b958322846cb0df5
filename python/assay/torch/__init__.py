"""Records runs of PyTorch on the CPU and judges them (docs/reference/pytorch.md).

    with assay.torch.record(model) as run:
        loss(model(x)).backward()
    report = assay.torch.judge(run)
"""
from __future__ import annotations

from .backward import Recorder
from .gates import Report, check_step, judge, step, trace_of
from .memory import Refused

record = Recorder

__all__ = ["Recorder", "Refused", "Report", "check_step", "judge", "record", "step", "trace_of"]

"""Eighty programs as users write them: each is recorded and judged, and passes. All figures: benchmarks/python/torch_campaign.py."""
from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
from torch_runs import recorder, summary  # noqa: E402
from user_programs import USERS  # noqa: E402


def test_there_are_eighty() -> None:
    assert len(USERS) >= 80


@pytest.mark.parametrize("name", USERS)
def test_program(name: str) -> None:
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, body = USERS[name]()
        with recorder.record(model) as run:
            body()
        report = recorder.judge(run, "gradcheck", "--allow-dead")
    assert report.passed, summary(report)

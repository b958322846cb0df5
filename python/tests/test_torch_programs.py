"""The recorder on many small programs: right ones pass, wrong ones fail with a name, what was not seen is refused."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
from torch_programs import CUT, FAIL, OPAQUE, PASS, PROGRAMS, REFUSED  # noqa: E402
from torch_runs import recorder, summary  # noqa: E402


@pytest.mark.parametrize("name, expected, message, build", PROGRAMS, ids=[one[0] for one in PROGRAMS])
def test_program(name, expected, message, build):
    torch.manual_seed(11)
    parameters, loss = build()
    if expected == REFUSED:
        with pytest.raises(recorder.Refused, match=message):
            recorder.step(parameters, loss)
        return
    report = recorder.step(parameters, loss)
    assert report.exit_code == {PASS: 0, FAIL: 1, OPAQUE: 3, CUT: 3}[expected], summary(report)
    assert message in report.text, report.text
    rule = {OPAQUE: "audit.opaque", CUT: "gradient.detached"}.get(expected)
    assert rule is None or any(one.rule == rule for one in report.findings)
    assert expected != CUT or recorder.step(parameters, loss, detached=True).passed


def test_names_are_of_one_program_each():
    assert len({one[0] for one in PROGRAMS}) == len(PROGRAMS) >= 120

"""Twenty families of models: one training step each, recorded and judged; the share of undecided elements is printed."""
from __future__ import annotations

import time

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
from families import FAMILIES  # noqa: E402
from torch_runs import recorder, summary  # noqa: E402

MOST = 0.01  # undecided
SHARES: dict[str, float] = {}


@pytest.mark.parametrize("name", FAMILIES)
def test_family(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(3)
    start = time.perf_counter()
    report = recorder.step(*FAMILIES[name]())
    SHARES[name] = report.undecided_share
    with capsys.disabled():
        print(f"\n{name:20} {sum(report.counts.values()):7} elements, {SHARES[name]:7.3%} undecided, {time.perf_counter() - start:5.2f} s", end="")
    assert not any(one.kind == "fail" for one in report.findings), summary(report)
    assert not any(one.rule == "gradient.missing" for one in report.findings), summary(report)


def test_all_families_are_decided() -> None:
    if len(SHARES) < len(FAMILIES):
        pytest.skip("not all families ran")
    assert len(FAMILIES) == 20
    assert all(share <= MOST for share in SHARES.values()), SHARES

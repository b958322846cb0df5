"""Symptoms that all wrong results of a kernel have in common, where no fault of the bank explains them."""
from __future__ import annotations

from typing import Sequence

import numpy as np

from assay._core.audits import Check
from assay._core.gate_reports import VACUOUS, Case

EARLIER = "gives the result of an earlier call with operands of the same shapes"
ZERO, NAN = "gives 0 where its contract has no 0", "gives NaN where its contract has numbers alone"
OF_EQUALS = "gives the place of another one of equals"
Judged = tuple[Check, Case]


def symptom(judged: Sequence[Judged]) -> str:
    """Words for a symptom of every wrong result; empty where they have none in common. `judged`: in the order of the calls."""
    failed = [one for one in judged if _is_wrong(one[1])]
    if failed and _are_earlier(judged):
        return EARLIER
    if failed and all(_is_place_of_equal(*one) for one in failed):
        return OF_EQUALS
    values = [_values(check, case) for check, case in failed]
    wrong = np.concatenate([one for one in values if one is not None]) if failed and all(one is not None for one in values) else np.zeros(0)
    if wrong.size and np.isnan(wrong).all():
        return NAN
    return ZERO if wrong.size and not wrong.any() and not any(map(_admits_zero, (case for _, case in failed))) else ""


def _admits_zero(case: Case) -> bool:
    """Whether the first or the worst element of a finding is wrong by the sign of a zero, or has a set that is no interval."""
    ends = [tuple(one["admitted"].get(end) for end in ("lo", "hi")) for finding in case.findings for one in (finding.first, finding.worst) if one and "admitted" in one]
    return any(lo is None or hi is None or isinstance(lo, (int, float)) and isinstance(hi, (int, float)) and lo <= 0 <= hi for lo, hi in ends)


def _is_wrong(case: Case) -> bool:
    return any(one.kind == "fail" and one.rule != VACUOUS for one in case.findings)


def _are_earlier(judged: Sequence[Judged]) -> bool:
    """Whether each wrong result has the bits of a right one of an earlier call, which had other operands, and more than one value."""
    right = dict[tuple[bytes, ...], tuple[bytes, ...]]()
    for check, case in judged:
        results, operands = tuple(one.data for one in check.results), tuple(one.data for one in check.operands)
        key = (repr([(one.dtype, one.shape) for one in (*check.results, *check.operands)]).encode(), *results)
        if not _is_wrong(case):
            right.setdefault(key, operands)
        elif right.get(key, operands) == operands or all(np.unique(one.numpy()).size < 2 for one in check.results):
            return False
    return True


def _is_place_of_equal(check: Check, case: Case) -> bool:
    """Whether each wrong place of a largest or least number has the value of the right place."""
    node = check.nodes[0]
    if len(check.nodes) != 1 or node["op"] not in ("arg_max", "arg_min") or not check.operands[0].dtype.startswith("float"):
        return False
    axis, x = node["attributes"]["axis"], check.operands[0].widened().numpy()
    if not x.size:
        return False
    lines = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
    places, every = check.results[0].numpy().reshape(-1), [at for one in case.findings if one.kind == "fail" for at in one.failed_at]
    right = (lines.argmax if node["op"] == "arg_max" else lines.argmin)(-1)
    def is_equal(at: int) -> bool:
        place = int(places[at])
        return 0 <= place < lines.shape[1] and place != right[at] and bool(lines[at, place] == lines[at, right[at]])
    return bool(every) and max(every) < len(lines) == places.size and all(map(is_equal, every))


def _values(check: Check, case: Case) -> np.ndarray | None:
    """The numbers of the elements that fail; nothing for several results, or for results that are no floats."""
    if len(check.results) != 1 or not check.results[0].dtype.startswith("float"):
        return None
    every = check.results[0].numpy().reshape(-1)
    places = [at for one in case.findings if one.kind == "fail" for at in one.failed_at]
    return every[places].astype(np.float64) if places and max(places) < every.size else None


__all__ = ["symptom"]

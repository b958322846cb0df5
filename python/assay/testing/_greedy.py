"""Can the largest logit of a row change under an execution model? Where no admitted execution has another one, the greedy token is certain."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable, Sequence

import numpy as np

from assay import ops
from assay._core import arguments
from assay._core.arrays import bits_of
from assay._core.audits import judge
from assay._core.gate_reports import counted
from assay.errors import UsageError
from ._contracts import check

_SHOWN = 8


@dataclasses.dataclass(repr=False)
class GreedyMargin:
    """The place of the largest logit of each row, and whether it is certain.

    Attributes:
        tokens: The places of the largest given logits, an array of the shape of the logits without their last axis.
        certain: Whether in every admitted execution the logit there is greater than all others of its row.
        margins: By how much the largest given logit of a row exceeds the next one.
    """

    tokens: np.ndarray
    certain: np.ndarray
    margins: np.ndarray

    @property
    def uncertain(self) -> list[tuple[int, ...]]:
        """The rows whose token may change."""
        return [tuple(int(i) for i in one) for one in np.argwhere(~self.certain)]

    @property
    def text(self) -> str:
        """The counts, and the first rows whose token may change."""
        rows = [f"  row {list(at)}: token {self.tokens[at]} leads by {self.margins[at]:.3g}" for at in self.uncertain]
        more = [f"  and {len(rows) - _SHOWN} more"] if len(rows) > _SHOWN else []
        return "\n".join([f"{int(self.certain.sum())} of {counted(self.certain.size, 'token')} cannot change", *rows[:_SHOWN], *more])

    def __repr__(self) -> str:
        return f"<GreedyMargin {int(self.certain.sum())} of {counted(self.certain.size, 'token')} cannot change>"


def greedy_margin(reference: Callable[..., Any], inputs: Sequence[Any], logits: Any, *, model: str | None = None) -> GreedyMargin:
    """Of each row of logits, whether the largest one is the largest in every execution that a model admits.

    Args:
        reference: The logits as a function in the words of `assay.ops`, such as `lambda hidden, weight: hidden @ weight`.
        inputs: Its operands, in float32 or float64.
        logits: The logits of the program, whose largest elements along the last axis are its tokens.
        model: The promise of the program, as for `assert_within_contract`.

    Returns:
        Tokens, and which of them are certain. Rows with NaN, or with two largest logits, are not certain.
    """
    arguments.function("reference", reference)
    found = bits_of(logits, "the logits")
    if found.dtype not in ("float32", "float64") or not found.shape or not found.shape[-1]:
        raise UsageError("wrong argument", where="logits", why=f"expected float32 or float64 with at least one logit in a row, got {found.dtype} {list(found.shape)}",
                         advice="give the logits before they are rounded to 16 bits", code="python.argument")
    array = found.numpy()
    tokens = np.asarray(array.argmax(-1))
    is_chosen = np.arange(array.shape[-1]) == tokens[..., None]

    def leads(*operands: Any) -> Any:
        value = reference(*operands)
        if tuple(value.shape) != array.shape:
            raise UsageError("wrong argument", where="logits", why=f"the reference has logits of the shape {list(value.shape)}, and the given ones {list(array.shape)}",
                             advice="give the logits that the program computes from these inputs", code="python.argument")
        below = ops.where(is_chosen, -np.inf, value)
        return ops.max(below, axis=-1) < ops.max(ops.where(is_chosen, value, -np.inf), axis=-1)

    certain = np.zeros(tokens.size, bool)
    if tokens.size:  # where the contract does not admit that the others reach it, no execution has that
        for finding in judge([check(leads, inputs, np.zeros(tokens.shape, bool), model=model)]).cases[0].findings:
            if finding.kind == "fail":
                certain[list(finding.failed_at)] = True
    rest = np.where(is_chosen, -np.inf, array).max(-1)
    with np.errstate(invalid="ignore"):
        return GreedyMargin(tokens, certain.reshape(tokens.shape), np.asarray(np.take_along_axis(array, tokens[..., None], -1)[..., 0] - rest))


__all__ = ["GreedyMargin", "greedy_margin"]

"""Which declaration would admit the results of a kernel that fails: an execution model, or a formula of its own."""
from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Sequence

from assay import ops
from assay._core.audits import Check, Refused, judge
from assay._core.execution_models import DEFAULT
from ._contracts import spelled
from ._plans import Probe
from ._references import with_expression

_TRIED, _MOST_ELEMENTS = 12, 1 << 13  # failing probes that are judged again, and the elements of their operands
_ONLINE = "softmax=online accumulator=tree tree_height=1281"
# Models by what a kernel does, for results that the default does not admit.
_MODELS = {"pytorch-cpu": "it calls PyTorch's functions on the CPU", "jax-cpu": "it calls JAX's functions on the CPU", "any-order sigmoid=tanh_form": "it computes a sigmoid by tanh",
           f"any-order {_ONLINE}": "it computes a softmax block by block", f"pytorch-cpu {_ONLINE}": "it calls PyTorch's functions and computes a softmax block by block",
           "any-order moments=welford": "it merges means and variances, as Welford's method does",
           "any-order flush_operands=yes flush_results=yes": "it replaces subnormal numbers by zero", "any-order math=cuda-13-fast": "it is compiled with fast mathematics, as by -use_fast_math"}
# Other formulas of an operation, as functions in the words of assay.ops and in print.
_FORMULAS: dict[str, list[tuple[Callable[..., Any], str]]] = {
    "log_softmax": [(lambda x, axis: x - ops.log_sum_exp(x, axes=[axis], keep_dims=True), "lambda x, axis: x - xp.log_sum_exp(x, axes=[axis], keep_dims=True)")],
    "hard_sigmoid": [(lambda x: ops.minimum(ops.maximum(x + 3, 0), 6) / 6, "lambda x: xp.minimum(xp.maximum(x + 3, 0), 6) / 6")],
}


def remedy(failed: Sequence[tuple[Probe, Check]], model: str | None) -> str:
    """The declaration under which failing probes of an operation lie in their contract, in words; empty where none does.

    Only probes with small operands are tried. So the words say what to declare, and not that the kernel is right.
    """
    tried = [one for one in failed if sum(math.prod(bits.shape) for bits in one[0].operands) <= _MOST_ELEMENTS][:_TRIED]
    if not tried:
        return ""
    found = "All failing probes" if len(tried) == len(failed) else f"Of the failing probes {len(tried)} were tried: all"
    for formula, words in _FORMULAS.get(tried[0][0].op, ()):
        checks = [_by_formula(probe, check, formula) for probe, check in tried]
        if _all_pass(checks):
            return f"{found} lie in the contract of another formula. If the kernel computes it, give it as the reference: audit_kernel({words}, ..., like='{tried[0][0].op}')"
    for other, does in _MODELS.items() if model in (None, DEFAULT) else ():
        if _all_pass([dataclasses.replace(check, model=spelled(other, check.operands)) for _, check in tried]):
            return f"{found} lie in the contract of model='{other}'. Declare it if {does}"
    return ""


def _by_formula(probe: Probe, check: Check, formula: Callable[..., Any]) -> Check:
    other = with_expression(probe, formula, probe.op)
    everything = [*probe.operands, *other.captured]
    return dataclasses.replace(check, nodes=other.nodes, operands=everything, outputs=other.outputs)


def _all_pass(checks: Sequence[Check]) -> bool:
    """Whether no element fails, and few are vacuous. Most wrong kernels fail on the first check already."""
    try:
        for part in (checks[:1], checks[1:]):
            cases = judge(part).cases if part else []
            if any(case.failed or case.unsupported or 4 * case.vacuous > case.judged for case in cases):
                return False
    except Refused:
        return False
    return True


__all__ = ["remedy"]

"""Checks for tests: is a result within its contract, and does a kernel survive its probes? Without a tolerance (docs/how-to/python-testing.md).

    from assay.testing import assert_within_contract, audit_kernel

    assert_within_contract("softmax", [x], y, attributes={"axis": -1}, model="pytorch-cpu")
    audit_kernel("softmax", my_softmax, attributes={"axis": -1})
"""
from typing import TYPE_CHECKING, Any

from assay._core.arrays import UnsupportedArray
from assay._core.audits import Check, Refused
from assay._core.gate_reports import Case, Finding, Report
from assay._core.shapes import Misfit
from assay._core.vocabulary import UnknownOperation, WrongAttributes
from ._contracts import ContractViolation, Declined, NotDecided, assert_within_contract, check, demand, within_contract

if TYPE_CHECKING:
    from ._greedy import GreedyMargin, greedy_margin
    from ._isolated import IsolatedKernel, KernelStopped
    from ._kernels import KernelReport, KernelWarning, audit_kernel
    from ._plans import Probe, probes
    from ._same_bits import assert_same_bits

__all__ = ["Case", "Check", "ContractViolation", "Declined", "Finding", "GreedyMargin", "IsolatedKernel", "KernelReport", "KernelStopped", "KernelWarning", "Misfit", "NotDecided", "Probe", "Refused", "Report",
           "UnknownOperation", "UnsupportedArray", "WrongAttributes", "assert_same_bits", "assert_within_contract", "audit_kernel", "check", "demand",
           "greedy_margin", "probes", "within_contract"]
_LATE = {"IsolatedKernel": "_isolated", "KernelStopped": "_isolated", "KernelReport": "_kernels", "KernelWarning": "_kernels", "audit_kernel": "_kernels", "Probe": "_plans", "probes": "_plans",
         "GreedyMargin": "_greedy", "greedy_margin": "_greedy", "assert_same_bits": "_same_bits"}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import each name that needs NumPy when it is used."""
    if name not in _LATE:
        raise AttributeError(f"assay.testing has no '{name}'")
    import importlib

    return getattr(importlib.import_module(f"assay.testing.{_LATE[name]}"), name)

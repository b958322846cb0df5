"""How a kernel stands in this benchmark: a function that makes it, right or with a planted fault, and the audit that a user would write."""
from __future__ import annotations

import dataclasses
import warnings
from typing import Any, Callable, Sequence

import assay
from assay.testing import audit_kernel

RIGHT = ""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A kernel, in whose manner it is written, and the faults that can be planted into it.

    Attributes:
        make: Makes the kernel from the name of a fault, or from `RIGHT`.
        audit: Judges a kernel.
        faults: For each fault a pattern of the words that name it rightly in a report; empty if the bank has no such name.
    """

    name: str
    manner: str
    make: Callable[[str], Any]
    audit: Callable[[Any], Any]
    faults: dict[str, str]


EVERY: dict[str, Entry] = {}


def entry(name: str, manner: str, audit: Callable[[Any], Any], **faults: str) -> Callable[[Any], Any]:
    """Enter a kernel into the list. The names of faults are written with underscores."""
    def take(make: Callable[[str], Any]) -> Callable[[str], Any]:
        assert name not in EVERY, name
        EVERY[name] = Entry(name, manner, make, audit, {key.replace("_", " "): words for key, words in faults.items()})
        return make
    return take


def by_probes(op: Any, **options: Any) -> Callable[[Any], Any]:
    """The audit of a kernel by its plan of probes."""
    return lambda kernel: audit_kernel(op, kernel, raises=False, **options)


def by_reference(reference: Callable[..., Any], inputs: Sequence[Any], **options: Any) -> Callable[[Any], Any]:
    """The audit of a Function, with its backward pass, by PyTorch code that computes the same."""
    def audit(function: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                assay.gradcheck(function, inputs, reference=reference, **options)
            except assay.GradcheckError as wrong:
                return wrong.report
        return None
    return audit

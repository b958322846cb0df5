"""The table of docs/reference/tested-operations.md: what `audit_kernel` takes by name, how it calls a kernel of it, and with which attributes.

    python python/tests/kernel_operations.py          prints the table
"""
from __future__ import annotations

import itertools
from typing import Iterator

from assay._core.vocabulary import DEFAULTS, ROWS, Row
from assay.testing._plans import NORMS, REGIONS

# The operands where letters say too little; those in brackets stand in some probes only.
OPERANDS = {"matmul": "a, b", "gemm": "a, b[, c]", "conv": "x, w[, bias]", "conv_transpose": "x, w[, bias]", "batch_norm": "x, scale, bias, mean, variance",
            "where": "condition, x, y", "take": "indices, x", "masked_softmax": "x, mask", "prelu": "x, slope", "power": "x, exponent",
            "attention": "query, key, value[, mask]"}
LINES = "Probes use every axis, and `attributes={\"axis\": -1}` leaves the last one"
NOTES = {
    "matmul": "Probes have matrices, vectors and batches of matrices. A kernel for matrices alone raises `NotImplementedError` for the others",
    "gemm": "alpha a b + beta c. `attributes={\"transpose_b\": True}` is a layer with weights [outputs, inputs]",
    "conv": "Layouts N C W, N C H W and N C D H W. `groups` and other attributes select among the probes", "gelu": "`tanh_form` True is the approximation by tanh",
    "masked_softmax": "`mask` is True where an element is open. A row with nothing open gives NaN, or 0 if `empty_is_zero`",
    "softmax": LINES, "log_softmax": LINES, "normalise": "[Five forms](../how-to/python-testing.md#defaults-of-attributes), such as `\"root_mean\"`",
    "attention": "The scores are divided by sqrt(d). `mask` is True where a query uses a key; a query without keys gives 0",
    "silu": "`alpha` 1 is SiLU, and other values are Swish", "where": "`condition` is of type bool",
    "take": "`indices` are integers", "mod": "`truncated` False has the sign of y, and True that of x"}
NORM = "`epsilon` is 1e-5; `attributes={\"epsilon\": 1e-6}` sets another, which the kernel need not take"


def operands_of(row: Row) -> str:
    few = list(itertools.islice("xyz", row.least))
    return OPERANDS.get(row.name, ", ".join([*few, "..."] if row.most is None else few))


def attributes_of(name: str) -> dict[str, str]:
    """Attribute -> its default, or nothing where the kernel has to take it; those that mean nothing for the operation are left out."""
    defaults = DEFAULTS.get(name, {})
    return {word: str(defaults[word]).replace("inf", "infinity") if word in defaults else "" for word in ROWS[name].attributes if defaults.get(word) is not ...}


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Name, call, attributes with defaults, and note."""
    for name, row in ROWS.items():
        words = attributes_of(name)
        call = ", ".join([operands_of(row), *(word for word, default in words.items() if not default)])
        yield name, f"`kernel({call})`", ", ".join(f"`{word}` {default}" for word, default in words.items() if default), NOTES.get(name, "")
    for name, operands in REGIONS.items():
        note = NOTES.get(name, NORM if name in NORMS else "`epsilon` is 1e-5" if " norm " in name else "")
        yield name, f"`kernel({OPERANDS.get(name, operands.replace(' ', ', ').replace(', mask', '[, mask]'))})`", "", note


def table() -> list[str]:
    """In Markdown: names that share all other columns stand in one line."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for name, *others in rows():
        groups.setdefault(tuple(others), []).append(name)
    lines = [f"| {', '.join(sorted(names))} | {' | '.join(others)} |" for others, names in sorted(groups.items(), key=lambda one: min(one[1]))]
    return ["| Name | The kernel is called as | Optional parameters, with defaults | Note |", "| --- | --- | --- | --- |", *(line.replace("|  |", "| |").replace("|  |", "| |") for line in lines)]


if __name__ == "__main__":
    print("\n".join(table()))

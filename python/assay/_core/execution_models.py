"""Execution models by name: what `assay verify --semantics float32:NAME` calls them, and their spellings in traces.

A trace says what ran, so that `rewrites` of a graph, which a theorem about `onnxruntime` admits, are not among the fields here.
"""
from __future__ import annotations

from assay.errors import UsageError, wrong

_ANY = "binary32 accumulator=any_order"
NAMED = {
    "any-order": f"{_ANY} math=any-library",
    "onnxruntime": f"{_ANY} moments=one_or_two_pass math=onnxruntime",
    "pytorch-cpu": f"{_ANY} math=pytorch-cpu",
    "jax-cpu": f"{_ANY} flush_operands=yes flush_results=yes math=xla-cpu",
    "cuda": f"{_ANY} math=cuda-13",
    "tf32": f"{_ANY} inputs=tf32 math=cuda-13",
    "bfloat16": f"{_ANY} storage=bfloat16 math=any-library",
    "float16": f"{_ANY} storage=binary16 math=any-library",
    "float64": "binary64 accumulator=any_order math=any-library",
}
DEFAULT = "any-order"


def spelling(model: str | None, *, wide: bool = False) -> str:
    """The spelling of a named model, or the text itself where it is one; of None the default's. `wide`: elements are float64.

    "any-order accumulator=tree tree_height=64" is a named model with fields of its own.
    """
    if model is not None and not isinstance(model, str):
        raise wrong("model", "the name or the spelling of an execution model (docs/contracts/execution-models.md)", model)
    name, _, fields = (model or DEFAULT).strip().partition(" ")
    text = f"{name} {fields}".strip() if name in ("binary32", "binary64") else _named(name, fields)
    return text.replace("binary32", "binary64", 1) if wide else text


def _named(name: str, fields: str) -> str:
    if name not in NAMED:
        raise UsageError(f"unknown execution model '{name}'; take one of {', '.join(NAMED)}, or a text that begins with binary32 or binary64")
    parts = dict(part.partition("=")[::2] for part in NAMED[name].split()[1:])
    own = [part.partition("=")[::2] for part in fields.split()]
    if len(dict(own)) < len(own):
        raise wrong("model", "each field of an execution model once", f"{name} {fields}")
    parts.update(own)
    if (parts["accumulator"] == "tree") != ("tree_height" in parts):
        raise wrong("model", "accumulator=tree and tree_height together, such as 'any-order accumulator=tree tree_height=1088'", f"{name} {fields}".strip())
    return " ".join([NAMED[name].split()[0], *(f"{key}={word}" for key, word in parts.items())])

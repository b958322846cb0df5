"""The native half. Private: its functions take and give plain values, and the rest of the package makes them pleasant.

Tensors go in and out as (dtype, shape, bytes): dtype is "float32", "float64", "float16", "bfloat16", "complex64", "int8" to "int64",
"uint8" to "uint64" or "bool" (one byte, 0 or 1); shape is a sequence of extents; bytes is any contiguous buffer, little endian, dense and
row-major, copied before anything else happens. float16 and bfloat16 are widened to float32, exactly; a result of these types is judged as
what is stored of a float32.

Wrong values raise exceptions of assay.errors, wrong types these or TypeError. All functions release the interpreter's lock while they
work, and Ctrl-C ends each with KeyboardInterrupt.
"""
from typing import Any, Callable, Mapping, Optional, Sequence

from typing_extensions import Buffer

Tensor = tuple[str, Sequence[int], Buffer]
Counts = dict[str, int]  # elements: "passed", "failed", "vacuous", "unsupported"
Checked = tuple[str, Counts, str]  # "passed", "vacuous", "undecided" or "failed"; counts; text: why, with numbers, formulas and patterns

def ops() -> list[str]:
    """The names of all operations, as docs/ops has them."""

def parse_model(text: str) -> str:
    """The canonical spelling of an execution model: "binary32 math=cuda-13", or a name such as "cuda" (assay verify --help lists them)."""

def check_contract(op: str, attributes: Optional[Mapping[str, Any]], model: str, operands: Sequence[Tensor], result: Tensor) -> Checked:
    """Is this one op's result on these operands? `attributes` are those of docs/ops; what is left out has its default.

    Attributes that do not fit, and operands that the op does not take, raise. A result of another type or shape than the op gives is
    "failed", as is one whose values are outside of the contract.
    """

def check_region(nodes: str, model: str, operands: Sequence[Tensor], results: Sequence[Tensor]) -> Checked:
    """The same for a graph of several ops: `nodes` is JSON, {"nodes": [...], "outputs": [...]}, as a region of docs/trace-format.md.

    Value numbers count the operands first, then the nodes. Without "outputs" the last len(results) nodes are the results.
    """

def infer_region(nodes: str, operands: Sequence[tuple[str, Sequence[int]]], results: int = 1) -> list[tuple[str, tuple[int, ...]]]:
    """(dtype, shape) of each result of such a graph, on operands of these (dtype, shape)."""

def probes(op: str, *, dtype: str = "float32", seed: int = 1, large: bool = True, blocks: bool = True,
           strided: bool = False) -> list[dict[str, Any]]:
    """The probe plan of an op (docs/probes.md): dicts with "name", "application", "kind", "layout", "op", "attributes" (a dict, all of them)
    and "operands", a list of (dtype, shape, bytes), dense whatever the layout is.

    dtype ("float32" or "float64") is that of reals. large: also shapes around tiles and beyond; blocks: also lines of 65,537 elements;
    strided: also probes whose operands are not dense in memory.
    """

# A kernel: (op, attributes, operands, result) -> None, a buffer, or NotImplemented.
# operands: list of (dtype, shape, strides, memory), strides in elements; result: (dtype, shape, memory), dense.
# memory is a writable memoryview of bytes in which the first element is at 0; the result's is poisoned. On either side of each lie
# 64 bytes that nobody may write. None says that the result was written into its memory; a buffer (of the result's bytes) is taken instead of
# it; NotImplemented declines the launch. An exception ends the audit and passes through.
Kernel = Callable[[str, dict[str, Any], list[tuple[str, tuple[int, ...], tuple[int, ...], memoryview]],
                   tuple[str, tuple[int, ...], memoryview]], Any]

def audit_kernel(op: str, kernel: Kernel, model: str, *, dtype: str = "float32", seed: int = 1, large: bool = True, blocks: bool = True,
                 strided: bool = False, trace: bool = False) -> dict[str, Any]:
    """Runs the probe plan of an op through a kernel and judges every result: "kind", "counts" and "text" as of Checked, "probes" (how many ran),
    "faults" and "declined", lists of (probe, rejection): see `lint` for the latter's form. With trace also "trace", the runs as the bytes of a
    trace.

    Each probe runs twice, on memory that is poisoned differently. Fault codes: probe.unwritten (an element of the result was left as it
    was), probe.operand (an operand was written), probe.unsteady (another result from the same operands), probe.guard (memory next to an
    operand or the result was written). The text names faults of the bank that would explain a wrong result. With strided=True operands come
    in the layout of the probe, otherwise dense.
    """

def verify(model: str, property: str, *, certificate: Optional[str] = None, semantics: Optional[str] = None, timeout: float = 0.0,
           threads: int = 2, seed: int = 1, memory: Optional[int] = None, budget: Optional[float] = None, branching: str = "auto",
           attack: bool = True, progress: Optional[Callable[[dict[str, Any]], object]] = None) -> dict[str, Any]:
    """Model, property and certificate are paths; timeout 0 means none."""

def check(model: str, property: str, certificate: str, *, exact: bool = False, semantics: Optional[str] = None,
          memory: Optional[int] = None, budget: Optional[float] = None) -> dict[str, Any]:
    """With property "", model is a statement file."""

def bounds(model: str, property: str, *, semantics: Optional[str] = None, method: str = "crown", timeout: float = 60.0,
           outputs_only: bool = False, memory: Optional[int] = None, budget: Optional[float] = None) -> dict[str, Any]: ...
def lint(model: str, *, memory: Optional[int] = None) -> list[dict[str, str]]:
    """Rejections: dicts with kind, code, place, required, found and advice."""

def statement(model: str, property: str, *, semantics: Optional[str] = None, memory: Optional[int] = None,
              budget: Optional[float] = None) -> dict[str, Any]: ...
def describe(model: str, *, memory: Optional[int] = None) -> dict[str, Any]: ...
def evaluate(model: str, inputs: Mapping[str, tuple[bytes, bytes]], cotangents: Mapping[str, tuple[bytes, bytes]], *,
             memory: Optional[int] = None) -> dict[str, Any]:
    """Ends of intervals as bytes of float64, row-major."""

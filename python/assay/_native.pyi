"""The native half. Private: its functions take and give plain values, and the rest of the package makes them pleasant.

Wrong values raise exceptions of assay.errors, wrong types these or TypeError. All functions release the interpreter's lock while they
work, and Ctrl-C ends each with KeyboardInterrupt.
"""
from typing import Any, Callable, Mapping, Optional

Edits = list[tuple[str, str]]  # options of the programs with which a model is read, such as ("--dim", "seq=16")

def verify(model: str, property: str, *, certificate: Optional[str] = None, semantics: Optional[str] = None, timeout: float = 0.0,
           threads: int = 2, seed: int = 1, memory: Optional[int] = None, budget: Optional[float] = None, branching: str = "auto",
           attack: bool = True, progress: Optional[Callable[[dict[str, Any]], object]] = None,
           edits: Edits = []) -> dict[str, Any]:
    """Model, property and certificate are paths; timeout 0 means none."""

def check(model: str, property: str, certificate: str, *, exact: bool = False, semantics: Optional[str] = None,
          memory: Optional[int] = None, budget: Optional[float] = None, edits: Edits = []) -> dict[str, Any]:
    """With property "", model is a statement file."""

def bounds(model: str, property: str, *, semantics: Optional[str] = None, method: str = "crown", timeout: float = 60.0,
           outputs_only: bool = False, memory: Optional[int] = None, budget: Optional[float] = None, edits: Edits = []) -> dict[str, Any]: ...
def lint(model: str, *, memory: Optional[int] = None, edits: Edits = []) -> list[dict[str, str]]:
    """Rejections: dicts with kind, code, place, required, found and advice."""

def statement(model: str, property: str, *, semantics: Optional[str] = None, memory: Optional[int] = None,
              budget: Optional[float] = None, edits: Edits = []) -> dict[str, Any]: ...
def describe(model: str, *, memory: Optional[int] = None, edits: Edits = []) -> dict[str, Any]: ...
def evaluate(model: str, inputs: Mapping[str, tuple[bytes, bytes]], cotangents: Mapping[str, tuple[bytes, bytes]], *,
             memory: Optional[int] = None, edits: Edits = []) -> dict[str, Any]:
    """Ends of intervals as bytes of float64, row-major."""

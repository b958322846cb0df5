"""Assay: verification of neural networks with proofs that a small kernel checks, and contracts for kernels and gradients.

    import assay
    result = assay.verify("model.onnx", [assay.Box(image, 0.03), assay.Robust(label)], timeout=60)
    result.answer                      # "unsat": no point of the box changes the label
    result.check().verdict             # "accepted", by the kernel, from the certificate alone

Everything is imported when it is first used.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ._verify.functions import bounds as bounds, check as check, evaluate as evaluate, explain as explain, inspect as inspect, lint as lint
    from ._verify.functions import statement as statement
    from ._verify.functions import verify as verify
    from ._verify.models import Model as Model
    from ._verify.properties import Box as Box, Linear as Linear, Robust as Robust
    from ._verify.answers import Bounds as Bounds, Check as Check, Enclosures as Enclosures, Finding as Finding, NodeBounds as NodeBounds
    from ._verify.answers import Result as Result, Statement as Statement
    from ._verify.robust_runs import Run as Run, robust as robust
    from .testing._gradcheck import GradcheckError as GradcheckError, GradcheckWarning as GradcheckWarning, gradcheck as gradcheck
    from .errors import Error as Error, InternalError as InternalError, MalformedInput as MalformedInput, Rejected as Rejected
    from .errors import Undecided as Undecided, Unsupported as Unsupported, UsageError as UsageError

# Name -> where it is.
_HOMES = {
    **dict.fromkeys(("verify", "check", "bounds", "lint", "statement", "inspect", "evaluate", "explain"), "_verify.functions"),
    "Model": "_verify.models",
    **dict.fromkeys(("Box", "Robust", "Linear"), "_verify.properties"),
    **dict.fromkeys(("Result", "Check", "Bounds", "NodeBounds", "Finding", "Statement", "Enclosures"), "_verify.answers"),
    **dict.fromkeys(("Error", "UsageError", "MalformedInput", "Unsupported", "Undecided", "Rejected", "InternalError"), "errors"),
    **dict.fromkeys(("robust", "Run"), "_verify.robust_runs"),
    **dict.fromkeys(("gradcheck", "GradcheckError", "GradcheckWarning"), "testing._gradcheck"),
    "compare": "onnxruntime"}
_MODULES = ("errors", "testing", "ops", "certificate", "torch", "onnxruntime", "pytest_plugin")

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES and name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    try:
        home = importlib.import_module("." + _HOMES.get(name, name), __name__)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "numpy"):
            raise
        from .errors import UsageError
        raise UsageError(f"the package {error.name} is not installed", where=f"assay.{name}", advice=f"pip install {error.name}") from None
    if name in _MODULES:
        return home
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

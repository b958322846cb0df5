"""Wrong arguments of what tests kernels, gradients and runtimes: exceptions of our own, too."""
from __future__ import annotations

import contextlib
import importlib
import os
import random
import warnings
from typing import Any, Callable

import numpy as np
import pytest

import assay
import assay.onnxruntime
import assay.testing
from conftest import DIGITS

CALLS = int(os.environ.get("ASSAY_FUZZ_TOOLS", "600"))


def torch_or_none() -> Any:
    with contextlib.suppress(ImportError):
        return importlib.import_module("torch")
    return None


def pool() -> list[Any]:
    found: list[Any] = [None, True, 0, -1, 3, 2**70, 1.5, float("nan"), float("inf"), "", "x", "softmax", "add", "\0", str(DIGITS), str(DIGITS / "digits.onnx"), b"", b"abc", [], [1], {}, {"a": 1},
                        {1: 2}, (), (3, 4), np.zeros(3), np.zeros((2, 3), np.float32), np.zeros(2, complex), np.array(["a"]), np.zeros((0, 3)), lambda x: x, lambda *a, **k: None, object(),
                        int, assay.Robust(1), "any-order", "binary32", range(3), {1, 2}]
    if torch := torch_or_none():
        found += [torch.zeros(2, 3), torch.zeros(2, 3, requires_grad=True), torch.zeros(2, dtype=torch.bfloat16), torch.zeros(2, dtype=torch.complex64), torch.zeros(3, device="meta"),
                  torch.zeros(2, 2).to_sparse(), torch.nn.Linear(3, 2), torch.sin]
    return found


def entries(any_of: Callable[[], Any], several: Callable[[], Any], draw: random.Random) -> dict[str, Callable[[], Any]]:
    def contract() -> Any:
        return assay.testing.assert_within_contract(draw.choice(["softmax", "add", any_of()]), several(), any_of(), attributes=draw.choice([None, {"axis": -1}, any_of()]),
                                                    model=draw.choice(["any-order", any_of()]))
    found = {"contract": contract, "kernel": lambda: assay.testing.audit_kernel(draw.choice(["nope", any_of()]), any_of(), model=any_of()),
             "probes": lambda: assay.testing.probes(draw.choice(["nope", any_of()]), attributes=any_of()), "record": lambda: assay.onnxruntime.record(any_of(), several()),
             "compare": lambda: assay.compare(any_of(), several(), runners=several())}
    if torch_or_none() is not None:
        import assay.torch as recorder

        def function() -> Any:  # what a function of the caller's raises is the caller's
            one = any_of()
            return (lambda *given: given[:1]) if callable(one) else one
        found |= {"gradcheck": lambda: assay.gradcheck(function(), several(), params=draw.choice([None, any_of()])), "recorder": lambda: recorder.record(any_of()),
                  "judge": lambda: recorder.judge(any_of(), any_of())}
    return found


@pytest.mark.filterwarnings("ignore")
def test_any_arguments_at_all() -> None:
    draw, values = random.Random(int(os.environ.get("ASSAY_FUZZ_SEED", "1"))), pool()
    def any_of() -> Any:
        return draw.choice(values)
    def several() -> Any:
        return draw.choice([any_of(), [any_of()], [any_of(), any_of()], (any_of(),)])
    calls, refused = entries(any_of, several, draw), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(CALLS):
            name = draw.choice(sorted(calls))
            try:
                calls[name]()
            except (assay.Error, assay.testing.ContractViolation, assay.testing.NotDecided):
                refused += 1
    assert refused > 0.8 * CALLS


def test_what_is_said() -> None:
    for wrong, words in [(lambda: assay.compare(str(DIGITS / "digits.onnx"), [1]), "inputs.*names to arrays"), (lambda: assay.onnxruntime.record(b"junk", {}), "the ONNX model"),
                         (lambda: assay.compare(str(DIGITS / "digits.onnx"), {}, runners=3), "runners"), (lambda: assay.testing.probes(3), "op.*a text"),
                         (lambda: assay.testing.audit_kernel("relu", 3), "kernel.*a function")]:
        with pytest.raises(assay.Error, match=words):
            wrong()

"""Traces of Functions that write to a part of a large tensor: they grow by rows and blocks, not by elements, and are judged."""
from __future__ import annotations

import json
import struct
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
from assay import GradcheckError, gradcheck  # noqa: E402
from assay.torch import Refused, gates, judge, record  # noqa: E402
from assay.torch.nodes import MANY  # noqa: E402

SHAPE = (128, 96)  # three times the elements that are listed one by one


def row(y: Any, factor: float) -> None:
    y[7] *= factor


def rows(y: Any, factor: float) -> None:
    y[40:56] *= factor


def column(y: Any, factor: float) -> None:
    y[:, 3] *= factor


def columns(y: Any, factor: float) -> None:
    y[:, 16:48] *= factor


def block(y: Any, factor: float) -> None:
    y[8:12, 60:] *= factor


def element(y: Any, factor: float) -> None:
    y.view(-1)[1234] *= factor


def last(y: Any, factor: float) -> None:
    y[-1, -1] *= factor


def picked_rows(y: Any, factor: float) -> None:
    at = torch.tensor([90, 2, 5])
    y[at] = y[at] * factor


def every_second(y: Any, factor: float) -> None:
    y[:, ::2] *= factor


PARTS = [row, rows, column, columns, block, element, last, picked_rows, every_second]


def of_part(write: Any, factor: float = 2.0) -> Any:
    """x^2, of which a part is doubled in place, and a backward that writes in place, too."""
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            y = x * x
            write(y, 2.0)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            found = 2 * ctx.saved_tensors[0] * g
            write(found, factor)
            return found
    return Own.apply


def header(trace: bytes) -> Any:
    size, = struct.unpack("<Q", trace[:8])
    return json.loads(json.loads(trace[8:8 + size])["__metadata__"]["assay.trace"])


@pytest.mark.parametrize("write", PARTS)
def test_a_part_written_in_place_passes_and_a_wrong_factor_fails(write: Any) -> None:
    assert gradcheck(of_part(write), [SHAPE])
    with pytest.raises(GradcheckError) as failed:
        gradcheck(of_part(write, 2.25), [SHAPE])
    assert failed.value.failed


@pytest.mark.parametrize("write", [one for one in PARTS if one is not every_second])
def test_no_region_lists_the_elements_one_by_one(write: Any) -> None:
    x = torch.randn(SHAPE, requires_grad=True)
    with record({"x": x}) as run:
        of_part(write)(x).backward(torch.randn(SHAPE))
    report = judge(run)
    assert report.passed
    lists = [node["attributes"]["indices"] for region in header(report.trace)["regions"] for node in region["nodes"] if "indices" in node.get("attributes", {})]
    assert max(map(len, lists), default=0) <= MANY


def test_gradients_of_slices_are_blocks_too() -> None:
    x = torch.randn(SHAPE, requires_grad=True)
    with record({"x": x}) as run:
        (x[4:80, 8:] ** 2).sum().backward()
    report = judge(run)
    assert report.passed and b'place' not in json.dumps(header(report.trace)["regions"]).encode()


def test_a_recording_with_a_header_that_no_trace_holds_is_one_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "MOST_HEADER", 10_000)
    with pytest.raises(Refused, match="the recording is too long to be judged.*of at most 10,000"):
        gradcheck(of_part(every_second), [SHAPE])

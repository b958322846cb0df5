"""Pictures: what they show is what was found."""
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from assay import plots  # noqa: E402
from assay.errors import UsageError  # noqa: E402
from assay.testing import within_contract  # noqa: E402

X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


def test_failures_are_where_the_result_was_bent():
    y = np.maximum(X, 0)
    y[1, :, 2] += 1
    y[1, 1, 0] -= 1
    report = within_contract("relu", [X], y)
    picture = plots.failures(report, y.shape).images[0].get_array()
    assert picture.shape == (6, 4) and [tuple(one) for one in np.argwhere(np.asarray(picture))] == [(3, 2), (4, 0), (4, 2), (5, 2)]
    assert plots.failures(report.failures[0], y.shape).get_title() == "4 of 24 elements of 'y' outside"
    with pytest.raises(UsageError):
        plots.failures(report, (2, 2))
    with pytest.raises(UsageError, match="no element"):
        plots.failures(within_contract("relu", [X], np.maximum(X, 0)), X.shape)


def test_head_room_is_the_reports():
    report = within_contract("exp", [X], np.exp(X))
    axes = plots.head_room(report)
    assert [bar.get_width() for bar in axes.patches] == [report.head_room_used] and 0 < report.head_room_used <= 1
    wrong = within_contract("exp", [X], np.exp(X) * 2)
    assert plots.head_room(wrong, ax=axes) is axes and axes.patches[-1].get_width() == 1.0


def test_bounds_are_those_of_the_nodes(digits, eight):
    assay = pytest.importorskip("assay")
    pytest.importorskip("assay._native")
    found = assay.bounds(digits, digits.parent / "digits_holds.vnnlib", method="interval")
    axes = plots.bounds(found)
    assert len(axes.patches) == len(found.nodes)
    node, bar = found.nodes[-1], axes.patches[-1]
    assert bar.get_y() == node.lo.min() and bar.get_y() + bar.get_height() == pytest.approx(node.hi.max())


def test_matplotlib_is_imported_when_something_is_drawn():
    code = "import sys, assay.plots; print('matplotlib' in sys.modules, 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == ["False", "False"]

"""Pictures, by matplotlib, which is imported when one is drawn: bounds per layer, head-room per region, the failures of a tensor.

Every function takes `ax=` to draw into axes that are there, and gives the axes.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Sequence

from assay._core.gate_reports import Finding, Report
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay._verify.answers import Bounds, NodeBounds

_INK, _FAINT, _RIGHT, _WRONG = "#3b4a5a", "#c9d3dc", "#2e7d5b", "#c0392b"
_MOST_BARS = 40


def bounds(found: Bounds | Sequence[NodeBounds], *, ax: Any = None) -> Any:
    """Proved bounds, a column per node of the model: the hull of its elements, and how wide the median element is."""
    import numpy as np

    nodes = [node for node in (found.nodes if hasattr(found, "nodes") else found) if math.prod(node.shape)]
    if not nodes:
        raise UsageError("nothing to draw: there are no bounds")
    axes = _axes(ax, max(5.0, 0.5 * len(nodes)), 3.4)
    for place, node in enumerate(nodes):
        lo, hi = np.asarray(node.lo, float).ravel(), np.asarray(node.hi, float).ravel()
        finite = np.isfinite(lo) & np.isfinite(hi)
        if not finite.any():
            axes.annotate("unbounded", (place, 0), rotation=90, ha="center", va="bottom", color=_WRONG, fontsize=7)
            continue
        bottom, top = lo[finite].min(), hi[finite].max()
        axes.bar(place, top - bottom, 0.7, bottom, color=_FAINT, edgecolor=_INK, linewidth=0.6, label="hull of all elements" if place == 0 else None)
        widths, middles = (hi - lo)[finite], ((hi + lo) / 2)[finite]
        axes.errorbar(place, np.median(middles), np.median(widths) / 2, color=_RIGHT, capsize=3, label="median width, about the median middle" if place == 0 else None)
    axes.set_xticks(range(len(nodes)), [f"{node.name or node.node}\n{node.op}" for node in nodes], rotation=45 if len(nodes) > 8 else 0, fontsize=7)
    axes.axhline(0, color=_INK, linewidth=0.5)
    axes.use_sticky_edges = False
    axes.autoscale_view()
    axes.set_ylabel("proved bounds")
    axes.legend(fontsize=7, frameon=False)
    return axes


def head_room(report: Report, *, ax: Any = None) -> Any:
    """The share of its allowance that each region used, those that used most if there are many; failed regions reach to the end."""
    cases = [case for case in report.cases if case.judged]
    if not cases:
        raise UsageError("nothing to draw: the report has no region that was judged")
    shown = sorted(cases, key=lambda case: (case.failed > 0, case.head_room_used), reverse=True)[:_MOST_BARS] if len(cases) > _MOST_BARS else cases
    axes = _axes(ax, 6.0, max(1.6, 0.26 * len(shown) + 0.8))
    for place, case in enumerate(shown):
        wrong = case.failed > 0
        axes.barh(place, 1.0 if wrong else case.head_room_used, 0.7, color=_WRONG if wrong else _RIGHT)
        if wrong:
            axes.annotate(f"{case.failed} of {case.judged} outside", (0.99, place), ha="right", va="center", color="white", fontsize=7)
    axes.set_yticks(range(len(shown)), [_short(case.name) for case in shown], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the allowance that was used" + (f" ({len(shown)} of {len(cases)} regions)" if len(shown) < len(cases) else ""))
    return axes


def failures(found: Report | Finding, shape: Sequence[int], *, ax: Any = None) -> Any:
    """Which elements of a result failed: one pixel each. Leading axes are drawn below one another; `shape` is the result's."""
    import numpy as np

    finding = found if isinstance(found, Finding) else next((one for one in found.failures if one.failed_at), None)
    if finding is None or not finding.failed_at:
        raise UsageError("nothing to draw: no element of the report failed")
    size = math.prod(shape)
    if max(finding.failed_at) >= size:
        raise UsageError(f"the shape {list(shape)} has {size} elements, but the finding names element {max(finding.failed_at)}; give the shape of the result")
    wrong = np.zeros(size, bool)
    wrong[list(finding.failed_at)] = True
    picture = wrong.reshape(-1, shape[-1] if shape else 1)
    axes = _axes(ax, 5.0, min(6.0, max(1.8, 5.0 * picture.shape[0] / picture.shape[1])))
    from matplotlib.colors import ListedColormap

    axes.imshow(picture, cmap=ListedColormap([_FAINT, _WRONG]), vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    rows = math.prod(shape[:-2]) if len(shape) > 2 else 1
    for block in range(1, rows):
        axes.axhline(block * shape[-2] - 0.5, color=_INK, linewidth=0.6)
    axes.set_xlabel(f"axis {max(len(shape) - 1, 0)}")
    axes.set_ylabel("axes before, row-major" if len(shape) > 2 else "axis 0")
    axes.set_title(f"{finding.elements} of {size} elements of '{finding.subject}' outside", fontsize=9)
    return axes


def _axes(ax: Any, width: float, height: float) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise UsageError("drawing needs the package matplotlib", advice="pip install matplotlib") from None
    return pyplot.subplots(figsize=(width, height), constrained_layout=True)[1]


def _short(name: str) -> str:
    return name if len(name) <= 44 else name[:41] + "..."

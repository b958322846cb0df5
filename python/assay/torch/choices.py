"""Operations that choose among equal elements: sort, topk, kthvalue, median, cummax and their places.

PyTorch promises no order of equal elements, unless a sort is asked to be stable. So the places that a kernel gave are taken as given, if no place
occurs twice; the values are the elements at these places, and, as a claim of its own, what the operation says of their order.
"""
from __future__ import annotations

from typing import Any, Callable

import torch

from .nodes import Nodes, Ref, Unknown
from .rules_index import gathered

MOST_SORTED = 1 << 12  # elements of a sort by its rule
MOST = 1 << 22  # elements of the table that a running maximum is read off


def line(n: Nodes, x: Ref, axis: int, count: int, descending: bool, start: int = 0) -> Ref:
    """The sorted elements of each line from a rank on."""
    found = n("sort", x, axis=axis, count=start + count, descending=descending)
    if not start:
        return found
    starts, extents = ([v if i == axis else other for i, other in enumerate(like)] for v, like in ((start, [0] * x.rank), (count, x.shape)))
    return n("slice", found, starts=starts, steps=[1] * x.rank, extents=extents)


def running(n: Nodes, x: Ref, axis: int, op: str) -> Ref:
    """The greatest (least) element so far: of a table in which those that come later are replaced by the element itself."""
    size = x.shape[axis]
    if x.rank == 0 or torch.Size(x.shape).numel() * size > MOST:
        raise Unknown("a running extremum of that many elements")
    rows, columns = ([*x.shape[:axis], *at, *x.shape[axis + 1:]] for at in ((size, 1), (1, size)))
    before = n.constant(torch.ones(size, size, dtype=torch.bool).tril().reshape([size, size] + [1] * (x.rank - 1 - axis)), torch.bool)
    return n.reduce(op, n("where", before, n.reshape(x, columns), n.reshape(x, rows), dtype=x.dtype), [axis + 1], False)


def sorted_by(n: Nodes, x: Ref, axis: int = -1, descending: bool = False, **named: Any) -> tuple[int, Ref]:
    axis, descending = named.get("dim", axis) % x.rank, named.get("descending", descending)
    return axis, line(n, x, axis, x.shape[axis], descending)


def top(n: Nodes, x: Ref, count: int, axis: int = -1, largest: bool = True, *_: Any) -> tuple[int, Ref]:
    return axis % x.rank, line(n, x, axis % x.rank, count, largest)


def ranked(n: Nodes, x: Ref, rank: int, axis: int = -1, *_: Any) -> tuple[int, Ref]:
    return axis % x.rank, line(n, x, axis % x.rank, 1, False, rank - 1)


def median(n: Nodes, x: Ref, axis: int, *_: Any) -> tuple[int, Ref]:
    return ranked(n, x, (x.shape[axis] + 1) // 2, axis)


CHOICES: dict[str, Callable[..., tuple[int, Ref]]] = {
    "sort": sorted_by, "topk": top, "kthvalue": ranked, "median": median, "cummax": lambda n, x, axis: (axis % x.rank, running(n, x, axis % x.rank, "reduce_max")),
    "cummin": lambda n, x, axis: (axis % x.rank, running(n, x, axis % x.rank, "reduce_min"))}


def is_of_rule(op: str, args: Any, results: list[torch.Tensor | None]) -> bool:
    """Whether a sort gave the places of a stable one: then values and places are functions of the operand alone.

    Not the places of topk, which mostly tell whence rows are taken: a choice among rows costs more than rows at given places.
    """
    if op != "sort" or len(results) != 2 or results[1] is None or not args[0].dim() or not args[0].is_floating_point() or args[0].numel() > MOST_SORTED:
        return False
    axis, descending = args[1] if len(args) > 1 else -1, len(args) > 2 and bool(args[2])
    return torch.equal(args[0].sort(dim=axis, descending=descending, stable=True)[1], results[1])


def chosen(op: str, n: Nodes, args: Any, kwargs: Any, results: list[torch.Tensor | None]) -> tuple[Ref, Ref] | None:
    """Return the values by the places that were given, and by the order; None where the places have to be those of a rule."""
    if op not in CHOICES or len(results) != 2 or results[1] is None or results[0] is None or kwargs.get("stable") or not args[0].rank:
        return None
    x, places = args[0], results[1]
    axis, ordered = CHOICES[op](n, x, *args[1:], **{key: v for key, v in kwargs.items() if key != "stable"})
    at = places if places.dim() == x.rank else places.unsqueeze(axis)
    if op in ("cummax", "cummin"):
        so_far = torch.arange(x.shape[axis]).reshape([-1] + [1] * (x.rank - 1 - axis))
        is_choice = bool((at <= so_far).all())
    else:
        lines = at.sort(axis)[0].movedim(axis, -1)
        is_choice = not bool((lines[..., 1:] == lines[..., :-1]).any())
    if not is_choice or bool((at < 0).any()) or bool((at >= x.shape[axis]).any()):
        return None
    if op == "topk" and len(args) > 4 and not args[4]:  # the greatest elements in an order of the kernel's
        largest = bool(args[3])
        ordered = gathered(n, ordered, axis, given_places(results[0].sort(dim=axis, descending=largest)[1].sort(dim=axis)[1]))
    shape = list(results[0].shape)
    return n.reshape(gathered(n, x, axis, given_places(at)), shape), n.reshape(ordered, shape)


def given_places(at: torch.Tensor) -> Ref:
    index = Ref(list(at.shape), torch.int64, at)
    index.is_fixed = True
    return index

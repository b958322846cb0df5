"""Cotangents at which a backward pass is run again: a product is linear in them, whatever their size, sign and layout, and whichever are there."""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Callable, Iterator, Sequence

import torch

from assay.torch.branches import EQUAL, Branch
from ._draws import factors

Change = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Cotangents:
    """Random cotangents, changed by `change`; those of the second pass by `second`. `what` says so in words.

    `ends`: which of the function's results have one; None: all. `is_inner`: those of results of torch.autograd.Functions, not of the function's.
    `wanted`: which of the tensors with gradients ask for one. `end` and `seed`: what is made of a result, and of its cotangent, so that the
    same cotangent reaches the result in another layout. `has_zeros`: some elements are 0. `accumulates`: of a backward() that adds
    to gradients, with hooks that run then alone. `given`: what is made of each input that asks for a gradient, so that the function takes the
    same numbers in another layout.
    """

    what: str = ""
    change: Change = field(default=lambda g: g, compare=False)
    second: Change = field(default=lambda g: g, compare=False)
    ends: tuple[int, ...] | None = None
    is_inner: bool = False
    wanted: tuple[int, ...] | None = None
    end: Change | None = field(default=None, compare=False)
    seed: Change = field(default=lambda g: g, compare=False)
    has_zeros: bool = False
    accumulates: bool = False
    given: Change | None = field(default=None, compare=False)

    def nearly(self) -> "Cotangents":
        """The same, but what is 0 is not quite."""
        return replace(self, change=not_quite_zero(self.change), second=not_quite_zero(self.second))


def scaled(k: int, negative: bool = False) -> Change:
    """Times a power of two: it commutes with every rounding but those of subnormal numbers. An OverflowError where a number leaves its type."""
    def change(g: torch.Tensor) -> torch.Tensor:
        half = k // 2
        found = g * 2.0**half * 2.0**(k - half) * (-1 if negative else 1)
        if not bool(torch.isfinite(found).all()):
            raise OverflowError
        return found
    return change


def exponents(kinds: set[torch.dtype]) -> list[int]:
    """By which powers of two cotangents are scaled, so that they reach the ends of their type."""
    most = min((int(torch.finfo(one).max.__float__().hex().split("p")[1]) for one in kinds), default=127)
    steps = [3, 7, 10, 14, 17, 20, 27, 34, 40, 50, 60, 70, 80, 90, 100, 110, 118, 123, 200, 300, 500, 700, 900, 1000]
    return [sign * k for k in steps if k < most - 3 for sign in (1, -1)]


def half(g: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.rand(g.shape) < 0.5, torch.zeros_like(g), g)


def single(g: torch.Tensor) -> torch.Tensor:
    """All but one element are 0."""
    flat = torch.zeros_like(g).flatten()
    at = int(torch.randint(g.numel(), ()))
    flat[at] = g.flatten()[at]
    return flat.reshape(g.shape)


def mixed(g: torch.Tensor) -> torch.Tensor:
    """Each element at a size of its own."""
    return g * 2.0 ** torch.randint(-30, 30, g.shape).to(g.dtype) if torch.finfo(g.dtype).bits > 16 else g * 2.0 ** torch.randint(-6, 6, g.shape).to(g.dtype)


def set_to(value: float) -> Change:
    """Half of the elements are a number."""
    return lambda g: torch.where(torch.rand(g.shape) < 0.5, torch.full_like(g, value), g)


def not_quite_zero(change: Change) -> Change:
    def changed(g: torch.Tensor) -> torch.Tensor:
        found = change(g)
        return torch.where(found == 0, torch.full_like(found, torch.finfo(g.dtype).tiny * 2**20), found)
    return changed


def turned(y: torch.Tensor) -> torch.Tensor:
    return y.permute(*reversed(range(y.dim()))).contiguous()


def padded(y: torch.Tensor) -> torch.Tensor:
    """Cotangents of a part are views: `cat` cuts them out, where the product of `pad` would copy them."""
    edge = torch.zeros_like(y[..., :1]) if y.dim() else y
    return torch.cat([edge, y, edge], -1) if y.dim() else y


def after_one(y: torch.Tensor) -> torch.Tensor:
    """Cotangents of a part that begins in the middle of its memory, and has no gaps."""
    return torch.cat([torch.zeros_like(y.reshape(-1)[:1]), y.reshape(-1)])


def spread(y: torch.Tensor) -> torch.Tensor:
    """Cotangents of every second element."""
    return torch.stack([y, torch.zeros_like(y)], -1)


def channels_last(y: torch.Tensor) -> torch.Tensor:
    kinds = {4: torch.channels_last, 5: torch.channels_last_3d}
    return y.contiguous(memory_format=kinds[y.dim()]) if y.dim() in kinds else y


def alike_along(axis: int) -> Change:
    """The first of an axis in place of all, each with memory of its own."""
    return lambda g: expanded(g, axis).contiguous()


def expanded(g: torch.Tensor, axis: int) -> torch.Tensor:
    return g.narrow(axis, 0, 1).expand_as(g) if g.dim() > 1 and g.numel() else g


def summed(axis: int) -> Change:
    return lambda y: y.sum(axis) if y.dim() > 1 and y.numel() else y


def first_of(axis: int) -> Change:
    return lambda g: g.select(axis, 0).contiguous() if g.dim() > 1 and g.numel() else g


def times(k: float) -> str:
    return f"{2.0 ** k:.3g} times random ones" if k else "that are random"


@dataclass(frozen=True)
class Probe:
    """Cotangents whose gradients follow from those of the base: times `factor`, and times `of_second` in the second pass. `kind`: alike ones.
    `is_layout`: of the same numbers elsewhere in memory, where sums may be rounded in another order."""

    cotangents: Cotangents
    factor: float = 1.0
    of_second: float = 1.0
    kind: str = ""
    is_layout: bool = False


Family = tuple[Cotangents, list[Probe]]  # a base, and what follows from it


def families(kinds: set[torch.dtype], second: bool, is_inner: bool, is_first: bool) -> Iterator[Family]:
    """Yield the cotangents to which every linear product answers alike; most layouts are of the first point alone."""
    plain = Cotangents(is_inner=is_inner)
    yield plain, [*shapes(plain, is_first), *(one for k in exponents(kinds) for one in sizes(plain, "", k)),
                  *(one for k in exponents(kinds) if second for one in sizes(plain, "", k, True))]
    for what, change in STATIC[:3]:
        base = Cotangents(what, change, is_inner=is_inner)
        yield base, [one for k in exponents(kinds)[::2 if is_inner else 1] for one in sizes(base, what + ", ", k)]
    if not second:
        yield replace(SAME[0], is_inner=is_inner), [Probe(replace(SAME[1], is_inner=is_inner))]
        for axis in (0, -1) if is_first else ():
            for base, other in ((ALIKE[axis], EXPANDED[axis]), (GIVEN_ALIKE[axis], GIVEN_EXPANDED[axis])):
                yield replace(base, is_inner=is_inner), [Probe(replace(other, is_inner=is_inner), is_layout=True)]


def shapes(plain: Cotangents, is_first: bool) -> Iterator[Probe]:
    """As large, negated, 0, and in other layouts; those of both passes are laid out alike."""
    yield Probe(replace(plain, what="that are negated", change=scaled(0, True)), -1.0)
    yield Probe(replace(plain, what="that are 0", change=torch.zeros_like), 0.0)
    for what, change in LAYOUTS if is_first else LAYOUTS[:2]:
        yield Probe(replace(plain, what=what, end=change, seed=change), is_layout=True)
        if is_first and change not in (after_one, spread):
            yield Probe(replace(plain, what=f"{what}, as the inputs", end=change, seed=change, given=LAID[change]), is_layout=True)
    for what, change in GIVEN if is_first else ():
        yield Probe(replace(plain, what=f"at inputs {what}", given=change), is_layout=True)


def sizes(base: Cotangents, what: str, k: int, of_second: bool = False) -> Iterator[Probe]:
    kind = f"{what}{k > 0}{of_second}"
    if of_second:
        yield Probe(replace(base, what=f"of the second pass that are {times(k)}", second=scaled(k)), 1.0, 2.0**k, kind)
    else:
        yield Probe(replace(base, what=f"{what}{times(k)}", change=lambda g: scaled(k)(base.change(g))), 2.0**k, 1.0, kind)


def differs(base: Sequence[torch.Tensor | None], found: Sequence[torch.Tensor | None], shares: Sequence[float], by: float = 0.0) -> bool:
    """Whether gradients are others than a share of the base, by more than `by` of it. Where a step on the way may have left the type's range,
    nothing is said, nor where the base is so small that it has lost digits; nor of smaller cotangents, if differences are to be large."""
    for b, f, share in zip(base, found, shares):
        if b is None or f is None:  # None is 0
            there = f if b is None else b
            if there is not None and bool(there.any()) and (b is None or share != 0):
                return True
            continue
        b, f = (torch.view_as_real(one) if one.is_complex() else one for one in (b.detach(), f.detach()))
        if torch.equal(b * share, f):
            continue
        expected = (b.double() * share).to(b.dtype)
        info = torch.finfo(b.dtype)
        is_sure = torch.isfinite(expected) & ((expected.abs() >= info.tiny) | (b == 0) | (share == 0))
        is_sure &= torch.isfinite(f) | (share == 0)
        is_sure &= (b.abs() >= info.tiny) | ((b == 0) & (f.abs() >= info.tiny * abs(share))) | (share == 0)
        is_other = ~(f == expected) if by == 0 else ~((f - expected).abs() <= by * expected.abs()) & (abs(share) >= 1)
        if bool((is_sure & is_other).any()):
            return True
    return False


STATIC = (("that are positive", torch.abs), ("that are negative", lambda g: -g.abs()), ("of which each has a size of its own", mixed),
          ("that are all equal", lambda g: torch.ones_like(g) * g.flatten()[0]))
ZEROS = (("that are 0 in half of their elements", half), ("all of which but one are 0", single), ("that are 0", torch.zeros_like))
MANY = 8  # decisions from which on cotangents of all sizes come first
# The same numbers, once as one number in memory.
SAME = (Cotangents("that are 1", torch.ones_like),
        Cotangents("that are 1, as one number that is expanded", torch.ones_like, end=torch.sum, seed=lambda g: torch.ones((), dtype=g.dtype)))


LAYOUTS: tuple[tuple[str, Change], ...] = (
    ("that are cut out of a larger tensor", padded), ("whose axes lie in memory in another order", turned), ("that begin in the middle of their memory", after_one),
    ("of which every second number is in memory", spread), ("with channels last", channels_last))
# The same tensor, laid out as cotangents are that reach it through these.
LAID: dict[Change, Change] = {
    padded: lambda x: padded(x)[..., 1:-1] if x.dim() else x, turned: lambda x: turned(x).permute(*reversed(range(x.dim()))),
    after_one: lambda x: after_one(x)[1:].view(x.shape), spread: lambda x: spread(x)[..., 0], channels_last: channels_last}
GIVEN: tuple[tuple[str, Change], ...] = (
    ("that are cut out of larger tensors", LAID[padded]), ("whose axes lie in memory in another order", LAID[turned]),
    ("that begin in the middle of their memory", LAID[after_one]), ("of which every second number is in memory", LAID[spread]),
    ("with channels last", channels_last), ("that were written in place", lambda x: x.clone().mul_(1)))
ALIKE = {axis: Cotangents(f"that are alike along axis {axis}", alike_along(axis)) for axis in (0, -1)}
EXPANDED = {axis: replace(one, what=f"that are expanded along axis {axis}", end=summed(axis), seed=first_of(axis)) for axis, one in ALIKE.items()}
GIVEN_ALIKE = {axis: Cotangents(f"at inputs that are alike along axis {axis}", given=alike_along(axis)) for axis in (0, -1)}
GIVEN_EXPANDED = {axis: Cotangents(f"at inputs that are expanded along axis {axis}", given=lambda x, axis=axis: expanded(x, axis)) for axis in (0, -1)}  # type: ignore[misc]


def towards(decisions: Callable[[], list[Branch]]) -> Iterator[Cotangents]:
    """Cotangents at a threshold, or scaled towards it."""
    for one in decisions():
        if one.threshold is not None and one.missing != [EQUAL]:
            for factor in factors(one):
                yield Cotangents(f"{factor:.3g} times random ones", lambda g, factor=factor: g * factor)  # type: ignore[misc]
        elif one.threshold is not None and one.threshold:
            value = one.threshold
            yield Cotangents(f"that are {value:.6g} in half of their elements", set_to(value))


def reaching(decisions: Callable[[], list[Branch]], kinds: set[torch.dtype], second: bool) -> Iterator[Cotangents]:
    """Cotangents that may lie on sides of decisions on which none lay."""
    is_many = len(decisions()) > MANY
    if not is_many:
        yield from towards(decisions)
    for what, change in STATIC:
        yield Cotangents(what, change)
    yield Cotangents("that are negated", scaled(0, True))
    for k in exponents(kinds):
        yield Cotangents(times(k), scaled(k))
        yield Cotangents(f"that are positive, {times(k)}", lambda g, k=k: scaled(k)(g.abs()))  # type: ignore[misc]
        yield Cotangents(f"that are negative, {times(k)}", lambda g, k=k: scaled(k, True)(g.abs()))  # type: ignore[misc]
        if second:
            yield Cotangents(f"of the second pass that are {times(k)}", second=scaled(k))
    if second:
        for what, change in STATIC:
            yield Cotangents("of the second pass " + what, second=change)
    if is_many:
        yield from towards(decisions)
    for what, change in ZEROS:  # at last: they say nothing of small ones
        yield Cotangents(what, change, has_zeros=True)
        if second:
            yield Cotangents("of the second pass " + what, second=change, has_zeros=True)


__all__ = ["Cotangents", "Probe", "differs", "families", "reaching", "scaled", "times"]

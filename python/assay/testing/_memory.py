"""Where probes lie: operands and outputs between guard zones, in memory that was poisoned before."""
from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Protocol, Sequence

import numpy as np

from assay._core.arrays import Bits
from assay.errors import UsageError
from ._plans import broadcast_axis

Buffer = np.ndarray[Any, np.dtype[Any]]
GUARD = 64  # elements on either side
_APART = 3  # elements between the rows of a padded tensor, and between its planes
# Bits that no computation gives by accident, one pattern per round: NaN with a payload where the type has one, then a number. A value that a type of
# eight bits may well hold differs from the pattern of the other round; as truth values, both are neither true nor false. Round operands lie others than
# in results: a kernel that copies what lies beside an operand has written its result.
_POISONS = {4: (0x7FE5A5A5, 0x45A5A5A5), 8: (0x7FFCA5A5A5A5A5A5, 0x40A5A5A5A5A5A5A5), 2: (0x7FA5, 0x35A5), 1: (0x5A, 0x25)}
_BESIDE = {4: (0x7FE3C3C3, 0x43C3C3C3), 8: (0x7FFCC3C3C3C3C3C3, 0x40C3C3C3C3C3C3C3), 2: (0x7FC3, 0x53C3), 1: (0x3C, 0x43)}


def carrier_of(dtype: str) -> str:
    """NumPy's type that holds the bits of an element type: bfloat16 lies in uint16."""
    return "uint16" if dtype == "bfloat16" else dtype


def plain(array: Buffer) -> Buffer:
    """The bits of the elements, as unsigned numbers."""
    dense = np.ascontiguousarray(array)
    return np.asarray(dense.view(f"u{dense.itemsize}")).reshape(array.shape)


def poisoned(count: int, dtype: str, round_: int, patterns: dict[int, tuple[int, int]] | None = None) -> Buffer:
    """A flat buffer of that many elements, all poison."""
    array: Buffer = np.empty(count, carrier_of(dtype))
    plain(array)[...] = (patterns or _POISONS)[array.itemsize][round_ % 2]
    return array


def is_poison(array: Buffer, round_: int) -> Buffer:
    """Which elements have the bits of that round's poison."""
    return np.asarray(plain(array) == _POISONS[array.itemsize][round_ % 2])


def strides_of(shape: Sequence[int], layout: str) -> tuple[list[int], int, int]:
    """Strides in elements, the first element's place, and how many elements of memory there are."""
    order = list(range(len(shape)))
    if layout == "transposed" and len(shape) > 1:
        order[-2:] = [order[-1], order[-2]]
    if layout == "reversed":
        order.reverse()
    zero, gap = broadcast_axis(shape, layout), 2 if layout == "stepped" else 1
    strides, room = [0] * len(shape), gap
    for axis in reversed(order):
        if axis != zero:
            strides[axis] = room
            room = room * max(shape[axis], 1) + (_APART if layout == "padded" else 0)
    return strides, 1 if layout == "stepped" else 0, room


class Library(Protocol):
    """How a kernel's arrays are made of flat buffers."""

    def view(self, flat: Buffer, dtype: str, shape: Sequence[int], strides: Sequence[int], first: int) -> tuple[Any, Callable[[], Buffer]]:
        """An array of this element type over the buffer, and what reads the whole buffer back."""

    def spoil(self, shape: Sequence[int], dtype: str, round_: int) -> None:
        """Leaves poison in memory that was just freed, for kernels that allocate their result and do not fill it."""


def _bfloat16() -> Any:
    try:
        import ml_dtypes
    except ImportError:
        raise UsageError("bfloat16 is no type of NumPy", where="dtype", advice="pass arrays='torch', or pip install ml_dtypes") from None
    return ml_dtypes.bfloat16


class NumPy:
    """Views of NumPy, perhaps converted by the caller's function (`jax.numpy.asarray`)."""

    def __init__(self, convert: Callable[[Any], Any] | None = None) -> None:
        self.convert = convert

    def view(self, flat: Buffer, dtype: str, shape: Sequence[int], strides: Sequence[int], first: int) -> tuple[Any, Callable[[], Buffer]]:
        if dtype == "bfloat16":
            flat = flat.view(_bfloat16())
        array = np.lib.stride_tricks.as_strided(flat[first:], tuple(shape), tuple(stride * flat.itemsize for stride in strides))
        return (self.convert(array) if self.convert else array), lambda: flat

    def spoil(self, shape: Sequence[int], dtype: str, round_: int) -> None:
        held = [poisoned(math.prod(shape), dtype, round_) for _ in range(8)]
        held.clear()


class Torch:
    """Tensors over the same memory, or on a device."""

    def __init__(self, device: str) -> None:
        self.device = device

    def view(self, flat: Buffer, dtype: str, shape: Sequence[int], strides: Sequence[int], first: int) -> tuple[Any, Callable[[], Buffer]]:
        import torch

        tensor = torch.from_numpy(flat.view(np.int16) if dtype == "bfloat16" else flat).to(self.device)
        typed = tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor
        return typed.as_strided(tuple(shape), tuple(strides), first), lambda: tensor.cpu().numpy().view(flat.dtype)

    def spoil(self, shape: Sequence[int], dtype: str, round_: int) -> None:
        import torch

        held = [torch.from_numpy(poisoned(math.prod(shape), dtype, round_).view(np.uint8)).to(self.device).clone() for _ in range(8)]
        held.clear()


@dataclasses.dataclass(frozen=True)
class Change:
    """An element of an operand that a kernel has written; without an index, memory beside the operand."""

    index: tuple[int, ...]
    before: str
    after: str
    elements: int = 1  # that have changed

    @property
    def words(self) -> str:
        if not self.before:
            return "memory beside it, or between its elements"
        return f"element {list(self.index)} from {self.before} to {self.after}"

    def to_json(self) -> dict[str, Any] | None:
        """As `first` of a finding."""
        return {"index": list(self.index), "from": self.before, "to": self.after} if self.before else None


def _number(bits: Any, dtype: str) -> str:
    return str(np.array([int(bits) << 16], np.uint32).view(np.float32)[0] if dtype == "bfloat16" else bits)


class Placed:
    """A tensor between guard zones, and whether anything has been written since.

    The elements of `other` are places of the flat memory that hold the poison of the other round.
    """

    def __init__(self, library: Library, bits: Bits, layout: str, round_: int, other: Sequence[int] = ()) -> None:
        strides, offset, room = strides_of(bits.shape, layout)
        flat = poisoned(room + 2 * GUARD, bits.dtype, round_, _BESIDE)
        if len(other):
            plain(flat)[list(other)] = _BESIDE[flat.itemsize][(round_ + 1) % 2]
        self._place = (bits.shape, tuple(stride * flat.itemsize for stride in strides), GUARD + offset)
        self._view(flat)[...] = bits.carrier()
        self._before, self._dtype = flat.copy(), bits.dtype
        self.array, self._read = library.view(flat, bits.dtype, bits.shape, strides, GUARD + offset)

    def _view(self, flat: Buffer) -> Buffer:
        shape, strides, first = self._place
        return np.lib.stride_tricks.as_strided(flat[first:], shape, strides)

    def change(self, may_write: bool = False) -> Change | None:
        """The first element whose bits are others than before, then what lies round the tensor or in its gaps; none if all are as they were."""
        after = self._read()
        if after.tobytes() == self._before.tobytes():
            return None
        before, now = self._view(self._before), self._view(after)
        differs = np.argwhere(plain(before) != plain(now))
        count = int((plain(after) != plain(self._before)).sum())  # what lies beside the tensor counts, too
        if len(differs) and not may_write:
            index = tuple(int(one) for one in differs[0])
            return Change(index, _number(before[index], self._dtype), _number(now[index], self._dtype), count)
        if may_write:
            after = after.copy()
            self._view(after)[...] = before
            if after.tobytes() == self._before.tobytes():
                return None
            count = int((plain(after) != plain(self._before)).sum())
        return Change((), "", "", count)


def outside_of(bits: Bits, layout: str) -> list[int]:
    """The places of the flat memory that hold no element of the tensor, those next to it first."""
    strides, offset, room = strides_of(bits.shape, layout)
    places = np.arange(room + 2 * GUARD)
    own = np.lib.stride_tricks.as_strided(places[GUARD + offset:], bits.shape, tuple(stride * places.itemsize for stride in strides))
    free = np.setdiff1d(places, own)
    distance = np.maximum(np.maximum(GUARD - free, free - (GUARD + room - 1)), 0)
    return [int(one) for one in free[np.lexsort((-free, distance))]]


def place_in_words(bits: Bits, layout: str, place: int) -> str:
    """Where such a place lies: as an index where the tensor is dense, else before, behind or between the elements."""
    if 0 in bits.shape:
        return "memory at the address"
    _, _, room = strides_of(bits.shape, layout)
    at = place - GUARD
    if at < 0:
        return f"memory {-at} elements before the first element"
    if layout != "dense" or not bits.shape:
        return f"memory {at - room + 1} elements behind the last element" if at >= room else "memory between the elements"
    index = []
    for extent in reversed(bits.shape[1:]):
        at, rest = divmod(at, max(extent, 1))
        index.append(rest)
    return f"element {[at, *reversed(index)]}"


class Output:
    """Poisoned memory for a result, between guard zones."""

    def __init__(self, library: Library, dtype: str, shape: Sequence[int], round_: int) -> None:
        self.shape, self._round = tuple(shape), round_
        strides, _, _ = strides_of(shape, "dense")
        self.array, self._read = library.view(poisoned(math.prod(shape) + 2 * GUARD, dtype, round_), dtype, shape, strides, GUARD)

    def result(self) -> Buffer:
        """A copy of what is there now."""
        flat = self._read()
        return flat[GUARD:flat.size - GUARD].reshape(self.shape).copy()

    def overruns(self) -> int:
        """Elements outside of the result that were written."""
        flat = self._read()
        return int((~is_poison(np.concatenate([flat[:GUARD], flat[flat.size - GUARD:]]), self._round)).sum())

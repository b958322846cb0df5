"""Which recorded value a tensor holds: a value is a tensor's bits at one time, memory is where it lies."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch

from assay.errors import Unsupported
from .nodes import HALVES, PARTS, parts

LEAF, PENDING = "leaf", "pending"  # histories of values that no node of autograd made: a leaf's, and one of a base that is not seen yet
RECORDED = (torch.float32, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, *PARTS)


class Refused(Unsupported):
    """A computation cannot be recorded as it ran."""


@dataclass
class Value:
    """A tensor's bits at one time. Fixed: integers that no real number decided. Of what the program keeps in 16 bits the tensor has the float32."""

    tensor: torch.Tensor
    name: str
    is_fixed: bool = False
    stored: torch.dtype = torch.float32  # or a type of 16 bits
    is_nothing: bool = False  # zeros that were made of no operands

    @property
    def kind(self) -> torch.dtype:
        """The type that the program keeps."""
        return self.stored if self.stored in HALVES else self.tensor.dtype


@dataclass
class Block:
    """A storage that is kept alive, or its address is given to another one; what lies where in it."""

    storage: torch.UntypedStorage
    places: dict[tuple[Any, ...], dict[Any, int]] = field(default_factory=dict)  # place -> history -> value
    whole: tuple[Any, int] | None = None  # a place that holds all others, and its value; one whose elements share no memory, if there is one
    epoch: int = 0


def place(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Where in its storage a tensor lies, and as what."""
    return tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.is_conj(), tensor.is_neg()


def address(tensor: torch.Tensor) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        raise Refused("a tensor has no memory: it belongs to torch.func (grad, vjp, vmap) or to a subclass, which are not recorded; see docs/reference/pytorch.md") from None


def plain(tensor: torch.Tensor) -> Any:
    """Dense and row-major, as numbers without a sign; complex numbers as pairs. Of a dense tensor it is its memory."""
    array = parts(tensor.detach()).contiguous().numpy().reshape(-1)
    return array.view(f"u{array.itemsize}")


def bits(tensor: torch.Tensor) -> bytes:
    """Dense, row-major, little endian; complex numbers as pairs."""
    return bytes(plain(tensor))


def alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether both have the same bits, which are not copied. NumPy compares them several times faster than PyTorch does."""
    x, y = (one.view("u8" if one.nbytes % 8 == 0 else "u1") for one in (plain(a), plain(b)))
    return x.nbytes == y.nbytes and numpy.array_equal(x, y)


def held(block: Block, where: tuple[Any, ...]) -> torch.Tensor:
    """The tensor at a place of a storage."""
    offset, shape, stride, dtype, is_conj, _ = where
    found = torch.empty(0, dtype=dtype).set_(block.storage, offset, shape, stride)
    return found.conj() if is_conj else found


def positions(base: tuple[Any, ...], part: tuple[Any, ...], block: Block) -> torch.Tensor:
    """Which elements of the base, in row-major order, a part of it is made of; -1 for what is not of the base."""
    count = block.storage.nbytes() // torch.empty(0, dtype=base[3]).element_size()
    number = torch.full([count], -1)
    once = [extent if step else 1 for extent, step in zip(base[1], base[2])]  # of repeated elements the first
    at = torch.arange(math.prod(base[1])).reshape(base[1])[tuple(slice(extent) for extent in once)]
    torch.as_strided(number, once, base[2], base[0]).copy_(at)
    return torch.as_strided(number, part[1], part[2], part[0]).clone()


def overlaps(where: tuple[Any, ...]) -> bool:
    """Whether elements of a place may share memory with each other, as those of an expanded tensor do."""
    reach = 0
    for step, extent in sorted((step, extent) for extent, step in zip(where[1], where[2]) if extent > 1):
        if step <= reach:
            return True
        reach += step * (extent - 1)
    return False


def meet(a: tuple[Any, ...], b: tuple[Any, ...], block: Block) -> bool:
    """Whether two places have an element in common."""
    if a[3] != b[3]:
        return True
    touched = torch.zeros(block.storage.nbytes() // torch.empty(0, dtype=a[3]).element_size(), dtype=torch.bool)
    torch.as_strided(touched, a[1], a[2], a[0]).fill_(True)
    return bool(torch.as_strided(touched, b[1], b[2], b[0]).any())


class Memory:
    """All values of a run, and where they lie."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.blocks: dict[int, Block] = {}
        self.taken: set[str] = set()
        self.token = object()  # marks tensors

    def fresh(self, name: str) -> str:
        """A name that nothing has."""
        count, full = 1, name
        while full in self.taken:
            count += 1
            full = f"{name}#{count}"
        self.taken.add(full)
        return full

    def loose(self, tensor: torch.Tensor, name: str) -> int:
        """A value that lies nowhere in the program's memory."""
        if tensor.dtype not in RECORDED or tensor.layout != torch.strided or tensor.device.type != "cpu":
            raise Refused(f"'{name}' is a tensor of {tensor.dtype}, {tensor.layout}, on {tensor.device}, which is not recorded; see docs/reference/pytorch.md")
        copy = parts(tensor.detach()).clone(memory_format=torch.contiguous_format)
        self.values.append(Value(copy, self.fresh(name), stored=tensor.dtype))
        return len(self.values) - 1

    def add(self, tensor: torch.Tensor, history: Any, name: str) -> int:
        """A new value where the tensor lies."""
        value = self.loose(tensor, name)
        self.bind(tensor, history, value)
        return value

    def bind(self, tensor: torch.Tensor, history: Any, value: int) -> None:
        block = self.block(tensor)
        where = place(tensor)
        block.places.setdefault(where, {})[history] = value
        if block.whole is None or (not overlaps(where), tensor.numel()) > (not overlaps(block.whole[0]), math.prod(block.whole[0][1])):
            block.whole = (where, value)
        self.mark(tensor, history, value)

    def block(self, tensor: torch.Tensor) -> Block:
        return self.blocks.setdefault(address(tensor), Block(tensor.untyped_storage()))

    def mark(self, tensor: torch.Tensor, history: Any, value: int) -> None:
        block = self.blocks[address(tensor)]
        tensor._assay_value = self.token, block.epoch, place(tensor), history, value  # type: ignore[attr-defined]

    def newest(self, tensor: torch.Tensor) -> tuple[Any, int] | None:
        """The history and the value that the tensor was marked with, if nothing was written since."""
        token, epoch, where, of, value = getattr(tensor, "_assay_value", (None, 0, None, None, 0))
        block = self.blocks.get(address(tensor))
        return None if token is not self.token or block is None or block.epoch != epoch or where != place(tensor) else (of, int(value))

    def marked(self, tensor: torch.Tensor, history: Any) -> int | None:
        """The value that the tensor was marked with, if nothing was written since; it may have become a leaf."""
        found = self.newest(tensor)
        return None if found is None or found[0] != history and (found[0], history) != (None, LEAF) else found[1]

    def overwrite(self, tensor: torch.Tensor, *, keeps: bool = False) -> Block:
        """Forget the values in the tensor's storage; with `keeps`, only those that lie where the tensor does."""
        old = self.blocks.get(address(tensor))
        fresh = self.blocks[address(tensor)] = Block(tensor.untyped_storage(), epoch=old.epoch + 1 if old else 0)
        if keeps and old is not None:
            fresh.places = {where: known for where, known in old.places.items() if not meet(where, place(tensor), old)}
        return fresh

    def rename(self, old: int, new: int) -> None:
        """Another value stands for one, from now on."""
        for block in self.blocks.values():
            for known in block.places.values():
                for history, value in known.items():
                    known[history] = new if value == old else value
            if block.whole is not None and block.whole[1] == old:
                block.whole = (block.whole[0], new)

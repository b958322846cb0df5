"""How often PyTorch's moments of a row are rounded: a proved bound, by the sizes of what its kernel merges (docs/contracts/merged-moments.md)."""
from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

CHUNK = 16  # vectors of a chain
LANES = {4: (4, 8, 16), 8: (2, 4, 8), 2: (4, 8, 16)}  # of an accumulator, by the bytes of an element: 128, 256, 512 bits


@dataclass(frozen=True)
class Part:
    """Elements whose mean was merged: how many, roundings of means that one of them met (at most, and in all), of squares, and ratios of sizes."""

    size: int = 0
    most: float = 0.0
    total: float = 0.0
    squares: int = 0
    ratios: float = 0.0  # the sum over levels of c^2 n_b / n_a

    def merged(self, other: "Part") -> "Part":
        """A mean of both, rounded once; nothing is rounded where one is empty."""
        if not self.size or not other.size:
            return self if self.size else other
        size = self.size + other.size
        return Part(size, max(self.most, other.most) + 1, self.total + other.total + size, max(self.squares, other.squares, 6) + 2,
                    max(self.ratios, other.ratios) + other.size / self.size)


def chain(count: int) -> Part:
    """Elements one after the other. The step to the j-th one moves those before it by 1 + 1 / (j - 1) roundings, since it also takes part in the square."""
    shares = [1 + 1 / (j - 1) for j in range(2, count + 1)]
    return Part(count, sum(shares), sum(j * c for j, c in enumerate(shares, 2)), count + 3, sum(c * c / (j - 1) for j, c in enumerate(shares, 2)))


def cascade(vectors: int, chains: int) -> Part:
    """One lane: chunks of vectors, merged by pairs. In 16 bits a vector has two elements for a lane, in chains of their own."""
    chunks = -(-vectors // CHUNK)
    depth = max(chunks - 1, 0).bit_length()
    stack = [Part() for _ in range(max(depth, 1))]
    for i in range(chunks):
        for _ in range(chains):
            stack[0] = stack[0].merged(chain(min(CHUNK, vectors - i * CHUNK)))
        j, mask = 1, i + 1
        while j < depth and not mask & 1:
            stack[j], stack[j - 1] = stack[j].merged(stack[j - 1]), Part()
            j, mask = j + 1, mask >> 1
    for one in stack[1:]:
        stack[0] = stack[0].merged(one)
    return stack[0]


@lru_cache(maxsize=4096)
def roundings(count: int, lanes: int, chains: int = 1) -> tuple[int, int]:
    """Of a row of so many elements: of the mean, as the distances know it, and of the variance beside that."""
    vectors, rest = divmod(count, lanes * chains)
    lane, row = cascade(vectors, chains), chain(rest)
    for _ in range(lanes):
        row = row.merged(lane)
    last = row.size if vectors or rest else 0  # the last mean is no part of a distance
    most, total = max(row.most - 1, 0.0), max(row.total - last, 0.0)
    of_mean = math.ceil(most + total / max(count, 1)) + 1
    of_variance = math.ceil(2 * (most + 3 * math.sqrt(row.ratios))) + row.squares + 1
    return of_mean, of_variance


def most_roundings(count: int, item_size: int) -> tuple[int, int]:
    """The same for whatever vectors the machine has."""
    found = [roundings(count, lanes, 2 if item_size == 2 else 1) for lanes in LANES[item_size]]
    return max(k for k, _ in found), max(r for _, r in found)

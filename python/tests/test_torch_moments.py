"""How often the moments of PyTorch's layer normalisation are rounded (docs/contracts/merged-moments.md): the kernel, the bound, and what lies beyond it."""
from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from assay.torch import judge, record
from assay.torch.moments import CHUNK, most_roundings, roundings

f32 = np.float32
UNIT = Fraction(1, 2**24)
COUNTS = [2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 129, 257]
KINDS = ["nearly equal", "one step", "few steps", "normal", "one apart", "rising", "one far", "falling", "alternating", "equal"]


def row(kind: str, count: int, random: np.random.Generator) -> Any:
    spread = random.random(count)
    found = {"nearly equal": 10 + (spread - 0.5) * 2e-6, "one step": 1 + (spread < 0.5) * 2.0**-23, "few steps": 1e4 * (1 + random.integers(0, 4, count) * 2.0**-23),
             "normal": random.standard_normal(count), "one apart": np.full(count, 3.3), "rising": np.sort(7 + spread * 1e-5), "one far": np.full(count, 1.1),
             "falling": np.sort(7 + spread * 1e-5)[::-1], "alternating": np.where(np.arange(count) % 2 == 0, 1000.0, -1000.0) + spread, "equal": np.full(count, 0.1)}[kind]
    if kind.startswith("one ") and kind != "one step":
        found[-1 if kind == "one far" else count // 2] = 1e3 if kind == "one far" else 3.3000033
    return found.astype(f32)


def fused(a: Any, b: Any, c: Any, is_fused: bool) -> Any:
    """a b + c with one rounding, or with two: the product of two float32 is a float64."""
    exact = np.float64(a) * np.float64(b)
    return (exact + np.float64(c)).astype(f32) if is_fused else (exact.astype(f32) + c).astype(f32)


class Moments:
    """Parts of a row: how many elements, their mean and their sum of squares, for each lane."""

    def __init__(self, lanes: int, is_fused: bool) -> None:
        self.size, self.is_fused = 0, is_fused
        self.mean, self.squares = np.zeros(lanes, f32), np.zeros(lanes, f32)

    def take(self, x: Any, share: Any) -> None:
        delta = x - self.mean
        self.size, self.mean = self.size + 1, fused(share, delta, self.mean, self.is_fused)
        self.squares = fused(delta, x - self.mean, self.squares, self.is_fused)

    def merge(self, other: "Moments") -> None:
        size = self.size + other.size
        share = f32(other.size) / f32(size) if size else f32(0)
        delta, both = other.mean - self.mean, self.squares + other.squares
        step, wide = (share * delta).astype(f32), (delta * f32(self.size)).astype(f32)
        self.size, self.mean, self.squares = size, (self.mean + step).astype(f32), fused(wide, step, both, self.is_fused)


def kernel(x: Any, lanes: int, is_fused: bool) -> tuple[Any, Any]:
    """The mean and the sum of squares of a row as the kernel merges them, in vectors of so many lanes."""
    vectors = len(x) // lanes
    chunks = -(-vectors // CHUNK)
    depth = max(chunks - 1, 0).bit_length()
    stack = [Moments(lanes, is_fused) for _ in range(max(depth, 1))]
    for i in range(chunks):
        part = Moments(lanes, is_fused)
        for j in range(min(CHUNK, vectors - i * CHUNK)):
            at = (i * CHUNK + j) * lanes
            part.take(x[at:at + lanes], f32(1) / f32(j + 1))
        stack[0].merge(part)
        for j in range(1, depth):
            if (i + 1) % 2**j:
                break
            stack[j].merge(stack[j - 1])
            stack[j - 1] = Moments(lanes, is_fused)
    for one in stack[1:]:
        stack[0].merge(one)
    size, mean, squares = 0, f32(0), f32(0)
    for value in x[vectors * lanes:]:
        size, delta = size + 1, value - mean
        mean = f32(mean + f32(delta / f32(size)))
        squares = f32(squares + f32(delta * f32(value - mean)))
    for lane in range(lanes):
        share = f32(vectors) / f32(size + vectors) if size + vectors else f32(0)
        delta = stack[0].mean[lane] - mean
        turned = f32(f32(delta * delta) * share)
        squares = f32(squares + fused(turned, f32(size), stack[0].squares[lane], is_fused))
        mean, size = fused(share, delta, mean, is_fused), size + vectors
    return mean, squares


def limits(x: Any, of_mean: float, of_variance: float) -> tuple[Fraction, Fraction]:
    """Between what the sum of squares lies, if means are off by so many roundings, and it by so many."""
    exact = [Fraction(float(one)) for one in x]
    mean = sum(exact) / len(exact)
    off, share = Fraction(of_mean) * UNIT * abs(mean), Fraction(of_variance) * UNIT
    return (sum(max(abs(one - mean) - off, Fraction(0))**2 for one in exact) * (1 - share), sum((abs(one - mean) + off)**2 for one in exact) * (1 + share))


@pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"), reason="the kernel of another processor")
def test_the_kernel_merges_as_it_is_described() -> None:
    random = np.random.default_rng(1)
    for count in (1, *COUNTS, 300, 511, 1000, 4099):
        for kind in KINDS:
            x = row(kind, count, random)
            _, mean, inverse = torch.native_layer_norm(torch.from_numpy(x.copy())[None], [count], None, None, 1e-5)
            own, squares = kernel(x, 8, True)
            assert float(mean) == float(own), (count, kind)
            assert float(inverse) == float(f32(1) / np.sqrt(f32(squares / f32(count)) + f32(1e-5))), (count, kind)


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_no_execution_is_beyond_the_bound(lanes: int) -> None:
    random = np.random.default_rng(2)
    for count in COUNTS:
        for kind in KINDS:
            x = row(kind, count, random)
            least, most = limits(x, *roundings(count, lanes))
            for is_fused in (True, False):
                assert least <= Fraction(float(kernel(x, lanes, is_fused)[1])) <= most, (count, kind, is_fused)


def test_the_bound_grows_slowly() -> None:
    for lanes in (4, 8, 16):
        found = [roundings(count, lanes) for count in (1024, 32768, 1 << 20)]
        assert all(k < 100 and r < 500 for k, r in found)
        assert [k for k, _ in found] == sorted(k for k, _ in found)
    assert roundings(1, 8)[0] <= 1 and roundings(2, 8)[0] <= 3
    assert most_roundings(300, 2)[0] >= roundings(300, 8, 2)[0]


def statistics_fail(x: Any, scale: float, epsilon: float) -> bool:
    """Whether a run is refused whose inverse deviation is that of a sum of squares that is larger by so many times the bound; of its own if 0."""
    given = torch.from_numpy(x.copy())[None].requires_grad_()
    with record({"x": given}) as run:
        torch.native_layer_norm(given, [len(x)], None, None, epsilon)
    region = next(one for one in run.regions if one.name.endswith("statistics"))
    held = run.memory.values[region.results[1]].tensor
    exact = limits(x, 0, 0)[0]
    if scale:
        of_mean, of_variance = most_roundings(len(x), 4)
        far = limits(x, scale * (of_mean + 4), scale * (of_variance + len(x) + 8))[1]
        held.fill_(1 / math.sqrt(float(far) / len(x) + epsilon))
    assert exact > 0
    report = judge(run, "audit")
    return any(one.kind == "fail" and "statistics" in one.case for one in report.findings)


@pytest.mark.parametrize("spread", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_group_norms_of_either_layout_are_not_called_wrong(layout: torch.memory_format, spread: float) -> None:
    torch.manual_seed(4)
    x = (10 + torch.randn(2, 8, 5, 5) * spread).contiguous(memory_format=layout).requires_grad_()
    with record({"x": x}) as run:
        (torch.nn.functional.group_norm(x, 2) * torch.randn(2, 8, 5, 5)).sum().backward()
    assert not judge(run, "gradcheck").failed


@pytest.mark.parametrize("count", [4, 8, 17, 64, 200])
def test_what_lies_at_twice_the_bound_is_refused(count: int) -> None:
    """Beside the roundings of the bound the contract admits those of a sum of squares in any order, and a few of its own."""
    random = np.random.default_rng(3)
    for kind in ("normal", "nearly equal", "one far"):
        x = row(kind, count, random) if kind != "nearly equal" else (10 + random.standard_normal(count) * 0.03).astype(f32)
        assert not statistics_fail(x, 0, 1e-12) and not statistics_fail(x, 0.25, 1e-12), kind
        assert statistics_fail(x, 2, 1e-12), kind

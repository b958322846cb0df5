"""Random programs over differentiable operations of PyTorch, and the same with one local product bent: what a gradient gate has to tell apart.

A program is made by running it: each step takes tensors that are there, an operation that fits their shapes, and arguments of its own. Seeds decide.
"""
from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import torch
import torch.nn.functional as F

Tensor = torch.Tensor
Maker = Callable[[random.Random, Tensor, Sequence[Tensor]], "tuple[Callable[..., Any], list[Tensor]] | None"]


def plain(*functions: Callable[..., Any]) -> Maker:
    """One of these, of one operand."""
    return lambda r, x, _: (r.choice(functions), [x])


def fitting(r: random.Random, x: Tensor, pool: Sequence[Tensor]) -> Tensor | None:
    """Another tensor that broadcasts with x."""
    def fits(y: Tensor) -> bool:
        return y.dtype == x.dtype and all(a == b or 1 in (a, b) for a, b in zip(x.shape[::-1], y.shape[::-1]))
    found = [y for y in pool if fits(y) and y.numel() * x.numel() < 4000]
    return r.choice(found) if found else None


def paired(*functions: Callable[..., Any]) -> Maker:
    def make(r: random.Random, x: Tensor, pool: Sequence[Tensor]) -> Any:
        y = fitting(r, x, pool)
        return None if y is None else (r.choice(functions), [x, y])
    return make


def axis_of(r: random.Random, x: Tensor) -> int | None:
    return r.randrange(-x.dim(), x.dim()) if x.dim() else None


def along(*functions: Callable[..., Any]) -> Maker:
    """One of these, along an axis, which may be kept."""
    def make(r: random.Random, x: Tensor, _: Sequence[Tensor]) -> Any:
        axis, keeps, function = axis_of(r, x), r.random() < 0.5, r.choice(functions)
        return None if axis is None else (lambda t: function(t, axis, keeps), [x])
    return make


def sliced(r: random.Random, x: Tensor, _: Sequence[Tensor]) -> Any:
    axis = axis_of(r, x)
    if axis is None or x.shape[axis] < 2:
        return None
    size = x.shape[axis]
    start, step, which = r.randrange(size - 1), r.choice((1, 1, 2)), r.randrange(4)
    index = torch.tensor([r.randrange(size) for _ in range(r.randint(1, size + 1))])
    return [lambda t: t.movedim(axis, 0)[start::step].movedim(0, axis), lambda t: t.select(axis, start), lambda t: t.index_select(axis, index),
            lambda t: t.narrow(axis, start, size - start)][which], [x]


def arranged(r: random.Random, x: Tensor, _: Sequence[Tensor]) -> Any:
    axis = axis_of(r, x)
    if axis is None:
        return None
    order, shift = r.sample(range(x.dim()), x.dim()), r.randint(1, 3)
    forms: list[Callable[[Tensor], Tensor]] = [
        lambda t: t.permute(order), lambda t: t.reshape(-1), lambda t: t.flip(axis), lambda t: t.roll(shift, axis), lambda t: t.unsqueeze(axis),
        lambda t: t.transpose(0, axis), lambda t: torch.cat((t, 2 * t), axis), lambda t: torch.stack((t, t.flip(axis)), 0), lambda t: F.pad(t, (1, shift)),
        lambda t: t.unsqueeze(0).expand(2, *t.shape), lambda t: t.repeat(*[2 if i == 0 else 1 for i in range(t.dim())]), lambda t: t.chunk(2, axis)[0]]
    if x.dim() > 1:
        forms += [torch.tril, torch.triu, lambda t: t.diagonal(0, 0, -1)]
    return r.choice(forms), [x]


def placed(r: random.Random, x: Tensor, pool: Sequence[Tensor]) -> Any:
    axis = axis_of(r, x)
    if axis is None:
        return None
    generator = torch.Generator().manual_seed(r.randrange(2**30))
    index = torch.randint(0, x.shape[axis], x.shape, generator=generator)
    mask, value = torch.rand(x.shape, generator=generator) < 0.4, r.choice((0.0, 1.5, -0.3))
    forms = [lambda t: t.gather(axis, index), lambda t: t.masked_fill(mask, value), lambda t: torch.where(mask, t, 0.5 * t), lambda t: (t * 1).scatter_add(axis, index, t.sin())]
    if x.dim() == 2:
        rows = torch.randint(0, x.shape[0], (4,), generator=generator)
        forms += [lambda t: t[rows], lambda t: F.embedding(rows, t), lambda t: t.index_add(0, rows, torch.ones(4, t.shape[1], dtype=t.dtype) * t[0])]
    return r.choice(forms), [x]


def multiplied(r: random.Random, x: Tensor, pool: Sequence[Tensor]) -> Any:
    if not 1 <= x.dim() <= 3:
        return None
    found = [y for y in pool if y.dtype == x.dtype and y.dim() == 2 and y.shape[0] == x.shape[-1]]
    turned = [y for y in pool if y.dtype == x.dtype and y.dim() == 2 and y.shape[1] == x.shape[-1]]
    if turned and (not found or r.random() < 0.5):
        return r.choice([F.linear, lambda a, b: a @ b.t(), lambda a, b: torch.einsum("...i,ji->...j", a, b)]), [x, r.choice(turned)]
    if found:
        return torch.matmul, [x, r.choice(found)]
    return (lambda t: t @ t.transpose(-1, -2), [x]) if x.dim() > 1 else (lambda t: torch.outer(t, t), [x])


def windowed(r: random.Random, x: Tensor, pool: Sequence[Tensor]) -> Any:
    if x.dim() not in (2, 3) or x.shape[-1] < 3 or x.dtype == torch.float64 and r.random() < 0.5:
        return None
    stride = r.randint(1, 2)
    forms = [lambda t: F.avg_pool1d(t, 2, stride), lambda t: F.max_pool1d(t, 3, stride), lambda t: t.unfold(-1, 2, stride),
             lambda t: F.adaptive_avg_pool1d(t, 2)]
    if x.dim() == 3:
        generator = torch.Generator().manual_seed(r.randrange(2**30))
        weight = torch.randn(2, x.shape[1], 2, generator=generator).to(x.dtype)
        forms += [lambda t: F.conv1d(t, weight, stride=stride, padding=1), lambda t: F.interpolate(t, scale_factor=2)]
    return r.choice(forms), [x]


def written(r: random.Random, x: Tensor, pool: Sequence[Tensor]) -> Any:
    y = fitting(r, x, pool)
    if y is None or x.dim() == 0 or torch.broadcast_shapes(x.shape, y.shape) != x.shape:
        return None
    def in_place(a: Tensor, b: Tensor) -> Tensor:
        return (a * 1).mul_(b).add_(1)
    def a_part(a: Tensor, b: Tensor) -> Tensor:
        copy = a.clone()
        copy[0] = copy[0] * 2 + copy[-1]
        return copy + b
    return r.choice([in_place, a_part]), [x, y]


def converted(r: random.Random, x: Tensor, _: Sequence[Tensor]) -> Any:
    return (lambda t: t.double() if t.dtype == torch.float32 else t.float()), [x]


MAKERS: dict[str, Maker] = {
    "functions": plain(torch.sin, torch.cos, torch.tanh, torch.sigmoid, torch.atan, torch.asinh, torch.erf, torch.neg, torch.square, torch.expm1),
    "functions of positive numbers": plain(lambda t: (t.abs() + 0.5).log(), lambda t: (t.square() + 1).sqrt(), lambda t: (t.abs() + 1).reciprocal(), lambda t: (t * t + 0.5).rsqrt(),
                                           lambda t: torch.log1p(t.abs()), lambda t: (t.abs() + 0.5) ** 1.5),
    "activations": plain(F.relu, F.silu, F.mish, F.gelu, F.softplus, F.elu, F.selu, F.hardswish, F.hardsigmoid, F.softsign, F.logsigmoid, F.hardtanh, F.relu6, torch.abs,
                         lambda t: F.leaky_relu(t, 0.2), lambda t: F.celu(t, 1.5), lambda t: t.clamp(-0.7, 0.9), lambda t: F.gelu(t, approximate="tanh"), F.tanhshrink,
                         lambda t: F.softshrink(t, 0.3), lambda t: F.hardshrink(t, 0.3), lambda t: F.threshold(t, 0.1, -1.0)),
    "numbers": plain(lambda t: t * 0.3 + 1, lambda t: 2 / (t.abs() + 0.7), lambda t: 1 - t, lambda t: t / 3, lambda t: torch.exp(t * 0.25), lambda t: t.pow(3)),
    "pairs": paired(torch.add, torch.sub, torch.mul, lambda a, b: a / (b.abs() + 1), torch.maximum, torch.minimum, lambda a, b: torch.where(a > b, a * 2, b), lambda a, b: torch.lerp(a, b, 0.3),
                    lambda a, b: torch.add(a, b, alpha=0.5), lambda a, b: torch.addcmul(a, a, b, value=0.5), lambda a, b: torch.addcdiv(a, b, b * b + 1), torch.logaddexp,
                    lambda a, b: F.mse_loss(*torch.broadcast_tensors(a, b), reduction="none"), lambda a, b: F.smooth_l1_loss(*torch.broadcast_tensors(a, b), reduction="none")),
    "sums": along(torch.sum, torch.mean, torch.logsumexp, torch.amax, torch.amin, lambda t, a, k: t.prod(a, k), lambda t, a, k: t.norm(dim=a, keepdim=k), lambda t, a, k: t.norm(1, a, k),
                  lambda t, a, k: t.var(a, keepdim=k, correction=0), lambda t, a, k: t.std(a, keepdim=k, correction=0), lambda t, a, k: t.max(a, k).values, lambda t, a, k: t.median(a, k).values),
    "lines": along(lambda t, a, _: t.softmax(a), lambda t, a, _: t.log_softmax(a), lambda t, a, _: t.cumsum(a), lambda t, a, _: t.cumprod(a), lambda t, a, _: t.sort(a).values,
                   lambda t, a, _: t.topk(1, a).values, lambda t, a, _: F.normalize(t, dim=a), lambda t, a, _: F.layer_norm(t, t.shape[-1:]), lambda t, a, _: F.rms_norm(t, t.shape[-1:])),
    "parts": sliced, "orders": arranged, "places": placed, "products": multiplied, "windows": windowed, "writes": written, "types": converted}
WEIGHTS = {"types": 0.3, "functions": 1.5, "pairs": 2.0, "products": 1.5, "orders": 1.5}


@dataclass
class Step:
    """What one step computes, and of which tensors."""

    kind: str
    function: Callable[..., Any]
    operands: list[int]


@dataclass
class Program:
    """Steps over inputs; its results are the tensors that no step reads."""

    seed: int
    inputs: list[Tensor]
    steps: list[Step]
    results: list[int]
    bent: int | None = None
    bend: str = ""

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        pool = list(inputs)
        for i, step in enumerate(self.steps):
            given = [pool[k] for k in step.operands]
            pool.append(Bent.apply(step.function, self.bend, *given) if i == self.bent else step.function(*given))
        return tuple(pool[k] for k in self.results)

    def fresh(self, dtype: torch.dtype | None = None) -> list[Tensor]:
        return [one.detach().clone().to(dtype or one.dtype).requires_grad_() for one in self.inputs]

    def gradients(self) -> list[Tensor]:
        inputs = self.fresh()
        torch.manual_seed(self.seed)
        total = sum((y * torch.randn(y.shape, dtype=y.dtype)).sum().double() for y in self(*inputs))
        return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, torch.autograd.grad(total, inputs, allow_unused=True))]


class Bent(torch.autograd.Function):
    """One operation, whose product is the right one, bent in one of these ways."""

    BENDS = ("a factor", "twice", "the sign", "transposed", "a term", "an element", "one operand", "a share of another", "nothing")

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], bend: str, *given: Tensor) -> Tensor:
        ctx.save_for_backward(*given)
        ctx.function, ctx.bend = function, bend
        return function(*given)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        given = [one.detach().requires_grad_() for one in ctx.saved_tensors]
        with torch.enable_grad():
            slopes = list(torch.autograd.grad(ctx.function(*given), given, g))
        first = slopes[0]
        if ctx.bend in ("a factor", "twice", "the sign", "nothing"):
            slopes[0] = first * {"a factor": 1.03125, "twice": 2.0, "the sign": -1.0, "nothing": 1.0}[ctx.bend]
        elif ctx.bend == "transposed":
            slopes[0] = first.transpose(-1, -2).reshape(first.shape)
        elif ctx.bend == "a term":
            slopes[0] = torch.cat((torch.zeros_like(first[:1]), first[1:]))
        elif ctx.bend == "an element":
            slopes[0] = first + F.pad(first.reshape(-1)[:1], (0, first.numel() - 1)).reshape(first.shape)
        elif ctx.bend == "one operand":
            slopes[-1] = slopes[-1] * 0
        else:
            slopes[0] = first + 0.25 * g.sum()
        return None, None, *slopes


def fits(bend: str, operands: Sequence[Tensor]) -> bool:
    first = operands[0]
    return not (bend == "transposed" and first.dim() < 2 or bend == "a term" and first.dim() < 1 or bend == "one operand" and len(operands) < 2 or bend == "nothing")


def program(seed: int) -> Program:
    """A program of 2 to 8 steps."""
    r = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    dtype = torch.float64 if r.random() < 0.2 else torch.float32
    extents = [r.randint(1, 5) for _ in range(r.randint(1, 3))]
    shapes = [extents] + [r.choice([extents, extents[-1:], [1] * (len(extents) - 1) + extents[-1:], [r.randint(1, 4), extents[-1]], [*extents[:-1], 1]]) for _ in range(r.randint(0, 2))]
    inputs = [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]
    found = Program(seed, inputs, [], [])
    pool = [one.clone() for one in inputs]
    unread = set(range(len(pool)))
    wanted = r.randint(2, 8)
    for _ in range(20 * wanted):
        if len(found.steps) == wanted:
            break
        kind = r.choices(list(MAKERS), [WEIGHTS.get(one, 1.0) for one in MAKERS])[0]
        at = r.choice(sorted(unread)) if r.random() < 0.7 else r.randrange(len(pool))
        made = MAKERS[kind](r, pool[at], pool)
        if made is None:
            continue
        function, operands = made
        if function is F.hardsigmoid and pool[at].dtype == torch.float64:  # its backward has the 1/6 of float32
            continue
        try:
            y = function(*operands)
        except (RuntimeError, IndexError):
            continue
        if not isinstance(y, Tensor) or not 0 < y.numel() <= 200 or not bool(torch.isfinite(y).all()) or float(y.abs().max()) > 100:
            continue
        numbers = [next(i for i, one in enumerate(pool) if one is operand) for operand in operands]
        found.steps.append(Step(kind, function, numbers))
        unread = unread - set(numbers) | {len(pool)}
        pool.append(y)
    found.results = sorted(i for i in unread if i >= len(inputs))
    return found


def bent(one: Program) -> Program | None:
    """The program with one product bent so that its gradients are others, if there is a way."""
    r = random.Random(one.seed + 10**6)
    right = one.gradients()
    pool = list(one.inputs)
    for step in one.steps:
        pool.append(step.function(*[pool[k] for k in step.operands]))
    ways = [(i, bend) for i, step in enumerate(one.steps) for bend in Bent.BENDS if fits(bend, [pool[k] for k in step.operands])]
    r.shuffle(ways)
    for i, bend in ways:
        found = Program(one.seed, one.inputs, one.steps, one.results, i, bend)
        try:
            wrong = found.gradients()
        except RuntimeError:
            continue
        if any(not torch.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in zip(right, wrong)):
            return found
    return None

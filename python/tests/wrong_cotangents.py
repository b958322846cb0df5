"""Backwards that are no linear function of their cotangent, or only of some cotangents, and right ones that look alike.

WRONG and RIGHT: name -> (a function, the shapes of its inputs). The forward passes are right.
"""
from __future__ import annotations

import math
from typing import Any, Callable

import torch
from torch import Tensor

Case = tuple[Callable[..., Any], list[tuple[int, ...]]]
WRONG: dict[str, Case] = {}
RIGHT: dict[str, Case] = {}
S = (4, 3)


def own(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """A Function of one tensor, which its backward gets after the cotangent."""
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return backward(g, *ctx.saved_tensors)
    return Own.apply  # type: ignore[no-any-return]


def of_square(backward: Callable[[Tensor, Tensor], Any]) -> Callable[..., Any]:
    """x * x, with a backward of the cotangent and x."""
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            return backward(g, *ctx.saved_tensors)
    return Square.apply  # type: ignore[no-any-return]


def of_two(backward: Callable[..., Any], materialize: bool = True) -> type[torch.autograd.Function]:
    """(a b, a + b), with a backward of ctx, both cotangents, a and b."""
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
            ctx.save_for_backward(a, b)
            ctx.set_materialize_grads(materialize)
            return a * b, a + b

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return backward(ctx, g, h, *ctx.saved_tensors)
    return Two


def when(condition: Any, g: Tensor, x: Tensor, other: Any = 0.0) -> Tensor:
    return 2 * x * g if condition else torch.zeros_like(x) + other


def put(g: Tensor, mask: Tensor, value: float = 0.0) -> Tensor:
    g = g.clone()
    g[mask] = value
    return g


def without(g: Tensor, x: Tensor, at: int) -> Tensor:
    found = 2 * x * g
    if g.flatten()[at] > 4:
        found.view(-1)[at] = 0
    return found


# Of the cotangent's size, sign and zeros, in operations.
for name, cut in {
    "clipped": lambda g: g.clamp(-5, 5), "clipped far away": lambda g: g.clamp(-1e6, 1e6), "clipped very far away": lambda g: g.clamp(-1e30, 1e30),
    "clipped below alone": lambda g: g.clamp(min=-40), "clipped by clamp_max": lambda g: torch.clamp_max(g, 1e4), "clipped by minimum": lambda g: torch.minimum(g, torch.tensor(77.0)),
    "clipped by hardtanh": lambda g: torch.nn.functional.hardtanh(g, -9, 9), 
    "clipped by relu": lambda g: g - torch.relu(g - 100), "relu6": lambda g: g.sign() * torch.nn.functional.relu6(g.abs() / 20) * 20,
    "cut above": lambda g: torch.where(g > 10, 0, g), "cut below": lambda g: torch.where(g < -1e3, 0, g), "cut by a mask": lambda g: g * (g.abs() < 50),
    "cut in a window": lambda g: torch.where((g > 30) & (g < 60), 0, g), "cut by masked_fill": lambda g: g.masked_fill(g.abs() >= 1e5, 0.0),
    "cut in place by a mask": lambda g: put(g, g > 200), "cut in place at zero": lambda g: put(g, g == 0, 1.0),
    "small ones are zero": lambda g: torch.where(g.abs() < 1e-8, 0, g), "very small ones are zero": lambda g: torch.where(g.abs() < 1e-30, 0, g),
    "small by softshrink": lambda g: torch.nn.functional.softshrink(g, 1e-5) + torch.sign(g) * 1e-5, "small by hardshrink": lambda g: torch.nn.functional.hardshrink(g, 1e-6),
    "small by threshold": lambda g: torch.nn.functional.threshold(g.abs(), 1e-7, 0) * g.sign(),
    "one where it is zero": lambda g: torch.where(g == 0, 1.0, g), "one where it is no number": lambda g: torch.where(g != 0, g, 1e-3),
    "not a truth value": lambda g: g + torch.logical_not(g) * 0.5, "of its truth value": lambda g: torch.where(g.bool(), g, 2.0),
    "clipped by its norm": lambda g: g * torch.clamp(1e3 / g.norm(), max=1), "clipped by its largest": lambda g: g * torch.clamp(64 / g.abs().max(), max=1),
    "clipped by its mean": lambda g: torch.where(g.abs().mean() > 1e4, g / g.abs().mean(), g), "smooth saturation": lambda g: torch.tanh(g / 1e3) * 1e3,
    "very smooth saturation": lambda g: g / (1 + g * g * 1e-18), "quantised": lambda g: (g * 2.0**20).round() / 2.0**20, "floored": lambda g: torch.floor(g * 2.0**40) / 2.0**40,
    "of one element": lambda g: torch.cat([g[:1].clamp(-7, 7), g[1:]]), "of one element alone": lambda g: torch.where(torch.arange(12).reshape(S) == 5, g.clamp(max=90), g),
    "dropped where all are large": lambda g: torch.where((g > 1).all(), 0 * g, g), "doubled where all are equal": lambda g: torch.where((g == g[0, 0]).all(), 2 * g, g),
    "by the sum of its signs": lambda g: torch.where(g.sign().sum() == g.numel(), 0 * g, g), "by nan_to_num of its size": lambda g: torch.nan_to_num(g * 1e30) / 1e30,
    "by isinf of its size": lambda g: torch.where(torch.isinf(g * 1e30), 0, g), "by count_nonzero": lambda g: torch.where(torch.count_nonzero(g) == 1, 3 * g, g),
    "by a sign": lambda g: g * (torch.sign(80 - g) + 1) / 2, "by isclose": lambda g: torch.where(torch.isclose(g, torch.zeros_like(g), atol=1e-6), 0, g),
}.items():
    WRONG[name] = of_square(lambda g, x, cut=cut: 2 * x * cut(g)), [S]
WRONG["by both x and g"] = of_square(lambda g, x: torch.where((x > 0.3) & (g > 25), 0, 2 * x * g)), [S]
WRONG["where both are large"] = of_square(lambda g, x: torch.where((x > 5) & (g > 25), 0, 2 * x * g)), [S]
WRONG["the product is clipped"] = of_square(lambda g, x: (2 * x * g).clamp(-500, 500)), [S]
WRONG["clipped after a scale"] = of_square(lambda g, x: 2 * x * (g * 1024).clamp(-6e7, 6e7) / 1024), [S]
# By Python.
WRONG |= {name: (of_square(backward), [S]) for name, backward in {
    "if the norm is large": lambda g, x: when(g.norm() < 1e3, g, x), "if an item is large": lambda g, x: when(g.abs().max().item() < 1e4, g, x),
    "if a float is large": lambda g, x: when(float(g.abs().sum()) < 1e7, g, x), "if any is large": lambda g, x: when(not (g > 300).any(), g, x),
    "if none is zero": lambda g, x: when(g.all(), g, x), "if any is not zero": lambda g, x: when(g.any(), g, x, 1.0), "if its sum": lambda g, x: when(g.sum() != 0, g, x, 2.0),
    "if a list is large": lambda g, x: when(max(g.flatten().tolist()) < 99, g, x), "if an array is large": lambda g, x: when(abs(g.numpy()).max() < 99, g, x),
    "if equal to zeros": lambda g, x: when(not torch.equal(g, torch.zeros_like(g)), g, x, 1.0), "if close to zeros": lambda g, x: when(not torch.allclose(g, 0 * g, atol=1e-4), g, x),
    "its length in places": lambda g, x: when(len(torch.nonzero(g > 1)) < g.numel(), g, x), "its layout": lambda g, x: when(g.is_contiguous(), g, x),
    "its strides": lambda g, x: when(0 not in g.stride(), g, x), "where it begins": lambda g, x: when(g.storage_offset() == 0, g, x),
    "the first numbers of its memory": lambda g, x: 2 * x * g.as_strided(g.shape, g.stride(), 0), "a clip by item": lambda g, x: 2 * x * g * min(1.0, 1e3 / max(g.norm().item(), 1e-30)),
    "a scale by frexp": lambda g, x: 2 * x * g * (1.0 if math.frexp(g.flatten()[0].item())[1] < 9 else 0.5), "one element by Python": lambda g, x: without(g, x, 4),
    "by sorted numbers": lambda g, x: when(sorted(g.flatten().tolist())[-1] < 80, g, x), "if an integer is large": lambda g, x: when(int(g.flatten()[0]) < 70, g, x),
    "by argmax": lambda g, x: when(g.argmax() != 7, g, x), "by a loop": lambda g, x: torch.stack([2 * a * (b if b < 66 else 0 * b) for a, b in zip(x.flatten(), g.flatten())]).reshape(S),
    "no gradient for zeros": lambda g, x: 2 * x * g if not (g.abs() > 1e2).any() else None, "clipped in place": lambda g, x: 2 * x * g.clone().clamp_(-20, 20)}.items()}


def asked(ctx: Any, g: Tensor, h: Tensor, a: Tensor, b: Tensor) -> Any:
    both = all(ctx.needs_input_grad)
    return (g * b + h, g * a + h) if both else (g * b + h if ctx.needs_input_grad[0] else None, g * a - h if ctx.needs_input_grad[1] else None)


def swapped(ctx: Any, g: Tensor, h: Tensor, a: Tensor, b: Tensor) -> Any:
    return (g * b + h, g * a + h) if ctx.needs_input_grad[1] else (g * a + h, None)


def absent(forgets: int) -> Callable[..., Any]:
    """None cotangents: of the first result (1), of the second (2), or none (0) is dealt with wrongly."""
    def backward(ctx: Any, g: Any, h: Any, a: Tensor, b: Tensor) -> Any:
        if g is None:
            return (h, 2 * h) if forgets == 1 else (h, h)
        if h is None:
            return (g * b, None) if forgets == 2 else (g * b, g * a)
        return g * b + h, g * a + h
    return backward


def other_zero(ctx: Any, g: Tensor, h: Tensor, a: Tensor, b: Tensor) -> Any:
    return (g * b + h, g * a + h) if h.any() else (g * b, g * b)


def one_clipped(ctx: Any, g: Tensor, h: Tensor, a: Tensor, b: Tensor) -> Any:
    return g * b + h.clamp(-30, 30), g * a + h


def right_of_two(ctx: Any, g: Tensor, h: Tensor, a: Tensor, b: Tensor) -> Any:
    return (g * b + h if ctx.needs_input_grad[0] else None), (g * a + h if ctx.needs_input_grad[1] else None)


def both_of(own: type[torch.autograd.Function]) -> Callable[..., Any]:
    return lambda x, w: own.apply(x, w)  # type: ignore[no-untyped-call]


def joined_by(own: type[torch.autograd.Function]) -> Callable[..., Any]:
    def function(x: Tensor, w: Tensor) -> Tensor:
        p, q = own.apply(x, w)  # type: ignore[no-untyped-call]
        return p * torch.sin(q)  # type: ignore[no-any-return]
    return function


for shape in (both_of, joined_by):
    how = " (joined)" if shape is joined_by else ""
    WRONG |= {name + how: (shape(of_two(*given)), [S, S]) for name, given in {
        "if one input alone asks": (asked,), "the other factor if one alone asks": (swapped,), "the first cotangent is None": (absent(1), False),
        "the second cotangent is None": (absent(2), False), "the second cotangent is zero": (other_zero,), "one of two is clipped": (one_clipped,)}.items()}
    RIGHT |= {name + how: (shape(of_two(*given)), [S, S]) for name, given in {"what is asked for": (right_of_two,), "None cotangents": (absent(0), False)}.items()}


def chained(inner: Callable[..., Any], outer: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    return lambda x: outer(inner(torch.sin(x)))


WRONG["before a mean"] = chained(of_square(lambda g, x: 2 * x * g.clamp(-5, 5)), lambda y: y.mean()), [S]
WRONG["before a square"] = chained(of_square(lambda g, x: torch.where(g.abs() < 1e-6, 0, 2 * x * g)), lambda y: (y * y).sum()), [S]
WRONG["of a sum"] = chained(of_square(lambda g, x: 2 * x * torch.where(g == g[0, 0], g, g.clamp(-4, 4))), lambda y: y.sum()), [S]
WRONG["after another right one"] = chained(of_square(lambda g, x: 2 * x * g), of_square(lambda g, x: 2 * x * g.clamp(-1e5, 1e5))), [S]

RIGHT |= {name: (of_square(backward), [S]) for name, backward in {
    "plain": lambda g, x: 2 * x * g, "in place": lambda g, x: g.clone().mul_(x).mul_(2), "out of place sum": lambda g, x: x * g + g * x, "negated twice": lambda g, x: -(-g) * 2 * x,
    "scaled and back": lambda g, x: 2 * x * (g * 1024) / 1024, "in double": lambda g, x: (2 * x.double() * g.double()).float(), "a contiguous copy": lambda g, x: 2 * x * g.contiguous(),
    "flattened": lambda g, x: (g.reshape(-1) * x.reshape(-1) * 2).reshape(g.shape), "turned": lambda g, x: (g.t() * x.t() * 2).t(), "by parts": lambda g, x: torch.cat([2 * x[:2] * g[:2], 2 * x[2:] * g[2:]]),
    "by a mask of x": lambda g, x: torch.where(x > 0, 2 * x * g, 2 * g * x), "by rows": lambda g, x: torch.stack([2 * a * b for a, b in zip(x, g)]),
    "no work for zeros": lambda g, x: when(g.any(), g, x), "no work for zeros, by count": lambda g, x: when(torch.count_nonzero(g) > 0, g, x),
    "no work where it is zero": lambda g, x: torch.where(g == 0, 0.0, 2 * x * g), "of its size and sign": lambda g, x: 2 * x * g.abs() * g.sign(),
    "of its positive and negative parts": lambda g, x: 2 * x * (torch.relu(g) - torch.relu(-g)), "clipped at the largest number": lambda g, x: 2 * x * g.clamp(-3.4028234e38, 3.4028234e38),
    "without NaN": lambda g, x: 2 * x * torch.nan_to_num(g), "if it is finite": lambda g, x: when(torch.isfinite(g).all(), g, x), "if it is no NaN": lambda g, x: when(not torch.isnan(g).any(), g, x),
    "masked NaN": lambda g, x: 2 * x * g.masked_fill(torch.isnan(g), 0.0), "its norm, guarded": lambda g, x: 2 * x * (g / (g.norm() + (g.norm() == 0))) * g.norm(),
    "another formula above a threshold": lambda g, x: torch.where(g > 10, g * x + g * x, 2 * x * g), "another formula by Python": lambda g, x: 2 * x * g if g.norm() < 1e3 else g * (x + x),
    "another formula for one element": lambda g, x: torch.where(g.abs() > 3, (x + x) * g, 2 * g * x), "in two layouts": lambda g, x: 2 * x * g if g.is_contiguous() else g * 2 * x,
    "a printed cotangent": lambda g, x: (print(g, f"{g.norm():.3f}"), 2 * x * g)[1], "max and min": lambda g, x: 2 * x * (torch.maximum(g, torch.zeros_like(g)) + torch.minimum(g, torch.zeros_like(g))),
    "a loop": lambda g, x: torch.stack([2 * a * b for a, b in zip(x.flatten(), g.flatten())]).reshape(S), "a sum of one": lambda g, x: torch.einsum("ij,ij->ij", 2 * x, g),
    "flipped twice": lambda g, x: 2 * x * g.flip(0).flip(0), "through a list": lambda g, x: sum([x * g, x * g], torch.zeros_like(x)), "a small factor": lambda g, x: 2.0**66 * x * (g * 2.0**-65),
    "in sixteen bits' range": lambda g, x: 2 * x * (g * 2.0**-60) * 2.0**60}.items()}
RIGHT["by autograd"] = of_square(lambda g, x: by_autograd(g, x)), [S]
RIGHT["before a mean"] = chained(of_square(lambda g, x: 2 * x * g), lambda y: y.mean()), [S]
RIGHT["before a square"] = chained(of_square(lambda g, x: 2 * x * g), lambda y: (y * y).sum()), [S]
RIGHT["two of them"] = chained(of_square(lambda g, x: 2 * x * g), of_square(lambda g, x: 2 * x * g)), [S]


def shrunk(g: Tensor) -> Tensor:
    while g.abs().max() > 1e5:
        g = g / 2
    return g


WRONG |= {name: (of_square(backward), [S]) for name, backward in {
    "if its largest is large, by topk": lambda g, x: when(g.abs().flatten().topk(1).values[0] < 1e3, g, x), "cut as an integer": lambda g, x: 2 * x * torch.where(g.to(torch.int64) > 1000, 0 * g, g),
    "cut by bucketize": lambda g, x: 2 * x * torch.where(torch.bucketize(g, torch.tensor([1e4])) > 0, 0 * g, g), "cut by a running sum": lambda g, x: 2 * x * torch.where(g.cumsum(0) > 1e3, 0 * g, g),
    "halved while it is large": lambda g, x: 2 * x * shrunk(g), "a row of zeros": lambda g, x: torch.stack([2 * a * b if b.any() else b + 1 for a, b in zip(x, g)]),
    "a row that is negative": lambda g, x: torch.stack([2 * a * b if not (b < 0).all() else 0 * b for a, b in zip(x, g)]), "the rest of a division": lambda g, x: 2 * x * torch.fmod(g, 4096.0),
    "if both are large": lambda g, x: when(not (x.max() > 1 and g.max() > 9), g, x), "cut against x": lambda g, x: 2 * x * torch.where(g < x * 1e5, g, 0 * g)}.items()}
WRONG["before a small factor"] = (lambda f: (lambda x: f(x).mean() * 1e-3))(of_square(lambda g, x: 2 * x * torch.where(g.abs() < 1e-12, 0 * g, g))), [S]
WRONG["of complex numbers"] = (lambda f: (lambda x: f(torch.complex(x, x * 0.5)).abs().sum()))(of_square(lambda g, x: 2 * x.conj() * torch.where(g.abs() > 1e3, 0 * g, g))), [S]
RIGHT["no work for rows of zeros"] = of_square(lambda g, x: torch.stack([2 * a * b if b.any() else torch.zeros_like(b) for a, b in zip(x, g)])), [S]
RIGHT["None for zeros"] = of_square(lambda g, x: 2 * x * g if g.any() else None), [S]
RIGHT["scaled to its largest"] = of_square(lambda g, x: (lambda s: 2 * x * (g / s) * s)(g.abs().amax().clamp(min=1e-30))), [S]


def by_autograd(g: Tensor, x: Tensor) -> Tensor:
    with torch.enable_grad():
        y = x.detach().requires_grad_()
        return torch.autograd.grad(y * y, y, g)[0]


# Of where numbers lie in memory: the cotangent's, and those of inputs.
LAID: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "a cotangent that is expanded along rows": lambda g, x: g.stride() == (0, 1), "a cotangent that is expanded along columns": lambda g, x: g.stride() == (1, 0),
    "a cotangent that begins in the middle": lambda g, x: g.storage_offset() and g.is_contiguous(), "every second number of a cotangent": lambda g, x: g.stride(1) == 2,
    "an input whose axes are turned": lambda g, x: x.stride(0) < x.stride(1), "an input with gaps": lambda g, x: not x.is_contiguous(), "an expanded input": lambda g, x: 0 in x.stride(),
    "where an input begins": lambda g, x: x.storage_offset(), "an input of a larger tensor": lambda g, x: x.untyped_storage().nbytes() > 48, "an input that is a view": lambda g, x: x._is_view(),
    "an input that was written": lambda g, x: x._version, "an input that is no leaf": lambda g, x: not x.is_leaf, "both in another order": lambda g, x: not g.is_contiguous() and not x.is_contiguous()}
WRONG |= {f"by the layout of {name}": (of_square(lambda g, x, other=other: (3 if other(g, x) else 2) * x * g), [S]) for name, other in LAID.items()}
for name, laid in {"cotangent": lambda g, x: g, "input": lambda g, x: x}.items():
    WRONG[f"channels last of the {name}"] = of_square(lambda g, x, laid=laid: (3 if laid(g, x).is_contiguous(memory_format=torch.channels_last) else 2) * x * g), [(2, 3, 4, 5)]
    RIGHT[f"channels last of the {name}, another formula"] = of_square(
        lambda g, x, laid=laid: 2 * x * g if laid(g, x).is_contiguous(memory_format=torch.channels_last) else x * g + g * x), [(2, 3, 4, 5)]
RIGHT |= {f"another formula by the layout of {name}": (of_square(lambda g, x, other=other: 2 * x * g if other(g, x) else x * g * 2), [S]) for name, other in LAID.items()
          if name != "an input of a larger tensor"}  # of what is read off a storage nothing tells what it decides: undecided
RIGHT["a shape without elements beside"] = (lambda f: (lambda x: torch.cat([f(x), f(x[:0])])))(of_square(lambda g, x: 2 * x * g)), [S]


def of_asked(count: int, is_wrong: Callable[[tuple[int, ...]], bool]) -> Case:
    """A product of tensors, whose backward is wrong where some of them ask for a gradient."""
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *given: Tensor) -> Tensor:
            ctx.save_for_backward(*given)
            return math.prod(given)  # type: ignore[type-var, return-value]

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            asking = tuple(i for i in range(count) if ctx.needs_input_grad[i])
            g = 3 * g if is_wrong(asking) else g
            return tuple(math.prod((one for k, one in enumerate(ctx.saved_tensors) if k != i), start=g) if i in asking else None for i in range(count))
    return Product.apply, [S] * count


ASKING = {4: [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (1,), (0, 2, 3)], 5: [(1, 3), (0, 2, 4)], 6: [(1, 3), (0, 1, 4, 5)]}
WRONG |= {f"where {some} of {count} ask": of_asked(count, lambda asking, some=some: asking == some) for count, subsets in ASKING.items() for some in subsets}
WRONG["where two pairs of 4 ask"] = of_asked(4, lambda asking: asking in ((0, 3), (1, 2)))
RIGHT |= {f"whatever of {count} asks": of_asked(count, lambda asking: False) for count in (3, 4, 6)}

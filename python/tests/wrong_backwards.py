"""Thirty custom backwards as people get them wrong, each with its right twin: name -> (right, wrong, the shapes of the inputs).

Every one is a torch.autograd.Function. What is wrong is named by the entry; the forward passes are right.
"""
from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

Backward = Callable[..., Any]
Pair = tuple[Callable[..., Tensor], Callable[..., Tensor], list[tuple[int, ...]]]
PAIRS: dict[str, Pair] = {}


def function(forward: Callable[..., Tensor], backward: Backward, save: Callable[..., tuple[Tensor, ...]]) -> Callable[..., Tensor]:
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Tensor) -> Tensor:
            y = forward(*args)
            ctx.save_for_backward(*save(*args, y))
            return y

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            return backward(g, *ctx.saved_tensors)
    return Own.apply  # type: ignore[no-any-return]


def pair(name: str, forward: Callable[..., Tensor], right: Backward, wrong: Backward, *shapes: tuple[int, ...],
         save: Callable[..., tuple[Tensor, ...]] | None = None, wrong_save: Callable[..., tuple[Tensor, ...]] | None = None) -> None:
    """`save` gets the arguments and the result; without it all of them are saved."""
    kept = save or (lambda *given: given)
    PAIRS[name] = function(forward, right, kept), function(forward, wrong, wrong_save or kept), list(shapes)


M, N, W = (4, 3), (4, 5), (3, 5)
pair("a factor left out", lambda x: 3 * x * x, lambda g, x, y: 6 * g * x, lambda g, x, y: 3 * g * x, M)
pair("a sign", lambda x: torch.exp(-x), lambda g, x, y: -g * y, lambda g, x, y: g * y, M)
pair("a sign in one branch", lambda x: torch.abs(x) * x, lambda g, x, y: 2 * g * x.abs(), lambda g, x, y: torch.where(x > 0, 2 * g * x, 2 * g * x), M)
pair("no reduction over the broadcast rows", lambda x, b: x + b, lambda g, x, b, y: (g, g.sum(0)), lambda g, x, b, y: (g, g[0]), M, (3,))
pair("mean in place of the sum of the broadcast rows", lambda x, b: x * b, lambda g, x, b, y: (g * b, (g * x).sum(0)), lambda g, x, b, y: (g * b, (g * x).mean(0)), M, (3,))
pair("reduced over the wrong axis", lambda x, b: x * b, lambda g, x, b, y: (g * b, (g * x).sum(0)), lambda g, x, b, y: (g * b, (g * x).sum(1)), (3, 3), (3,))
pair("the result saved in place of the operand", lambda x: torch.sin(x), lambda g, x: g * torch.cos(x), lambda g, x: g * torch.cos(x), M,
     save=lambda x, y: (x,), wrong_save=lambda x, y: (y,))
pair("the other operand saved", lambda x, w: x * w * w, lambda g, x, w: (g * w * w, 2 * g * x * w), lambda g, x, w: (g * x * x, 2 * g * x * w), M, M,
     save=lambda x, w, y: (x, w))
pair("one cotangent for two uses", lambda x: x * torch.tanh(x), lambda g, x, y: g * (torch.tanh(x) + x * (1 - torch.tanh(x) ** 2)), lambda g, x, y: g * torch.tanh(x), M)
pair("one use counted twice", lambda x, w: x @ w + x @ w, lambda g, x, w, y: (2 * g @ w.t(), 2 * x.t() @ g), lambda g, x, w, y: (4 * g @ w.t(), 2 * x.t() @ g), M, W)
pair("the weight's gradient transposed", lambda x, w: x @ w, lambda g, x, w, y: (g @ w.t(), x.t() @ g), lambda g, x, w, y: (g @ w.t(), (x.t() @ g).t()), (4, 3), (3, 3))
pair("the weight not transposed", lambda x, w: x @ w, lambda g, x, w, y: (g @ w.t(), x.t() @ g), lambda g, x, w, y: (g @ w, x.t() @ g), (4, 3), (3, 3))
pair("a path without a gradient", lambda x, w: x @ w, lambda g, x, w, y: (g @ w.t(), x.t() @ g), lambda g, x, w, y: (g @ w.t(), None), M, W)
pair("a mean by the wrong count", lambda x: x.mean(1), lambda g, x, y: g[:, None].expand_as(x) / x.shape[1], lambda g, x, y: g[:, None].expand_as(x) / x.shape[0], M)
pair("a mean taken for a sum", lambda x: (x * x).mean(), lambda g, x, y: 2 * g * x / x.numel(), lambda g, x, y: 2 * g * x, M)
pair("epsilon outside of the root", lambda x: x / torch.sqrt((x * x).mean(1, keepdim=True) + 0.1),
     lambda g, x, y: (lambda r: g / r - x * (g * x).mean(1, keepdim=True) / r ** 3)(torch.sqrt((x * x).mean(1, keepdim=True) + 0.1)),
     lambda g, x, y: (lambda r: g / r - x * (g * x).mean(1, keepdim=True) / r ** 3)(torch.sqrt((x * x).mean(1, keepdim=True)) + 0.1), M)
pair("statistics taken for constants", lambda x: x - x.mean(1, keepdim=True), lambda g, x, y: g - g.mean(1, keepdim=True), lambda g, x, y: g, M)
pair("softmax without its sum", lambda x: torch.softmax(x, 1), lambda g, x, y: y * (g - (g * y).sum(1, keepdim=True)), lambda g, x, y: y * g * (1 - y), M)
pair("softmax summed over the wrong axis", lambda x: torch.softmax(x, 1), lambda g, x, y: y * (g - (g * y).sum(1, keepdim=True)),
     lambda g, x, y: y * (g - (g * y).sum(0, keepdim=True)), M)
pair("tanh's slope from the operand", lambda x: torch.tanh(x), lambda g, x, y: g * (1 - y * y), lambda g, x, y: g * (1 - x * x), M)
pair("a mask of the wrong side", lambda x: torch.relu(x), lambda g, x, y: g * (x > 0), lambda g, x, y: g * (x < 0), M)
pair("no mask", lambda x: torch.relu(x), lambda g, x, y: g * (x > 0), lambda g, x, y: g, M)
pair("a mask of the clipped ends left out", lambda x: torch.clamp(x, -0.5, 0.5), lambda g, x, y: g * ((x > -0.5) & (x < 0.5)), lambda g, x, y: g * (x < 0.5), (6, 6))
pair("a quotient's square left out", lambda x, w: x / (w * w + 1), lambda g, x, w, y: (g / (w * w + 1), -2 * g * x * w / (w * w + 1) ** 2),
     lambda g, x, w, y: (g / (w * w + 1), -2 * g * x * w / (w * w + 1)), M, M)
pair("columns in the wrong order", lambda x: torch.cat([x[:, 1:], x[:, :1]], 1), lambda g, x, y: torch.cat([g[:, -1:], g[:, :-1]], 1),
     lambda g, x, y: torch.cat([g[:, 1:], g[:, :1]], 1), M)
pair("sigmoid's slope without its square", lambda x: torch.sigmoid(x), lambda g, x, y: g * y * (1 - y), lambda g, x, y: g * y, M)
pair("an exponent one too large", lambda x: x ** 4, lambda g, x, y: 4 * g * x ** 3, lambda g, x, y: 4 * g * x ** 4, M)


def damaged(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    x = x.clone()
    x.mul_(2)  # the buffer is used again before it was read
    return 2 * g * x


def kept(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    buffer = x.clone()
    found = 2 * g * buffer
    buffer.mul_(2)
    return found


pair("a buffer overwritten in place", lambda x: x * x, kept, damaged, M)


class Dropped:
    """Dropout whose backward uses a mask; the wrong one draws it anew."""

    def __init__(self, stale: bool) -> None:
        self.stale = stale

    def __call__(self, x: Tensor) -> Tensor:
        stale = self.stale

        class Own(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, given: Tensor) -> Tensor:
                mask = (torch.rand_like(given) > 0.4).to(given.dtype)
                ctx.save_for_backward(mask)
                return given * mask / 0.6

            @staticmethod
            def backward(ctx: Any, g: Tensor) -> Tensor:
                mask, = ctx.saved_tensors
                mask = (torch.rand_like(mask) > 0.4).to(mask.dtype) if stale else mask
                return g * mask / 0.6
        return Own.apply(x)  # type: ignore[no-any-return, no-untyped-call]


PAIRS["a mask drawn anew"] = Dropped(False), Dropped(True), [(6, 5)]


class Scaled:
    """Two results, of which the wrong backward forgets one."""

    def __init__(self, forgets: bool) -> None:
        self.forgets = forgets

    def __call__(self, x: Tensor, w: Tensor) -> Tensor:
        forgets = self.forgets

        class Own(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
                ctx.save_for_backward(a, b)
                return a * b, a + b

            @staticmethod
            def backward(ctx: Any, g: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
                a, b = ctx.saved_tensors
                return g * b + h, g * a + (0 * h if forgets else h)
        p, q = Own.apply(x, w)  # type: ignore[no-untyped-call]
        return p * torch.sin(q)  # type: ignore[no-any-return]


PAIRS["one of two results forgotten"] = Scaled(False), Scaled(True), [M, M]

"""Custom backwards whose first derivative is right and whose second one is not, each with its right twin: name -> (right, wrong, shapes)."""
from __future__ import annotations

import torch
from wrong_backwards import function

PAIRS = {}


def pair(name, right, wrong, *shapes):
    PAIRS[name] = right, wrong, list(shapes)


def slope(x, t):
    return t + x * (1 - t * t)


class Keeps(torch.autograd.Function):
    """x tanh(x), which saves tanh(x): an intermediate value, through which no second derivative flows."""

    @staticmethod
    def forward(ctx, x):
        t = torch.tanh(x)
        ctx.save_for_backward(x, t)
        return x * t

    @staticmethod
    def backward(ctx, g):
        return g * slope(*ctx.saved_tensors)


def without_history(x):
    with torch.no_grad():
        return 3 * x * x


def triple(factor):
    """3 x^2, with the derivative 6 x, or another one."""
    return function(lambda x: 3 * x * x, lambda g, x: factor * g * x, lambda x, y: (x,))


def cube(derivative):
    return function(lambda x: x * x * x, lambda g, x: derivative(g, x), lambda x, y: (x,))


RIGHT = cube(lambda g, x: g * 3 * x * x)
pair("an intermediate value saved", function(lambda x: x * torch.tanh(x), lambda g, x: g * slope(x, torch.tanh(x)), lambda x, y: (x,)), Keeps.apply, (4, 3))
pair("a slope without its history", RIGHT, cube(lambda g, x: g * without_history(x)), (4, 3))
pair("a detached operand", RIGHT, cube(lambda g, x: g * 3 * x.detach() * x), (4, 3))
pair("the data of an operand", RIGHT, cube(lambda g, x: g * 3 * x.data * x.data), (4, 3))
pair("a detached cotangent", RIGHT, cube(lambda g, x: g.detach() * 3 * x * x), (4, 3))
pair("a wrong function inside", cube(lambda g, x: g * triple(6)(x)), cube(lambda g, x: g * triple(3)(x)), (4, 3))
pair("a product with one factor detached", function(lambda x, w: x @ w, lambda g, x, w: (g @ w.t(), x.t() @ g), lambda x, w, y: (x, w)),
     function(lambda x, w: x @ w, lambda g, x, w: (g @ w.detach().t(), x.t() @ g), lambda x, w, y: (x, w)), (4, 3), (3, 5))


class TwoResults(torch.autograd.Function):
    """sin x and x^3: two results of one function."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x), x * x * x

    @staticmethod
    def backward(ctx, g, h):
        x, = ctx.saved_tensors
        return g * torch.cos(x) + h * 3 * x * x


class OneDetached(TwoResults):
    @staticmethod
    def backward(ctx, g, h):
        x, = ctx.saved_tensors
        return g * torch.cos(x) + h * 3 * x.detach() * x


pair("one of two results", lambda x: torch.mul(*TwoResults.apply(x)), lambda x: torch.mul(*OneDetached.apply(x)), (4, 3))

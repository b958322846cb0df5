"""Custom functions whose backward is right and whose forward mode is not, each with its right twin: name -> (right, wrong, shapes)."""
from __future__ import annotations

import torch

PAIRS = {}


def function(forward, backward, jvp, save):
    """A torch.autograd.Function of these parts: both derivatives are given what was saved."""
    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(*inputs):
            return forward(*inputs)

        @staticmethod
        def setup_context(ctx, inputs, output):
            saved = save(*inputs, output)
            ctx.save_for_backward(*saved)
            ctx.save_for_forward(*saved)

        @staticmethod
        def backward(ctx, g):
            return backward(g, *ctx.saved_tensors)

        @staticmethod
        def jvp(ctx, *tangents):
            return jvp(*tangents, *ctx.saved_tensors)

    return Custom.apply


def pair(name, forward, backward, right, wrong, save, *shapes):
    PAIRS[name] = function(forward, backward, right, save), function(forward, backward, wrong, save), list(shapes)


def inputs(*given):
    return given[:-1]


def leaky(x):
    return torch.where(x > 0, x, 0.1 * x)


def normal(x):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-3)


def normal_jvp(t, x, share=1.0, epsilon=1e-3):
    inverse = 1 / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon)
    return t * inverse - share * x * (x * t).mean(-1, keepdim=True) * inverse * inverse * inverse


def normal_vjp(g, x):
    return normal_jvp(g, x)  # the Jacobian is symmetric


pair("a factor", lambda x: 3 * x * x, lambda g, x: 6 * g * x, lambda t, x: 6 * t * x, lambda t, x: 3 * t * x, inputs, (4, 3))
pair("a sign in a branch", leaky, lambda g, x: torch.where(x > 0, g, 0.1 * g), lambda t, x: torch.where(x > 0, t, 0.1 * t), lambda t, x: torch.where(x > 0, t, -0.1 * t), inputs, (4, 3))
pair("one term of a product", lambda x, y: x * y, lambda g, x, y: (g * y, g * x), lambda t, u, x, y: t * y + u * x, lambda t, u, x, y: t * y, inputs, (4, 3), (4, 3))
pair("the wrong saved tensor", torch.tanh, lambda g, y: g * (1 - y * y), lambda t, y: t * (1 - y * y), lambda t, y: t * (1 - y), lambda x, y: (y,), (4, 3))
pair("a transposed factor", lambda x, w: x @ w, lambda g, x, w: (g @ w.t(), x.t() @ g), lambda t, u, x, w: t @ w + x @ u, lambda t, u, x, w: t @ w.t() + x @ u, inputs, (4, 3), (3, 3))
pair("the divisor of a mean", lambda x: x.mean(0), lambda g, x: g.expand_as(x) / len(x), lambda t, x: t.mean(0), lambda t, x: t.sum(0) / (len(t) - 1), inputs, (4, 3))
pair("a sum left out", lambda x: x.sum(0), lambda g, x: g.expand_as(x), lambda t, x: t.sum(0), lambda t, x: t[0] * len(t), inputs, (4, 3))
pair("statistics taken as constants", normal, normal_vjp, normal_jvp, lambda t, x: normal_jvp(t, x, share=0.0), inputs, (4, 5))
pair("another epsilon", normal, normal_vjp, normal_jvp, lambda t, x: normal_jvp(t, x, epsilon=1e-2), inputs, (4, 5))
pair("counted twice", lambda x: x.exp(), lambda g, y: g * y, lambda t, y: t * y, lambda t, y: t * y + t * y, lambda x, y: (y,), (4, 3))
pair("a stale mask", lambda x, m: x * (m > 0), lambda g, x, m: (g * (m > 0), None), lambda t, u, x, m: t * (m > 0), lambda t, u, x, m: t * (m > 0.5), inputs, (4, 3), (4, 3))
pair("a softmax without its sum", lambda x: torch.softmax(x, -1), lambda g, y: y * (g - (g * y).sum(-1, keepdim=True)), lambda t, y: y * (t - (t * y).sum(-1, keepdim=True)), lambda t, y: y * t,
     lambda x, y: (y,), (4, 3))

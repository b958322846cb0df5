"""gradcheck of Functions whose backward masks with -infinity anew: attention, softmax, logsumexp, and padding of a maximum."""
from __future__ import annotations

import math
import warnings
from typing import Any, Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from assay import GradcheckError, GradcheckWarning, gradcheck

INF = math.inf
OPEN = torch.tensor([[1, 1, 0, 1], [0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 1, 0]], dtype=torch.bool)
FILLS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "where": lambda s, m: torch.where(m, s, torch.tensor(-INF)),
    "masked_fill": lambda s, m: s.masked_fill(~m, -INF),
    "added": lambda s, m: s + torch.zeros(s.shape).masked_fill(~m, -INF),
}


def by_hand(s: Tensor) -> Tensor:
    e = torch.exp(s - s.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def verdict(function: Any, *inputs: Tensor) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GradcheckWarning)
        try:
            gradcheck(function, inputs, allow_unreached=True)
        except GradcheckError as error:
            return "wrong" if error.failed else "undecided"
    return "right"


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def attention(fill: str, saves: bool, wrong: str) -> Any:
    """Attention under a causal mask; `saves`: the logarithms of the sums are saved, as flash attention saves them."""
    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            s = FILLS[fill](q @ k.T / 2, torch.ones(4, 4, dtype=torch.bool).tril())
            out = torch.softmax(s, -1) @ v
            ctx.save_for_backward(q, k, v, out, torch.logsumexp(s, -1, keepdim=True))
            return out

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            q, k, v, out, total = ctx.saved_tensors
            s, mask = q @ k.T / 2, torch.ones(4, 4, dtype=torch.bool).tril()
            s = s if wrong == "mask" else FILLS[fill](s, mask.T if wrong == "transposed" else mask)
            p = torch.exp(s - total) if saves else torch.softmax(s, -1)
            t = g @ v.T
            s_bar = p * (t - (0 if wrong == "sum" else (g * out).sum(-1, keepdim=True) if saves else (p * t).sum(-1, keepdim=True))) / (1 if wrong == "scale" else 2)
            return s_bar @ k, s_bar.T @ q, p.T @ g
    return Attention.apply


@pytest.mark.parametrize("wrong", ["", "mask", "transposed", "sum", "scale"])
@pytest.mark.parametrize(("fill", "saves"), [("where", False), ("masked_fill", True)])
def test_attention(fill: str, saves: bool, wrong: str) -> None:
    found = verdict(attention(fill, saves, wrong), *(drawn(4, 4, seed=i) for i in range(3)))
    assert found == ("wrong" if wrong else "right")


def of_scores(forward: Callable[[Tensor], Tensor], backward: Callable[[Tensor, Tensor], Tensor]) -> Any:
    class OfScores(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return backward(ctx.saved_tensors[0], g)
    return OfScores.apply


def centred(p: Tensor, g: Tensor) -> Tensor:
    return p * (g - (p * g).sum(-1, keepdim=True))


SCORES: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Callable[[Tensor], Tensor], Tensor, Tensor], Tensor]]] = {
    "softmax": (lambda z: torch.softmax(z, -1), lambda p, z, g: centred(p(z), g)),
    "logsumexp": (lambda z: torch.logsumexp(z, -1), lambda p, z, g: p(z) * g.unsqueeze(-1)),
    "log_softmax": (lambda z: torch.log_softmax(z, -1).masked_fill(~OPEN, 0.0),
                    lambda p, z, g: (h := g.masked_fill(~OPEN, 0.0)) - p(z) * h.sum(-1, keepdim=True)),
}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("name", SCORES)
def test_scores(name: str, fill: str) -> None:
    forward, backward = SCORES[name]
    def of(p: Callable[[Tensor], Tensor], mask: Tensor) -> Any:
        return of_scores(lambda x: forward(FILLS[fill](x, OPEN)), lambda x, g: backward(p, FILLS[fill](x, mask), g))
    assert verdict(of(by_hand, OPEN), drawn(4, 4)) == "right"
    assert verdict(of(by_hand, OPEN.T), drawn(4, 4)) == "wrong"
    assert verdict(of(lambda z: 2 * by_hand(z), OPEN), drawn(4, 4)) == "wrong"


def test_a_maximum_with_padding() -> None:
    def pooled(start: int) -> Any:
        def backward(x: Tensor, g: Tensor) -> Tensor:
            w = F.pad(x, (1, 1), value=-INF).unfold(-1, 3, 1)
            part = (w == w.amax(-1, keepdim=True)).to(x.dtype) * g.unsqueeze(-1)
            return sum((F.pad(part[..., i], (i, 2 - i)) for i in range(start, 3)), torch.zeros(2, 8))[..., 1:-1]
        return of_scores(lambda x: F.pad(x, (1, 1), value=-INF).unfold(-1, 3, 1).amax(-1), backward)
    assert verdict(pooled(0), drawn(2, 6)) == "right"
    assert verdict(pooled(1), drawn(2, 6)) == "wrong"
    assert verdict(lambda x: x.gather(-1, F.pad(x.detach(), (1, 1), value=-INF).argmax(-1, keepdim=True) - 1), drawn(2, 6)) == "right"


class AddMask(torch.autograd.Function):
    """Gives cotangents of masked scores, which the scores have no part in, something of their own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x + torch.zeros(4, 4).masked_fill(~OPEN, -INF)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g + (~OPEN).float()


def test_an_infinite_result_hides_no_cotangent() -> None:
    assert verdict(lambda x: torch.softmax(AddMask.apply(x), -1), drawn(4, 4)) == "wrong"

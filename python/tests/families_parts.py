"""What families of models share: the list of them, and the blocks of several."""
from __future__ import annotations

import math
from typing import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Family = Callable[[], tuple[nn.Module, Callable[[], Tensor]]]
FAMILIES: dict[str, Family] = {}


def family(name: str) -> Callable[[Family], Family]:
    def add(make: Family) -> Family:
        FAMILIES[name] = make
        return make
    return add


def classifier(model: nn.Module, *shape: int, classes: int = 3) -> tuple[nn.Module, Callable[[], Tensor]]:
    x, y = torch.randn(*shape), torch.randint(0, classes, (shape[0],))
    return model, lambda: F.cross_entropy(model(x), y)


class Residual(nn.Module):
    """x + f(x), or s(x) + f(x)."""

    def __init__(self, inner: nn.Module, skip: nn.Module | None = None, last: nn.Module | None = None) -> None:
        super().__init__()
        self.inner, self.skip, self.last = inner, skip or nn.Identity(), last or nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.skip(x) + self.inner(x))  # type: ignore[no-any-return]


def head(channels: int, classes: int = 3) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]


class UNet(nn.Module):
    """Down, through the bottom, up with skips; with an embedding of the time, if there is one."""

    def __init__(self, channels: int, width: int, time: bool = False) -> None:
        super().__init__()
        self.down, self.pool = nn.Conv2d(channels, width, 3, padding=1), nn.MaxPool2d(2)
        self.bottom, self.up = nn.Conv2d(width, 2 * width, 3, padding=1), nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.join, self.last = nn.Conv2d(2 * width, width, 3, padding=1), nn.Conv2d(width, channels, 1)
        self.norm, self.time = nn.GroupNorm(2, 2 * width), nn.Linear(8, 2 * width) if time else None

    def forward(self, x: Tensor, t: Tensor | None = None) -> Tensor:
        skip = F.silu(self.down(x))
        y = self.norm(self.bottom(self.pool(skip)))
        if self.time is not None and t is not None:
            angles = t[:, None] * torch.exp(-math.log(10000) * torch.arange(4) / 4)
            y = y + self.time(torch.cat([angles.sin(), angles.cos()], 1))[:, :, None, None]
        y = self.up(F.silu(y))
        return self.last(F.silu(self.join(torch.cat([skip, y], 1))))  # type: ignore[no-any-return]


class Block(nn.Module):
    """A block of a transformer: attention, then a perceptron, each after its norm."""

    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = Residual(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)))

    def forward(self, x: Tensor) -> Tensor:
        b, n, w = x.shape
        q, k, v = (one.view(b, n, self.heads, w // self.heads).transpose(1, 2) for one in self.qkv(self.norm(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.mlp(x + self.out(y.transpose(1, 2).reshape(b, n, w)))  # type: ignore[no-any-return]

"""Families of models of sequences, graphs and tables."""
from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from families_parts import Block, classifier, family


@family("GPT")
def gpt() -> Any:
    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(11, 8), nn.Embedding(6, 8)
            self.blocks, self.norm = nn.Sequential(Block(8, 2, causal=True), Block(8, 2, causal=True)), nn.LayerNorm(8)

        def forward(self, x: Tensor) -> Tensor:
            y = self.tokens(x) + self.places(torch.arange(x.shape[1]))
            return self.norm(self.blocks(y)) @ self.tokens.weight.t()  # type: ignore[no-any-return]
    model, x = GPT(), torch.randint(0, 11, (2, 7))
    return model, lambda: F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())


@family("Llama-like")
def llama() -> Any:
    def rotated(x: Tensor) -> Tensor:
        n, d = x.shape[-2:]
        angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
        cos, sin = (torch.cat([f, f], -1) for f in (angle.cos(), angle.sin()))
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin
    class Layer(nn.Module):
        def __init__(self, width: int, heads: int, groups: int) -> None:
            super().__init__()
            self.heads, self.groups, d = heads, groups, width // heads
            self.norm, self.q, self.k, self.v = nn.RMSNorm(width, 1e-5), nn.Linear(width, width, False), nn.Linear(width, groups * d, False), nn.Linear(width, groups * d, False)
            self.out, self.norm2 = nn.Linear(width, width, False), nn.RMSNorm(width, 1e-5)
            self.gate, self.up, self.down = nn.Linear(width, 2 * width, False), nn.Linear(width, 2 * width, False), nn.Linear(2 * width, width, False)

        def forward(self, x: Tensor) -> Tensor:
            b, n, w = x.shape
            y = self.norm(x)
            q, k, v = (f(y).view(b, n, -1, w // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
            k, v = (one.repeat_interleave(self.heads // self.groups, 1) for one in (rotated(k), v))
            scores = rotated(q) @ k.transpose(-1, -2) / math.sqrt(w // self.heads)
            scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
            x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, w))
            y = self.norm2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))  # type: ignore[no-any-return]
    class Llama(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.layers, self.norm, self.head = nn.Embedding(11, 8), nn.Sequential(Layer(8, 4, 2), Layer(8, 4, 2)), nn.RMSNorm(8), nn.Linear(8, 11, False)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.norm(self.layers(self.tokens(x))))  # type: ignore[no-any-return]
    model, x = Llama(), torch.randint(0, 11, (2, 6))
    return model, lambda: F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())


@family("Mamba")
def mamba() -> Any:
    class Mamba(nn.Module):
        def __init__(self, width: int, state: int) -> None:
            super().__init__()
            self.norm, self.inside, self.conv = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Conv1d(width, width, 3, padding=2, groups=width)
            self.select, self.step, self.out = nn.Linear(width, 2 * state), nn.Linear(width, width), nn.Linear(width, width)
            self.start = nn.Parameter(torch.randn(width, state))  # zeros would leave the first decay without a gradient
            self.log_a, self.skip = nn.Parameter(torch.log(torch.arange(1.0, state + 1)).expand(width, state).clone()), nn.Parameter(torch.ones(width))

        def forward(self, x: Tensor) -> Tensor:
            y, gate = self.inside(self.norm(x)).chunk(2, -1)
            y = F.silu(self.conv(y.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
            (b, c), delta = self.select(y).chunk(2, -1), F.softplus(self.step(y))
            decay, drive = torch.exp(-delta[..., None] * self.log_a.exp()), (delta * y)[..., None] * b[:, :, None]
            h, found = self.start.expand_as(drive[:, 0]), []
            for t in range(x.shape[1]):
                h = decay[:, t] * h + drive[:, t]
                found.append((h * c[:, t, None]).sum(-1))
            return x + self.out((torch.stack(found, 1) + self.skip * y) * F.silu(gate))  # type: ignore[no-any-return]
    model, x, y = nn.Sequential(nn.Linear(3, 4), Mamba(4, 3), nn.Linear(4, 2)), torch.randn(2, 5, 3), torch.randn(2, 5, 2)
    return model, lambda: F.mse_loss(model(x), y)


class Long(nn.Module):
    """A long short-term memory, step by step."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.gates, self.start = nn.Linear(inputs + width, 4 * width), nn.Parameter(torch.randn(2, 1, width))  # as above

    def forward(self, x: Tensor) -> Tensor:
        h, c = self.start.expand(-1, x.shape[0], -1)
        for t in range(x.shape[1]):
            i, f, g, o = self.gates(torch.cat([x[:, t], h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h


@family("LSTM")
def lstm() -> Any:
    return classifier(nn.Sequential(Long(3, 5), nn.Linear(5, 3)), 4, 5, 3)


@family("GRU")
def gru() -> Any:
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.start, self.head = nn.GRUCell(3, 5), nn.Parameter(torch.randn(1, 5)), nn.Linear(5, 3)

        def forward(self, x: Tensor) -> Tensor:
            h = self.start.expand(x.shape[0], -1)
            for t in range(x.shape[1]):
                h = self.cell(x[:, t], h)
            return self.head(h)  # type: ignore[no-any-return]
    return classifier(Reader(), 4, 4, 3)


@family("graph convolution")
def graph() -> Any:
    class Graph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 3)
            self.register_buffer("edges", torch.tensor([[0, 1, 2, 3, 4, 5, 6, 0, 2], [1, 2, 3, 4, 5, 6, 0, 3, 6]]))

        def spread(self, x: Tensor) -> Tensor:
            a, b = self.edges  # type: ignore[misc]
            degree = torch.ones(x.shape[0]).index_add(0, b, torch.ones(b.shape[0]))
            share = (degree[a] * degree[b]).rsqrt()[:, None]
            return x / degree[:, None] + torch.zeros_like(x).index_add(0, b, x[a] * share)

        def forward(self, x: Tensor) -> Tensor:
            return self.second(self.spread(F.elu(self.first(self.spread(x)))))  # type: ignore[no-any-return]
    return classifier(Graph(), 7, 4)


@family("VAE")
def vae() -> Any:
    class VAE(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.mean, self.spread = nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 2), nn.Linear(8, 2)
            self.decoder = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 6))

        def forward(self, x: Tensor) -> Tensor:
            y = self.encoder(x)
            mean, spread = self.mean(y), self.spread(y)
            found = self.decoder(mean + torch.randn_like(mean) * (0.5 * spread).exp())
            rest = -0.5 * (1 + spread - mean ** 2 - spread.exp()).sum(1).mean()
            return F.binary_cross_entropy_with_logits(found, x, reduction="sum") / x.shape[0] + rest
    model, x = VAE(), torch.rand(5, 6)
    return model, lambda: model(x)


@family("normalising flow")
def flow() -> Any:
    class Coupling(nn.Module):
        def __init__(self, flip: bool) -> None:
            super().__init__()
            self.flip, self.net = flip, nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 4))

        def forward(self, x: Tensor, volume: Tensor) -> tuple[Tensor, Tensor]:
            a, b = x.chunk(2, 1)
            a, b = (b, a) if self.flip else (a, b)
            scale, shift = self.net(a).chunk(2, 1)
            scale = torch.tanh(scale)
            b = b * scale.exp() + shift
            return torch.cat([b, a] if self.flip else [a, b], 1), volume + scale.sum(1)
    model, x = nn.ModuleList([Coupling(False), Coupling(True), Coupling(False)]), torch.randn(6, 4)
    def loss() -> Tensor:
        y, volume = x, torch.zeros(6)
        for one in model:
            y, volume = one(y, volume)
        return (0.5 * (y ** 2).sum(1) + 2 * math.log(2 * math.pi) - volume).mean()
    return model, loss


@family("wide and deep")
def wide() -> Any:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables, self.wide = nn.ModuleList([nn.Embedding(n, 3) for n in (5, 7, 4)]), nn.Embedding(16, 1)
            self.deep = nn.Sequential(nn.Linear(9 + 2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))

        def forward(self, kinds: Tensor, numbers: Tensor) -> Tensor:
            found = [table(kinds[:, i]) for i, table in enumerate(self.tables)]
            crossed = self.wide(kinds + torch.tensor([0, 5, 12])).sum(1)
            return (self.deep(torch.cat([*found, numbers], 1)) + crossed).squeeze(1)  # type: ignore[no-any-return]
    model, kinds, numbers, y = Wide(), torch.stack([torch.randint(0, n, (8,)) for n in (5, 7, 4)], 1), torch.randn(8, 2), torch.rand(8).round()
    return model, lambda: F.binary_cross_entropy_with_logits(model(kinds, numbers), y)

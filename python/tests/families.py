"""Twenty families of models, small, written after their papers: name -> what makes a model and its loss.

Each is one training step: `make()` gives the module, and a function that computes its loss from fixed data.
"""
from __future__ import annotations

import math
from typing import Any, Callable

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


@family("ResNet")
def resnet() -> Any:
    def block(a: int, b: int, s: int) -> nn.Module:
        inner = nn.Sequential(nn.Conv2d(a, b, 3, s, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True), nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b))
        skip = nn.Sequential(nn.Conv2d(a, b, 1, s, bias=False), nn.BatchNorm2d(b)) if s > 1 else None
        return Residual(inner, skip, nn.ReLU(inplace=True))
    stem = [nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)]
    return classifier(nn.Sequential(*stem, block(4, 4, 1), block(4, 6, 2), *head(6)), 4, 3, 8, 8)


@family("DenseNet")
def densenet() -> Any:
    class Dense(nn.Module):
        def __init__(self, channels: int, growth: int) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, growth, 3, padding=1))

        def forward(self, x: Tensor) -> Tensor:
            return torch.cat([x, self.inner(x)], 1)
    layers = [nn.Conv2d(3, 4, 3, padding=1), Dense(4, 2), Dense(6, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 1), nn.AvgPool2d(2), Dense(4, 2)]
    return classifier(nn.Sequential(*layers, *head(6)), 4, 3, 6, 6)


@family("MobileNet")
def mobilenet() -> Any:
    def inverted(a: int, b: int, s: int) -> nn.Module:
        wide = 2 * a
        inner = nn.Sequential(nn.Conv2d(a, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(), nn.Conv2d(wide, wide, 3, s, 1, groups=wide, bias=False),
                              nn.BatchNorm2d(wide), nn.ReLU6(), nn.Conv2d(wide, b, 1, bias=False), nn.BatchNorm2d(b))
        return Residual(inner) if a == b and s == 1 else inner
    return classifier(nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.Hardswish(), inverted(4, 4, 1), inverted(4, 6, 2), *head(6)), 4, 3, 8, 8)


@family("ConvNeXt")
def convnext() -> Any:
    class Block(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.depthwise, self.norm = nn.Conv2d(channels, channels, 5, padding=2, groups=channels), nn.LayerNorm(channels)
            self.wide, self.narrow, self.scale = nn.Linear(channels, 2 * channels), nn.Linear(2 * channels, channels), nn.Parameter(torch.full([channels], 0.5))

        def forward(self, x: Tensor) -> Tensor:
            y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
            return x + (self.scale * self.narrow(F.gelu(self.wide(y)))).permute(0, 3, 1, 2)  # type: ignore[no-any-return]
    return classifier(nn.Sequential(nn.Conv2d(3, 4, 2, 2), Block(4), Block(4), *head(4)), 2, 3, 8, 8)


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


@family("U-Net")
def unet() -> Any:
    model, x, y = UNet(2, 4), torch.randn(2, 2, 6, 6), torch.randint(0, 2, (2, 6, 6))
    return model, lambda: F.cross_entropy(model(x), y)


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


@family("ViT")
def vit() -> Any:
    class ViT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patch, self.token, self.position = nn.Conv2d(3, 8, 3, 3), nn.Parameter(torch.randn(1, 1, 8)), nn.Parameter(torch.randn(1, 5, 8) * 0.1)
            self.blocks, self.head = nn.Sequential(Block(8, 2), Block(8, 2)), nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 3))

        def forward(self, x: Tensor) -> Tensor:
            y = self.patch(x).flatten(2).transpose(1, 2)
            y = torch.cat([self.token.expand(x.shape[0], -1, -1), y], 1) + self.position
            return self.head(self.blocks(y)[:, 0])  # type: ignore[no-any-return]
    return classifier(ViT(), 2, 3, 6, 6)


@family("Swin-like windows")
def swin() -> Any:
    class Windows(nn.Module):
        def __init__(self, width: int, window: int, shift: int) -> None:
            super().__init__()
            self.window, self.shift, self.norm, self.qkv, self.out = window, shift, nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.bias = nn.Parameter(torch.randn((2 * window - 1) ** 2) * 0.2)
            at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
            apart = at[:, :, None] - at[:, None] + window - 1
            self.register_buffer("index", apart[0] * (2 * window - 1) + apart[1])

        def forward(self, x: Tensor) -> Tensor:
            b, h, w, c = x.shape
            m = self.window
            y = torch.roll(self.norm(x), (-self.shift, -self.shift), (1, 2))
            y = y.view(b, h // m, m, w // m, m, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, m * m, c)
            q, k, v = self.qkv(y).chunk(3, -1)
            scores = q @ k.transpose(1, 2) / math.sqrt(c) + self.bias[self.index.flatten()].view(m * m, m * m)  # type: ignore[operator, union-attr]
            y = self.out(scores.softmax(-1) @ v).view(b, h // m, w // m, m, m, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
            return x + torch.roll(y, (self.shift, self.shift), (1, 2))
    class Swin(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.blocks, self.head = nn.Linear(3, 6), nn.Sequential(Windows(6, 2, 0), Windows(6, 2, 1)), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.blocks(self.embed(x)).mean((1, 2)))  # type: ignore[no-any-return]
    return classifier(Swin(), 2, 4, 4, 3)


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


@family("diffusion U-Net")
def diffusion() -> Any:
    model, x, t = UNet(1, 4, time=True), torch.randn(2, 1, 4, 4), torch.rand(2) * 100
    def loss() -> Tensor:
        noise, kept = torch.randn_like(x), torch.cos(t / 200)[:, None, None, None]
        return F.mse_loss(model(kept * x + (1 - kept ** 2).sqrt() * noise, t), noise)
    return model, loss


@family("FNO")
def fno() -> Any:
    class Spectral(nn.Module):
        def __init__(self, width: int, modes: int) -> None:
            super().__init__()
            self.modes, self.weight, self.pointwise = modes, nn.Parameter(torch.randn(width, width, modes, modes, dtype=torch.cfloat) * 0.3), nn.Conv2d(width, width, 1)

        def forward(self, x: Tensor) -> Tensor:
            m, z = self.modes, torch.fft.rfft2(x)
            low = torch.einsum("bixy,ioxy->boxy", z[:, :, :m, :m], self.weight)
            full = torch.zeros_like(z)
            full[:, :, :m, :m] = low
            return F.gelu(torch.fft.irfft2(full, s=x.shape[-2:]) + self.pointwise(x))
    model, x, y = nn.Sequential(nn.Conv2d(1, 3, 1), Spectral(3, 2), Spectral(3, 2), nn.Conv2d(3, 1, 1)), torch.randn(2, 1, 6, 6), torch.randn(2, 1, 6, 6)
    return model, lambda: F.mse_loss(model(x), y)


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


@family("MLP-Mixer")
def mixer() -> Any:
    class Turned(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x.transpose(1, 2)).transpose(1, 2)  # type: ignore[no-any-return]
    def mlp(width: int) -> nn.Module:
        return nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width))
    layers = [Residual(nn.Sequential(nn.LayerNorm(6), Turned(mlp(4)))), Residual(nn.Sequential(nn.LayerNorm(6), mlp(6)))]
    class Mixer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patch, self.layers, self.head = nn.Conv2d(3, 6, 2, 2), nn.Sequential(*layers), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.layers(self.patch(x).flatten(2).transpose(1, 2)).mean(1))  # type: ignore[no-any-return]
    return classifier(Mixer(), 2, 3, 4, 4)


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


@family("detection head")
def detection() -> Any:
    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(3, 6, 3, 2, 1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), nn.ReLU())
            self.classes, self.boxes = nn.Conv2d(6, 2 * 3, 3, padding=1), nn.Conv2d(6, 2 * 4, 3, padding=1)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            y = self.body(x)
            return tuple(f(y).permute(0, 2, 3, 1).reshape(x.shape[0], -1, n) for f, n in ((self.classes, 3), (self.boxes, 4)))  # type: ignore[return-value]
    model, x = Detector(), torch.randn(2, 3, 8, 8)
    labels, boxes = torch.randint(-1, 3, (2, 32)), torch.randn(2, 32, 4)
    def loss() -> Tensor:
        scores, moved = model(x)
        wanted = F.one_hot(labels.clamp(min=0), 3).float() * (labels >= 0)[..., None]
        p, each = torch.sigmoid(scores), F.binary_cross_entropy_with_logits(scores, wanted, reduction="none")
        focal = (each * (p * (1 - wanted) + (1 - p) * wanted) ** 2 * (0.25 * wanted + 0.75 * (1 - wanted))).sum()
        held = labels >= 0
        return (focal + F.smooth_l1_loss(moved[held], boxes[held], reduction="sum", beta=0.2)) / held.sum()
    return model, loss

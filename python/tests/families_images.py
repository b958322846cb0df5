"""Families of models of images and of fields."""
from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from families_parts import Block, Residual, UNet, classifier, family, head


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


@family("U-Net")
def unet() -> Any:
    model, x, y = UNet(2, 4), torch.randn(2, 2, 6, 6), torch.randint(0, 2, (2, 6, 6))
    return model, lambda: F.cross_entropy(model(x), y)


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

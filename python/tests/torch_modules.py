"""The modules of torch.nn that have a forward of float tensors: name -> what makes one, and its inputs.

Small sizes; inputs are drawn so that both sides of every kink are met. Lazy modules become the ordinary ones, containers and wrappers of data
parallelism compute nothing of their own, and transformers that are quantised are not float tensors.
"""
from __future__ import annotations

from typing import Any, Callable

import torch
from torch import nn


def x(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).requires_grad_()


def classes(count: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, count, shape)


def signs(*shape: int) -> torch.Tensor:
    return torch.randint(0, 2, shape) * 2.0 - 1


def chance(*shape: int) -> torch.Tensor:
    return (torch.rand(*shape) * 0.8 + 0.1).requires_grad_()


Maker = Callable[[], tuple[nn.Module, tuple[Any, ...]]]
TABLE: dict[str, Maker] = {
    # Products and convolutions.
    "Identity": lambda: (nn.Identity(), (x(2, 3),)), "Linear": lambda: (nn.Linear(3, 4), (x(2, 3),)),
    "Linear, three axes": lambda: (nn.Linear(3, 4), (x(2, 5, 3),)), "Bilinear": lambda: (nn.Bilinear(3, 4, 2), (x(5, 3), x(5, 4))),
    "Conv1d": lambda: (nn.Conv1d(3, 4, 3, padding=1), (x(2, 3, 6),)), "Conv2d": lambda: (nn.Conv2d(2, 3, 3, stride=2, padding=1), (x(2, 2, 5, 5),)),
    "Conv2d, groups": lambda: (nn.Conv2d(4, 4, 3, groups=2, dilation=2), (x(2, 4, 6, 6),)), "Conv3d": lambda: (nn.Conv3d(2, 2, 2), (x(1, 2, 3, 3, 3),)),
    "Conv2d, circular": lambda: (nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"), (x(1, 1, 4, 4),)),
    "ConvTranspose1d": lambda: (nn.ConvTranspose1d(3, 2, 3, stride=2), (x(2, 3, 4),)),
    "ConvTranspose2d": lambda: (nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1, groups=2), (x(2, 2, 3, 3),)),
    "ConvTranspose3d": lambda: (nn.ConvTranspose3d(2, 1, 2), (x(1, 2, 2, 2, 2),)),
    "Embedding": lambda: (nn.Embedding(7, 3), (classes(7, 2, 4),)), "Embedding, padding": lambda: (nn.Embedding(7, 3, padding_idx=1), (torch.tensor([[0, 1, 3]]),)),
    "EmbeddingBag": lambda: (nn.EmbeddingBag(6, 3, mode="sum"), (classes(6, 2, 4),)),
    "EmbeddingBag, mean": lambda: (nn.EmbeddingBag(6, 3), (classes(6, 7), torch.tensor([0, 3, 3]))),
    "EmbeddingBag, weighted": lambda: (nn.EmbeddingBag(6, 3, mode="sum"), (classes(6, 2, 4), None, x(2, 4))),
    "EmbeddingBag, max": lambda: (nn.EmbeddingBag(6, 3, mode="max"), (classes(6, 2, 4),)),
    # Pools.
    "MaxPool1d": lambda: (nn.MaxPool1d(2), (x(2, 3, 6),)), "MaxPool2d": lambda: (nn.MaxPool2d(3, 2, 1), (x(2, 2, 5, 5),)),
    "MaxPool3d": lambda: (nn.MaxPool3d(2), (x(1, 2, 4, 4, 4),)), "AvgPool1d": lambda: (nn.AvgPool1d(2), (x(2, 3, 6),)),
    "AvgPool2d": lambda: (nn.AvgPool2d(3, 2, 1), (x(2, 2, 5, 5),)), "AvgPool2d, without padding": lambda: (nn.AvgPool2d(3, 2, 1, count_include_pad=False), (x(1, 2, 5, 5),)),
    "AvgPool3d": lambda: (nn.AvgPool3d(2), (x(1, 2, 4, 4, 4),)), "AdaptiveAvgPool1d": lambda: (nn.AdaptiveAvgPool1d(3), (x(2, 3, 7),)),
    "AdaptiveAvgPool2d": lambda: (nn.AdaptiveAvgPool2d((2, 3)), (x(2, 2, 5, 5),)), "AdaptiveAvgPool3d": lambda: (nn.AdaptiveAvgPool3d(2), (x(1, 2, 3, 3, 3),)),
    "AdaptiveMaxPool1d": lambda: (nn.AdaptiveMaxPool1d(3), (x(2, 3, 7),)), "AdaptiveMaxPool2d": lambda: (nn.AdaptiveMaxPool2d(2), (x(1, 2, 5, 5),)),
    "AdaptiveMaxPool3d": lambda: (nn.AdaptiveMaxPool3d(2), (x(1, 1, 3, 3, 3),)), "FractionalMaxPool2d": lambda: (nn.FractionalMaxPool2d(2, output_size=2), (x(1, 2, 5, 5),)),
    "LPPool1d": lambda: (nn.LPPool1d(2, 2), (x(2, 3, 6),)), "LPPool2d": lambda: (nn.LPPool2d(2, 2), (x(1, 2, 4, 4),)),
    "LPPool3d": lambda: (nn.LPPool3d(2, 2), (x(1, 1, 2, 4, 4),)), "MaxUnpool2d": lambda: (Unpool(), (x(1, 2, 4, 4),)),
    # Normalisations.
    "BatchNorm1d": lambda: (nn.BatchNorm1d(3), (x(5, 3),)), "BatchNorm2d": lambda: (nn.BatchNorm2d(3), (x(4, 3, 3, 3),)),
    "BatchNorm2d, evaluated": lambda: (nn.BatchNorm2d(3).eval(), (x(2, 3, 3, 3),)), "BatchNorm3d": lambda: (nn.BatchNorm3d(2), (x(2, 2, 2, 2, 2),)),
    "InstanceNorm1d": lambda: (nn.InstanceNorm1d(3, affine=True), (x(2, 3, 5),)), "InstanceNorm2d": lambda: (nn.InstanceNorm2d(3), (x(2, 3, 3, 3),)),
    "InstanceNorm3d": lambda: (nn.InstanceNorm3d(2), (x(1, 2, 2, 3, 3),)), "LayerNorm": lambda: (nn.LayerNorm([3, 4]), (x(2, 3, 4),)),
    "GroupNorm": lambda: (nn.GroupNorm(2, 4), (x(2, 4, 3, 3),)), "RMSNorm": lambda: (nn.RMSNorm(5), (x(3, 5),)),
    "LocalResponseNorm": lambda: (nn.LocalResponseNorm(2), (x(1, 4, 3, 3),)), "CrossMapLRN2d": lambda: (nn.CrossMapLRN2d(3), (x(1, 4, 3, 3),)),
    # Activations.
    **{name: (lambda name=name: (getattr(nn, name)(), (x(4, 5),))) for name in (
        "CELU", "ELU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "Mish", "PReLU", "ReLU", "ReLU6", "RReLU",
        "SELU", "SiLU", "Sigmoid", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink")},
    "GELU, tanh": lambda: (nn.GELU(approximate="tanh"), (x(4, 5),)), "GLU": lambda: (nn.GLU(), (x(3, 6),)), "Threshold": lambda: (nn.Threshold(0.1, -2.0), (x(4, 5),)),
    "Softmax": lambda: (nn.Softmax(-1), (x(3, 5),)), "Softmin": lambda: (nn.Softmin(-1), (x(3, 5),)), "LogSoftmax": lambda: (nn.LogSoftmax(-1), (x(3, 5),)),
    "Softmax2d": lambda: (nn.Softmax2d(), (x(1, 3, 2, 2),)), "ReLU in place": lambda: (nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True)), (x(2, 3),)),
    "MultiheadAttention": lambda: (Attention(), (x(2, 3, 8),)),
    # Recurrent.
    "RNN": lambda: (nn.RNN(3, 4), (x(3, 2, 3), x(1, 2, 4))), "RNN, relu": lambda: (nn.RNN(3, 4, nonlinearity="relu"), (x(3, 2, 3), x(1, 2, 4))), "LSTM": lambda: (nn.LSTM(3, 4, 2), (x(3, 2, 3), (x(2, 2, 4), x(2, 2, 4)))),
    "LSTM, both directions": lambda: (nn.LSTM(3, 4, bidirectional=True, batch_first=True), (x(2, 3, 3), (x(2, 2, 4), x(2, 2, 4)))), "GRU": lambda: (nn.GRU(3, 4, 2), (x(3, 2, 3), x(2, 2, 4))),
    "RNNCell": lambda: (nn.RNNCell(3, 4), (x(2, 3), x(2, 4))), "LSTMCell": lambda: (nn.LSTMCell(3, 4), (x(2, 3), (x(2, 4), x(2, 4)))),
    "GRUCell": lambda: (nn.GRUCell(3, 4), (x(2, 3), x(2, 4))),
    # Transformers.
    "TransformerEncoderLayer": lambda: (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (x(2, 3, 8),)),
    "TransformerDecoderLayer": lambda: (nn.TransformerDecoderLayer(8, 2, 16), (x(3, 2, 8), x(4, 2, 8))),
    "TransformerEncoder": lambda: (nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0), 2), (x(3, 2, 8),)),
    "TransformerDecoder": lambda: (nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, 0.0), 1), (x(3, 2, 8), x(4, 2, 8))),
    "Transformer": lambda: (nn.Transformer(8, 2, 1, 1, 16, 0.0), (x(3, 1, 8), x(2, 1, 8))),
    # Dropout.
    "Dropout": lambda: (nn.Dropout(0.3), (x(4, 5),)), "Dropout1d": lambda: (nn.Dropout1d(0.3), (x(2, 5, 3),)), "Dropout2d": lambda: (nn.Dropout2d(0.3), (x(2, 5, 2, 2),)),
    "Dropout3d": lambda: (nn.Dropout3d(0.3), (x(1, 6, 2, 2, 2),)), "AlphaDropout": lambda: (nn.AlphaDropout(0.3), (x(4, 5),)),
    "FeatureAlphaDropout": lambda: (nn.FeatureAlphaDropout(0.3), (x(2, 5, 3),)),
    # Layout.
    "Flatten": lambda: (nn.Flatten(), (x(2, 3, 2),)), "Unflatten": lambda: (nn.Unflatten(1, (2, 3)), (x(2, 6),)), "Fold": lambda: (nn.Fold((4, 4), 2), (x(1, 8, 9),)),
    "Unfold": lambda: (nn.Unfold(2), (x(1, 2, 4, 4),)), "PixelShuffle": lambda: (nn.PixelShuffle(2), (x(1, 4, 2, 2),)), "PixelUnshuffle": lambda: (nn.PixelUnshuffle(2), (x(1, 1, 4, 4),)),
    "ChannelShuffle": lambda: (nn.ChannelShuffle(2), (x(1, 4, 2, 2),)),
    **{f"{kind}Pad{d}d": (lambda kind=kind, d=d: (getattr(nn, f"{kind}Pad{d}d")(1), (x(1, 2, *[3] * d),))) for kind in ("Reflection", "Replication", "Zero", "Circular") for d in (1, 2, 3)},
    **{f"ConstantPad{d}d": (lambda d=d: (getattr(nn, f"ConstantPad{d}d")(1, 0.5), (x(1, 2, *[3] * d),))) for d in (1, 2, 3)},
    "Upsample, nearest": lambda: (nn.Upsample(scale_factor=2), (x(1, 2, 3, 3),)), "Upsample, bilinear": lambda: (nn.Upsample(scale_factor=2, mode="bilinear"), (x(1, 2, 3, 3),)),
    "Upsample, aligned": lambda: (nn.Upsample(size=5, mode="bilinear", align_corners=True), (x(1, 2, 3, 3),)), "Upsample, linear": lambda: (nn.Upsample(scale_factor=2, mode="linear"), (x(1, 2, 4),)),
    "Upsample, bicubic": lambda: (nn.Upsample(scale_factor=2, mode="bicubic"), (x(1, 1, 3, 3),)), "UpsamplingNearest2d": lambda: (nn.UpsamplingNearest2d(scale_factor=2), (x(1, 2, 2, 2),)),
    "UpsamplingBilinear2d": lambda: (nn.UpsamplingBilinear2d(scale_factor=2), (x(1, 2, 2, 2),)), "Upsample, trilinear": lambda: (nn.Upsample(scale_factor=2, mode="trilinear"), (x(1, 1, 2, 2, 2),)),
    # Distances and losses.
    "CosineSimilarity": lambda: (nn.CosineSimilarity(), (x(3, 4), x(3, 4))), "PairwiseDistance": lambda: (nn.PairwiseDistance(), (x(3, 4), x(3, 4))),
    "L1Loss": lambda: (nn.L1Loss(), (x(3, 4), x(3, 4))), "MSELoss": lambda: (nn.MSELoss(), (x(3, 4), x(3, 4))), "SmoothL1Loss": lambda: (nn.SmoothL1Loss(), (x(3, 4), x(3, 4))),
    "HuberLoss": lambda: (nn.HuberLoss(delta=0.7), (x(3, 4), x(3, 4))), "CrossEntropyLoss": lambda: (nn.CrossEntropyLoss(), (x(4, 3), classes(3, 4))),
    "CrossEntropyLoss, smoothed": lambda: (nn.CrossEntropyLoss(weight=torch.tensor([1.0, 0.5, 2.0]), label_smoothing=0.1), (x(4, 3), classes(3, 4))),
    "CrossEntropyLoss, images": lambda: (nn.CrossEntropyLoss(), (x(2, 3, 2, 2), classes(3, 2, 2, 2))), "CrossEntropyLoss, chances": lambda: (nn.CrossEntropyLoss(), (x(4, 3), torch.softmax(torch.randn(4, 3), 1))),
    "NLLLoss": lambda: (nn.NLLLoss(), (x(4, 3), classes(3, 4))), "NLLLoss2d": lambda: (nn.NLLLoss2d(), (x(2, 3, 2, 2), classes(3, 2, 2, 2))),
    "PoissonNLLLoss": lambda: (nn.PoissonNLLLoss(), (x(4, 3), torch.rand(4, 3) * 3)), "GaussianNLLLoss": lambda: (nn.GaussianNLLLoss(), (x(4, 3), x(4, 3), chance(4, 3))),
    "KLDivLoss": lambda: (nn.KLDivLoss(reduction="batchmean"), (x(4, 3), torch.rand(4, 3))), "BCELoss": lambda: (nn.BCELoss(), (chance(4, 3), torch.rand(4, 3))),
    "BCEWithLogitsLoss": lambda: (nn.BCEWithLogitsLoss(), (x(4, 3), torch.rand(4, 3))), "BCEWithLogitsLoss, weighted": lambda: (nn.BCEWithLogitsLoss(pos_weight=torch.rand(3) + 1), (x(4, 3), torch.rand(4, 3))),
    "MarginRankingLoss": lambda: (nn.MarginRankingLoss(0.3), (x(5), x(5), signs(5))), "HingeEmbeddingLoss": lambda: (nn.HingeEmbeddingLoss(), (x(5), signs(5))),
    "MultiLabelMarginLoss": lambda: (nn.MultiLabelMarginLoss(), (x(2, 4), torch.tensor([[1, 0, -1, 2], [3, -1, 0, 0]]))), "SoftMarginLoss": lambda: (nn.SoftMarginLoss(), (x(5), signs(5))),
    "MultiLabelSoftMarginLoss": lambda: (nn.MultiLabelSoftMarginLoss(), (x(3, 4), torch.rand(3, 4).round())), "CosineEmbeddingLoss": lambda: (nn.CosineEmbeddingLoss(-0.9), (x(4, 4), x(4, 4), torch.tensor([1.0, -1, 1, -1]))),
    "MultiMarginLoss": lambda: (nn.MultiMarginLoss(), (x(4, 3), classes(3, 4))), "MultiMarginLoss, squares": lambda: (nn.MultiMarginLoss(2, weight=torch.rand(3) + 0.5, reduction="none"), (x(4, 3), classes(3, 4))), "TripletMarginLoss": lambda: (nn.TripletMarginLoss(), (x(3, 4), x(3, 4), x(3, 4))),
    "TripletMarginWithDistanceLoss": lambda: (nn.TripletMarginWithDistanceLoss(), (x(3, 4), x(3, 4), x(3, 4))),
    "CTCLoss": lambda: (nn.CTCLoss(), (x(5, 2, 4).log_softmax(-1).detach().requires_grad_(), torch.tensor([[1, 2], [2, 3]]), torch.tensor([5, 5]), torch.tensor([2, 2]))),
    "AdaptiveLogSoftmaxWithLoss": lambda: (nn.AdaptiveLogSoftmaxWithLoss(16, 9, [3, 6]), (x(6, 16), classes(9, 6))),
    # Parametrised weights.
    "weight_norm": lambda: (nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), (x(2, 3),)), "spectral_norm": lambda: (nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)), (x(2, 3),)),
}


class Attention(nn.Module):
    """Self-attention, of which the weights are not asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        return self.inner(given, given, given, need_weights=False)[0]  # type: ignore[no-any-return]


class Unpool(nn.Module):
    """A pool and its partial inverse."""

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        pooled, places = nn.functional.max_pool2d(given, 2, return_indices=True)
        return nn.functional.max_unpool2d(pooled * 1.5, places, 2)

"""Training steps of models of images: small configurations with random weights, on small images."""
from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any

import torch
from torch.nn import functional as F


class Named(type):
    """Classes whose attributes are their own names."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class Absent(types.ModuleType):
    """A package that timm imports for its data sets and that no step calls: each other name in it is a class without content."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return sys.modules.get(f"{self.__name__}.{name}") or Named(name, (), {})


TORCHVISION = ["torchvision" + name for name in ("", ".datasets", ".datasets.folder", ".transforms", ".transforms.functional", ".ops", ".ops.misc", ".models",
                                                 ".models.feature_extraction")]


def imported_timm() -> Any:
    """timm, also where torchvision is not installed."""
    is_absent = importlib.util.find_spec("torchvision") is None
    sys.modules.update((name, Absent(name)) for name in TORCHVISION if is_absent)
    import timm
    for name in TORCHVISION if is_absent else ():  # the other libraries look for it
        sys.modules.pop(name, None)
    return timm


def timm_model(name: str, batch: int = 2, **options: Any) -> Any:
    """A classifier of timm on small images."""
    model = imported_timm().create_model(name, pretrained=False, num_classes=5, **options).train()
    images, classes = torch.randn(batch, 3, 32, 32), torch.tensor([0, 3, 1, 4])[:batch]
    return model, lambda: F.cross_entropy(model(images), classes)


def vit() -> Any:
    import transformers
    config = transformers.ViTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, image_size=16, patch_size=4, num_labels=5)
    model, images = transformers.ViTForImageClassification(config).train(), torch.randn(2, 3, 16, 16)
    return model, lambda: model(pixel_values=images, labels=torch.tensor([0, 3])).loss


def unet() -> Any:
    """A step of denoising: the network predicts the noise that was added."""
    import diffusers
    model = diffusers.UNet2DModel(sample_size=8, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
                                  down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=8).train()
    images, noise = torch.randn(2, 3, 8, 8), torch.randn(2, 3, 8, 8)
    return model, lambda: F.mse_loss(model(images + noise, torch.tensor([3, 700])).sample, noise)


def conditional_unet() -> Any:
    import diffusers
    model = diffusers.UNet2DConditionModel(sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4, cross_attention_dim=12,
                                           down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), attention_head_dim=4).train()
    latents, text, noise = torch.randn(2, 4, 8, 8), torch.randn(2, 5, 12), torch.randn(2, 4, 8, 8)
    return model, lambda: F.mse_loss(model(latents + noise, torch.tensor([3, 700]), encoder_hidden_states=text).sample, noise)


def autoencoder() -> Any:
    """A step of a variational autoencoder: reconstruction and the divergence from the normal distribution."""
    import diffusers
    model = diffusers.AutoencoderKL(in_channels=3, out_channels=3, down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
                                    block_out_channels=(8, 16), layers_per_block=1, latent_channels=4, norm_num_groups=4, sample_size=16).train()
    images = torch.randn(1, 3, 16, 16)

    def loss() -> torch.Tensor:
        posterior = model.encode(images).latent_dist
        return F.mse_loss(model.decode(posterior.sample()).sample, images) + 1e-3 * posterior.kl().mean()
    return model, loss


STEPS = {
    "transformers: ViT": vit, "timm: mobilenetv3_small_050": lambda: timm_model("mobilenetv3_small_050"), "timm: efficientnet_lite0": lambda: timm_model("efficientnet_lite0", batch=3),
    "timm: ghostnet_050": lambda: timm_model("ghostnet_050", batch=3), "timm: resnet10t": lambda: timm_model("resnet10t"), "timm: convnext_atto": lambda: timm_model("convnext_atto"),
    "timm: vit_tiny_patch16_224": lambda: timm_model("vit_tiny_patch16_224", img_size=32, depth=2),
    "diffusers: UNet": unet, "diffusers: conditional UNet": conditional_unet, "diffusers: VAE": autoencoder,
}

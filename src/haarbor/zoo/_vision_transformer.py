"""Vision Transformer: an image as a sequence of patches with a class token in front."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from haarbor.errors import ShapeError

__all__ = ["VisionTransformer", "VisionTransformerConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionTransformerConfig:
    """Sizes of a Vision Transformer."""

    image_size: int
    """Height and width of the images."""
    patch_size: int
    """Height and width of the patches; must divide `image_size`."""
    width: int
    n_layers: int
    n_heads: int
    """Must divide `width`."""
    inner_width: int
    """Width of the hidden layer of the feed-forward part."""
    n_classes: int
    drop_path: float = 0.0
    """Probability of skipping the last layer in training; it grows linearly from 0 at the first layer."""

    def __post_init__(self) -> None:
        if self.image_size % self.patch_size or self.width % self.n_heads:
            raise ShapeError(
                "patch_size must divide image_size and n_heads must divide width; found "
                f"{self.patch_size} in {self.image_size} and {self.n_heads} in {self.width}."
                " Choose numbers that do."
            )

    @property
    def n_tokens(self) -> int:
        """Number of patches, plus one for the class token."""
        return (self.image_size // self.patch_size) ** 2 + 1


class VisionTransformer(nn.Module):
    """Image classifier by attention between patches (Dosovitskiy et al. 2021).

    Images are cut into patches, which are projected and added to learned positions; a class token in
    front collects what the classification needs. Normalisation comes before each part.

    Parameters
    ----------
    config : VisionTransformerConfig
    """

    def __init__(self, config: VisionTransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.patches = nn.Conv2d(3, config.width, kernel_size=config.patch_size, stride=config.patch_size)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, config.width))
        self.positions = nn.Parameter(torch.empty(1, config.n_tokens, config.width))
        last = max(config.n_layers - 1, 1)
        self.layers = nn.ModuleList(
            _Layer(config, config.drop_path * number / last) for number in range(config.n_layers)
        )
        self.norm = nn.LayerNorm(config.width)
        self.classifier = nn.Linear(config.width, config.n_classes)
        self.apply(_initialise)
        nn.init.trunc_normal_(self.positions, std=0.02)

    def forward(self, pixel_values: Tensor) -> Tensor:
        """Scores of the classes.

        Parameters
        ----------
        pixel_values : tensor, shape (batch, 3, image_size, image_size)
            Normalised.

        Returns
        -------
        tensor, shape (batch, n_classes)

        Raises
        ------
        ShapeError
            If the images have another size.
        """
        size = self.config.image_size
        if pixel_values.dim() != 4 or pixel_values.shape[1:] != (3, size, size):
            raise ShapeError(
                f"pixel_values must have shape (batch, 3, {size}, {size}); found "
                f"{tuple(pixel_values.shape)}. Resize the images."
            )
        x = self.patches(pixel_values).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        for layer in self.layers:
            x = layer(x)
        scores: Tensor = self.classifier(self.norm(x[:, 0]))
        return scores


class _Layer(nn.Module):
    def __init__(self, config: VisionTransformerConfig, drop_path: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width)
        self.attention = _SelfAttention(config.width, config.n_heads)
        self.feed_forward_norm = nn.LayerNorm(config.width)
        self.feed_forward = nn.Sequential(
            nn.Linear(config.width, config.inner_width),
            nn.GELU(),
            nn.Linear(config.inner_width, config.width),
        )
        self.drop_path = drop_path

    def forward(self, x: Tensor) -> Tensor:
        x = x + self._sometimes(self.attention(self.attention_norm(x)))
        return x + self._sometimes(self.feed_forward(self.feed_forward_norm(x)))

    def _sometimes(self, change: Tensor) -> Tensor:
        """In training, leave out the change of a random share of the images, and scale up the others."""
        if not self.training or self.drop_path == 0:
            return change
        kept = torch.rand(change.shape[0], 1, 1, device=change.device) >= self.drop_path
        return change * kept.to(change.dtype) / (1 - self.drop_path)


class _SelfAttention(nn.Module):
    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.query_key_value(x).view(batch, length, 3, self.n_heads, width // self.n_heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v)
        joined: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return joined


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=0.02)
        nn.init.zeros_(module.bias)

"""Random changes of images, a whole batch at a time on the device that trains."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional


def normalised(images: Tensor, size: int, mean: Tensor, std: Tensor) -> Tensor:
    """uint8 images of shape (n, height, width, 3), resized and normalised, as (n, 3, size, size)."""
    scaled = (images.permute(0, 3, 1, 2).float() / 255 - mean) / std
    return functional.interpolate(scaled, size=(size, size), mode="bilinear", align_corners=False)


def augmented(images: Tensor, size: int, mean: Tensor, std: Tensor, rng: torch.Generator) -> Tensor:
    """The same, moved, turned, mirrored, recoloured and partly erased at random.

    Moving, turning and resizing are one interpolation, so nothing is blurred twice.
    """
    n, device = images.shape[0], images.device

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return torch.rand(n, *shape, generator=rng, device=device) * (high - low) + low

    scaled = images.permute(0, 3, 1, 2).float() / 255
    scaled = _recoloured(scaled, uniform)
    angle, zoom = uniform(-1, 1) * math.radians(15), torch.exp(uniform(-0.2, 0.2))
    shear = uniform(-0.15, 0.15)
    mirror = torch.where(uniform(0, 1) < 0.5, -1.0, 1.0)
    moved = uniform(-0.25, 0.25, 2)
    cosine, sine = angle.cos() * zoom, angle.sin() * zoom
    matrix = torch.stack(
        [
            torch.stack([mirror * cosine, shear - sine, moved[:, 0]], dim=1),
            torch.stack([mirror * sine, cosine, moved[:, 1]], dim=1),
        ],
        dim=1,
    )
    grid = functional.affine_grid(matrix, [n, 3, size, size], align_corners=False)
    changed = functional.grid_sample(
        (scaled - mean) / std, grid, mode="bilinear", padding_mode="reflection", align_corners=False
    )
    return changed * _not_erased(n, size, device, uniform)


def _recoloured(images: Tensor, uniform) -> Tensor:
    brightness, contrast, saturation = (uniform(0.7, 1.3, 1, 1, 1) for _ in range(3))
    images = images * brightness
    middle = images.mean(dim=(1, 2, 3), keepdim=True)
    images = (images - middle) * contrast + middle
    grey = images.mean(dim=1, keepdim=True)
    return ((images - grey) * saturation + grey).clamp(0, 1)


def _not_erased(n: int, size: int, device: torch.device, uniform) -> Tensor:
    """Zero on a square of up to half the side of a quarter of the images."""
    side = uniform(0.15, 0.5, 1) * (uniform(0, 1, 1) < 0.25)
    centre = uniform(0, 1, 2)
    place = (torch.arange(size, device=device) + 0.5) / size
    rows = (place[None] - centre[:, :1]).abs() < side / 2
    columns = (place[None] - centre[:, 1:]).abs() < side / 2
    return 1.0 - (rows[:, :, None] & columns[:, None, :]).float()[:, None]


def mixed(
    images: Tensor, targets: Tensor, rng: torch.Generator, strength: float = 0.8
) -> tuple[Tensor, Tensor]:
    """Images blended in pairs (mixup) or with a patch of a partner (CutMix), half of the batches each.

    `targets` are shares of the classes, shape (n, n_classes), and are blended alike.
    """
    device = images.device
    partner = torch.randperm(images.shape[0], generator=rng, device=device)
    choice, where_y, where_x = torch.rand(3, generator=rng, device=device).tolist()
    # The share comes from a Beta distribution, drawn as a ratio of powers of uniforms (Johnk).
    share = _beta(strength if choice < 0.5 else 1.0, rng, device)
    if choice < 0.5:
        images = share * images + (1 - share) * images[partner]
    else:
        size = images.shape[-1]
        side = math.sqrt(1 - share)
        top, left = int((1 - side) * size * where_y), int((1 - side) * size * where_x)
        bottom, right = top + int(side * size), left + int(side * size)
        images = images.clone()
        images[:, :, top:bottom, left:right] = images[partner, :, top:bottom, left:right]
        share = 1 - (bottom - top) * (right - left) / size**2
    return images, share * targets + (1 - share) * targets[partner]


def _beta(strength: float, rng: torch.Generator, device: torch.device) -> float:
    while True:
        x, y = (torch.rand(2, generator=rng, device=device) ** (1 / strength)).tolist()
        if 0 < x + y <= 1:
            return x / (x + y)

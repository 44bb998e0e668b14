"""What becomes of an image before a vision transformer sees it, and what its patches are called."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from haarbor.errors import CaptureError

__all__ = ["ImageSettings", "Resample", "prefix_labels", "preprocessed_settings", "timm_settings"]

Resample = Literal["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]

_LONGEST_SIDE = 1 << 16

# In the order of Pillow's numbers, which preprocessor_config.json uses.
_RESAMPLE: tuple[Resample, ...] = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSettings:
    """Size, scale and patches of the images that a model takes."""

    input_name: str
    """Argument of the model's forward."""
    size: tuple[int, int]
    """Height and width that the model takes."""
    patch_size: tuple[int, int]
    """Height and width."""
    n_channels: int = 3
    resize_to: tuple[int, int] | int
    """Height and width to stretch to, or length of the shorter edge; then the middle is cut to `size`."""
    resample: Resample = "bilinear"
    rescale: float = 1 / 255
    """Factor on pixel values of 0 to 255, before `mean` and `std`."""
    mean: tuple[float, ...]
    std: tuple[float, ...]
    prefix: tuple[str, ...] = ()
    """Labels of the tokens before the patches."""
    source: str
    """Where mean and standard deviation come from, in words."""

    def __post_init__(self) -> None:
        resized = self.resize_to if isinstance(self.resize_to, tuple) else (self.resize_to,)
        fits = all(1 <= patch <= side for patch, side in zip(self.patch_size, self.size, strict=True))
        if not fits or max(*self.size, *resized) > _LONGEST_SIDE:
            raise CaptureError(
                f"images must hold a patch and be at most {_LONGEST_SIDE} pixels long; found patches of "
                f"{self.patch_size} in {self.size}, resized to {self.resize_to}. Check config.json."
            )
        numbers = (*self.mean, *self.std, self.rescale)
        if not all(map(math.isfinite, numbers)) or 0 in self.std:
            raise CaptureError(
                "images must be normalised by finite numbers and deviations other than zero; found mean "
                f"{self.mean}, deviation {self.std}. Check the model's preprocessor."
            )

    @property
    def grid(self) -> tuple[int, int]:
        """Patches in a column and in a row."""
        return self.size[0] // self.patch_size[0], self.size[1] // self.patch_size[1]

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of all tokens: the prefix, then "row,column" of each patch.

        Examples
        --------
        >>> settings = ImageSettings(
        ...     input_name="pixel_values", size=(4, 4), patch_size=(2, 2), resize_to=(4, 4),
        ...     mean=(0.5,) * 3, std=(0.5,) * 3, prefix=("CLS",), source="by hand",
        ... )
        >>> settings.labels
        ('CLS', '0,0', '0,1', '1,0', '1,1')
        """
        n_rows, n_columns = self.grid
        return (*self.prefix, *(f"{i},{j}" for i in range(n_rows) for j in range(n_columns)))


def preprocessed_settings(
    config: Any, preprocessor: Mapping[str, Any] | None, model: torch.nn.Module
) -> ImageSettings:
    """Settings of a Hugging Face vision model.

    Parameters
    ----------
    config : transformers.PreTrainedConfig
        Its ``image_size`` and ``patch_size`` decide.
    preprocessor : mapping, optional
        Content of ``preprocessor_config.json``. Without one, images are stretched to the model's size
        and normalised with mean and standard deviation 0.5, and `ImageSettings.source` says so.
    model : torch.nn.Module
        Its parameters tell which tokens come before the patches.

    Returns
    -------
    ImageSettings

    Raises
    ------
    CaptureError
        If the configuration names no image size or patch size.
    """
    sizes = {}
    for name in ("image_size", "patch_size"):
        value = getattr(config, name, None)
        if value is None:
            value = getattr(getattr(config, "vision_config", None), name, None)
        if value is None:
            raise CaptureError(
                f"{type(model).__name__} takes images, and its configuration has no {name}. "
                "Make batches of your own and pass them to haarbor.capturing."
            )
        sizes[name] = _pair(value)
    size = sizes["image_size"]
    n_channels = int(getattr(config, "num_channels", 3))
    found = dict(preprocessor or {})
    mean, std, source = (0.5,) * n_channels, (0.5,) * n_channels, "no preprocessor_config.json: 0.5 and 0.5"
    if preprocessor is not None:
        if not found.get("do_normalize", True):
            mean, std, source = (0.0,) * n_channels, (1.0,) * n_channels, "the preprocessor: none"
        elif "image_mean" in found and "image_std" in found:
            mean, std = _values(found["image_mean"], n_channels), _values(found["image_std"], n_channels)
            source = "the preprocessor"
        else:
            source = "no mean and deviation in preprocessor_config.json: 0.5 and 0.5"
    resample = found.get("resample", 2)
    return ImageSettings(
        input_name="pixel_values",
        size=size,
        patch_size=sizes["patch_size"],
        n_channels=n_channels,
        resize_to=_resize_to(found, size),
        resample=_RESAMPLE[resample] if resample in range(len(_RESAMPLE)) else "bilinear",
        rescale=float(found.get("rescale_factor", 1 / 255)) if found.get("do_rescale", True) else 1.0,
        mean=mean,
        std=std,
        prefix=prefix_labels(model),
        source=source,
    )


def timm_settings(model: Any, name: str) -> ImageSettings:
    """Settings of a timm vision transformer, from the configuration it was trained with.

    Parameters
    ----------
    model : torch.nn.Module
        As timm creates it.
    name : str
        For the message.

    Returns
    -------
    ImageSettings

    Raises
    ------
    CaptureError
        If the model has no patches.
    """
    settings = dict(model.pretrained_cfg)
    patch = getattr(getattr(model, "patch_embed", None), "patch_size", None)
    if patch is None:
        raise CaptureError(
            f"timm:{name} must be a vision transformer; it has no patches. Pick one of the vit, deit or eva "
            "families."
        )
    n_channels, height, width = settings["input_size"]
    crop = float(settings.get("crop_pct") or 1.0)
    return ImageSettings(
        input_name="x",
        size=(int(height), int(width)),
        patch_size=_pair(patch),
        n_channels=int(n_channels),
        # As timm does: the shorter edge is made longer than the model's by the share that is cut off.
        resize_to=math.floor(max(height, width) / crop),
        resample="bilinear" if settings.get("interpolation") == "bilinear" else "bicubic",
        mean=_values(settings["mean"], int(n_channels)),
        std=_values(settings["std"], int(n_channels)),
        prefix=prefix_labels(model),
        source="timm's settings of the model",
    )


def prefix_labels(model: torch.nn.Module) -> tuple[str, ...]:
    """Labels of the tokens that a vision transformer puts before its patches.

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    tuple of str
        "CLS" of a class token, "DIST" of a distillation token, "REG0", ... of registers, in this order.

    Examples
    --------
    >>> model = torch.nn.Module()
    >>> model.cls_token = torch.nn.Parameter(torch.zeros(1, 1, 8))
    >>> model.register_tokens = torch.nn.Parameter(torch.zeros(1, 2, 8))
    >>> prefix_labels(model)
    ('CLS', 'REG0', 'REG1')
    """
    shapes = {name.rsplit(".", 1)[-1]: weight.shape for name, weight in model.named_parameters()}
    labels: list[str] = []
    if shapes.keys() & {"cls_token", "class_embedding"}:
        labels.append("CLS")
    if shapes.keys() & {"distillation_token", "dist_token"}:
        labels.append("DIST")
    for name in ("register_tokens", "reg_token"):
        if name in shapes:
            labels += [f"REG{number}" for number in range(shapes[name][-2])]
    return tuple(labels)


def _resize_to(preprocessor: Mapping[str, Any], size: tuple[int, int]) -> tuple[int, int] | int:
    """Size before the middle is cut out, where the preprocessor cuts; else the model's own."""
    asked = preprocessor.get("size")
    if not preprocessor.get("do_center_crop", False) or asked is None:
        return size
    if isinstance(asked, Mapping):
        if "shortest_edge" in asked:
            return max(int(asked["shortest_edge"]), *size)
        if "height" in asked and "width" in asked:
            return max(int(asked["height"]), size[0]), max(int(asked["width"]), size[1])
        return size
    return max(int(asked), *size) if isinstance(asked, int) else size


def _pair(value: Any) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    height, width = value
    return int(height), int(width)


def _values(value: Any, n_channels: int) -> tuple[float, ...]:
    found = tuple(map(float, value)) if isinstance(value, Sequence) else (float(value),) * n_channels
    if len(found) != n_channels:
        raise CaptureError(
            f"preprocessor_config.json must have a mean and a deviation for each of {n_channels} channels; "
            f"found {len(found)}. Mend the file."
        )
    return found

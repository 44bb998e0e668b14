"""Pruned networks read back with what they take, to be pruned again."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch

from haarbor.capturing import LoadedModel, first_line, is_huggingface
from haarbor.capturing.inputs import ImageSettings, ModelInputs, TokenInputs, model_inputs
from haarbor.errors import CaptureError, PruningError
from haarbor.needed_packages import needed_package
from haarbor.pruning._pruned_checkpoint import load_pruned
from haarbor.zoo import TransformerXL, VisionTransformer

__all__ = ["image_statistics", "is_pruned_folder", "pruned_model"]

_DESCRIPTION = "pruned.json"
_STATISTICS = "images"


def is_pruned_folder(name: str) -> bool:
    """Whether a name is that of a folder that :func:`haarbor.pruning.save_pruned` wrote.

    See Also
    --------
    haarbor.pruning.save_pruned : Write a pruned network.
    haarbor.load_pruned : A pruned network from its folder.
    """
    try:
        return (Path(name).expanduser() / _DESCRIPTION).is_file()
    except (OSError, ValueError):
        return False


def image_statistics(takes: Any) -> dict[str, Any]:
    """What must be kept with a network of images, so that it can be given images again."""
    if not isinstance(takes, ImageSettings):
        return {}
    return {_STATISTICS: {"mean": list(takes.mean), "std": list(takes.std)}}


def pruned_model(
    folder: str, *, dtype: torch.dtype | None = None, device: str | torch.device = "cpu"
) -> LoadedModel:
    """Pruned network with its tokenizer or image settings.

    Parameters
    ----------
    folder : str
        As ``haarbor prune --out`` writes it.
    dtype : torch.dtype, optional
    device : str or torch.device, default "cpu"

    Returns
    -------
    LoadedModel

    Raises
    ------
    PruningError
        If a file is missing or damaged, or Haarbor cannot build the network by itself.

    See Also
    --------
    haarbor.load_pruned : A pruned network from its folder.
    haarbor.pruning.save_pruned : Write a pruned network.
    """
    place = Path(folder).expanduser()
    model = load_pruned(place)
    try:
        model.to(device, dtype)
    except (RuntimeError, AssertionError) as error:
        raise PruningError(
            f"{place.name} could not be moved to {device}: {first_line(error)}. Take another, such as cpu."
        ) from error
    origin = json.loads((place / _DESCRIPTION).read_text(encoding="utf-8")).get("origin")
    takes = _takes(model, origin if isinstance(origin, dict) else {})
    tokenizer = None
    if isinstance(takes, TokenInputs) and (place / "tokenizer.json").is_file():
        tokenizer = _tokenizer(place)
    return LoadedModel(model=model, tokenizer=tokenizer, takes=takes, name=place.resolve().name, notes=())


def _takes(model: Any, origin: dict[str, Any]) -> ModelInputs | None:
    """Sizes are the network's own; only mean and deviation of images are read from the description."""
    mean, std = _statistics(origin.get(_STATISTICS))
    if isinstance(model, TransformerXL):
        return TokenInputs(vocab_size=model.config.vocab_size, max_tokens=None)
    if isinstance(model, VisionTransformer):
        config = model.config
        return ImageSettings(
            input_name="pixel_values",
            size=(config.image_size, config.image_size),
            patch_size=(config.patch_size, config.patch_size),
            resize_to=(config.image_size, config.image_size),
            mean=mean,
            std=std,
            prefix=("CLS",),
            source="the folder of the pruned network",
        )
    if not is_huggingface(model):
        return None
    try:
        return model_inputs(model, {"image_mean": list(mean), "image_std": list(std)})
    except CaptureError:
        return None


def _statistics(found: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    try:
        mean, std = (tuple(map(float, found[name])) for name in ("mean", "std"))
    except (TypeError, KeyError, ValueError):
        return (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)
    if len(mean) != 3 or len(std) != 3 or not all(map(math.isfinite, (*mean, *std))) or 0 in std:
        return (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)
    return mean, std


def _tokenizer(place: Path) -> Any:
    transformers: Any = needed_package("transformers", "text")
    try:
        return transformers.AutoTokenizer.from_pretrained(
            place, trust_remote_code=False, local_files_only=True
        )
    # Readers of tokenizers raise plain exceptions.
    except Exception as error:
        raise PruningError(
            f"the tokenizer in {place.name} could not be read: {first_line(error)}. Copy it from the whole "
            "network."
        ) from error

"""Networks of haarbor.zoo: the embedded ones, and those that a training has saved."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch

from haarbor.capturing._first_line import first_line
from haarbor.capturing._loaded_model import LoadedModel
from haarbor.capturing.inputs import ImageSettings, TokenInputs
from haarbor.errors import CaptureError
from haarbor.needed_packages import needed_package
from haarbor.zoo import TransformerXL, VisionTransformer, embedded_folder, json_object, load_checkpoint

__all__ = ["ZOO", "is_zoo_folder", "zoo_model"]

ZOO = "zoo:"


def is_zoo_folder(folder: Path) -> bool:
    """Whether a folder holds a network that `haarbor.zoo.save_checkpoint` wrote."""
    try:
        kind = json_object(folder / "config.json").get("kind")
    except CaptureError:
        return False
    return isinstance(kind, str) and kind in ("transformer-xl", "vision-transformer")


def zoo_model(name: str, *, dtype: torch.dtype | None, device: torch.device) -> LoadedModel:
    """Network of the zoo, with its tokenizer or image settings.

    Parameters
    ----------
    name : str
        ``zoo:transformer-xl``, ``zoo:vision-transformer``, or a folder.
    dtype : torch.dtype or None
        float32 if None.
    device : torch.device

    Returns
    -------
    LoadedModel

    Raises
    ------
    SettingError
        If there is no such embedded network.
    CaptureError
        If a file is missing or damaged.
    """
    folder = embedded_folder(name.removeprefix(ZOO)) if name.startswith(ZOO) else Path(name).expanduser()
    short = name if name.startswith(ZOO) else folder.resolve().name
    model = load_checkpoint(folder).to(device, dtype)
    return LoadedModel(
        model=model,
        tokenizer=_tokenizer(folder) if isinstance(model, TransformerXL) else None,
        takes=_token_inputs(model) if isinstance(model, TransformerXL) else _image_settings(model, folder),
        name=short,
        notes=(),
    )


def _token_inputs(model: TransformerXL) -> TokenInputs:
    return TokenInputs(vocab_size=model.config.vocab_size, max_tokens=None)


def _tokenizer(folder: Path) -> Any:
    path = folder / "tokenizer.json"
    if not path.is_file():
        return None
    transformers: Any = needed_package("transformers", "text")
    try:
        return transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
    # The reader of the file raises plain exceptions.
    except Exception as error:
        raise CaptureError(
            f"tokenizer.json of {folder.name} must be one that the tokenizers package wrote; it could not be "
            f"read: {first_line(error)}. Copy it from where the network was trained."
        ) from error


def _image_settings(model: VisionTransformer, folder: Path) -> ImageSettings:
    config = model.config
    path = folder / "training.json"
    try:
        statistics = json_object(path)["images"]
        mean, std = (tuple(map(float, statistics[name])) for name in ("mean", "std"))
        if len(mean) != 3 or len(std) != 3 or not all(map(math.isfinite, (*mean, *std))) or 0 in std:
            raise ValueError("not three finite numbers")
    except (CaptureError, ValueError, TypeError, KeyError) as error:
        raise CaptureError(
            f"training.json of {folder.name} must give mean and std of the training images; it could not be "
            "read. Copy it from where the network was trained."
        ) from error
    return ImageSettings(
        input_name="pixel_values",
        size=(config.image_size, config.image_size),
        patch_size=(config.patch_size, config.patch_size),
        resize_to=(config.image_size, config.image_size),
        mean=mean,
        std=std,
        prefix=("CLS",),
        source="the training images",
    )

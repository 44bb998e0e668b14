"""Networks in folders: half-precision weights, sizes, and a record of the training."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from haarbor.errors import CaptureError
from haarbor.named_path import named_path
from haarbor.zoo._json_file import json_object
from haarbor.zoo._transformer_xl import TransformerXL, TransformerXLConfig
from haarbor.zoo._vision_transformer import VisionTransformer, VisionTransformerConfig

__all__ = ["ZooNetwork", "load_checkpoint", "n_parameters", "save_checkpoint"]

ZooNetwork = TransformerXL | VisionTransformer

_KINDS: dict[str, tuple[type[Any], type[Any]]] = {
    "transformer-xl": (TransformerXL, TransformerXLConfig),
    "vision-transformer": (VisionTransformer, VisionTransformerConfig),
}
_WEIGHTS, _CONFIG, _TRAINING = "model.safetensors", "config.json", "training.json"


def save_checkpoint(folder: Path, model: ZooNetwork, training: Mapping[str, Any]) -> None:
    """Write a network in half precision.

    Parameters
    ----------
    folder : Path
        Made if missing.
    model : TransformerXL or VisionTransformer
    training : mapping
        Record of the training as JSON values: data, settings, history and quality.

    See Also
    --------
    haarbor.zoo.load_checkpoint : A network from its folder.
    """
    kind = next(kind for kind, (network, _) in _KINDS.items() if isinstance(model, network))
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().half().cpu().contiguous() for name, value in model.state_dict().items()}
    save_file(weights, folder / _WEIGHTS)
    _write_json(folder / _CONFIG, {"kind": kind, **asdict(model.config)})
    _write_json(folder / _TRAINING, training)


def load_checkpoint(folder: str | Path) -> ZooNetwork:
    """Network of a folder, in eval mode, with weights in float32.

    Parameters
    ----------
    folder : str or Path

    Returns
    -------
    TransformerXL or VisionTransformer

    Raises
    ------
    CaptureError
        If a file is missing or damaged, or the weights belong to another network.

    See Also
    --------
    haarbor.zoo.save_checkpoint : A network into a folder.
    """
    folder = named_path(folder, "a network")
    try:
        config = json_object(folder / _CONFIG)
        network, sizes = _KINDS[config.pop("kind")]
        settings = sizes(**config)
        weights = load_file(folder / _WEIGHTS)
        _require_plausible_sizes(settings, len(weights))
        # Built without values first, so that wrong sizes in the configuration take no memory.
        with torch.device("meta"):
            model: ZooNetwork = network(settings)
        model.load_state_dict({name: value.float() for name, value in weights.items()}, assign=True)
    except (
        ArithmeticError,
        AttributeError,
        CaptureError,
        KeyError,
        MemoryError,
        OSError,
        RuntimeError,
        SafetensorError,
        TypeError,
        ValueError,
    ) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        reason = reason.replace(str(folder), folder.name).rstrip(".: ")[:200]
        raise CaptureError(
            f"{folder.name} must hold {_CONFIG} and {_WEIGHTS} of one network; {reason}. Train it again, or "
            "install the package anew."
        ) from error
    return model.eval()


def _require_plausible_sizes(settings: Any, n_tensors: int) -> None:
    for entry in fields(settings):
        value, least = getattr(settings, entry.name), 0 if entry.name == "memory_length" else 1
        if entry.type == "int" and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise ValueError(f"{entry.name} is {value!r:.60}")
    if settings.n_layers > n_tensors:
        raise ValueError(f"n_layers is {settings.n_layers}, and there are {n_tensors} weights")


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def n_parameters(model: torch.nn.Module) -> int:
    """Number of weights."""
    return sum(weight.numel() for weight in model.parameters())

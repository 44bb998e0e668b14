"""What a model is called, and a digest that tells it from another."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from haarbor import __version__

__all__ = ["config_digest", "library_versions", "model_name"]

# Entries of a configuration that depend on the machine or on how it was loaded, not on the model.
_PASSING = ("_name_or_path", "transformers_version", "torch_dtype", "dtype", "attn_implementation")


def model_name(model: torch.nn.Module) -> str:
    """Short name of a model: the last part of where it came from, or its class."""
    config: Any = getattr(model, "config", None)
    origin = str(getattr(config, "_name_or_path", "") or "")
    return Path(origin).name or type(model).__name__


def config_digest(model: torch.nn.Module) -> str:
    """SHA-256 of the model's configuration, class, and the names and shapes of its parameters.

    Values are not read: two checkpoints of one architecture have the same digest.
    """
    config: Any = getattr(model, "config", None)
    settings = config.to_dict() if hasattr(config, "to_dict") else {}
    settings = {name: value for name, value in settings.items() if name not in _PASSING}
    shapes = {name: list(value.shape) for name, value in model.named_parameters()}
    text = json.dumps([type(model).__name__, settings, shapes], sort_keys=True, default=str)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def library_versions() -> dict[str, str]:
    """Versions of the libraries that decide what is recorded."""
    found = {"haarbor": __version__}
    for name in ("torch", "transformers", "timm", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found

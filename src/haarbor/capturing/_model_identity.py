"""The name of a model, and a digest that differs between any two models."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import torch

from haarbor.capturing._weights_digest import weights_digest
from haarbor.version import installed_versions

__all__ = ["config_digest", "library_versions", "model_name"]

# Entries of a configuration that say how or where the model was loaded, not what it is.
_PASSING = (
    "_attn_implementation",
    "_experts_implementation",
    "_name_or_path",
    "attn_implementation",
    "dtype",
    "experts_implementation",
    "torch_dtype",
    "transformers_version",
)


def model_name(model: torch.nn.Module) -> str:
    """Short name of a model: the last part of where it came from, or its class."""
    config: Any = getattr(model, "config", None)
    origin = str(getattr(config, "_name_or_path", "") or "")
    return Path(origin).name or type(model).__name__


def config_digest(model: torch.nn.Module, weights: str | None = None) -> str:
    """SHA-256 of the model's class, its configuration and its weights.

    Parameters
    ----------
    model : torch.nn.Module
    weights : str, optional
        Result of `weights_digest`, if it is known already; otherwise all weights are read.

    Returns
    -------
    str
    """
    config: Any = getattr(model, "config", None)
    if hasattr(config, "to_dict"):
        settings = config.to_dict()
    else:
        settings = asdict(config) if is_dataclass(config) and not isinstance(config, type) else {}
    parts = [type(model).__name__, _lasting(settings), weights or weights_digest(model)]
    text = json.dumps(parts, sort_keys=True, default=_text)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _lasting(item) for name, item in value.items() if name not in _PASSING}
    return [_lasting(item) for item in value] if isinstance(value, list | tuple) else value


def _text(value: Any) -> Any:
    # The order in which a set gives its elements changes from one start of Python to the next.
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)


def library_versions(model: torch.nn.Module) -> dict[str, str]:
    """Versions of the libraries that decide what is recorded of a model.

    timm counts where a part of the model is timm's: to install it later must not keep a run of another model
    from being continued.
    """
    rooms = {kind.__module__.partition(".")[0] for part in model.modules() for kind in type(part).__mro__}
    return installed_versions(("torch", "transformers", *(("timm",) if "timm" in rooms else ()), "numpy"))

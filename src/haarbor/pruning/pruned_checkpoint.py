"""Smaller networks in a folder: safetensors, and a description from which their modules are rebuilt."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_model, save_model

from haarbor.errors import PruningError
from haarbor.pruning.head_sites import Heads, HeadSite, HeadSites
from haarbor.pruning.layer_moments import projection_weight
from haarbor.pruning.model_batches import is_huggingface
from haarbor.pruning.smaller_attention import shrink_layer
from haarbor.zoo import TransformerXL, TransformerXLConfig, VisionTransformer, VisionTransformerConfig

__all__ = ["load_pruned", "save_pruned"]

_FORMAT, _VERSION = "haarbor-pruned", 1
_DESCRIPTION, _WEIGHTS = "pruned.json", "model.safetensors"
_ZOO: dict[str, tuple[type[Any], type[Any]]] = {
    "TransformerXL": (TransformerXL, TransformerXLConfig),
    "VisionTransformer": (VisionTransformer, VisionTransformerConfig),
}


def save_pruned(
    folder: str | Path,
    smaller: torch.nn.Module,
    sites: HeadSites,
    heads: Heads,
    *,
    origin: Mapping[str, Any] | None = None,
    timm_options: Mapping[str, Any] | None = None,
) -> None:
    """Write a network that was made smaller by `prune_heads`.

    Parameters
    ----------
    folder : str or Path
        Made if missing.
    smaller : torch.nn.Module
        From :func:`haarbor.pruning.prune_heads`.
    sites : HeadSites
        Of the whole network.
    heads : pairs (layer, head), numbers of heads, or bool array
        Those that were removed.
    origin : mapping, optional
        JSON values to keep: model, score, data.
    timm_options : mapping, optional
        With which ``timm.create_model`` made the whole network, where they are not the usual ones.

    Raises
    ------
    PruningError
        If the network is of a kind that cannot be rebuilt from a description.
    """
    target = Path(folder)
    removed = sites.by_layer(sites.mask(heads))
    description = {
        "format": _FORMAT,
        "version": _VERSION,
        "origin": dict(origin or {}),
        "network": _description(smaller, timm_options),
        "dtype": str(next(smaller.parameters()).dtype).removeprefix("torch."),
        "layers": [
            {
                **asdict(site),
                "removed": gone.tolist(),
                "bias": getattr(smaller.get_submodule(site.projection), "bias", None) is not None,
            }
            for site, gone in zip(sites.layers, removed, strict=True)
        ],
    }
    target.mkdir(parents=True, exist_ok=True)
    save_model(smaller, str(target / _WEIGHTS), metadata={"format": "pt"})
    (target / _DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")


def load_pruned(folder: str | Path) -> torch.nn.Module:
    """Network of which heads were removed, in eval mode, its smaller attention modules rebuilt.

    Parameters
    ----------
    folder : str or Path
        As ``haarbor prune`` writes it.

    Returns
    -------
    torch.nn.Module
        Of the same class as the whole network; weights in the precision they were saved in.

    Raises
    ------
    PruningError
        If a file is missing or damaged, or the library of the network is not installed.

    Notes
    -----
    The folder holds JSON and safetensors; no code and no pickle is read from it. The tokenizer, where
    there is one, lies beside and loads with transformers.
    """
    place = Path(folder)
    try:
        description = json.loads((place / _DESCRIPTION).read_text(encoding="utf-8"))
        if description["format"] != _FORMAT or description["version"] != _VERSION:
            raise ValueError(f"format {description['format']!r}, version {description['version']!r}")
        model = _rebuilt(description)
        missing, unexpected = load_model(model, str(place / _WEIGHTS), strict=False)
        if missing or unexpected:
            raise ValueError(f"weights {sorted([*missing, *unexpected])[:2]} do not fit")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError, SafetensorError) as error:
        if isinstance(error, PruningError):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0].replace(str(place), place.name)
        raise PruningError(
            f"{place.name} must hold {_DESCRIPTION} and {_WEIGHTS} of one pruned network; "
            f"{reason.rstrip('.: ')}. Prune it again."
        ) from error
    return model.eval()


def _rebuilt(description: Mapping[str, Any]) -> torch.nn.Module:
    model = _whole(description["network"])
    for entry in description["layers"]:
        layer = dict(entry)
        removed, has_bias = np.array(layer.pop("removed"), dtype=np.int64), layer.pop("bias")
        if not removed.size:
            continue
        site = HeadSite(**layer)
        weight = projection_weight(model.get_submodule(site.projection))
        shrink_layer(model, site, removed, weight, np.zeros(weight.shape[0]) if has_bias else None)
    dtype: torch.dtype = getattr(torch, str(description["dtype"]))
    return model.to(dtype)


def _description(model: torch.nn.Module, timm_options: Mapping[str, Any] | None) -> dict[str, Any]:
    name = type(model).__name__
    config: Any = getattr(model, "config", None)
    if name in _ZOO and isinstance(model, _ZOO[name][0]):
        return {"library": "haarbor.zoo", "architecture": name, "config": asdict(config)}
    if is_huggingface(model):
        values = json.loads(config.to_json_string(use_diff=False))
        return {"library": "transformers", "architecture": name, "config": values}
    settings: Any = getattr(model, "pretrained_cfg", None)
    if type(model).__module__.startswith("timm.") and settings:
        options = {"num_classes": int(getattr(model, "num_classes", 0)), **dict(timm_options or {})}
        return {"library": "timm", "architecture": str(settings["architecture"]), "config": options}
    raise PruningError(
        f"{name} cannot be rebuilt from a description: Haarbor knows how for models of transformers and timm "
        "and for the networks of haarbor.zoo. Keep the mask file, and prune the model after loading it."
    )


def _whole(network: Mapping[str, Any]) -> torch.nn.Module:
    """The network before its heads were removed, with any weights."""
    library, architecture, config = network["library"], str(network["architecture"]), dict(network["config"])
    if library == "haarbor.zoo":
        cls, sizes = _ZOO[architecture]
        found: torch.nn.Module = cls(sizes(**config))
        return found
    try:
        module: Any = importlib.import_module({"transformers": "transformers", "timm": "timm"}[library])
    except ImportError as error:
        raise PruningError(
            f"the network needs {library}, which is not installed: pip install {library}."
        ) from error
    if library == "timm":
        made: torch.nn.Module = module.create_model(architecture, pretrained=False, **config)
        return made
    cls = getattr(module, architecture)
    if not (isinstance(cls, type) and issubclass(cls, module.PreTrainedModel)):
        raise ValueError(f"{architecture} is no model of transformers")
    kind = module.CONFIG_MAPPING[config["model_type"]]
    built: torch.nn.Module = cls(kind.from_dict(config))
    return built

"""Pruned networks in a folder: safetensors, and a description from which their modules are rebuilt."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_model, save_model

from haarbor.capturing import first_line
from haarbor.errors import HaarborError, PruningError, SettingError
from haarbor.printable import printable
from haarbor.pruning._json_text import json_text
from haarbor.pruning._layer_moments import projection_weight
from haarbor.pruning._masked_network import ProjectionByCall, replace_projections
from haarbor.pruning._network_heads import HeadChoice, NetworkHeads, is_projection, n_inputs
from haarbor.pruning._pruned_layers import (
    PrunedLayers,
    checked_layers,
    layers_before,
    remember_layers,
)
from haarbor.pruning._rebuilding import (
    OWN,
    SizeLimits,
    described_network,
    outlined_network,
    rebuilt_network,
)
from haarbor.pruning._smaller_attention import shrink_layer
from haarbor.pruning._whole_folder import found_folder, whole_folder

__all__ = ["load_pruned", "save_pruned"]

_FORMAT, _VERSION = "haarbor-pruned", 2
_DESCRIPTION, _WEIGHTS = "pruned.json", "model.safetensors"
_DTYPES = ("bfloat16", "float16", "float32", "float64")
_LONGEST = 2**25
"""Bytes of a description that are read at most."""


def save_pruned(
    folder: str | Path,
    pruned: torch.nn.Module,
    heads: NetworkHeads,
    removed: HeadChoice,
    *,
    origin: Mapping[str, Any] | None = None,
    timm_options: Mapping[str, Any] | None = None,
    tokenizer: Any = None,
) -> None:
    """Write a network whose heads were removed by `prune_heads` or `mask_heads`.

    Parameters
    ----------
    folder : str or Path
        Made if missing; an earlier network in it is replaced. The folder appears when it is complete.
    pruned : torch.nn.Module
        From :func:`haarbor.pruning.prune_heads` or :func:`haarbor.pruning.mask_heads`.
    heads : NetworkHeads
        Of the network before: the whole one, or one that :func:`haarbor.load_pruned` gave.
    removed : pairs (layer, head), numbers of heads, or bool array
    origin : mapping, optional
        JSON values to keep: model, score, data.
    timm_options : mapping, optional
        Options of ``timm.create_model`` that made the whole network, other than the defaults.
    tokenizer : transformers.PreTrainedTokenizerBase, optional
        Saved beside the network.

    Raises
    ------
    SettingError
        If `folder` is no path, or `origin` holds values that JSON has no form for.
    StoreError
        If the folder cannot be written, or something else lies there.

    See Also
    --------
    haarbor.load_pruned : A pruned network from its folder.
    haarbor.pruning.prune_heads : A smaller copy of a model.
    haarbor.pruning.standard_model : A plain Hugging Face model.
    """
    if not isinstance(pruned, torch.nn.Module):
        raise SettingError(
            f"the network to save must be a torch.nn.Module; found {type(pruned).__name__}. Pass what "
            "prune_heads or mask_heads gave."
        )
    text = json_text(_description(pruned, heads, removed, origin, timm_options))
    with whole_folder(folder) as target:
        save_model(pruned, str(target / _WEIGHTS), metadata={"format": "pt"})
        if tokenizer is not None:
            tokenizer.save_pretrained(target)
        (target / _DESCRIPTION).write_text(text, encoding="utf-8")


def load_pruned(folder: str | Path, model: torch.nn.Module | None = None) -> torch.nn.Module:
    """Network of which heads were removed, in eval mode.

    Parameters
    ----------
    folder : str or Path
        As ``haarbor prune`` or :func:`haarbor.pruning.save_pruned` writes it.
    model : torch.nn.Module, optional
        Whole network of the same class and sizes, with any weights, and left as it is. Needed for networks
        that are not of transformers, timm or haarbor.zoo: Haarbor cannot build those by itself.

    Returns
    -------
    torch.nn.Module
        Of the same class as the whole network; weights in the precision they were saved in.

    Raises
    ------
    PruningError
        If a file is missing or damaged, the network is not one that Haarbor builds and `model` is not
        given, or the library of the network is not installed.
    SettingError
        If `folder` is no path or `model` no network.

    See Also
    --------
    haarbor.pruning.save_pruned : Write a pruned network.
    haarbor.heal : Train a pruned network a little.

    Notes
    -----
    The folder holds JSON and safetensors; no code and no pickle is read from it, nothing is looked up on
    the hub, and only networks and settings of closed lists are built. The tokenizer, where there is one,
    lies beside and loads with transformers.
    """
    if not isinstance(folder, str | Path) or not str(folder):
        raise SettingError(f"the pruned network must be in a folder; found {folder!r}. Pass its path.")
    if model is not None and not isinstance(model, torch.nn.Module):
        raise SettingError(
            f"the whole network must be a torch.nn.Module; found {type(model).__name__}. Pass one of the "
            "same class and sizes."
        )
    place = Path(folder)
    try:
        return _loaded(found_folder(place), model).eval()
    except HaarborError:
        raise
    # JSON that is too deep, memory that is not there, a header that no tensor fits: all mean damage here.
    except Exception as error:
        reason = printable(first_line(error).replace(str(place), place.name))[:200]
        raise _damaged(place, reason) from error


def _loaded(place: Path, model: torch.nn.Module | None) -> torch.nn.Module:
    description = _read_description(place)
    layers = checked_layers(description.get("layers"), place.name)
    shapes = _shapes(place)
    network = description["network"]
    if model is not None:
        whole = _handed_over(model, network, place)
    elif network["library"] == OWN:
        raise PruningError(
            f"{place.name} is of a {printable(network['architecture'])}, which Haarbor cannot build by "
            "itself. Make one of the same sizes and pass it: load_pruned(folder, model)."
        )
    else:
        whole = rebuilt_network(network, _limits(shapes, layers.heads))
    dtype: torch.dtype = getattr(torch, description["dtype"])
    pruned = _pruned(whole, layers, place).to(dtype)
    _require_fitting(pruned, shapes, place)
    load_model(pruned, str(place / _WEIGHTS), strict=False)
    remember_layers(pruned, layers)
    return pruned


def _handed_over(model: torch.nn.Module, network: Mapping[str, Any], place: Path) -> torch.nn.Module:
    name = type(model).__name__
    if name != network["architecture"]:
        raise PruningError(
            f"the whole network must be a {printable(network['architecture'])}, as {place.name} was; found a "
            f"{name}. Pass the network that was pruned."
        )
    return copy.deepcopy(model)


def _pruned(model: torch.nn.Module, layers: PrunedLayers, place: Path) -> torch.nn.Module:
    """The network with the modules that it has without the heads; their weights are still any."""
    changed: list[Any] = [None] * len(layers.heads)
    for number, layer in enumerate(layers.heads.layers):
        removed, has_bias = layers.removed[number], layers.biases[number]
        try:
            projection = model.get_submodule(layer.projection)
        except AttributeError as error:
            raise _damaged(place, f"its network has no {printable(layer.projection)}") from error
        # One that serves several layers is met again as it was left by the first.
        if not is_projection(projection) or n_inputs(projection) != layer.width:
            raise _damaged(place, f"{layer.projection} does not gather {layer.n_heads} heads")
        if not removed.size:
            continue
        weight = projection_weight(projection)
        bias = np.zeros(weight.shape[0]) if has_bias else None
        if layers.smaller[number]:
            shrink_layer(model, layer, removed, weight, bias)
        else:
            changed[number] = (weight, bias)
    replace_projections(model, layers.heads, changed)
    return model


def _require_fitting(model: torch.nn.Module, shapes: Mapping[str, tuple[int, ...]], place: Path) -> None:
    """Raise unless the weights of a file are those that a network has, to the last shape."""
    own = model.state_dict()
    for name, shape in shapes.items():
        if name not in own:
            raise _damaged(place, f"the weights {printable(name)[:80]!r} belong to another network")
        if tuple(own[name].shape) != shape:
            raise _damaged(place, f"the weights {name!r} have shape {shape}, not {tuple(own[name].shape)}")
    # Of tensors that share their memory a file holds one.
    known = {own[name].data_ptr() for name in shapes}
    for name, tensor in own.items():
        if name not in shapes and tensor.data_ptr() not in known:
            raise _damaged(place, f"the weights {name!r} are missing")


def _shapes(place: Path) -> dict[str, tuple[int, ...]]:
    """Shapes of the tensors in the file of weights, read from its header alone."""
    path = place / _WEIGHTS
    if not path.is_file():
        raise _damaged(place, f"there is no file {_WEIGHTS}")
    try:
        with safe_open(path, framework="pt") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise _damaged(place, f"{_WEIGHTS} is no safetensors file ({first_line(error)})") from error


def _read_description(place: Path) -> dict[str, Any]:
    path = place / _DESCRIPTION
    if not path.is_file():
        if (place / "config.json").is_file():
            raise PruningError(
                f"{printable(place.name)[:80]} must hold {_DESCRIPTION}; it holds a checkpoint that "
                "transformers loads by itself. Load it with AutoModel.from_pretrained or haarbor.load_model."
            )
        raise _damaged(place, f"there is no file {_DESCRIPTION}")
    if path.stat().st_size > _LONGEST:
        raise _damaged(place, f"{_DESCRIPTION} is longer than any description")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise _damaged(place, f"{_DESCRIPTION} is no JSON that can be read") from error
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise _damaged(place, f"{_DESCRIPTION} describes no pruned network")
    version = found.get("version")
    if isinstance(version, bool) or version != _VERSION:
        raise _damaged(place, f"{_DESCRIPTION} is of version {printable(version)[:20]}, not {_VERSION}")
    network = found.get("network")
    if (
        not isinstance(network, dict)
        or not isinstance(network.get("library"), str)
        or not isinstance(network.get("architecture"), str)
        or not isinstance(network.get("config"), dict)
    ):
        raise _damaged(place, f"{_DESCRIPTION} names no network with library, architecture and config")
    if found.get("dtype") not in _DTYPES:
        raise _damaged(place, f"{_DESCRIPTION} names no precision of {', '.join(_DTYPES)}")
    return found


def _damaged(place: Path, reason: str) -> PruningError:
    return PruningError(
        f"{printable(place.name)[:80]} must hold {_DESCRIPTION} and {_WEIGHTS} of one pruned network; "
        f"{reason.rstrip('.: ')}. Prune it again."
    )


def _description(
    pruned: torch.nn.Module,
    heads: NetworkHeads,
    removed: HeadChoice,
    origin: Mapping[str, Any] | None,
    timm_options: Mapping[str, Any] | None,
) -> dict[str, Any]:
    entries = []
    before = layers_before(pruned)
    lost = heads.by_layer(heads.mask(removed))
    if before is not None:
        left = [
            layer.n_heads - (gone.size if smaller else 0)
            for layer, gone, smaller in zip(before.heads.layers, before.removed, before.smaller, strict=True)
        ]
        if left != [layer.n_heads for layer in heads.layers]:
            raise PruningError(
                f"the heads must be those of the network that was read, {left}; found "
                f"{[layer.n_heads for layer in heads.layers]}. Remove all heads at once, or save in between."
            )
        # Of a network that was pruned twice, the description is of what it was when it was whole.
        heads = before.heads
    for number, (layer, gone) in enumerate(zip(heads.layers, lost, strict=True)):
        projection: Any = pruned.get_submodule(layer.projection)
        if isinstance(projection, ProjectionByCall):
            projection = projection.calls[layer.call]
        is_smaller = n_inputs(projection) < layer.width
        in_all = gone if before is None else before.removed_in_all(number, gone, is_smaller=is_smaller)
        entries.append(
            {
                **{key: value for key, value in asdict(layer).items() if key != "norm"},
                "removed": in_all.tolist(),
                "bias": projection.bias is not None,
                "smaller": is_smaller,
            }
        )
    network = described_network(pruned, timm_options)
    if network["library"] != OWN and not _can_be_rebuilt(network, heads, pruned):
        network = {"library": OWN, "architecture": type(pruned).__name__, "config": {}}
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "origin": dict(origin or {}),
        "network": network,
        "dtype": str(next(pruned.parameters()).dtype).removeprefix("torch."),
        "layers": entries,
    }


def _can_be_rebuilt(network: Mapping[str, Any], heads: NetworkHeads, pruned: torch.nn.Module) -> bool:
    """Whether the description gives a network whose weights fit, options of the user and all."""
    shapes = {name: tuple(value.shape) for name, value in pruned.state_dict().items()}
    try:
        whole = outlined_network(network, _limits(shapes, heads))
    except PruningError:
        return False
    changing = tuple(f"{name}." for layer in heads.layers for name in (layer.attention, layer.projection))
    expected = {name: tuple(value.shape) for name, value in whole.state_dict().items()}
    modules = dict(whole.named_modules())
    return (
        {item for item in expected.items() if not item[0].startswith(changing)}
        == {item for item in shapes.items() if not item[0].startswith(changing)}
        and all(layer.projection in modules for layer in heads.layers)
        and all(n_inputs(modules[layer.projection]) == layer.width for layer in heads.layers)
    )


def _limits(shapes: Mapping[str, tuple[int, ...]], heads: NetworkHeads) -> SizeLimits:
    return SizeLimits(
        n_tensors=len(shapes),
        n_elements=sum(math.prod(shape) for shape in shapes.values()),
        most_heads=max(layer.n_heads for layer in heads.layers),
    )

"""The layers in the description of a pruned network, checked before anything is built from them."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch

from haarbor.array_types import IntArray
from haarbor.errors import PruningError
from haarbor.printable import printable
from haarbor.pruning._network_heads import LayerHeads, NetworkHeads

__all__ = ["PrunedLayers", "checked_layers", "layers_before", "remember_layers"]

_REMEMBERED = "_haarbor_pruned_layers"
"""Attribute of a network that was read from a folder: what it had lost by then."""

_MOST_LAYERS, _MOST_HEADS, _WIDEST = 10_000, 1024, 65_536
_NAME = re.compile(r"\w+(\.\w+)*")
# Where an output is normalised matters for scores only, and files say nothing of it.
_FIELDS = tuple(field.name for field in fields(LayerHeads) if field.name != "norm")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PrunedLayers:
    """Where the heads of the whole network are, and what became of them."""

    heads: NetworkHeads
    removed: tuple[IntArray, ...]
    """Numbers of the heads that are gone, one array per layer."""
    biases: tuple[bool, ...]
    """Whether the output projection of each layer has a bias."""
    smaller: tuple[bool, ...]
    """Whether each layer was made smaller, or only switched its heads off."""

    def removed_in_all(self, number: int, gone: IntArray, *, is_smaller: bool) -> IntArray:
        """Heads that a layer has lost since it was whole, in its numbers of then.

        Parameters
        ----------
        number : int
            Of the layer.
        gone : ndarray of int
            Heads that went this time, in the numbers that they had.
        is_smaller : bool
            Whether the layer is smaller now than when it was whole.
        """
        before = self.removed[number]
        if self.smaller[number]:
            stayed = np.setdiff1d(np.arange(self.heads.layers[number].n_heads), before)
            return np.union1d(before, stayed[gone])
        # Heads that were only switched off before are still there, as zeros, in a layer made smaller now.
        return gone if is_smaller else np.union1d(before, gone)


def remember_layers(network: torch.nn.Module, layers: PrunedLayers) -> None:
    """Note with a network what it has lost, for the case that it is pruned and saved again."""
    setattr(network, _REMEMBERED, layers)


def layers_before(network: torch.nn.Module) -> PrunedLayers | None:
    """What a network had lost before it was pruned this time; None if it was whole."""
    found = getattr(network, _REMEMBERED, None)
    return found if isinstance(found, PrunedLayers) else None


def checked_layers(entries: Any, name: str) -> PrunedLayers:
    """Layers of a description.

    Parameters
    ----------
    entries : list of dict
        As they came out of JSON.
    name : str
        Of the folder, for messages.

    Returns
    -------
    PrunedLayers

    Raises
    ------
    PruningError
        If a field is missing, of the wrong type or out of bounds.
    """
    if not isinstance(entries, list) or not 0 < len(entries) <= _MOST_LAYERS:
        raise _wrong(name, "layers", entries)
    layers, removed = [], []
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or set(entry) != {*_FIELDS, "removed", "bias", "smaller"}:
            raise _wrong(name, f"layer {number}", entry)
        sizes = {"n_heads": _MOST_HEADS, "head_width": _WIDEST, "head_group": _MOST_HEADS}
        for key, most in sizes.items():
            if not _is_number(entry[key], 1, most):
                raise _wrong(name, f"{key} of layer {number}", entry[key])
        if not _is_number(entry["call"], 0, _MOST_LAYERS):
            raise _wrong(name, f"call of layer {number}", entry["call"])
        for key in ("projection", "attention", "block"):
            value = entry[key]
            # A network that attends by itself has an empty name, and not every layer has a block.
            nameless = value == "" if key == "attention" else key == "block" and value is None
            if not nameless and not _is_name(value):
                raise _wrong(name, f"{key} of layer {number}", value)
        for key in ("bias", "smaller"):
            if not isinstance(entry[key], bool):
                raise _wrong(name, f"{key} of layer {number}", entry[key])
        gone = entry["removed"]
        if (
            not isinstance(gone, list)
            or not all(_is_number(head, 0, entry["n_heads"] - 1) for head in gone)
            or gone != sorted(set(gone))
        ):
            raise _wrong(name, f"removed of layer {number}", gone)
        layers.append(LayerHeads(**{key: entry[key] for key in _FIELDS}))
        removed.append(np.array(gone, dtype=np.int64))
    return PrunedLayers(
        heads=NetworkHeads(tuple(layers)),
        removed=tuple(removed),
        biases=tuple(entry["bias"] for entry in entries),
        smaller=tuple(entry["smaller"] for entry in entries),
    )


def _is_number(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 1000 and _NAME.fullmatch(value) is not None


def _wrong(name: str, what: str, value: Any) -> PruningError:
    return PruningError(
        f"{name} must describe every layer by its sizes, names and removed heads; {what} is "
        f"{printable(repr(value))[:80]}. Prune the network again."
    )

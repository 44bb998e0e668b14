"""Which heads were removed, in a small JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.array_types import BoolArray
from haarbor.errors import PruningError, SettingError
from haarbor.printable import printable
from haarbor.pruning._json_text import json_text
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.whole_file import whole_file

__all__ = ["read_mask", "write_mask"]

_FORMAT, _VERSION = "haarbor-mask", 1
_LONGEST = 2**25
"""Bytes of a mask file that are read at most."""


def write_mask(
    path: str | Path,
    heads: NetworkHeads,
    removed: npt.ArrayLike,
    *,
    origin: Mapping[str, Any] | None = None,
) -> None:
    """Write the heads that were removed.

    The mask says which heads, and nothing of what makes up for them: the refit is in the network that
    :func:`haarbor.pruning.save_pruned` writes.

    Parameters
    ----------
    path : str or Path
    heads : NetworkHeads
    removed : array_like of bool, shape (n_heads,)
    origin : mapping, optional
        JSON values to keep with the mask: model, score, share, data.

    Raises
    ------
    SettingError
        If `removed` is not one True or False per head, or `origin` holds values that JSON has no form for.
    StoreError
        If the file cannot be written.

    See Also
    --------
    haarbor.pruning.read_mask : Heads from a file.
    """
    array = np.asarray(removed)
    # Texts would all be true, and numbers could be meant as numbers of heads.
    if array.dtype != np.bool_ or array.shape != (heads.n_heads,):
        raise SettingError(
            f"a mask must be one True or False per head, shape ({heads.n_heads},); found {array.dtype} of "
            f"shape {array.shape}. Take NetworkHeads.mask to make one of names or numbers of heads."
        )
    pairs = np.stack([heads.layer_of_head[array], heads.head_in_layer[array]], axis=1)
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "origin": dict(origin or {}),
        "heads_per_layer": [layer.n_heads for layer in heads.layers],
        "removed": pairs.tolist(),
    }
    text = json_text(content)
    with whole_file(path, "a mask") as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def read_mask(path: str | Path, heads: NetworkHeads) -> BoolArray:
    """Heads that a file names.

    Parameters
    ----------
    path : str or Path
    heads : NetworkHeads
        Of the network the mask is for.

    Returns
    -------
    ndarray of bool, shape (n_heads,)

    Raises
    ------
    PruningError
        If the file is no mask, or the mask of another network.
    SettingError
        If `path` is no path.

    See Also
    --------
    haarbor.pruning.write_mask : Heads into a file.
    """
    if not isinstance(path, str | Path) or not str(path):
        raise SettingError(f"a mask must be in a file; found {path!r}. Pass its path.")
    place = Path(path)
    content = _content(place)
    per_layer, pairs = content.get("heads_per_layer"), content.get("removed")
    if not isinstance(per_layer, list) or not all(_is_count(number) for number in per_layer):
        raise _damaged(place, "heads_per_layer is no list of numbers")
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(_is_count(number) for number in pair)
        for pair in pairs
    ):
        raise _damaged(place, "removed is no list of pairs (layer, head)")
    if per_layer != [layer.n_heads for layer in heads.layers]:
        raise PruningError(
            f"{place.name} must be a mask of this network, with {len(heads)} layers and {heads.n_heads} "
            f"heads; it has {len(per_layer)} layers and {sum(per_layer)} heads. Take the mask of this "
            "network."
        )
    for layer, head in pairs:
        if layer >= len(per_layer) or head >= per_layer[layer]:
            raise _damaged(place, f"it names a head {head} of a layer {layer}, which is not there")
    return heads.mask([(layer, head) for layer, head in pairs])


def _content(place: Path) -> dict[str, Any]:
    try:
        if place.exists() and not place.is_file():
            raise _damaged(place, "it is no file")
        if place.stat().st_size > _LONGEST:
            raise _damaged(place, "it is longer than any mask")
        found = json.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise _damaged(place, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _damaged(place, "it is no JSON that can be read") from error
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise _damaged(place, f"its format is not {_FORMAT!r}")
    if isinstance(found.get("version"), bool) or found.get("version") != _VERSION:
        raise _damaged(place, f"its version is {printable(found.get('version'))[:20]}, not {_VERSION}")
    return found


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _damaged(place: Path, reason: str) -> PruningError:
    return PruningError(
        f"{place.name} must be a mask file of heads; {reason.rstrip('.')}. Write it again with haarbor prune."
    )

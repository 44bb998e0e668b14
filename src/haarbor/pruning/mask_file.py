"""Which heads were removed, in a small JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from haarbor.array_types import BoolArray
from haarbor.errors import PruningError
from haarbor.pruning.head_sites import HeadSites

__all__ = ["read_mask", "write_mask"]

_FORMAT, _VERSION = "haarbor-mask", 1


def write_mask(
    path: Path, sites: HeadSites, removed: BoolArray, *, origin: Mapping[str, Any] | None = None
) -> None:
    """Write the heads that were removed.

    Parameters
    ----------
    path : Path
    sites : HeadSites
    removed : ndarray of bool, shape (n_heads,)
    origin : mapping, optional
        JSON values to keep with the mask: model, score, share, data.
    """
    pairs = np.stack([sites.layer_of_head[removed], sites.head_in_layer[removed]], axis=1)
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "origin": dict(origin or {}),
        "heads_per_layer": [site.n_heads for site in sites.layers],
        "removed": pairs.tolist(),
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_mask(path: Path, sites: HeadSites) -> BoolArray:
    """Heads that a file names.

    Parameters
    ----------
    path : Path
    sites : HeadSites
        Of the network the mask is for.

    Returns
    -------
    ndarray of bool, shape (n_heads,)

    Raises
    ------
    PruningError
        If the file is no mask, or the mask of another network.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if content["format"] != _FORMAT or content["version"] != _VERSION:
            raise ValueError(f"format {content['format']!r}, version {content['version']!r}")
        per_layer, pairs = content["heads_per_layer"], [(int(a), int(b)) for a, b in content["removed"]]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise PruningError(
            f"{Path(path).name} must be a mask file of heads; it could not be read: {error}."
        ) from error
    if per_layer != [site.n_heads for site in sites.layers]:
        raise PruningError(
            f"{Path(path).name} must be a mask of this network, with {len(sites)} layers and {sites.n_heads} "
            f"heads; it has {len(per_layer)} layers and {sum(per_layer)} heads."
        )
    return sites.mask(pairs)

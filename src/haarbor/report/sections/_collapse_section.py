"""How nearly the tokens become the same with depth, with and without parts of the network."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.collapse import BOUNDED, NetworkBound, PathShares, RankCollapse, kept_collapse, kept_paths
from haarbor.store import RunPart

__all__ = ["collapse_section"]

_FIGURES = ("composite", "frobenius", "effective_rank", "cosine")


def collapse_section(part: RunPart) -> dict[str, Any] | None:
    """Residuals by depth and variant, and paths by length; None if the run keeps neither."""
    kept, paths = kept_collapse(part), kept_paths(part)
    if kept is None and paths is None:
        return None
    return {
        "data": "" if kept is None else kept.data,
        "verdict": [] if kept is None else list(kept.verdict()),
        "weights": []
        if kept is None
        else [_told(name, result, kept.bounds.get(name)) for name, result in kept.results.items()],
        "bounded": BOUNDED,
        "paths": None if paths is None else _lengths(paths),
    }


def _told(name: str, result: RankCollapse, bound: NetworkBound | None) -> dict[str, Any]:
    log10 = None if bound is None else bound.relative(result)
    return {
        "name": name,
        "samples": int(result.n_tokens.size),
        "floor": result.floor,
        "variants": list(result.variants),
        "figures": {
            figure: [result.middle(figure, variant) for variant in result.variants] for figure in _FIGURES
        },
        "log10_bound": None if log10 is None or not np.isfinite(log10).any() else log10,
        "bound": "" if bound is None else bound.words(result),
    }


def _lengths(paths: PathShares) -> dict[str, Any]:
    return {
        "shares": paths.beginnings,
        "n_paths": paths.n_paths,
        "residual": paths.residual,
        "residual_error": paths.residual_error,
        "tokens": paths.n_tokens,
    }

"""Rank collapse and paths of a network, kept in a run of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from haarbor.analysis import asked_part, readable_result, require_same_network
from haarbor.collapse._bound_result import NetworkBound
from haarbor.collapse._collapse_result import RankCollapse
from haarbor.collapse._path_result import NetworkPaths, PathShares
from haarbor.errors import DataError, SettingError
from haarbor.options import require_kind
from haarbor.store import Run, RunPart
from haarbor.stored_result import stored_result

__all__ = [
    "COLLAPSE",
    "PATHS",
    "RunCollapse",
    "keep_collapse",
    "keep_paths",
    "kept_collapse",
    "kept_paths",
]

COLLAPSE = "rank-collapse"
"""Name of the residuals in a run."""
PATHS = "network-paths"
"""Name of the paths in a run."""


@stored_result("RunCollapse")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunCollapse:
    """Rank collapse of a network, as a run of it keeps it."""

    results: Mapping[str, RankCollapse]
    """By the weights they were measured with: "trained", and "at initialisation" where that was asked for."""
    bounds: Mapping[str, NetworkBound]
    """The doubly exponential bound by the same names, where it was sought."""
    data: str
    """What the texts or images were."""

    def verdict(self) -> tuple[str, ...]:
        """What was found, in sentences."""
        told = []
        for name, result in self.results.items():
            ends = []
            for variant in result.variants:
                lost = result.lost(variant)
                last = float(result.middle("composite", variant)[-1])
                if lost is not None:
                    ends.append(f"{variant} lost after {lost} layers")
                elif last < result.floor:
                    ends.append(f"{variant} 0")
                else:
                    ends.append(f"{variant} {last:.2g}")
            told.append(
                f"Residual of the tokens after {result.n_layers} layers, {name} (0: all tokens the same): "
                f"{'; '.join(ends)}."
            )
        first = next(iter(self.results))
        if first in self.bounds:
            told.append(self.bounds[first].words(self.results[first]))
        return tuple(told)

    def __repr__(self) -> str:
        return f"RunCollapse({', '.join(f'{name}: {found!r}' for name, found in self.results.items())})"


def keep_collapse(
    run: Run | RunPart,
    results: Mapping[str, RankCollapse],
    *,
    bounds: Mapping[str, NetworkBound] | None = None,
    data: str = "",
    weights: str | None = None,
    stream: str | None = None,
) -> RunCollapse:
    """Keep the rank collapse of a network in a run of it, as "rank-collapse".

    Parameters
    ----------
    run : Run or RunPart
    results : mapping of str to RankCollapse
        By the weights they were measured with, such as "trained".
    bounds : mapping of str to NetworkBound, optional
    data : str, optional
        What they were measured on.
    weights : str, optional
        Digest of the trained weights; it must be that of the run, where the run has one.
    stream : str, optional

    Returns
    -------
    RunCollapse

    Raises
    ------
    SettingError
        If there is no result.
    DataError
        If the run is of another network.

    See Also
    --------
    haarbor.collapse.kept_collapse : What a run holds.
    haarbor.rank_collapse : The measures at every depth.
    """
    if not isinstance(results, Mapping) or not results:
        raise SettingError(
            "there must be a result to keep; found none. Pass what rank_collapse gives, by name."
        )
    for found in results.values():
        require_kind("a result", found, RankCollapse, "Pass what rank_collapse gives.")
    part = _measured_part(run, stream)
    require_same_network(part, weights=weights)
    for found in results.values():
        if found.n_layers != part.sizes.n_layers:
            raise DataError(
                f"the run must be of the same network; it has {part.sizes.n_layers} layers, and "
                f"{found.n_layers} were measured. Name the run that was captured from this model."
            )
    kept = RunCollapse(results=dict(results), bounds=dict(bounds or {}), data=data)
    part.save_result(kept, COLLAPSE)
    return kept


def keep_paths(
    run: Run | RunPart,
    paths: NetworkPaths | PathShares,
    *,
    weights: str | None = None,
    stream: str | None = None,
) -> PathShares:
    """Keep what the paths of a network carry in a run of it, as "network-paths"; see `keep_collapse`.

    See Also
    --------
    haarbor.collapse.kept_paths : Paths that a run holds.
    haarbor.collapse.network_paths : Paths of a network.
    """
    part = _measured_part(run, stream)
    require_same_network(part, weights=weights)
    found = paths.summary() if isinstance(paths, NetworkPaths) else paths
    require_kind("paths", found, PathShares, "Pass what network_paths gives.")
    if found.n_paths.size != part.sizes.n_layers + 1:
        raise DataError(
            f"the run must be of the same network; it has {part.sizes.n_layers} layers, and the paths pass "
            f"{found.n_paths.size - 1}. Name the run that was captured from this model."
        )
    part.save_result(found, PATHS)
    return found


def kept_collapse(run: Run | RunPart, *, stream: str | None = None) -> RunCollapse | None:
    """Rank collapse that a run holds, or None.

    Raises
    ------
    StoreError
        If it is damaged.

    See Also
    --------
    haarbor.collapse.keep_collapse : Keep it in a run.
    """
    found = readable_result(_measured_part(run, stream), COLLAPSE)
    return found if isinstance(found, RunCollapse) else None


def kept_paths(run: Run | RunPart, *, stream: str | None = None) -> PathShares | None:
    """Paths that a run holds, or None; see `kept_collapse`.

    See Also
    --------
    haarbor.collapse.keep_paths : Keep paths in a run.
    """
    found = readable_result(_measured_part(run, stream), PATHS)
    return found if isinstance(found, PathShares) else None


def _measured_part(run: Run | RunPart, stream: str | None) -> RunPart:
    """One place for what does not depend on the content: the probabilities, or the logits alone."""
    part = asked_part(run, None, stream)
    content = "probabilities" if "probabilities" in part.run.contents else "logits"
    return part.run.part(content, part.stream)

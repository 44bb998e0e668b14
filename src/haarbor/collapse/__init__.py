"""Rank collapse: how nearly the tokens of a network become one and the same with depth, and why not.

What was measured can be read without torch; what measures needs it.
"""

from typing import TYPE_CHECKING, Any

from haarbor.collapse._attention_stack import AttentionStack, random_attention_stack
from haarbor.collapse._bound_result import BOUNDED, NetworkBound
from haarbor.collapse._collapse_bound import CollapseBound, collapse_bound, stack_bound
from haarbor.collapse._collapse_rate import CollapseRate, collapse_rate
from haarbor.collapse._collapse_result import FIGURES, RankCollapse
from haarbor.collapse._composite_norm import composite_norm
from haarbor.collapse._path_decomposition import PathDecomposition, path_decomposition
from haarbor.collapse._path_result import NetworkPaths, PathShares
from haarbor.collapse._run_collapse import (
    COLLAPSE,
    PATHS,
    RunCollapse,
    keep_collapse,
    keep_paths,
    kept_collapse,
    kept_paths,
)
from haarbor.collapse._token_cosine import token_cosine
from haarbor.collapse._token_ranks import effective_rank, stable_rank
from haarbor.collapse._token_residual import TokenResidual, token_residual
from haarbor.collapse._variants import VARIANTS

if TYPE_CHECKING:
    from haarbor.collapse._initialised import initialised
    from haarbor.collapse._network_blocks import BlockParts, NetworkBlocks, network_blocks
    from haarbor.collapse._network_bound import network_bound
    from haarbor.collapse._network_paths import network_paths
    from haarbor.collapse._network_threads import network_threads
    from haarbor.collapse._rank_collapse import rank_collapse
    from haarbor.collapse._switched_off import switched_off

__all__ = [
    "BOUNDED",
    "COLLAPSE",
    "FIGURES",
    "PATHS",
    "VARIANTS",
    "AttentionStack",
    "BlockParts",
    "CollapseBound",
    "CollapseRate",
    "NetworkBlocks",
    "NetworkBound",
    "NetworkPaths",
    "PathDecomposition",
    "PathShares",
    "RankCollapse",
    "RunCollapse",
    "TokenResidual",
    "collapse_bound",
    "collapse_rate",
    "composite_norm",
    "effective_rank",
    "initialised",
    "keep_collapse",
    "keep_paths",
    "kept_collapse",
    "kept_paths",
    "network_blocks",
    "network_bound",
    "network_paths",
    "network_threads",
    "path_decomposition",
    "random_attention_stack",
    "rank_collapse",
    "stable_rank",
    "stack_bound",
    "switched_off",
    "token_cosine",
    "token_residual",
]

_LATE = {
    "BlockParts": "_network_blocks",
    "NetworkBlocks": "_network_blocks",
    "initialised": "_initialised",
    "network_blocks": "_network_blocks",
    "network_bound": "_network_bound",
    "network_paths": "_network_paths",
    "network_threads": "_network_threads",
    "rank_collapse": "_rank_collapse",
    "switched_off": "_switched_off",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from haarbor.needed_packages import needed_package

    # These import torch at their top: without this, a missing torch would end in a traceback.
    needed_package("torch", "a model")
    value = getattr(import_module(f"haarbor.collapse.{_LATE[name]}"), name)
    globals()[name] = value
    return value

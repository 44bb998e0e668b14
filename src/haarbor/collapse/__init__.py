"""Rank collapse: how nearly the tokens of a network become one and the same with depth, and why not."""

from haarbor.needed_packages import needed_package as _needed_package

# The modules below import torch at their top: without this, a missing torch would end in a traceback.
_needed_package("torch", "a model")

from haarbor.collapse._attention_stack import AttentionStack, random_attention_stack
from haarbor.collapse._collapse_bound import CollapseBound, collapse_bound, stack_bound
from haarbor.collapse._collapse_rate import CollapseRate, collapse_rate
from haarbor.collapse._composite_norm import composite_norm
from haarbor.collapse._initialised import initialised
from haarbor.collapse._network_blocks import BlockParts, NetworkBlocks, network_blocks
from haarbor.collapse._network_paths import NetworkPaths, network_paths
from haarbor.collapse._path_decomposition import PathDecomposition, path_decomposition
from haarbor.collapse._rank_collapse import FIGURES, RankCollapse, rank_collapse
from haarbor.collapse._switched_off import VARIANTS, switched_off
from haarbor.collapse._token_cosine import token_cosine
from haarbor.collapse._token_ranks import effective_rank, stable_rank
from haarbor.collapse._token_residual import TokenResidual, token_residual

__all__ = [
    "FIGURES",
    "VARIANTS",
    "AttentionStack",
    "BlockParts",
    "CollapseBound",
    "CollapseRate",
    "NetworkBlocks",
    "NetworkPaths",
    "PathDecomposition",
    "RankCollapse",
    "TokenResidual",
    "collapse_bound",
    "collapse_rate",
    "composite_norm",
    "effective_rank",
    "initialised",
    "network_blocks",
    "network_paths",
    "path_decomposition",
    "random_attention_stack",
    "rank_collapse",
    "stable_rank",
    "stack_bound",
    "switched_off",
    "token_cosine",
    "token_residual",
]

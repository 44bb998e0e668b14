"""Pruned networks with the same number of heads in every layer, as plain Hugging Face models."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from haarbor.array_types import BoolArray
from haarbor.capturing import is_huggingface
from haarbor.errors import PruningError
from haarbor.pruning._model_batches import ModelBatch
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.pruning._prune_heads import largest_difference

__all__ = ["standard_model"]

_TOLERANCE = 1e-5


def standard_model(
    smaller: torch.nn.Module, heads: NetworkHeads, removed: BoolArray, batch: ModelBatch
) -> Any:
    """The smaller network as a plain Hugging Face model, whose configuration says how many heads it has.

    Written with ``save_pretrained``, it loads with transformers and without Haarbor.

    Parameters
    ----------
    smaller : transformers.PreTrainedModel
        From :func:`haarbor.pruning.prune_heads`, with a removal that leaves all layers alike
        (``removal(..., within="uniform")``).
    heads : NetworkHeads
        Of the whole network.
    removed : ndarray of bool, shape (n_heads,)
    batch : ModelBatch
        On which the two are compared.

    Returns
    -------
    transformers.PreTrainedModel

    Raises
    ------
    PruningError
        If the layers are not alike, or the architecture has no setting for the width of a head apart
        from the width of the network (GPT-2 and BERT have none; the Llama family and ViT do).

    Notes
    -----
    Where a bias came to the output projection and the configuration knows biases only for all four
    projections (``attention_bias`` of Llama), those of queries, keys and values are zero.
    """
    if not is_huggingface(smaller):
        raise PruningError(
            f"only models of transformers have standard checkpoints; {type(smaller).__name__} is none. Save "
            "it with save_pruned."
        )
    n_heads, n_shared = _heads_left(heads, removed)
    config = copy.deepcopy(smaller.config)
    untyped: Any = config
    width = heads.layers[0].head_width
    untyped.num_attention_heads = n_heads
    if getattr(untyped, "num_key_value_heads", None) is not None:
        untyped.num_key_value_heads = n_shared
    untyped.head_dim = width
    projection: Any = smaller.get_submodule(heads.layers[0].projection)
    if projection.bias is not None and getattr(untyped, "attention_bias", None) is False:
        untyped.attention_bias = True
    weights = smaller.state_dict()
    try:
        found: Any = type(smaller)(config).to(next(smaller.parameters()).dtype)
        expected = found.state_dict()
        for name in expected:
            if name not in weights and name.endswith(".bias"):
                weights[name] = torch.zeros_like(expected[name])
        found.load_state_dict(weights)
    except (RuntimeError, ValueError, TypeError, AttributeError, AssertionError) as error:
        raise _no_setting(smaller) from error
    found.eval()
    if not largest_difference(smaller, nullcontext(), found, batch) <= _TOLERANCE:
        raise _no_setting(smaller)
    return found


def _heads_left(heads: NetworkHeads, removed: BoolArray) -> tuple[int, int]:
    """Query heads and key-value heads that every layer has left."""
    counts = set()
    for layer, gone in zip(heads.layers, heads.by_layer(removed), strict=True):
        kept = np.setdiff1d(np.arange(layer.n_heads), gone)
        _, group_sizes = np.unique(kept // layer.head_group, return_counts=True)
        counts.add((kept.size, group_sizes.size, *np.unique(group_sizes).tolist()))
    if len(counts) != 1 or len(next(iter(counts))) != 3:
        raise PruningError(
            "a standard checkpoint needs the same number of heads left in every layer and key-value group; "
            f"found {sorted(counts)} (heads, key-value heads, sizes of groups). Remove them with "
            "within='uniform', or save the network with save_pruned."
        )
    n_heads, n_shared, _ = next(iter(counts))
    return n_heads, n_shared


def _no_setting(model: torch.nn.Module) -> PruningError:
    return PruningError(
        f"the configuration of {type(model).__name__} cannot say that it has fewer heads of the same width "
        "(or a bias where it had none). Save it with save_pruned, and load it with haarbor.load_pruned."
    )

"""Pruned networks as plain Hugging Face models, whose configuration says how many heads they have."""

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
from haarbor.pruning._smaller_attention import RepeatedHeads

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
        From :func:`haarbor.pruning.prune_heads`. A removal that leaves all layers alike
        (``removal(..., within="uniform")``) is said by the usual settings; another one by a configuration per
        layer, which transformers 5 has and few of its models read as yet.
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
        If the layers are not alike and the architecture does not read a configuration per layer, or it has no
        setting for the width of a head apart from the width of the network (GPT-2 and BERT have none; the
        Llama family and ViT do).

    See Also
    --------
    haarbor.pruning.prune_heads : A smaller copy of a model.
    haarbor.pruning.save_pruned : Write a pruned network.

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
    left = _heads_left(smaller, heads, removed)
    config = copy.deepcopy(smaller.config)
    untyped: Any = config
    untyped.head_dim = heads.layers[0].head_width
    has_shared = getattr(untyped, "num_key_value_heads", None) is not None
    untyped.num_attention_heads = left[0][0]
    if has_shared:
        untyped.num_key_value_heads = left[0][1]
    if len(set(left)) > 1:
        _require_per_layer(smaller, left)
        names = ("num_attention_heads", "num_key_value_heads")[: 1 + has_shared]
        untyped.per_layer_config = {
            number: dict(zip(names, counts, strict=False)) for number, counts in enumerate(left)
        }
    projections: list[Any] = [smaller.get_submodule(layer.projection) for layer in heads.layers]
    if any(one.bias is not None for one in projections) and getattr(untyped, "attention_bias", None) is False:
        untyped.attention_bias = True
    weights = _plain_weights(smaller)
    try:
        found: Any = type(smaller)(config).to(next(smaller.parameters()).dtype)
        expected = found.state_dict()
        for name in expected:
            if name not in weights and name.endswith(".bias"):
                weights[name] = torch.zeros_like(expected[name])
        found.load_state_dict(weights)
        # Some configurations are checked only when they are written: Llama's wants a width that is a multiple
        # of the number of heads, whatever the width of a head.
        if hasattr(config, "validate"):
            found.config.validate()
    # Settings that an architecture does not take fail in its checks, its arithmetic or its weights.
    except Exception as error:
        raise _no_setting(smaller, left) from error
    found.eval()
    if not largest_difference(smaller, nullcontext(), found, batch) <= _TOLERANCE:
        raise _no_setting(smaller, left)
    return found


def _heads_left(smaller: torch.nn.Module, heads: NetworkHeads, removed: BoolArray) -> list[tuple[int, int]]:
    """Query heads and key-value heads that each layer has left, as a configuration can say them.

    Where key-value heads are left with different numbers of query heads, every query head has keys and values
    of its own.
    """
    found = []
    for layer, gone in zip(heads.layers, heads.by_layer(removed), strict=True):
        kept = np.setdiff1d(np.arange(layer.n_heads), gone)
        keys = getattr(smaller.get_submodule(layer.attention), "k_proj", None)
        _, sizes = np.unique(kept // layer.head_group, return_counts=True)
        alike = np.unique(sizes).size == 1 and not isinstance(keys, RepeatedHeads)
        found.append((int(kept.size), int(sizes.size) if alike else int(kept.size)))
    return found


def _plain_weights(smaller: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Weights by name, with repeated key-value heads written out."""
    weights = dict(smaller.state_dict())
    for name, module in smaller.named_modules():
        if isinstance(module, RepeatedHeads):
            for key in ("weight", "bias"):
                own = weights.pop(f"{name}.linear.{key}", None)
                if own is not None:
                    weights[f"{name}.{key}"] = own[module.source]
    return weights


def _require_per_layer(model: Any, left: list[tuple[int, int]]) -> None:
    """Raise unless configurations can say something for each layer, as those of transformers 5 can."""
    n_layers = getattr(model.config, "num_hidden_layers", None)
    if not hasattr(type(model.config), "per_layer_config") or n_layers != len(left):
        raise _no_setting(model, left)


def _no_setting(model: torch.nn.Module, left: list[tuple[int, int]]) -> PruningError:
    name = type(model).__name__
    advice = "Save it with save_pruned, and load it with haarbor.load_pruned."
    if len(set(left)) > 1:
        heads, shared = zip(*left, strict=True)
        return PruningError(
            f"a standard checkpoint of {name} needs the same number of heads left in every layer and "
            f"key-value group; found {min(heads)} to {max(heads)} heads with {min(shared)} to {max(shared)} "
            f"key-value heads, and {name} of this transformers does not read numbers for each layer. Remove "
            f"heads with within='uniform'. {advice}"
        )
    return PruningError(
        f"the configuration of {name} cannot say that it has fewer heads of the same width (or a bias where "
        f"it had none). {advice}"
    )

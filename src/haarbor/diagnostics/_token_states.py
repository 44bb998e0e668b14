"""The tokens between the layers of a network: massive activations, and how alike tokens become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray
from haarbor.collapse import token_cosine
from haarbor.errors import DataError
from haarbor.pruning import ModelBatch, NetworkHeads, forward, residual_input

__all__ = ["STATES", "token_states"]

STATES = ("largest", "median", "token", "channel", "cosine")


def token_states(
    model: torch.nn.Module, heads: NetworkHeads, samples: Sequence[ModelBatch]
) -> dict[str, FloatArray]:
    """Figures of the tokens that enter each layer, and of those that leave the last.

    Parameters
    ----------
    model : torch.nn.Module
    heads : NetworkHeads
    samples : sequence of ModelBatch
        Of one row each.

    Returns
    -------
    dict of str to ndarray, shape (n_layers + 1, n_samples)
        The largest and the median size of an entry, the token and the channel of the largest one, and the
        mean cosine of two tokens. Empty where the layers of the network were not found.
    """
    blocks = [layer.block for layer in heads.layers]
    if any(block is None for block in blocks):
        return {}
    modules = dict(model.named_modules())
    names = list(dict.fromkeys(name for name in blocks if name is not None))
    each = [_states(model, [modules[name] for name in names], sample) for sample in samples]
    if {len(states) for states in each} != {len(blocks) + 1}:
        return {}
    return {
        name: np.array([[states[depth][name] for states in each] for depth in range(len(blocks) + 1)])
        for name in STATES
    }


def _states(
    model: torch.nn.Module, blocks: Sequence[torch.nn.Module], sample: ModelBatch
) -> list[dict[str, float]]:
    found: list[dict[str, float]] = []
    last: list[torch.Tensor] = []

    def before(_module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        tokens = residual_input(args, kwargs)
        if tokens is not None:
            found.append(_figures(tokens[0], sample))

    def after(_module: torch.nn.Module, _args: Any, output: Any) -> None:
        first = output[0] if isinstance(output, tuple) else output
        last[:] = [first]

    with ExitStack() as hooks, torch.no_grad():
        for block in blocks:
            hooks.callback(block.register_forward_pre_hook(before, with_kwargs=True).remove)
            hooks.callback(block.register_forward_hook(after).remove)
        forward(model, sample)
    if last and isinstance(last[0], torch.Tensor) and last[0].dim() == 3:
        found.append(_figures(last[0][0], sample))
    return found


def _figures(tokens: torch.Tensor, sample: ModelBatch) -> dict[str, float]:
    x = tokens.detach().double().cpu().numpy()
    valid = sample.valid
    if valid is not None and valid.shape[1] == x.shape[0]:
        x = x[valid[0].cpu().numpy()]
    sizes = np.abs(x)
    token, channel = np.unravel_index(int(sizes.argmax()), sizes.shape)
    try:
        cosine = token_cosine(x)
    except DataError:
        cosine = float("nan")
    return {
        "largest": float(sizes.max()),
        "median": float(np.median(sizes)),
        "token": float(token),
        "channel": float(channel),
        "cosine": cosine,
    }

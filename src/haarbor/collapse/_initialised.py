"""Networks as they were before training."""

from __future__ import annotations

import copy
from typing import Any

import torch

from haarbor.capturing import is_huggingface
from haarbor.errors import CollapseError
from haarbor.options import require_seed
from haarbor.zoo import TransformerXL, VisionTransformer

__all__ = ["initialised"]


def initialised(model: torch.nn.Module, *, seed: int = 0) -> torch.nn.Module:
    """A network built alike, with random weights as before training; `model` itself stays as it is.

    Parameters
    ----------
    model : torch.nn.Module
        A Hugging Face model, a network of the zoo, or one with ``init_weights()``, as timm's have.
    seed : int, default 0

    Returns
    -------
    torch.nn.Module
        In eval mode, on the device and in the precision of `model`.

    Raises
    ------
    CollapseError
        If the model does not say how it is initialised.

    See Also
    --------
    haarbor.rank_collapse : The measures at every depth.
    """
    seed = require_seed(seed)
    example = next(model.parameters())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = _made(model)
    return made.to(device=example.device, dtype=example.dtype).eval()


def _made(model: Any) -> torch.nn.Module:
    made: Any
    if is_huggingface(model):
        config = copy.deepcopy(model.config)
        made = type(model)(config)
    elif isinstance(model, TransformerXL):
        made = TransformerXL(model.config)
    elif isinstance(model, VisionTransformer):
        made = VisionTransformer(model.config)
    elif callable(getattr(model, "init_weights", None)):
        made = copy.deepcopy(model)
        for module in made.modules():
            reset = getattr(module, "reset_parameters", None)
            if callable(reset):
                reset()
        made.init_weights()
    else:
        raise CollapseError(
            "a model must say how it is initialised, by a configuration or init_weights(); "
            f"{type(model).__name__} does not. Pass an untrained one to rank_collapse yourself."
        )
    network: torch.nn.Module = made
    return network

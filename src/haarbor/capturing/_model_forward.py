"""One forward pass of a model on named inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from haarbor.capturing._huggingface import is_huggingface

__all__ = ["model_forward"]


def model_forward(model: torch.nn.Module, inputs: Mapping[str, torch.Tensor]) -> Any:
    """What a model gives for some inputs, on the device and in the precision of its weights.

    Parameters
    ----------
    model : torch.nn.Module
    inputs : mapping of str to tensor
        By the name of their argument; the name is empty for a tensor that is the first argument. Integers
        keep their type.

    Returns
    -------
    object
        As the model's forward returns it. Hugging Face models run without their key-value cache.

    Raises
    ------
    Exception
        Whatever the model itself raises.
    """
    weights: list[torch.Tensor] = list(model.parameters())
    device = next((weight.device for weight in weights if not weight.is_meta), torch.device("cpu"))
    dtype = next((weight.dtype for weight in weights if weight.is_floating_point()), torch.float32)
    placed = {
        name: tensor.to(device, dtype) if tensor.is_floating_point() else tensor.to(device)
        for name, tensor in inputs.items()
    }
    options: dict[str, Any] = {}
    if is_huggingface(model) and getattr(getattr(model, "config", None), "use_cache", None) is not None:
        options["use_cache"] = False
    if "" in placed:
        return model(placed[""], **options)
    return model(**placed, **options)

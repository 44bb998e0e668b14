"""Weights at random that make attention far from uniform, so that mistakes in it show."""

from __future__ import annotations

import torch

__all__ = ["sharpened"]


def sharpened(model: torch.nn.Module, seed: int = 7) -> torch.nn.Module:
    """Draw the parameters of a model anew; attention scores come out with a size of about one.

    Untrained models have scores so small that every query attends to all keys alike, and then the
    attention of any layer looks like that of any other.
    """
    draw = torch.Generator().manual_seed(seed)
    tables = {
        id(parameter)
        for module in model.modules()
        if isinstance(module, torch.nn.Embedding)
        for parameter in module.parameters(recurse=False)
    }
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=draw)
            if id(parameter) in tables:
                parameter.copy_(noise)
            elif parameter.dim() < 2:
                # Biases, sinks and norms; those of size one stay near it.
                parameter.add_(0.5 * noise)
            else:
                parameter.copy_(1.2 * noise / parameter[0].numel() ** 0.5)
    return model

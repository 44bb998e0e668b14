"""The linear map by which heads write into the tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray
from haarbor.collapse._network_blocks import BlockParts
from haarbor.errors import CollapseError

__all__ = ["channel_scale", "output_map", "unknown_heads"]

_SLACK = 1e-3


def output_map(module: torch.nn.Module) -> tuple[FloatArray, FloatArray]:
    """Weight of a linear map as (input, output), and its bias."""
    weight: Any = module.weight
    matrix: FloatArray = weight.detach().double().cpu().numpy()
    matrix = matrix.T if isinstance(module, torch.nn.Linear) else matrix
    bias: Any = module.bias
    return matrix, (np.zeros(matrix.shape[1]) if bias is None else bias.detach().double().cpu().numpy())


def channel_scale(projected: FloatArray, added: FloatArray, parts: BlockParts) -> FloatArray:
    """Factor of each channel between what the output map gives and what is added to the tokens.

    Raises
    ------
    CollapseError
        If there is more between them than a factor.
    """
    squares = (projected**2).sum(axis=0)
    scale = np.where(squares > 0, (projected * added).sum(axis=0) / np.where(squares > 0, squares, 1), 1.0)
    if not np.allclose(projected * scale, added, rtol=0, atol=_SLACK * np.abs(added).max()):
        raise unknown_heads(parts)
    return scale


def unknown_heads(parts: BlockParts) -> CollapseError:
    """The line that says why heads cannot be told apart."""
    return CollapseError(
        f"the heads of {parts.block} must mix values of single tokens by weights that sum to 1, in front of "
        "one linear map that is called as a module; they do not, so paths cannot be told apart. Choose "
        "another model."
    )

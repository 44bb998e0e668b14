"""Heads switched off, or multiplied by a number, while a block runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from haarbor.array_types import FloatArray
from haarbor.errors import SettingError, ShapeError
from haarbor.options import found_text
from haarbor.pruning._network_heads import HeadChoice, NetworkHeads
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = ["Replacement", "checked_replacement", "factors_by_row", "gated_heads", "removed_heads"]

Replacement = Literal["zero", "mean"]


@contextmanager
def removed_heads(
    model: torch.nn.Module,
    heads: NetworkHeads,
    removed: HeadChoice,
    *,
    means: Sequence[npt.ArrayLike] | None = None,
) -> Iterator[None]:
    """The model without some of its heads while the block runs.

    What a removed head would give to the output projection is replaced by zeros, or by its mean. No
    weight is changed, and nothing is left behind when the block ends, even after an exception.

    Parameters
    ----------
    model : torch.nn.Module
    heads : NetworkHeads
        From :func:`haarbor.pruning.network_heads`.
    removed : pairs (layer, head), numbers of heads, or bool array
    means : sequence of array_like, one (width,) a layer, optional
        Mean input of each projection, such as ``CalibrationPass.means``; zeros if not given.

    Raises
    ------
    SettingError
        If there is no such head.
    ShapeError
        If the means do not fit the layers.

    See Also
    --------
    haarbor.ablate : Switch heads off and measure.
    haarbor.pruning.compensated : Run with what makes up for heads.
    haarbor.pruning.gated_heads : Run with heads scaled.
    """
    removed_by_layer = heads.by_layer(heads.mask(removed))
    fillings: list[FloatArray | None] = [None] * len(heads)
    if means is not None:
        if len(means) != len(heads):
            raise ShapeError(
                f"there must be one mean per layer, {len(heads)}; found {len(means)}. Pass one for each."
            )
        for number, (layer, mean) in enumerate(zip(heads.layers, means, strict=True)):
            filling: FloatArray = np.asarray(mean, dtype=np.float64)
            if filling.shape != (layer.width,):
                raise ShapeError(
                    f"the mean of layer {number} must have shape ({layer.width},); found {filling.shape}."
                    " Pass the mean input of its output projection."
                )
            fillings[number] = filling
    channels = [
        np.concatenate([np.arange(layer.width)[layer.channels(int(head))] for head in gone])
        if gone.size
        else None
        for layer, gone in zip(heads.layers, removed_by_layer, strict=True)
    ]

    def replace(number: int, x: torch.Tensor) -> torch.Tensor | None:
        where = channels[number]
        if where is None:
            return None
        index = torch.as_tensor(where, device=x.device)
        changed = x.clone()
        filling = fillings[number]
        value: Any = 0.0 if filling is None else torch.as_tensor(filling[where]).to(x)
        changed[..., index] = value
        return changed

    with projection_hooks(model, heads, change_input=replace):
        yield


@contextmanager
def gated_heads(model: torch.nn.Module, heads: NetworkHeads, gates: Sequence[torch.Tensor]) -> Iterator[None]:
    """Every head multiplied by a number while the block runs; gradients go through to the numbers.

    Parameters
    ----------
    model : torch.nn.Module
    heads : NetworkHeads
    gates : sequence of tensor, one (n_heads,) or (n_rows, n_heads) a layer
        One number per head, or one per head and row of the batch.

    See Also
    --------
    haarbor.pruning.removed_heads : Run without some heads.
    """
    if len(gates) != len(heads):
        raise ShapeError(
            f"there must be one tensor of gates per layer, {len(heads)}; found {len(gates)}."
            " Pass one for each."
        )

    def turn_down(number: int, x: torch.Tensor) -> torch.Tensor:
        factors = gates[number].to(x).repeat_interleave(heads.layers[number].head_width, dim=-1)
        return x * factors_by_row(factors, x)

    with projection_hooks(model, heads, change_input=turn_down):
        yield


def factors_by_row(factors: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Factors that can be multiplied by x.

    Parameters
    ----------
    factors : tensor, shape (n,) or (n_rows, n)
        The same for all rows, or some for each.
    x : tensor, shape (..., n)
        With the rows of the batch first.
    """
    if factors.dim() == 1:
        return factors
    # Some networks put the tokens of all rows on one axis, row after row.
    repeated = factors.repeat_interleave(x.shape[0] // factors.shape[0], dim=0)
    return repeated.view(x.shape[0], *[1] * (x.dim() - 2), factors.shape[-1])


def checked_replacement(replacement: str) -> str:
    """`replacement` if it is offered."""
    if not isinstance(replacement, str) or replacement not in ("zero", "mean"):
        raise SettingError(
            f"replacement must be 'zero' or 'mean'; found {found_text(replacement)}. Pass one of them."
        )
    return replacement

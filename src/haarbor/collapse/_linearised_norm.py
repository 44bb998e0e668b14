"""A normalisation as a linear map: its scale held as it is at some tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray
from haarbor.errors import CollapseError

__all__ = ["LinearisedNorm", "linearised_norm"]

_SLACK = 1e-4


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LinearisedNorm:
    r"""The map :math:`x_t \mapsto s_t\, g \odot C x_t + b` that a norm is at the tokens it was seen at.

    :math:`C` takes away the mean of the channels, or nothing where the norm does not. The scales
    :math:`s_t` are held fixed. The derivative of the norm would be of no use here: a norm does not change
    when its input is scaled, so its derivative there, applied to the input itself, is zero.
    """

    scale: FloatArray
    """Shape (n_tokens, 1)."""
    gain: FloatArray
    """Shape (width,)."""
    centred: bool
    bias: FloatArray
    """Shape (width,)."""

    def linear(self, x: FloatArray) -> FloatArray:
        """The map without its bias; several tokens at a time."""
        given = x - x.mean(axis=-1, keepdims=True) if self.centred else x
        found: FloatArray = self.scale * self.gain * given
        return found


def linearised_norm(
    module: torch.nn.Module, given: FloatArray, answer: FloatArray, name: str
) -> LinearisedNorm:
    """The linear map that a norm is at tokens that were seen.

    Parameters
    ----------
    module : torch.nn.Module
        LayerNorm, RMSNorm or one of their kind, with its gain called weight, and bias.
    given, answer : ndarray, shape (n_tokens, width)
        What it was given, and gave.
    name : str
        What a message calls it.

    Returns
    -------
    LinearisedNorm

    Raises
    ------
    CollapseError
        If it is no such map: no kind known gives the answer that was seen.
    """
    width = given.shape[1]
    weight, bias = (_vector(getattr(module, attribute, None)) for attribute in ("weight", "bias"))
    offset = np.zeros(width) if bias is None else bias
    # Some norms keep their gain less one.
    gains = [np.ones(width)] if weight is None else [weight, 1.0 + weight]
    for gain in gains:
        for centred in (True, False):
            shape = gain * (given - given.mean(axis=1, keepdims=True) if centred else given)
            squares = (shape**2).sum(axis=1, keepdims=True)
            fitted = (shape * (answer - offset)).sum(axis=1, keepdims=True)
            scale = np.divide(fitted, squares, out=np.zeros_like(fitted), where=squares > 0)
            size = float(np.abs(answer).max())
            if np.allclose(scale * shape + offset, answer, rtol=0, atol=_SLACK * size):
                return LinearisedNorm(scale=scale, gain=gain, centred=centred, bias=offset)
    raise CollapseError(
        f"a norm must scale each token as LayerNorm or RMSNorm do; {name} ({type(module).__name__}) does "
        "not, so it cannot be held fixed. Choose another model."
    )


def _vector(value: Any) -> FloatArray | None:
    if not isinstance(value, torch.Tensor) or value.dim() != 1:
        return None
    found: FloatArray = value.detach().double().cpu().numpy()
    return found

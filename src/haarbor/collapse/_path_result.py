"""The paths of a real network, as they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.collapse._path_decomposition import PathDecomposition
from haarbor.stored_result import stored_result

__all__ = ["NetworkPaths", "PathShares"]


@stored_result("NetworkPaths")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NetworkPaths:
    """Paths of a network at one sample, by the number of heads on them and by where they begin.

    The parts sum to the tokens after the last layer, before a norm or scores behind it.
    """

    tokens: PathDecomposition
    """Paths that begin at the tokens which enter the first layer."""
    mlps: FloatArray
    """Sum of the paths that begin at the output of an MLP, by the number of heads after it, shape
    (n_lengths, n_tokens, width); zero where the MLPs were off."""
    biases: FloatArray
    """The same for biases of attention and norms."""
    error: float
    """Norm of what the sum of all lacks, relative to the tokens after the last layer: rounding."""
    with_mlps: bool

    def shares(self) -> dict[str, FloatArray]:
        """Norm of each sum over the norm of the whole, by beginning and length; parts cancel."""
        whole = np.linalg.norm((self.tokens.output + self.mlps + self.biases).sum(axis=0))
        return {
            name: np.linalg.norm(part, axis=(1, 2)) / whole
            for name, part in (("tokens", self.tokens.output), ("MLPs", self.mlps), ("biases", self.biases))
        }

    def summary(self) -> PathShares:
        """What the paths of each length carry, without the tokens themselves, which take much room."""
        return PathShares(
            shares={name: frozen(values) for name, values in self.shares().items()},
            n_paths=self.tokens.n_paths,
            residual=self.tokens.residual,
            residual_error=self.tokens.residual_error,
            n_taken=self.tokens.n_taken,
            n_tokens=int(self.tokens.output.shape[1]),
            error=self.error,
            with_mlps=self.with_mlps,
        )

    def __repr__(self) -> str:
        return f"NetworkPaths({self.tokens!r}, error {self.error:.1g})"


@stored_result("PathShares")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PathShares:
    """What the paths of each length carry of the tokens that leave a network, at one sample.

    Arrays have one entry per length, the number of heads on the path.
    """

    shares: Mapping[str, FloatArray]
    """By "tokens", "MLPs" and "biases", where the paths begin: norm of their sum over that of the output."""
    n_paths: FloatArray
    """Paths from the tokens."""
    residual: FloatArray
    """Mean relative residual of one of these against 1 x^T."""
    residual_error: FloatArray
    """Its standard error; 0 where all paths were taken."""
    n_taken: IntArray
    n_tokens: int
    """Tokens of the sample."""
    error: float
    """Norm of what the sum of all lacks, relative to the output: rounding."""
    with_mlps: bool

    @property
    def beginnings(self) -> dict[str, FloatArray]:
        """Shares by beginning, those that are there."""
        return {name: values for name, values in self.shares.items() if values.any()}

    def __repr__(self) -> str:
        return f"PathShares({self.n_paths.sum():.3g} paths, error {self.error:.1g})"

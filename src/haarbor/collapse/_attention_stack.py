"""Networks of attention alone, on which rank collapse can be computed by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, frozen, real_array
from haarbor.errors import DataError, ShapeError
from haarbor.options import require_flag, require_real_number, require_seed, require_whole_number

__all__ = ["AttentionStack", "random_attention_stack"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AttentionStack:
    r"""Layers of attention without MLPs, normalisation or biases, with or without skip connections.

    A layer maps the tokens :math:`X` to :math:`\sum_h P_h X W_h`, plus :math:`X` where there are skip
    connections, with :math:`P_h` the softmax of the rows of :math:`X Q_h K_h^T X^T / \sqrt{d}`.

    See Also
    --------
    haarbor.collapse.random_attention_stack : A stack to try it on.
    haarbor.collapse.path_decomposition : Paths of a stack.
    """

    query: FloatArray
    """Shape (n_layers, n_heads, width, qk_width)."""
    key: FloatArray
    """Shape (n_layers, n_heads, width, qk_width)."""
    value_output: FloatArray
    """The W of the formula, shape (n_layers, n_heads, width, width)."""
    skips: bool

    def __post_init__(self) -> None:
        arrays = [np.array(real_array(a, "a weight"), dtype=np.float64) for a in (
            self.query, self.key, self.value_output)]  # fmt: skip
        query, key, value_output = arrays
        if query.ndim != 4 or key.shape != query.shape or not query.size:
            raise ShapeError(
                "query and key must have one shape, (layer, head, width, qk_width); found "
                f"{query.shape} and {key.shape}. Pass such arrays."
            )
        if value_output.shape != (*query.shape[:3], query.shape[2]):
            raise ShapeError(
                f"value_output must have shape {(*query.shape[:3], query.shape[2])}; found "
                f"{value_output.shape}. Pass a square matrix per head."
            )
        if not all(np.isfinite(array).all() for array in arrays):
            raise DataError("weights must be finite; found NaN or infinity. Check where they come from.")
        require_flag("skips", self.skips)
        for name, array in zip(("query", "key", "value_output"), arrays, strict=True):
            object.__setattr__(self, name, frozen(array))

    def __repr__(self) -> str:
        n_layers, n_heads, width, _ = self.query.shape
        return (
            f"AttentionStack({n_layers} layers of {n_heads} heads, width {width}, "
            f"{'with' if self.skips else 'without'} skips)"
        )

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return int(self.query.shape[0])

    @property
    def n_heads(self) -> int:
        """Heads of each layer."""
        return int(self.query.shape[1])

    def attention(self, layer: int, x: FloatArray) -> FloatArray:
        """Attention matrices of a layer that reads `x`, shape (n_heads, n_tokens, n_tokens)."""
        q, k = x @ self.query[layer], x @ self.key[layer]
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(self.query.shape[3])
        raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights: FloatArray = raised / raised.sum(axis=-1, keepdims=True)
        return weights

    def states(self, tokens: object) -> tuple[list[FloatArray], list[FloatArray]]:
        """Tokens before the first layer and after each, and the attention matrices of each layer.

        Parameters
        ----------
        tokens : array_like of float, shape (n_tokens, width)

        Returns
        -------
        list of ndarray, shape (n_tokens, width)
            One more than there are layers.
        list of ndarray, shape (n_heads, n_tokens, n_tokens)

        Raises
        ------
        ShapeError
            If the tokens have another width.
        """
        x: FloatArray = np.array(real_array(tokens, "the tokens"), dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != self.query.shape[2] or not x.size:
            raise ShapeError(
                f"the tokens must have shape (n_tokens, {self.query.shape[2]}); found {x.shape}. Pass as "
                "many columns as the stack is wide."
            )
        states, matrices = [x], []
        for layer in range(self.n_layers):
            weights = self.attention(layer, x)
            change = (weights @ x @ self.value_output[layer]).sum(axis=0)
            x = x + change if self.skips else change
            states.append(x)
            matrices.append(weights)
        return states, matrices


def random_attention_stack(
    *,
    n_layers: int,
    n_heads: int,
    width: int,
    qk_width: int,
    skips: bool = False,
    scale: float = 1.0,
    seed: int = 0,
) -> AttentionStack:
    """Stack with normal weights, as a network has at initialisation.

    Parameters
    ----------
    n_layers, n_heads, width, qk_width : int
    skips : bool, default False
    scale : float, default 1.0
        Standard deviation of queries and keys of unit tokens.
    seed : int, default 0

    Returns
    -------
    AttentionStack
        The heads of a layer together keep the size of the tokens, about.

    See Also
    --------
    haarbor.collapse.AttentionStack : The stack.
    haarbor.collapse.stack_bound : The bound for a stack.
    """
    for name, number in (
        ("n_layers", n_layers),
        ("n_heads", n_heads),
        ("width", width),
        ("qk_width", qk_width),
    ):
        require_whole_number(name, number, 1)
    scale = require_real_number("scale", scale, positive=True)
    rng = np.random.default_rng(require_seed(seed))
    shape = (n_layers, n_heads, width, qk_width)
    return AttentionStack(
        query=scale * rng.standard_normal(shape) / np.sqrt(width),
        key=scale * rng.standard_normal(shape) / np.sqrt(width),
        value_output=rng.standard_normal((n_layers, n_heads, width, width)) / np.sqrt(width * n_heads),
        skips=skips,
    )

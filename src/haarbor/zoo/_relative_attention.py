"""Attention over relative positions, as in Transformer-XL."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["RelativeAttention", "relative_shift", "sinusoids"]


class RelativeAttention(nn.Module):
    r"""Causal attention whose scores depend on content and on distance.

    A query at position :math:`i` and a key at position :math:`j \le i` score

    .. math:: \big[(q_i + u) \cdot k_j + (q_i + v) \cdot W_r R_{i-j}\big] / \sqrt{d},

    with :math:`R_{i-j}` a sinusoid of the distance. Whatever the query is, :math:`u` makes some contents
    score higher, and :math:`v` some distances. Scores depend on distances only, so keys of an earlier
    segment can be attended to without being computed again at new positions.

    Parameters
    ----------
    width, n_heads, head_width : int
        Width of the residual stream, number of heads, and width of each head, which need not divide `width`.
    dropout : float
        Share of attention weights dropped in training.
    """

    def __init__(self, width: int, n_heads: int, head_width: int, dropout: float) -> None:
        super().__init__()
        self.n_heads, self.head_width, self.dropout = n_heads, head_width, dropout
        inner = n_heads * head_width
        self.query = nn.Linear(width, inner, bias=False)
        self.key_value = nn.Linear(width, 2 * inner, bias=False)
        self.distance = nn.Linear(width, inner, bias=False)
        self.output = nn.Linear(inner, width, bias=False)
        self.content_bias = nn.Parameter(torch.zeros(n_heads, 1, head_width))
        """The u of the formula."""
        self.distance_bias = nn.Parameter(torch.zeros(n_heads, 1, head_width))
        """The v of the formula."""

    def forward(self, x: Tensor, context: Tensor, distances: Tensor, allowed: Tensor) -> Tensor:
        """Attention of `x` to `context`, which ends with `x` itself.

        Parameters
        ----------
        x : tensor, shape (batch, n_queries, width)
        context : tensor, shape (batch, n_keys, width)
        distances : tensor, shape (n_keys, width)
            Sinusoids of the distances n_keys - 1, ..., 0.
        allowed : bool tensor, broadcast to (batch, head, n_queries, n_keys)
            True where a query may look.

        Returns
        -------
        tensor, shape (batch, n_queries, width)
        """
        q = self._heads(self.query(x))
        k, v = (self._heads(part) for part in self.key_value(context).chunk(2, dim=-1))
        r = self.distance(distances).view(-1, self.n_heads, self.head_width).transpose(0, 1)
        scale = self.head_width**-0.5
        by_distance = relative_shift((q + self.distance_bias) @ r.transpose(-1, -2)) * scale
        bias = by_distance.masked_fill(~allowed, float("-inf"))
        # The part that depends on distance enters as an additive mask, so the fused kernel does the rest.
        mixed = functional.scaled_dot_product_attention(
            q + self.content_bias, k, v, attn_mask=bias, dropout_p=self.dropout if self.training else 0.0
        )
        joined: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return joined

    def _heads(self, projected: Tensor) -> Tensor:
        batch, length, _ = projected.shape
        return projected.view(batch, length, self.n_heads, self.head_width).transpose(1, 2)


def relative_shift(scores: Tensor) -> Tensor:
    """Scores by distance, moved to the keys at these distances.

    Parameters
    ----------
    scores : tensor, shape (..., n_queries, n_keys)
        Column ``c`` belongs to the distance ``n_keys - 1 - c``; the last query sits at the last key.

    Returns
    -------
    tensor, shape (..., n_queries, n_keys)
        Entry ``(i, j)`` is the score of query ``i`` at its distance from key ``j``. Entries of keys after
        the query have no meaning.

    Notes
    -----
    Row ``i`` must move left by ``n_queries - 1 - i``. Putting a column of zeros in front and reading the
    same memory in rows that are one shorter does so, without gathering by index.

    Examples
    --------
    Two queries, three keys; the scores are the distances themselves:

    >>> relative_shift(torch.tensor([[2, 1, 0], [2, 1, 0]]))
    tensor([[1, 0, 0],
            [2, 1, 0]])
    """
    *outer, n_queries, n_keys = scores.shape
    padded = functional.pad(scores, (1, 0)).reshape(*outer, n_keys + 1, n_queries)
    return padded[..., 1:, :].reshape(*outer, n_queries, n_keys)


def sinusoids(n_distances: int, width: int, *, device: torch.device | None = None) -> Tensor:
    """Sinusoids of the distances ``n_distances - 1, ..., 0``.

    Parameters
    ----------
    n_distances, width : int
    device : torch.device, optional

    Returns
    -------
    tensor, shape (n_distances, width)
        Sines in the first half of the columns, cosines in the second.

    Examples
    --------
    >>> sinusoids(2, 2)
    tensor([[0.8415, 0.5403],
            [0.0000, 1.0000]])
    """
    distance = torch.arange(n_distances - 1, -1, -1.0, device=device)
    frequency = 10000.0 ** (-torch.arange(0, width, 2.0, device=device) / width)
    angle = distance[:, None] * frequency
    return torch.cat([angle.sin(), angle.cos()], dim=-1)[:, :width]

"""Transformer-XL: a language model that remembers earlier segments of the text."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from haarbor.errors import ShapeError
from haarbor.zoo._relative_attention import RelativeAttention, sinusoids

__all__ = ["TransformerXL", "TransformerXLConfig", "TransformerXLOutput"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerXLConfig:
    """Sizes of a Transformer-XL."""

    vocab_size: int
    width: int
    n_layers: int
    n_heads: int
    head_width: int
    inner_width: int
    """Width of the hidden layer of the feed-forward part."""
    memory_length: int
    """Tokens remembered from earlier segments; 0 makes a Transformer without memory."""
    dropout: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class TransformerXLOutput:
    """Output for one segment."""

    logits: Tensor
    """Shape (batch, n_tokens, vocab_size): scores of the token that comes next."""
    memory: Tensor
    """Shape (batch, n_layers, n_remembered, width): to be passed with the next segment."""


class TransformerXL(nn.Module):
    """Language model with relative positions and a memory of earlier segments (Dai et al. 2019).

    Each layer attends to its own inputs in this segment and in the ones before, up to
    ``memory_length`` tokens back. No gradient flows into the memory. Normalisation comes before each
    part, and the output layer shares its weights with the embedding.

    Parameters
    ----------
    config : TransformerXLConfig
    """

    def __init__(self, config: TransformerXLConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        self.layers = nn.ModuleList(_Layer(config) for _ in range(config.n_layers))
        self.norm = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.apply(_initialise)

    def forward(
        self, input_ids: Tensor, memory: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> TransformerXLOutput:
        """Scores of the next tokens, and the memory for the next segment.

        Parameters
        ----------
        input_ids : int tensor, shape (batch, n_tokens)
        memory : tensor, shape (batch, n_layers, n_remembered, width), optional
            From the segment before; None at the start of a text.
        attention_mask : tensor, shape (batch, n_tokens), optional
            Zero at padding, which nothing attends to.

        Returns
        -------
        TransformerXLOutput

        Raises
        ------
        ShapeError
            If `memory` belongs to another network or batch.
        """
        config = self.config
        batch, n_tokens = input_ids.shape
        if memory is None:
            memory = input_ids.new_zeros(
                (batch, config.n_layers, 0, config.width), dtype=self.embedding.weight.dtype
            )
        if memory.shape[:2] != (batch, config.n_layers) or memory.shape[3] != config.width:
            raise ShapeError(
                f"memory must have shape ({batch}, {config.n_layers}, n_remembered, {config.width}); found "
                f"{tuple(memory.shape)}. Pass the memory that this network gave for the same texts."
            )
        n_remembered = memory.shape[2]
        n_keys = n_remembered + n_tokens
        distances = sinusoids(n_keys, config.width, device=input_ids.device).to(memory.dtype)
        distances = self.dropout(distances)
        allowed = torch.ones(n_tokens, n_keys, dtype=torch.bool, device=input_ids.device)
        allowed = allowed.tril(diagonal=n_remembered)[None, None]
        if attention_mask is not None:
            # Every token may look at itself, so that the softmax of a padded query is defined.
            seen = functional.pad(attention_mask.bool(), (n_remembered, 0), value=True)[:, None, None]
            itself = torch.eye(n_tokens, n_keys, dtype=torch.bool, device=input_ids.device)
            allowed = allowed & (seen | itself.roll(n_remembered, dims=1))

        x = self.dropout(self.embedding(input_ids) * config.width**0.5)
        remembered = []
        for number, layer in enumerate(self.layers):
            context = torch.cat([memory[:, number].to(x.dtype), x], dim=1)
            remembered.append(context[:, n_keys - min(n_keys, config.memory_length) :].detach())
            x = layer(x, context, distances, allowed)
        logits = functional.linear(self.dropout(self.norm(x)), self.embedding.weight)
        return TransformerXLOutput(logits, torch.stack(remembered, dim=1))


class _Layer(nn.Module):
    def __init__(self, config: TransformerXLConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width)
        self.attention = RelativeAttention(config.width, config.n_heads, config.head_width, config.dropout)
        self.feed_forward_norm = nn.LayerNorm(config.width)
        self.feed_forward = nn.Sequential(
            nn.Linear(config.width, config.inner_width),
            nn.GELU(),
            nn.Dropout(config.dropout),
            nn.Linear(config.inner_width, config.width),
        )
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, context: Tensor, distances: Tensor, allowed: Tensor) -> Tensor:
        normal = self.attention_norm(context)
        queries = normal[:, context.shape[1] - x.shape[1] :]
        x = x + self.dropout(self.attention(queries, normal, distances, allowed))
        changed: Tensor = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        return changed


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
        bias = getattr(module, "bias", None)
        if isinstance(bias, Tensor):
            nn.init.zeros_(bias)

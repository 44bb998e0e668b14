"""Loss of a language model on a text, segment by segment."""

from __future__ import annotations

import math

import numpy as np
import torch
from text_data import segments, streams
from torch.nn import functional

from haarbor.zoo import TransformerXL


def segment_losses(
    model: TransformerXL,
    ids: np.ndarray,
    n_tokens: int,
    *,
    device: str,
    n_streams: int = 8,
    memory_length: int | None = None,
) -> np.ndarray:
    """Mean loss a token of every segment, read in order, shape (n_segments, n_streams).

    The network remembers earlier segments as far as its memory reaches, or `memory_length` if given.
    """
    model.eval()
    found, memory = [], None
    with torch.no_grad():
        for inputs, targets in segments(streams(ids, n_streams, device), n_tokens):
            output = model(inputs, memory)
            memory = output.memory
            if memory_length is not None:
                memory = memory[:, :, memory.shape[2] - min(memory_length, memory.shape[2]) :]
            loss = functional.cross_entropy(
                output.logits.flatten(0, 1).float(), targets.flatten(), reduction="none"
            )
            found.append(loss.view(inputs.shape).mean(dim=1).cpu().numpy())
    return np.stack(found)


def summary(losses: np.ndarray) -> dict[str, float]:
    """Loss, perplexity and the standard error of the loss over segments."""
    mean = float(losses.mean())
    return {
        "loss": mean,
        "perplexity": math.exp(mean),
        "standard_error": float(losses.std(ddof=1) / math.sqrt(losses.size)) if losses.size > 1 else 0.0,
    }


def paired_difference(ours: np.ndarray, theirs: np.ndarray) -> dict[str, float]:
    """Mean difference of two networks on the same segments, with its standard error."""
    difference = (theirs - ours).ravel()
    return {
        "difference": float(difference.mean()),
        "standard_error": float(difference.std(ddof=1) / math.sqrt(difference.size)),
        "share_of_segments_better": float((difference > 0).mean()),
    }

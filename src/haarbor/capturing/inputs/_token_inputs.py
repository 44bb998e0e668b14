"""What a model that reads tokens accepts (ids, number of tokens), and samples made of token ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from haarbor.array_types import IntArray, frozen
from haarbor.capturing.inputs._samples import Sample, checked_count
from haarbor.errors import CaptureError, DataError

__all__ = ["DecoderInputs", "TokenInputs", "require_length", "token_sample", "token_texts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderInputs:
    """Tokens that the decoder of an encoder-decoder reads."""

    start_id: int
    """Id at the first position, before the text."""
    vocab_size: int
    max_tokens: int | None
    """None where positions are relative and any length goes."""
    reserved_ids: frozenset[int] = frozenset()
    """Ids with a meaning of their own, such as padding, which random samples avoid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenInputs:
    """Tokens that a model reads."""

    vocab_size: int
    max_tokens: int | None
    """None where positions are relative and any length goes."""
    reserved_ids: frozenset[int] = frozenset()
    """Ids with a meaning of their own, such as padding, which random samples avoid."""
    decoder: DecoderInputs | None = None
    """None where the model has no decoder beside an encoder."""


def require_length(n_tokens: int, takes: TokenInputs | DecoderInputs) -> None:
    """Refuse a number of tokens that the model has no positions for.

    Parameters
    ----------
    n_tokens : int
    takes : TokenInputs or DecoderInputs

    Raises
    ------
    SettingError
        If `n_tokens` is no whole number, or less than one.
    CaptureError
        If it is more than the model takes.
    """
    checked_count(n_tokens, "the number of tokens")
    if takes.max_tokens is not None and n_tokens > takes.max_tokens:
        raise CaptureError(
            f"{n_tokens} tokens were asked for; the model has positions for {takes.max_tokens}. "
            f"Ask for at most {takes.max_tokens}."
        )


def token_texts(tokenizer: Any, ids: Sequence[int]) -> tuple[str, ...]:
    """Text of each token, or its entry in the vocabulary where it is no text by itself.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase
    ids : sequence of int

    Returns
    -------
    tuple of str
    """
    entries = tokenizer.convert_ids_to_tokens(list(ids))
    texts = []
    for token_id, entry in zip(ids, entries, strict=True):
        text = tokenizer.decode([token_id], clean_up_tokenization_spaces=False)
        # Part of a character decodes to the replacement sign, and some spaces to nothing.
        texts.append(text if text and "\ufffd" not in text else str(entry))
    return tuple(texts)


def token_sample(
    ids: IntArray, n_valid: int, labels: tuple[str, ...], takes: TokenInputs, start_label: str = "start"
) -> Sample:
    """Sample of a row of token ids whose padding, if any, comes last.

    A decoder beside an encoder is fed the same tokens one place later, after its start token, as in
    training on reconstruction.

    Parameters
    ----------
    ids : array of int, shape (n_tokens,)
    n_valid : int
        Tokens before the padding.
    labels : tuple of str
    takes : TokenInputs
    start_label : str
        Label of the decoder's start token.

    Returns
    -------
    Sample

    Raises
    ------
    DataError
        If an id is not in the model's vocabulary.
    """
    outside = ids[(ids < 0) | (ids >= takes.vocab_size)]
    if outside.size:
        raise DataError(
            f"token ids must lie in 0..{takes.vocab_size - 1}, the model's vocabulary; found "
            f"{int(outside[0])}. Use the tokenizer that belongs to the model."
        )
    row = torch.from_numpy(np.array(ids, dtype=np.int64))[None]
    valid = np.arange(ids.size) < n_valid
    mask = torch.from_numpy(valid.astype(np.int64))[None]
    inputs = {"input_ids": row, "attention_mask": mask}
    if takes.decoder is None:
        return Sample(inputs=inputs, labels=labels, valid=frozen(valid))
    first = torch.tensor([[takes.decoder.start_id]])
    inputs["decoder_input_ids"] = torch.cat([first, row[:, :-1]], dim=1)
    inputs["decoder_attention_mask"] = torch.cat([torch.ones_like(first), mask[:, :-1]], dim=1)
    return Sample(
        inputs=inputs,
        labels=labels,
        valid=frozen(valid),
        decoder_labels=(start_label, *labels[:-1]),
        decoder_valid=frozen(np.concatenate([[True], valid[:-1]])),
    )

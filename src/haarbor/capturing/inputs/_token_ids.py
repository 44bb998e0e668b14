"""Samples from an array of token ids, one row per sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from haarbor.array_types import AnyArray, IntArray
from haarbor.capturing.inputs._arrays import loaded_array, plain_array
from haarbor.capturing.inputs._samples import (
    Sample,
    Samples,
    checked_count,
    chosen_count,
    digest_of_bytes,
    require_takes,
)
from haarbor.capturing.inputs._token_inputs import TokenInputs, require_length, token_sample, token_texts
from haarbor.errors import CaptureError, DataError, ShapeError

__all__ = ["TokenRows", "token_id_samples"]


def token_id_samples(
    ids: str | Path | AnyArray | torch.Tensor,
    *,
    takes: TokenInputs,
    tokenizer: Any = None,
    n_tokens: int | None = None,
    n_samples: int | None = None,
    pad_id: int | None = None,
) -> Samples:
    """Samples of an array of token ids.

    Parameters
    ----------
    ids : path of a ``.npy`` file, array or tensor of int, shape (n_samples, n_tokens)
    takes : TokenInputs
        What the model reads.
    tokenizer : transformers.PreTrainedTokenizerBase, optional
        For the labels; without one they are the ids.
    n_tokens : int, optional
        How many tokens of each row to take, from the first on; all of them if None.
    n_samples : int, optional
        How many rows to take, from the first on; all of them if None.
    pad_id : int, optional
        Id that is padding where it ends a row; without one, every token is real.

    Returns
    -------
    Samples

    Raises
    ------
    ShapeError
        If `ids` has another shape or is no array of integers.
    DataError
        If an id is not in the vocabulary, or a row is padding all along.
    CaptureError
        If the file cannot be read, or rows are shorter than `n_tokens` or longer than the model takes.

    See Also
    --------
    haarbor.capturing.inputs.text_samples : Samples of a text.
    """
    require_takes(takes, TokenInputs)
    if pad_id is not None:
        pad_id = checked_count(pad_id, "pad_id", least=-(2**63), most=2**63)
    source = "an array of token ids"
    if isinstance(ids, str | Path):
        array, source = loaded_array(ids), Path(ids).name
    else:
        array = plain_array(ids, "token ids")
    if array.ndim != 2 or 0 in array.shape:
        raise ShapeError(
            f"token ids must have axes (sample, token), neither of them empty; found shape {array.shape}. "
            "For one row, use ids[None]."
        )
    if array.dtype.kind not in "iu":
        raise ShapeError(f"token ids must be integers; found {array.dtype}. Convert them with astype.")
    width = array.shape[1] if n_tokens is None else n_tokens
    require_length(width, takes)
    if takes.decoder is not None:
        require_length(width, takes.decoder)
    if width > array.shape[1]:
        raise CaptureError(
            f"{width} tokens were asked for; rows of {source} have {array.shape[1]}. "
            f"Ask for at most {array.shape[1]}."
        )
    count = chosen_count(n_samples, array.shape[0], "rows", source)
    chosen = array[:count, :width]
    lowest, highest = int(chosen.min()), int(chosen.max())
    if lowest < 0 or highest >= takes.vocab_size:
        raise DataError(
            f"token ids must lie in 0..{takes.vocab_size - 1}, the model's vocabulary; {source} has "
            f"{lowest if lowest < 0 else highest}. Use the tokenizer that belongs to the model."
        )
    return TokenRows(chosen, source, takes, tokenizer, pad_id)


class TokenRows(Samples):
    """Rows of an array of token ids."""

    def __init__(
        self, ids: IntArray, source: str, takes: TokenInputs, tokenizer: Any, pad_id: int | None
    ) -> None:
        self._ids, self._source, self._takes = ids, source, takes
        self._tokenizer, self._pad_id = tokenizer, pad_id

    @property
    def description(self) -> str:
        """Where the samples come from, in a line."""
        padding = "" if self._pad_id is None else f", {self._pad_id} at the end of a row is padding"
        return f"{self._source}, rows of {self._ids.shape[1]} token ids{padding}"

    @property
    def content_digest(self) -> str:
        """SHA-256 of the rows."""
        return digest_of_bytes(np.ascontiguousarray(row, dtype="<i8") for row in self._ids)

    def __len__(self) -> int:
        return int(self._ids.shape[0])

    def sample(self, index: int) -> Sample:
        """Row at an index."""
        ids = np.array(self._ids[index], dtype=np.int64)
        n_valid = ids.size
        if self._pad_id is not None:
            real = np.flatnonzero(ids != self._pad_id)
            if real.size == 0:
                raise DataError(
                    f"row {index} of {self._source} must hold real tokens; all are padding."
                    " Leave the row out."
                )
            n_valid = int(real[-1]) + 1
        return token_sample(ids, n_valid, self._labels(ids.tolist()), self._takes, self._start())

    def _labels(self, ids: list[int]) -> tuple[str, ...]:
        return token_texts(self._tokenizer, ids) if self._tokenizer is not None else tuple(map(str, ids))

    def _start(self) -> str:
        return "" if self._takes.decoder is None else self._labels([self._takes.decoder.start_id])[0]

"""Samples of an encoder-decoder whose decoder reads a text of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from haarbor.array_types import frozen
from haarbor.capturing.inputs._model_inputs import AudioInputs
from haarbor.capturing.inputs._samples import Sample, Samples, digest_of_bytes, require_takes
from haarbor.capturing.inputs._token_inputs import TokenInputs, require_length
from haarbor.errors import CaptureError, DataError

__all__ = ["TARGET", "target_tokenizer", "targeted_samples"]

TARGET = "target"
"""Setting of a run that says what its decoder reads, where this is another text than the encoder's."""


def targeted_samples(
    samples: Sequence[Sample], targets: Sequence[Sample], *, takes: TokenInputs | AudioInputs
) -> Samples:
    """Samples of which the encoder reads one text and the decoder another, such as its translation.

    Without targets the samples of :mod:`haarbor.capturing.inputs` feed the decoder what the encoder
    reads.

    Parameters
    ----------
    samples : Samples or sequence of Sample
        What the encoder reads.
    targets : Samples or sequence of Sample
        What the decoder reads, one for each sample: token ids, with padding at their end if any. The
        decoder gets them one place later, after its start token, as in training.
    takes : TokenInputs or AudioInputs
        Of a model with a decoder.

    Returns
    -------
    Samples

    Raises
    ------
    CaptureError
        If the model has no decoder of its own, the targets are not as many as the samples, are no token
        ids, or are longer than the decoder takes.
    DataError
        If a token of a target is not in the decoder's vocabulary.

    See Also
    --------
    haarbor.capturing.inputs.text_samples : Samples of a text.
    haarbor.capturing.inputs.generated_samples : Prompts and answers.
    """
    require_takes(takes, TokenInputs, AudioInputs)
    if takes.decoder is None:
        raise CaptureError(
            "targets are for a model with an encoder and a decoder; this one has no decoder beside an "
            "encoder. Leave them out."
        )
    if len(targets) != len(samples):
        raise CaptureError(
            f"there must be one target for each sample; found {len(targets)} for {len(samples)}. Give as "
            "many."
        )
    return _Targeted(samples, targets, takes)


def target_tokenizer(tokenizer: Any) -> Any:
    """The tokenizer as it takes texts for the decoder, which some models write with other tokens.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase or None

    Returns
    -------
    object or None

    See Also
    --------
    haarbor.capturing.inputs.targeted_samples : Samples for an encoder and a decoder.
    """
    return None if tokenizer is None else _TargetTokenizer(tokenizer)


class _TargetTokenizer:
    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, text: str, **options: Any) -> Any:
        return self._tokenizer(text_target=text, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)


class _Targeted(Samples):
    def __init__(
        self, samples: Sequence[Sample], targets: Sequence[Sample], takes: TokenInputs | AudioInputs
    ) -> None:
        self._samples, self._targets, self._takes = samples, targets, takes

    @property
    def description(self) -> str:
        """Where the texts of the encoder and of the decoder come from, in a line."""
        read = self._samples.description if isinstance(self._samples, Samples) else "samples"
        return f"{read}; the decoder reads {self._target_description}"

    @property
    def _target_description(self) -> str:
        return self._targets.description if isinstance(self._targets, Samples) else "targets"

    @property
    def content_digest(self) -> str:
        """SHA-256 of the data behind samples and targets."""
        both = [
            part.content_digest if isinstance(part, Samples) else ""
            for part in (self._samples, self._targets)
        ]
        return digest_of_bytes([digest.encode() for digest in both]) if all(both) else ""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the samples, and what the decoder reads."""
        inner = self._samples.settings if isinstance(self._samples, Samples) else {}
        return {**inner, TARGET: self._target_description}

    def __len__(self) -> int:
        return len(self._samples)

    def sample(self, index: int) -> Sample:
        """Sample at an index, with its target."""
        decoder: Any = self._takes.decoder
        target = self._targets[index]
        ids = target.inputs.get("input_ids")
        if not isinstance(ids, torch.Tensor) or ids.dim() != 2 or ids.shape[0] != 1 or ids.shape[1] == 0:
            raise CaptureError(
                f"a target must be token ids, input_ids of shape (1, n_tokens); target {index} is not. Make "
                "targets with haarbor.capturing.inputs.text_samples or token_id_samples."
            )
        n_tokens = int(ids.shape[1])
        require_length(n_tokens, decoder)
        outside = ids[(ids < 0) | (ids >= decoder.vocab_size)]
        if outside.numel():
            raise DataError(
                f"token ids must lie in 0..{decoder.vocab_size - 1}, the decoder's vocabulary; target "
                f"{index} has {int(outside[0])}. Use the tokenizer that belongs to the model."
            )
        valid = np.ones(n_tokens, dtype=np.bool_) if target.valid is None else target.valid
        shifted = np.concatenate([[True], valid[:-1]])
        source = self._samples[index]
        return dataclasses.replace(
            source,
            inputs={
                **source.inputs,
                "decoder_input_ids": torch.cat([torch.tensor([[decoder.start_id]]), ids[:, :-1]], dim=1),
                "decoder_attention_mask": torch.from_numpy(shifted.astype(np.int64))[None],
            },
            decoder_labels=(self._start_label(source), *target.labels[:-1]) if target.labels else (),
            decoder_valid=frozen(shifted),
        )

    def _start_label(self, source: Sample) -> str:
        decoder: Any = self._takes.decoder
        return source.decoder_labels[0] if source.decoder_labels else str(decoder.start_id)

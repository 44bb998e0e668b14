"""Random inputs, to try out whether a model can be captured; its attention on them means little."""

from __future__ import annotations

import numpy as np
import torch

from haarbor.array_types import IntArray, frozen
from haarbor.capturing.inputs._image_settings import ImageSettings
from haarbor.capturing.inputs._model_inputs import AudioInputs, ModelInputs
from haarbor.capturing.inputs._samples import Sample, Samples, checked_count, require_takes
from haarbor.capturing.inputs._token_inputs import DecoderInputs, TokenInputs, require_length, token_sample
from haarbor.errors import CaptureError

__all__ = ["RandomSamples", "random_samples"]


def random_samples(
    takes: ModelInputs, *, n_samples: int, n_tokens: int | None = None, seed: int = 0
) -> Samples:
    """Samples of noise in the form that a model takes.

    Parameters
    ----------
    takes : TokenInputs, ImageSettings or AudioInputs
    n_samples : int
    n_tokens : int, optional
        Number of tokens per sample; of the decoder for a model of sound. Not used for images.
    seed : int, default 0
        Sample ``i`` depends on `seed` and ``i`` alone.

    Returns
    -------
    Samples

    Raises
    ------
    SettingError
        If a number is less than one, or the seed is negative.
    CaptureError
        If the model has no positions for `n_tokens`, or `n_tokens` is needed and not given.

    See Also
    --------
    haarbor.capturing.inputs.text_samples : Samples of a text.
    """
    require_takes(takes, TokenInputs, ImageSettings, AudioInputs)
    n_samples = checked_count(n_samples, "the number of batches")
    seed = checked_count(seed, "seed", least=0, most=2**128)
    if isinstance(takes, ImageSettings):
        return RandomSamples(takes, n_samples, 0, seed)
    if n_tokens is None:
        raise CaptureError("random tokens need their number. Pass n_tokens.")
    if isinstance(takes, TokenInputs):
        require_length(n_tokens, takes)
    if takes.decoder is not None:
        require_length(n_tokens, takes.decoder)
    return RandomSamples(takes, n_samples, n_tokens, seed)


class RandomSamples(Samples):
    """Noise: uniform token ids, normal pixels, normal spectrograms."""

    def __init__(self, takes: ModelInputs, n_samples: int, n_tokens: int, seed: int) -> None:
        self._takes, self._n_samples, self._n_tokens, self._seed = takes, n_samples, n_tokens, seed

    @property
    def description(self) -> str:
        """What the noise is, in a line."""
        kind = {TokenInputs: "token ids", ImageSettings: "images", AudioInputs: "spectrograms"}
        return f"random {kind[type(self._takes)]}, seed {self._seed}"

    def __len__(self) -> int:
        return self._n_samples

    def sample(self, index: int) -> Sample:
        """Noise at an index."""
        rng = np.random.default_rng([self._seed, index])
        takes = self._takes
        if isinstance(takes, TokenInputs):
            ids = _random_ids(takes, self._n_tokens, rng)
            start = "" if takes.decoder is None else str(takes.decoder.start_id)
            return token_sample(ids, ids.size, tuple(map(str, ids.tolist())), takes, start)
        if isinstance(takes, ImageSettings):
            pixels = rng.standard_normal((1, takes.n_channels, *takes.size), dtype=np.float32)
            return _unpadded({takes.input_name: torch.from_numpy(pixels)}, takes.labels)
        features = rng.standard_normal((1, takes.n_mels, takes.n_frames), dtype=np.float32)
        inputs = {"input_features": torch.from_numpy(features)}
        labels = tuple(map(str, range(takes.n_positions)))
        if takes.decoder is None:
            return _unpadded(inputs, labels)
        ids = _random_ids(takes.decoder, self._n_tokens, rng)
        ids[0] = takes.decoder.start_id
        inputs["decoder_input_ids"] = torch.from_numpy(ids)[None]
        return _unpadded(inputs, labels, tuple(map(str, ids.tolist())))


def _unpadded(
    inputs: dict[str, torch.Tensor], labels: tuple[str, ...], decoder_labels: tuple[str, ...] = ()
) -> Sample:
    return Sample(
        inputs=inputs,
        labels=labels,
        valid=frozen(np.ones(len(labels), dtype=np.bool_)),
        decoder_labels=decoder_labels,
        decoder_valid=frozen(np.ones(len(decoder_labels), dtype=np.bool_)),
    )


def _random_ids(takes: TokenInputs | DecoderInputs, n_tokens: int, rng: np.random.Generator) -> IntArray:
    ordinary = np.setdiff1d(np.arange(takes.vocab_size), np.array(sorted(takes.reserved_ids), dtype=np.int64))
    return rng.choice(ordinary if ordinary.size else np.arange(takes.vocab_size), n_tokens).astype(np.int64)

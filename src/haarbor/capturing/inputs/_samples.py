"""One input of a model with the names of its tokens, and sequences of such inputs."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from haarbor.array_types import BoolArray, ByteArray, frozen
from haarbor.errors import CaptureError, SettingError

__all__ = ["Sample", "Samples", "checked_count", "chosen_count", "digest_of_bytes", "require_takes"]

_MOST = 10**12


def _nothing() -> BoolArray:
    return frozen(np.zeros(0, dtype=np.bool_))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sample:
    """One input of a model: a batch of one, and what is known of its tokens."""

    inputs: Mapping[str, Any]
    """Arguments of the model's forward. Tensors that have a batch axis have one row along it; everything,
    such as ``"use_cache": False``, gets to the model as it is, tensors on the device of the weights."""
    labels: tuple[str, ...]
    """Text of each token, or place of each patch: "CLS", "3,7" (row, column)."""
    key_labels: tuple[str, ...] = ()
    """The same of the keys, where they are more than the queries, as those of a memory are."""
    valid: BoolArray | None
    """Shape (n_tokens,), False where a token is padding; None where there is none."""
    decoder_labels: tuple[str, ...] = ()
    """Text of each decoder token; empty where the model has no decoder of its own."""
    decoder_valid: BoolArray = field(default_factory=_nothing)
    """Shape (n_decoder_tokens,), False where a decoder token is padding."""
    kinds: tuple[str, ...] = ()
    """Kind of each token: "text", "image" or "special" (a token that is neither, such as an end of text);
    of a text that a model went on with, "prompt" or "answer"; or words of your own. Empty where unknown:
    :func:`haarbor.capture` then finds them itself if the token ids hold image tokens."""
    decoder_kinds: tuple[str, ...] = ()
    """The same of the decoder tokens."""
    picture: ByteArray | None = None
    """What a vision network sees, before normalisation, shape (height, width, 3), at most 224 on a side."""

    def __repr__(self) -> str:
        decoder = f", {len(self.decoder_labels)} in the decoder" if self.decoder_labels else ""
        n_valid = len(self.labels) if self.valid is None else int(self.valid.sum())
        return f"Sample({len(self.labels)} tokens, {n_valid} valid{decoder})"


class Samples(Sequence[Sample]):
    """A sequence of samples, each made when it is asked for, and the same every time.

    Because they can be indexed, an interrupted capture continues without making earlier samples again.
    """

    @property
    @abstractmethod
    def description(self) -> str:
        """Where the samples come from and what was done to them, in a line without machine paths."""

    @property
    def content_digest(self) -> str:
        """SHA-256 of the data behind the samples, so that a run is continued with the same; "" if unknown."""
        return ""

    @property
    def settings(self) -> Mapping[str, Any]:
        """JSON values about how the samples are made, which :func:`haarbor.capture` keeps with the run."""
        return {}

    @abstractmethod
    def sample(self, index: int) -> Sample:
        """Sample at an index between zero and the length."""

    def take_output(self, index: int, output: Any) -> None:
        """Receive what the model gave for a sample. Samples that continue from it override this.

        Parameters
        ----------
        index : int
        output : object
            As the model's forward returned it.
        """

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Samples: ...
    def __getitem__(self, index: int | slice) -> Sample | Samples:
        if isinstance(index, slice):
            return _Part(self, range(len(self))[index])
        try:
            return self.sample(range(len(self))[index])
        except IndexError:
            if -len(self) <= index < len(self):
                raise
            raise IndexError(f"there are {len(self)} samples; number {index} was asked for") from None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} samples: {self.description})"


class _Part(Samples):
    def __init__(self, whole: Samples, indices: range) -> None:
        self._whole, self._indices = whole, indices

    @property
    def description(self) -> str:
        return self._whole.description

    @property
    def content_digest(self) -> str:
        inner = self._whole.content_digest
        return digest_of_bytes([inner.encode(), str(self._indices).encode()]) if inner else ""

    @property
    def settings(self) -> Mapping[str, Any]:
        return self._whole.settings

    def __len__(self) -> int:
        return len(self._indices)

    def sample(self, index: int) -> Sample:
        return self._whole.sample(self._indices[index])

    def take_output(self, index: int, output: Any) -> None:
        self._whole.take_output(self._indices[index], output)


def digest_of_bytes(parts: Iterable[Any]) -> str:
    """SHA-256 of several byte strings or arrays, which also depends on where one ends and the next begins.

    Parameters
    ----------
    parts : iterable of bytes or contiguous array

    Returns
    -------
    str

    Examples
    --------
    >>> digest_of_bytes([b"ab", b"c"]) == digest_of_bytes([b"a", b"bc"])
    False
    """
    found = hashlib.sha256()
    for part in parts:
        view = memoryview(part)
        found.update(view.nbytes.to_bytes(8, "little"))
        found.update(view)
    return f"sha256:{found.hexdigest()}"


def require_takes(takes: Any, *kinds: type) -> None:
    """Raise unless `takes` describes the inputs of a model.

    Parameters
    ----------
    takes : TokenInputs, ImageSettings or AudioInputs
    *kinds : type
        Which of them will do.

    Raises
    ------
    CaptureError
        If it is something else.
    """
    if not isinstance(takes, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise CaptureError(
            f"what the model takes must be {names}; found {type(takes).__name__}. Pass takes of "
            "haarbor.capturing.load_model(name), or make batches of your own."
        )


def checked_count(value: int, what: str, *, least: int = 1, most: int = _MOST) -> int:
    """A number that a user gave, if it is a whole number within bounds.

    Parameters
    ----------
    value : int
    what : str
        What it counts, for the beginning of the message: "the number of batches".
    least, most : int, default 1 and a million million

    Returns
    -------
    int

    Raises
    ------
    SettingError
        If it is no whole number, less than `least` or more than `most`.

    Examples
    --------
    >>> checked_count(2.5, "the number of batches")
    Traceback (most recent call last):
    ...
    haarbor.errors.SettingError: the number of batches must be a whole number; found 2.5. Give at least 1.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise SettingError(f"{what} must be a whole number; found {value!r:.60}. Give at least {least}.")
    if value < least:
        bound = f"be at least {least}" if least else "not be negative"
        raise SettingError(f"{what} must {bound}; found {value}.")
    if value > most:
        raise SettingError(f"{what} must be at most {most}; found a larger number.")
    return int(value)


def chosen_count(n_samples: int | None, n_available: int, things: str, source: str) -> int:
    """Number of samples to take: as many as asked for, or all.

    Parameters
    ----------
    n_samples : int or None
        As asked for; None takes all.
    n_available : int
    things, source : str
        What is counted and where it is, for the message.

    Returns
    -------
    int

    Raises
    ------
    SettingError
        If `n_samples` is no whole number, or less than one.
    CaptureError
        If there are fewer.

    Examples
    --------
    >>> chosen_count(None, 7, "windows of 256 tokens", "book.txt")
    7
    >>> chosen_count(10, 7, "windows of 256 tokens", "book.txt")
    Traceback (most recent call last):
    ...
    haarbor.errors.CaptureError: 10 batches were asked for; book.txt holds 7 windows of 256 tokens. Ask for \
at most 7.
    """
    if n_samples is None:
        return n_available
    n_samples = checked_count(n_samples, "the number of batches")
    if n_samples > n_available:
        raise CaptureError(
            f"{n_samples} batches were asked for; {source} holds {n_available} {things}. "
            f"Ask for at most {n_available}."
        )
    return n_samples

"""Samples of one run have equally many tokens; one that has not is refused by its number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haarbor.capturing.inputs import Sample
from haarbor.errors import CaptureError
from haarbor.store import StreamPlan

__all__ = ["EqualLengths"]

_TOKENS = ("", "input_ids", "inputs_embeds", "decoder_input_ids", "decoder_inputs_embeds")
_ADVICE = (
    "Pad the samples to one length and give their attention_mask, or capture each length into a run of its "
    "own. Samples that are complete are kept."
)


class EqualLengths:
    """Compares samples with the first one, and their layers with what the run was planned for.

    Parameters
    ----------
    streams : sequence of StreamPlan
        What the run holds of each sample.
    """

    def __init__(self, streams: Sequence[StreamPlan]) -> None:
        self._streams = {stream.name: stream for stream in streams}
        self._first: tuple[int, dict[str, int]] | None = None

    def require(self, index: int, sample: Sample) -> None:
        """Refuse a sample whose token ids, or embeddings of tokens, are more or fewer than in the first.

        Parameters
        ----------
        index : int
        sample : Sample

        Raises
        ------
        CaptureError
        """
        lengths = {name: int(value.shape[1]) for name, value in sample.inputs.items() if _tokens(name, value)}
        first, known = self._first = self._first or (index, lengths)
        for name, length in lengths.items():
            if known.get(name, length) != length:
                raise CaptureError(
                    f"the samples of a run must have equally many tokens; sample {index} has {length} in "
                    f"{name or 'its tensor'}, sample {first} has {known[name]}. {_ADVICE}"
                )

    def require_layer(self, index: int, stream: str, n_queries: int, n_keys: int) -> None:
        """Refuse a layer with other queries or keys than the run was planned for.

        Parameters
        ----------
        index : int
            Of the sample.
        stream : str
        n_queries, n_keys : int

        Raises
        ------
        CaptureError
        """
        plan = self._streams.get(stream)
        if plan is not None and (n_queries, n_keys) != plan.n_tokens:
            raise CaptureError(
                f"the samples of a run must have equally many queries and keys; sample {index} has "
                f"{n_queries} x {n_keys} in the stream {stream!r}, the samples before it "
                f"{plan.n_tokens[0]} x {plan.n_tokens[1]}. {_ADVICE}"
            )


def _tokens(name: str, value: Any) -> bool:
    """Whether the second axis of an input surely counts tokens."""
    if name not in _TOKENS or not hasattr(value, "shape"):
        return False
    if name.endswith("embeds"):
        return len(value.shape) == 3
    return len(value.shape) == 2 and (bool(name) or "float" not in str(value.dtype))

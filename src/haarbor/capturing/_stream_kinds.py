"""Kinds of the queries and keys of one stream of a sample."""

from __future__ import annotations

from haarbor.capturing._streams import reads_tokens
from haarbor.capturing.inputs import Sample
from haarbor.store import StreamPlan

__all__ = ["stream_kinds"]


def stream_kinds(
    stream: StreamPlan, sample: Sample, n_streams: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Kinds of the queries and keys of a stream, each () where the sample does not know them.

    Parameters
    ----------
    stream : StreamPlan
    sample : Sample
    n_streams : int
        Of the run: a stream beside others may be that of a part which reads no tokens.

    Returns
    -------
    (tuple of str, tuple of str)
    """
    part = stream.name.split(".")[0]
    if n_streams > 1 and not reads_tokens(stream.name) and "input_ids" in sample.inputs:
        return (), ()
    own = sample.decoder_kinds if part in ("decoder", "cross") else sample.kinds
    seen = sample.decoder_kinds if part == "decoder" else sample.kinds
    n_queries, n_keys = stream.n_tokens
    return (
        _of_blocks(own, stream.pool) if len(own) == n_queries else (),
        _of_blocks(seen, stream.pool) if len(seen) == n_keys else (),
    )


def _of_blocks(kinds: tuple[str, ...], pool: int) -> tuple[str, ...]:
    """Kind of each block of tokens: that of all of them, or both, as in "text and image"."""
    return tuple(
        " and ".join(dict.fromkeys(kinds[begin : begin + pool])) for begin in range(0, len(kinds), pool)
    )

"""Writes the attention of one sample to the store as the model computes it, by layers and chunks of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import torch

from haarbor.array_types import BoolArray, FloatArray
from haarbor.capturing._attention_call import AttentionCall
from haarbor.capturing._observed_calls import ObservedCalls
from haarbor.capturing._pooled_rows import PooledRows, pooled_mask
from haarbor.capturing._streams import reads_tokens
from haarbor.capturing.inputs import Sample
from haarbor.errors import CaptureError
from haarbor.store import PairRows, StreamPlan

__all__ = ["SampleRecorder"]

WriteRows = Callable[[str, int, int, Mapping[str, FloatArray]], None]
RequireLayer = Callable[[str, int, int], None]


class SampleRecorder:
    """Passes the attention of each layer on as soon as it has run, and holds one chunk of rows at a time.

    Parameters
    ----------
    observed : ObservedCalls
        Where each call belongs.
    streams : sequence of StreamPlan
        What the run holds.
    contents : sequence of {"probabilities", "logits"}
    sample : Sample
        Says which tokens are padding.
    write_rows : function of (stream, layer, number of the chunk, arrays by content)
        Each array is (head, query, key), with the queries of one of ``StreamPlan.row_chunks``.
    require_layer : function of (stream, queries, keys)
        Raises where a layer is not of the size planned.
    """

    def __init__(
        self,
        observed: ObservedCalls,
        streams: Sequence[StreamPlan],
        contents: Sequence[str],
        sample: Sample,
        write_rows: WriteRows,
        require_layer: RequireLayer,
    ) -> None:
        self._observed = observed
        self._streams = {stream.name: stream for stream in streams}
        self._contents = tuple(contents)
        self._sample = sample
        self._write_rows, self._require_layer = write_rows, require_layer
        self._calls: Counter[str] = Counter()
        self._masks: dict[str, PairRows] = {}

    def record(
        self, name: str, module: torch.nn.Module, call: AttentionCall, weights: torch.Tensor | None
    ) -> None:
        """Record one call."""
        del module
        if self._observed.is_left_out(name):
            return
        stream, layer = self._place(name, call)
        self._require_layer(stream, call.n_queries, call.n_keys)
        sizes = self._streams[stream]
        for number, rows in enumerate(sizes.row_chunks):
            if sizes.pool == 1:
                arrays, mask = self._plain_rows(stream, call, weights, rows)
            else:
                arrays, mask = self._pooled_rows(stream, call, weights, rows)
            self._masks.setdefault(stream, PairRows(sizes.n_keys)).add(rows.start, mask)
            self._write_rows(stream, layer, number, arrays)

    def mask_rows(self, stream: str) -> Iterator[tuple[int, BoolArray]]:
        """Number and valid (query, key) of each chunk of rows of a stream, the union over its layers."""
        for number, rows in enumerate(self._streams[stream].row_chunks):
            yield number, self._masks[stream].chunk(rows.start)

    def _plain_rows(
        self, stream: str, call: AttentionCall, weights: torch.Tensor | None, rows: slice
    ) -> tuple[dict[str, FloatArray], BoolArray]:
        """Attention of some queries by content, each (head, query, key), and which entries are valid."""
        mask = self._valid(stream, call, rows)
        n_heads, _, n_keys = call.layer_shape
        arrays: dict[str, FloatArray] = {
            content: np.empty((n_heads, rows.stop - rows.start, n_keys), dtype=np.float32)
            for content in self._contents
        }
        for heads, queries in call.blocks(rows):
            inside = slice(queries.start - rows.start, queries.stop - rows.start)
            logits = None
            if "logits" in arrays or weights is None:
                logits = call.logits(heads, queries)
            if "logits" in arrays and logits is not None:
                _fill(arrays["logits"], heads, inside, call.n_heads, logits)
            if "probabilities" in arrays:
                chunk = _weights(call, weights, logits, heads, queries)
                _fill(arrays["probabilities"], heads, inside, call.n_heads, chunk)
        if "probabilities" in arrays:
            # The model computes weights for padded queries, too; they mean nothing.
            arrays["probabilities"][:, ~mask.any(axis=1)] = 0.0
        return arrays, mask

    def _pooled_rows(
        self, stream: str, call: AttentionCall, weights: torch.Tensor | None, rows: slice
    ) -> tuple[dict[str, FloatArray], BoolArray]:
        """The same of blocks of tokens: their mean probabilities, and which have a valid entry."""
        sizes = self._streams[stream]
        sums = PooledRows(sizes, call.layer_shape[0], rows)
        blocks: list[BoolArray] = []
        is_token: list[BoolArray] = []
        # One row of blocks after the other, so that no mask of many tokens is held.
        for begin in range(sums.tokens.start, sums.tokens.stop, sizes.pool):
            tokens = slice(begin, min(begin + sizes.pool, sums.tokens.stop))
            mask = self._valid(stream, call, tokens)
            blocks.append(pooled_mask(mask, sizes.pool))
            is_token.append(np.logical_or.reduce(mask, axis=1))
            for heads, queries in call.blocks(tokens):
                chunk = _weights(call, weights, None, heads, queries)
                seen = is_token[-1][queries.start - begin : queries.stop - begin]
                for group, block in enumerate(chunk):
                    place = group * call.n_heads
                    sums.add(slice(place + heads.start, place + heads.stop), queries, block, seen)
        return {"probabilities": sums.means(np.concatenate(is_token))}, np.concatenate(blocks)

    def _valid(self, stream: str, call: AttentionCall, rows: slice) -> BoolArray:
        """Entries of some queries that are neither masked nor padding, shape (query, key)."""
        valid = call.valid(rows)
        mask: BoolArray = (valid[0] if call.n_groups == 1 else valid.any(dim=0)).cpu().numpy()
        return mask & self._token_mask(stream, call, rows) if call.is_whole else mask

    def require_complete(self) -> None:
        """Refuse a pass in which a layer did not run that ran in the first.

        Raises
        ------
        CaptureError
            If there is one.
        """
        n_calls = sum(self._calls.values())
        if n_calls < len(self._observed):
            raise CaptureError(
                "every sample must run through the same attention layers as the first; "
                f"{len(self._observed) - n_calls} of {len(self._observed)} calls did not take place. "
                "Capture samples of one kind at a time."
            )

    def _place(self, name: str, call: AttentionCall) -> tuple[str, int]:
        place = self._observed.place(name, self._calls[name])
        self._calls[name] += 1
        if place is None:
            raise CaptureError(
                "every sample must run through the same attention layers as the first; "
                f"layer {name} runs once more than there. Capture samples of one kind at a time."
            )
        n_heads, planned = call.layer_shape[0], self._streams[place[0]].n_heads
        if n_heads != planned:
            raise CaptureError(
                f"every sample must have as many heads as the first; layer {name} has {n_heads}, there "
                f"{planned}. Capture samples with equally many groups of tokens at a time."
            )
        return place

    def _token_mask(self, stream: str, call: AttentionCall, rows: slice) -> BoolArray:
        """Entries of some queries whose query and key are no padding, broadcastable to (query, key)."""
        sample = self._sample
        everything = np.ones((1, 1), dtype=bool)
        if len(self._streams) > 1 and not reads_tokens(stream):
            return everything
        decoder = sample.decoder_valid if sample.decoder_valid.size else None
        of_decoder = stream.split(".")[0] == "decoder"
        keys = decoder if of_decoder else sample.valid
        queries = decoder if of_decoder or stream.split(".")[0] == "cross" else sample.valid
        if keys is not None and keys.size == call.n_keys:
            everything = everything & keys[None, :]
        if queries is not None and queries.size == call.n_queries:
            everything = everything & queries[rows, None]
        return everything


def _weights(
    call: AttentionCall, weights: torch.Tensor | None, logits: torch.Tensor | None, heads: slice, rows: slice
) -> torch.Tensor:
    """Probabilities of some heads and queries: those that the layer gave, or else computed again."""
    if weights is not None:
        return weights[:, heads, rows]
    return call.probabilities(call.logits(heads, rows) if logits is None else logits, heads, rows)


def _fill(target: FloatArray, heads: slice, rows: slice, n_heads: int, chunk: torch.Tensor) -> None:
    """Write some heads and rows of each group into an array of the heads of all groups."""
    for group, block in enumerate(chunk):
        begin = group * n_heads
        target[begin + heads.start : begin + heads.stop, rows] = block.float().cpu().numpy()

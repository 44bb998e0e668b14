"""Writes the attention of one sample to the store, layer by layer, as the model computes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from haarbor.array_types import BoolArray, FloatArray
from haarbor.capturing._attention_call import AttentionCall
from haarbor.capturing._observed_calls import ObservedCalls
from haarbor.capturing._streams import reads_tokens
from haarbor.capturing.inputs import Sample
from haarbor.errors import CaptureError
from haarbor.store import StreamPlan

__all__ = ["SampleRecorder"]

WriteLayer = Callable[[str, int, Mapping[str, FloatArray]], None]


class SampleRecorder:
    """Passes the attention of each layer on as soon as it has run, and holds one layer at a time.

    Parameters
    ----------
    observed : ObservedCalls
        Where each call belongs.
    streams : sequence of StreamPlan
        What the run holds.
    contents : sequence of {"probabilities", "logits"}
    sample : Sample
        Says which tokens are padding.
    write_layer : function of (stream, layer, arrays by content, each (head, query, key))
    """

    def __init__(
        self,
        observed: ObservedCalls,
        streams: Sequence[StreamPlan],
        contents: Sequence[str],
        sample: Sample,
        write_layer: WriteLayer,
    ) -> None:
        self._observed = observed
        self._streams = {stream.name: stream for stream in streams}
        self._contents = tuple(contents)
        self._sample = sample
        self._write_layer = write_layer
        self._calls: Counter[str] = Counter()
        self.masks: dict[str, BoolArray] = {}
        """Valid (query, key) of each stream, the union over its layers."""

    def record(
        self, name: str, module: torch.nn.Module, call: AttentionCall, weights: torch.Tensor | None
    ) -> None:
        """Record one call."""
        del module
        if self._observed.is_left_out(name):
            return
        stream, layer = self._place(name, call)
        arrays: dict[str, FloatArray] = {
            content: np.empty(call.layer_shape, dtype=np.float32) for content in self._contents
        }
        for where in call.head_chunks():
            logits = None
            if "logits" in arrays or weights is None:
                logits = call.logits(where)
            if "logits" in arrays and logits is not None:
                _fill(arrays["logits"], where, call.n_heads, logits)
            if "probabilities" in arrays:
                chunk = weights[:, where] if weights is not None else None
                if chunk is None and logits is not None:
                    chunk = call.probabilities(logits, where)
                if chunk is not None:
                    _fill(arrays["probabilities"], where, call.n_heads, chunk)
        valid = call.valid()
        mask: BoolArray = (valid[0] if call.n_groups == 1 else valid.any(dim=0)).cpu().numpy()
        if call.is_whole:
            mask = mask & self._token_mask(stream, mask)
        if "probabilities" in arrays:
            # The model computes weights for padded queries, too; they mean nothing.
            arrays["probabilities"][:, ~mask.any(axis=1)] = 0.0
        self.masks[stream] = mask if stream not in self.masks else self.masks[stream] | mask
        self._write_layer(stream, layer, arrays)

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

    def _token_mask(self, stream: str, mask: BoolArray) -> BoolArray:
        """Entries whose query and key are no padding."""
        sample = self._sample
        n_queries, n_keys = mask.shape
        everything = np.ones((n_queries, n_keys), dtype=bool)
        if len(self._streams) > 1 and not reads_tokens(stream):
            return everything
        decoder = sample.decoder_valid if sample.decoder_valid.size else None
        of_decoder = stream.split(".")[0] == "decoder"
        keys = decoder if of_decoder else sample.valid
        queries = decoder if of_decoder or stream.split(".")[0] == "cross" else sample.valid
        if keys is not None and keys.size == n_keys:
            everything &= keys[None, :]
        if queries is not None and queries.size == n_queries:
            everything &= queries[:, None]
        return everything


def _fill(target: FloatArray, where: slice, n_heads: int, chunk: torch.Tensor) -> None:
    """Write some heads of every group, (group, head, query, key), into (head of a group, query, key)."""
    for group, block in enumerate(chunk):
        begin = group * n_heads
        target[begin + where.start : begin + where.stop] = block.float().cpu().numpy()

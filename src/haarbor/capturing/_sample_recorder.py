"""Writes the attention of one sample to the store, layer by layer, as the model computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from haarbor.array_types import BoolArray, FloatArray
from haarbor.capturing._attention_call import AttentionCall
from haarbor.capturing._streams import stream_of
from haarbor.capturing.inputs import Sample
from haarbor.errors import CaptureError

__all__ = ["ObservedLayers", "SampleRecorder"]

WriteLayer = Callable[[str, int, Mapping[str, FloatArray]], None]


class ObservedLayers:
    """Counts the layers of each stream as they run, and checks that they have one shape."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self.shapes: dict[str, tuple[int, int, int]] = {}
        """Heads, queries and keys of each stream, in order of appearance."""
        self.n_layers: dict[str, int] = {}
        self.head_groups: dict[str, int] = {}

    def next_layer(self, name: str, module: torch.nn.Module, call: AttentionCall) -> tuple[str, int]:
        """Stream and number of the layer that is running."""
        if call.query.shape[0] != 1:
            raise CaptureError(
                f"layer {name} attends within {call.query.shape[0]} groups of tokens at once, such as "
                "windows; Haarbor records layers that attend over the whole sample."
                " Choose a model without windows, or pass arrays of your own to haarbor.store.import_arrays."
            )
        stream = stream_of(name, module, self._model)
        shape = (call.n_heads, call.n_queries, call.n_keys)
        known = self.shapes.setdefault(stream, shape)
        if known != shape:
            raise CaptureError(
                "all layers of a stream must have the same heads, queries and keys; "
                f"layer {name} has {shape}, the first {stream!r} layer {known}. "
                "Capture a model without pooling between layers."
            )
        self.head_groups.setdefault(stream, call.head_group)
        layer = self.n_layers.get(stream, 0)
        self.n_layers[stream] = layer + 1
        return stream, layer

    def observe(
        self, name: str, module: torch.nn.Module, call: AttentionCall, _weights: torch.Tensor | None
    ) -> None:
        """Count a call without recording it."""
        self.next_layer(name, module, call)


class SampleRecorder:
    """Passes the attention of each layer on as soon as it has run, and holds one layer at a time.

    Parameters
    ----------
    model : torch.nn.Module
    contents : sequence of {"probabilities", "logits"}
    sample : Sample
        Says which tokens are padding.
    write_layer : function of (stream, layer, arrays by content, each (head, query, key))
    """

    def __init__(
        self,
        model: torch.nn.Module,
        contents: Sequence[str],
        sample: Sample,
        write_layer: WriteLayer,
    ) -> None:
        self._layers = ObservedLayers(model)
        self._contents = tuple(contents)
        self._sample = sample
        self._write_layer = write_layer
        self.masks: dict[str, BoolArray] = {}
        """Valid (query, key) of each stream, the union over its layers."""

    def record(
        self, name: str, module: torch.nn.Module, call: AttentionCall, weights: torch.Tensor | None
    ) -> None:
        """Record one call."""
        stream, layer = self._layers.next_layer(name, module, call)
        shape = (call.n_heads, call.n_queries, call.n_keys)
        arrays: dict[str, FloatArray] = {
            content: np.empty(shape, dtype=np.float32) for content in self._contents
        }
        for where in call.head_chunks():
            logits = None
            if "logits" in arrays or weights is None:
                logits = call.logits(where)
            if "logits" in arrays and logits is not None:
                arrays["logits"][where] = logits[0].float().cpu().numpy()
            if "probabilities" in arrays:
                chunk = weights[:, where] if weights is not None else None
                if chunk is None and logits is not None:
                    chunk = call.probabilities(logits, where)
                if chunk is not None:
                    arrays["probabilities"][where] = chunk[0].float().cpu().numpy()
        mask = call.valid()[0].cpu().numpy() & self._token_mask(stream, call.n_queries, call.n_keys)
        if "probabilities" in arrays:
            # The model computes weights for padded queries, too; they mean nothing.
            arrays["probabilities"][:, ~mask.any(axis=1)] = 0.0
        self.masks[stream] = mask if stream not in self.masks else self.masks[stream] | mask
        self._write_layer(stream, layer, arrays)

    def _token_mask(self, stream: str, n_queries: int, n_keys: int) -> BoolArray:
        sample = self._sample
        everything = np.ones((n_queries, n_keys), dtype=bool)
        keys = sample.decoder_valid if stream == "decoder" else sample.valid
        queries = sample.decoder_valid if stream in ("decoder", "cross") else sample.valid
        if keys is not None and keys.size == n_keys:
            everything &= keys[None, :]
        if queries is not None and queries.size == n_queries:
            everything &= queries[:, None]
        return everything

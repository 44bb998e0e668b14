"""Attention of a model on some batches, streamed into a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

import numpy as np
import torch

from haarbor.capturing.attention_call import OnCall
from haarbor.capturing.huggingface import Mode, recorded_attention
from haarbor.capturing.inputs import Sample
from haarbor.capturing.model_identity import config_digest, library_versions, model_name
from haarbor.capturing.sample_recorder import ObservedLayers, SampleRecorder
from haarbor.capturing.torch_modules import recorded_modules
from haarbor.errors import CaptureError, SettingError
from haarbor.store import Run, RunPlan, StreamPlan, create_run, open_run

__all__ = ["capture"]

Progress = Callable[[int, int | None], None]


def capture(
    model: torch.nn.Module,
    batches: Iterable[Any],
    location: str | os.PathLike[str],
    *,
    content: Sequence[Literal["probabilities", "logits"]] = ("probabilities",),
    mode: Mode = "faithful",
    dtype: Literal["float16", "float32"] = "float32",
    name: str | None = None,
    settings: Mapping[str, Any] | None = None,
    on_progress: Progress | None = None,
    on_plan: Callable[[RunPlan], None] | None = None,
) -> Run:
    """Record the attention of a model into a run store, one sample after another.

    The model computes what it would have computed; memory beyond its own holds one layer's
    attention. A call that was interrupted goes on where it stopped when it is made again.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode. A Hugging Face model whose attention goes through the attention interface, or
        any model built on ``nn.MultiheadAttention`` or ``scaled_dot_product_attention``.
    batches : iterable
        Samples, or dictionaries of model inputs, or tensors for the first argument of the model;
        with a batch axis of any size. Every element along it becomes a batch of the run: what the
        paper calls a batch is one collection of tokens.
    location : str or path
        Folder of the store, or a URL that zarr takes.
    content : sequence of {"probabilities", "logits"}
        Logits are scaled scores with any position bias, before the mask.
    mode : {"faithful", "transparent"}, default "faithful"
        For Hugging Face models: run with their eager attention and record what it computes, or run
        with SDPA, bit for bit, and compute the same beside it.
    dtype : {"float16", "float32"}, default "float32"
        How numbers are stored.
    name : str, optional
        Name of the model in the store.
    settings : mapping, optional
        JSON values to keep with the run, such as a seed or a description of the data.
    on_progress : function of (samples done, samples in all or None), optional
    on_plan : function of RunPlan, optional
        Told what the run will hold, and how large it will be, before anything is written.

    Returns
    -------
    Run

    Raises
    ------
    CaptureError
        If the model's attention cannot be recorded; the message names the layer.
    StoreError
        If the store cannot be written, or holds another run.
    """
    if mode not in ("faithful", "transparent"):
        raise SettingError(f"mode must be 'faithful' or 'transparent'; found {mode!r}.")
    if model.training:
        raise CaptureError("the model must be in eval mode, or dropout is recorded; call model.eval() first.")
    samples = _Samples(batches)
    first = samples.first()
    observed = _observed_layers(model, first, mode)
    plan = RunPlan(
        model=name or model_name(model),
        config_digest=config_digest(model),
        contents=tuple(content),
        dtype=dtype,
        streams=_stream_plans(observed),
        n_batches=samples.n_samples,
        labels=_label_kind(first),
        settings={"mode": mode if _is_huggingface(model) else "hooks", **dict(settings or {})},
        library_versions=library_versions(),
    )
    if on_plan is not None:
        on_plan(plan)
    with create_run(location, plan) as writer:
        done_before = set(writer.complete_batches)
        for index, sample in enumerate(samples):
            if index in done_before:
                continue
            with writer.batch(index) as batch:
                recorder = SampleRecorder(model, plan.contents, sample, batch.write_layer)
                with _recording(model, mode, recorder.record):
                    _forward(model, sample)
                for stream in plan.streams:
                    batch.write_mask(stream.name, recorder.masks[stream.name])
                    if plan.labels != "none":
                        batch.write_labels(stream.name, *_stream_labels(stream, sample))
                if sample.picture is not None:
                    batch.write_picture(sample.picture)
            if on_progress is not None:
                on_progress(index + 1, plan.n_batches)
    return open_run(location)


class _Samples:
    """Single samples out of batches of any size, the first one known in advance."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = batches
        if isinstance(batches, torch.Tensor | np.ndarray | Mapping | Sample):
            self._batches = [batches]
        self._iterator = iter(self._batches)
        try:
            self._head = list(_single_samples(next(self._iterator)))
        except StopIteration:
            raise CaptureError("there must be at least one batch to capture; found none.") from None

    def first(self) -> Sample:
        return self._head[0]

    @property
    def n_samples(self) -> int | None:
        """Number of samples, where every batch is seen to hold one or the batches can be counted."""
        if not isinstance(self._batches, Sequence):
            return None
        if all(isinstance(batch, Sample) for batch in (self._batches[0], self._batches[-1])):
            return len(self._batches)
        return sum(_n_rows(batch) for batch in self._batches)

    def __iter__(self) -> Iterator[Sample]:
        yield from self._head
        for batch in self._iterator:
            yield from _single_samples(batch)


def _n_rows(batch: Any) -> int:
    if isinstance(batch, Sample):
        return 1
    values = list(batch.values()) if isinstance(batch, Mapping) else [batch]
    return int(values[0].shape[0])


def _single_samples(batch: Any) -> Iterator[Sample]:
    if isinstance(batch, Sample):
        yield batch
        return
    inputs = dict(batch) if isinstance(batch, Mapping) else {"": batch}
    tensors = {key: torch.as_tensor(value) for key, value in inputs.items()}
    sizes = {key: int(value.shape[0]) for key, value in tensors.items() if value.dim() > 0}
    if not sizes or len(set(sizes.values())) != 1:
        raise CaptureError(f"the tensors of a batch must have one batch size; found {sizes}.")
    for row in range(next(iter(sizes.values()))):
        single = {key: value[row : row + 1] for key, value in tensors.items()}
        padding = single.get("attention_mask")
        valid = None if padding is None or padding.dim() != 2 else padding[0].bool().cpu().numpy()
        yield Sample(inputs=single, labels=(), valid=valid)


def _forward(model: torch.nn.Module, sample: Sample) -> None:
    weight = next(model.parameters(), torch.zeros(1))
    inputs = sample.inputs_on(weight.device, weight.dtype)
    with torch.no_grad():
        if "" in inputs and _is_huggingface(model):
            model(inputs[""], **_no_cache(model))
        elif "" in inputs:
            model(inputs[""])
        else:
            model(**inputs, **(_no_cache(model) if _is_huggingface(model) else {}))


def _no_cache(model: torch.nn.Module) -> dict[str, Any]:
    config: Any = getattr(model, "config", None)
    return {"use_cache": False} if getattr(config, "use_cache", None) is not None else {}


def _is_huggingface(model: torch.nn.Module) -> bool:
    return any(cls.__module__.startswith("transformers.") for cls in type(model).__mro__)


def _recording(model: torch.nn.Module, mode: Mode, on_call: OnCall) -> AbstractContextManager[None]:
    if _is_huggingface(model):
        return recorded_attention(model, mode, on_call)
    return recorded_modules(model, on_call)


def _observed_layers(model: torch.nn.Module, sample: Sample, mode: Mode) -> ObservedLayers:
    observed = ObservedLayers(model)
    with _recording(model, mode, observed.observe):
        _forward(model, sample)
    if observed.n_layers:
        return observed
    layer = next(
        (name for name, module in model.named_modules() if "attention" in type(module).__name__.lower()),
        None,
    )
    where = f"layer {layer} never calls" if layer else "no layer calls"
    means = (
        "the attention interface of transformers; this model computes its attention by itself"
        if _is_huggingface(model)
        else "nn.MultiheadAttention or scaled_dot_product_attention"
    )
    raise CaptureError(
        f"the attention of {type(model).__name__} cannot be recorded: {where} {means}. Save its weights "
        "(output_attentions=True) as arrays and import those instead."
    )


def _stream_plans(observed: ObservedLayers) -> tuple[StreamPlan, ...]:
    plans = []
    for stream, (n_heads, n_queries, n_keys) in observed.shapes.items():
        group = observed.head_groups[stream]
        groups = tuple(head // group for head in range(n_heads)) if group > 1 else None
        plans.append(
            StreamPlan(name=stream, n_layers=observed.n_layers[stream], n_heads=n_heads,
                       n_queries=n_queries, n_keys=n_keys, head_groups=groups)
        )  # fmt: skip
    return tuple(plans)


def _label_kind(sample: Sample) -> Literal["tokens", "patches", "none"]:
    if not sample.labels:
        return "none"
    seen = "pixel_values" in sample.inputs or sample.picture is not None
    return "patches" if seen else "tokens"


def _stream_labels(stream: StreamPlan, sample: Sample) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Labels of the queries and keys of a stream; positions where the sample names none."""
    own = sample.decoder_labels if stream.name in ("decoder", "cross") else sample.labels
    seen = sample.decoder_labels if stream.name == "decoder" else sample.key_labels or sample.labels
    queries = own if len(own) == stream.n_queries else tuple(map(str, range(stream.n_queries)))
    keys = seen if len(seen) == stream.n_keys else tuple(map(str, range(stream.n_keys)))
    return queries, keys

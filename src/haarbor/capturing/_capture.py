"""The attention of a model on some batches, recorded into a run store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Any, Literal

import torch

from haarbor.capturing._attention_interface import Mode
from haarbor.capturing._batch_samples import BatchSamples
from haarbor.capturing._compilation import uncompiled
from haarbor.capturing._continued_run import CONTENT, WEIGHTS, begun_run, continued_plan, continued_rows
from haarbor.capturing._deferred_interruption import deferred_interruption
from haarbor.capturing._equal_lengths import EqualLengths
from haarbor.capturing._huggingface import has_huggingface
from haarbor.capturing._model_forward import model_forward
from haarbor.capturing._model_identity import config_digest, library_versions, model_name
from haarbor.capturing._observed_calls import ObservedCalls
from haarbor.capturing._recorded_calls import recorded_calls
from haarbor.capturing._sample_recorder import SampleRecorder
from haarbor.capturing._stream_kinds import stream_kinds
from haarbor.capturing._streams import reads_tokens
from haarbor.capturing._weights_digest import require_values, weights_digest
from haarbor.capturing.inputs import Sample
from haarbor.errors import CaptureError, HaarborError, SettingError
from haarbor.on_progress import OnProgress
from haarbor.options import require_choice, require_whole_number
from haarbor.store import Run, RunPlan, StreamPlan, create_run, open_run

__all__ = ["capture"]


def capture(
    model: torch.nn.Module,
    batches: Iterable[Any],
    location: str | os.PathLike[str],
    *,
    content: Sequence[Literal["probabilities", "logits"]] = ("probabilities",),
    mode: Mode | Literal["auto"] = "auto",
    dtype: Literal["float16", "float32"] = "float32",
    pool: int = 1,
    keeps: Literal["tensors", "results"] = "tensors",
    leave_out: Sequence[str] = (),
    groups: Literal["refuse", "heads"] = "refuse",
    name: str | None = None,
    settings: Mapping[str, Any] | None = None,
    on_progress: OnProgress | None = None,
    on_plan: Callable[[RunPlan], None] | None = None,
    on_batch: Callable[[Run, int], None] | None = None,
) -> Run:
    """Record the attention of a model into a run store, one sample after another.

    The model computes what it would have computed without being recorded, and no more than some rows of one
    layer's attention are held in memory beside it. A capture that was interrupted continues where it stopped
    when the same call is made again.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode: of Hugging Face, of timm, or any other whose attention modules call a softmax,
        ``scaled_dot_product_attention`` or ``nn.MultiheadAttention``. What ``torch.compile`` made runs
        without compilation.
    batches : iterable
        Samples, or dictionaries of model inputs, or tensors for the first argument of the model, or
        pairs of inputs and labels, as a ``DataLoader`` gives them, whose labels are left out; with a
        batch axis of any size. Every element along it becomes a batch of the run: what the paper
        calls a batch is one sequence of tokens. Where samples can be indexed, as those of
        :mod:`haarbor.capturing.inputs` can, a capture that continues makes only the missing ones.
    location : str or path
        Folder of the store, or a URL that zarr takes.
    content : sequence of {"probabilities", "logits"}
        Logits are scaled scores with any position bias, before the mask.
    mode : {"auto", "faithful", "transparent"}, default "auto"
        For Hugging Face models. "faithful" runs their eager attention, which holds a whole layer's, and
        records what it computes; "transparent" runs SDPA, so that the output stays the same to the last bit,
        and computes the attention a second time to record it, some rows at a time: the one for long
        contexts. "auto" is "faithful", and with `pool` "transparent".
    dtype : {"float16", "float32"}, default "float32"
        How numbers are stored. float16 takes half the space and keeps about three decimal digits.
    pool : int, default 1
        Where it is more than 1, means over blocks of `pool` x `pool` neighbouring tokens are stored. Masked
        entries are probabilities of 0 and count as such, queries of padding are left out; so the rows of
        means, weighted by the number of keys in each block, still sum to one. The last block may have fewer
        tokens. Labels of the tokens become ranges of their positions. Not for logits.
    keeps : {"tensors", "results"}, default "tensors"
        "results" writes no attention: each batch is in memory while `on_batch` looks at it, and then gone.
        :func:`haarbor.analyze` makes such runs.
    leave_out : sequence of str
        Names of layers whose attention is not recorded, or patterns of them such as ``"*.head.attention"``.
        Attention that cannot be recorded and is not named here is refused.
    groups : {"refuse", "heads"}, default "refuse"
        What to do with layers that attend within groups of tokens apart from each other, such as windows,
        tiles or frames, which they keep where other layers keep samples. "heads" records the heads of each
        group as heads of their own, group by group, over the queries and keys of one group.
    name : str, optional
        Name of the model in the store.
    settings : mapping, optional
        JSON values to keep with the run, such as a seed or a description of the data.
    on_progress : function of (step, done, total), optional
        Told after every sample, with the step "capturing"; the total is None where it is not known.
    on_plan : function of RunPlan, optional
        Told what the run will hold, and how large it will be, before anything is written.
    on_batch : function of (Run, int), optional
        Called with the run and the number of each batch that has become complete.

    Returns
    -------
    Run

    Raises
    ------
    CaptureError
        If the model's attention cannot be recorded; the message names the layer.
    StoreError
        If the store cannot be written, or holds another run.

    See Also
    --------
    haarbor.load_model : A model by name or folder.
    haarbor.organize_run : Organise and score every batch of a run.
    haarbor.analyze : Capture, organise and score without keeping the attention.
    haarbor.import_arrays : A run from arrays.
    """
    model = uncompiled(model)
    pool = require_whole_number("pool", pool, 1)
    _require_options(model, content, mode, dtype, name, settings, on_progress, on_plan, on_batch)
    if mode == "auto":
        mode = "faithful" if pool == 1 else "transparent"
    require_choice("keeps", keeps, ("tensors", "results"))
    if pool > 1 and "logits" in content:
        raise SettingError(
            "pool must go without logits; the softmax of their means is not the mean of the attention, and "
            "those above the diagonal are seen by no query. Capture probabilities, or pool=1."
        )
    leave_out = _checked_patterns(leave_out)
    require_choice("groups", groups, ("refuse", "heads"))
    require_values(model)
    begun = begun_run(location)
    samples = BatchSamples(batches, model)
    complete = frozenset() if begun is None else frozenset(begun.batches)
    if complete:
        samples.require_lasting_order()
    missing = samples.missing(complete)
    # One sample is run before anything is written, to see the layers: a missing one if there is any.
    trial = next(missing, None)
    sample = samples.first() if trial is None else trial[1]
    observed = ObservedCalls(model, leave_out, groups_as_heads=groups == "heads", pool=pool)
    _observe(observed, model, sample, mode)
    streams = observed.streams if begun is None else continued_rows(observed.streams, begun.plan)
    weights, content_digest = weights_digest(model), samples.content_digest
    plan = RunPlan(
        model=name or model_name(model),
        config_digest=config_digest(model, weights),
        contents=tuple(content),
        dtype=dtype,
        streams=streams,
        n_batches=samples.n_samples,
        # A block of tokens is known by their positions.
        labels=_label_kind(sample) if pool == 1 else "none",
        keeps=keeps,
        settings={
            "mode": mode if has_huggingface(model) else "hooks",
            **({"leave_out": list(leave_out)} if leave_out else {}),
            **({"groups": groups} if groups != "refuse" else {}),
            **samples.settings,
            **dict(settings or {}),
            WEIGHTS: weights,
            **({CONTENT: content_digest} if content_digest else {}),
        },
        library_versions=library_versions(model),
    )
    if on_plan is not None:
        on_plan(plan)
    if begun is not None:
        plan = continued_plan(begun.plan, plan, begun.location)
    lengths = EqualLengths(plan.streams)
    with create_run(location, plan) as writer:
        done = frozenset(writer.complete_batches)
        for index, sample in chain(() if trial is None else (trial,), missing):
            # Another process may have gone on with the run before this one got to write.
            if index in done:
                continue
            with ExitStack() as end, writer.batch(index) as batch:
                lengths.require(index, sample)
                recorder = SampleRecorder(
                    observed,
                    plan.streams,
                    plan.contents,
                    sample,
                    batch.write_rows,
                    partial(lengths.require_layer, index),
                )
                with recorded_calls(
                    model, recorder.record, mode=mode, from_softmax=observed.from_softmax
                ):  # fmt: skip
                    output = _forward(model, sample, mode)
                recorder.require_complete()
                for stream in plan.streams:
                    for number, rows in recorder.mask_rows(stream.name):
                        batch.write_mask_rows(stream.name, number, rows)
                    if plan.labels != "none":
                        batch.write_labels(stream.name, *_stream_labels(stream, sample, len(plan.streams)))
                    kinds = stream_kinds(stream, sample, len(plan.streams))
                    if any(kinds):
                        batch.write_kinds(stream.name, *kinds)
                if sample.picture is not None and pool == 1:
                    batch.write_picture(sample.picture)
                # A batch is either complete or absent: it is not interrupted while it becomes complete.
                end.enter_context(deferred_interruption())
            samples.take_output(index, output)
            if on_batch is not None:
                on_batch(writer.run, index)
            writer.let_go(index)
            if on_progress is not None:
                on_progress("capturing", index + 1, plan.n_batches)
    return open_run(location)


def _require_options(
    model: Any, content: Any, mode: Any, dtype: Any, name: Any, settings: Any, *functions: Any
) -> None:
    if not isinstance(model, torch.nn.Module):
        inner = isinstance(getattr(model, "model", None), torch.nn.Module)
        raise CaptureError(
            f"the model must be a torch.nn.Module; found {type(model).__name__}. "
            + ("Pass its .model." if inner else "Load one with haarbor.capturing.load_model(name).model.")
        )
    if model.training:
        raise CaptureError("the model must be in eval mode, or dropout is recorded. Call model.eval() first.")
    if (
        isinstance(content, str)
        or not isinstance(content, Sequence)
        or not content
        or any(part not in ("probabilities", "logits") for part in content)
    ):
        raise SettingError(
            "content must be a sequence of 'probabilities' and 'logits'; "
            f"found {content!r:.60}. Write content=('probabilities',) or content=('probabilities', 'logits')."
        )
    for what, value, offered in (
        ("mode", mode, ("auto", "faithful", "transparent")),
        ("dtype", dtype, ("float16", "float32")),
    ):
        if not isinstance(value, str) or value not in offered:
            raise SettingError(
                f"{what} must be {' or '.join(map(repr, offered))}; found {value!r:.60}. Write one of them, "
                "as text."
            )
    if name is not None and not isinstance(name, str):
        raise SettingError(
            f"name must be the model's name, as text; found {name!r:.60}. Leave it out to name the model by "
            "where it came from."
        )
    if settings is not None and not isinstance(settings, Mapping):
        raise SettingError(
            f"settings must be a mapping of names to JSON values; found {settings!r:.60}."
            " Pass a dict, or leave it out."
        )
    for function in functions:
        if function is not None and not callable(function):
            raise SettingError(
                f"on_progress, on_plan and on_batch must be functions; found {function!r:.60}."
                " Pass functions, or leave them out."
            )


def _forward(model: torch.nn.Module, sample: Sample, mode: Mode) -> Any:
    try:
        with torch.no_grad():
            return model_forward(model, sample.inputs)
    except HaarborError:
        raise
    # With the wrong inputs, or too little memory, a model may fail at any line and with any error.
    except Exception as error:
        shapes = ", ".join(
            f"{name or 'inputs'} {tuple(value.shape) if hasattr(value, 'shape') else type(value).__name__}"
            for name, value in sample.inputs.items()
            if value is not None
        )
        reason = " ".join(str(error).split())[:200].rstrip(". ") or "no reason given"
        out_of_memory = isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate memory" in reason
        raise CaptureError(
            f"the model must run on its inputs; {type(model).__name__} fails on {shapes} with "
            f"{type(error).__name__}: {reason}. " + _remedy(model, out_of_memory, mode)
        ) from error


def _remedy(model: torch.nn.Module, out_of_memory: bool, mode: Mode) -> str:
    if out_of_memory and mode == "faithful" and has_huggingface(model):
        return (
            "Pass mode='transparent' (--mode transparent), which never holds the attention of a layer, or "
            "take fewer tokens, or another device."
        )
    if out_of_memory:
        return "Take fewer tokens, or another device."
    if any(weight.is_meta for weight in model.parameters()):
        return "Some of its weights are offloaded: load the model whole, with device_map=None."
    return "Check what its forward takes."


def _observe(observed: ObservedCalls, model: torch.nn.Module, sample: Sample, mode: Mode) -> None:
    with recorded_calls(model, observed.on_call, mode=mode, on_missed=observed.on_missed, checked=True):
        _forward(model, sample, mode)
    if not observed.computes_attention:
        raise CaptureError(_without_attention(model))
    ids = sample.inputs.get("input_ids")
    observed.settle(int(ids.shape[1]) if isinstance(ids, torch.Tensor) and ids.dim() == 2 else None)


def _without_attention(model: torch.nn.Module) -> str:
    layer = next(
        (name for name, module in model.named_modules() if "attention" in type(module).__name__.lower()),
        None,
    )
    who = type(model).__name__
    arrays = "haarbor.import_arrays(weights, location, axes=('head', 'query', 'key'))"
    if layer is not None:
        return (
            f"the attention of {who} cannot be recorded: layer {layer} calls no softmax over keys, nor SDPA "
            f"or nn.MultiheadAttention. Give weights that you computed to {arrays}."
        )
    if has_huggingface(model):
        return (
            f"a model must have attention to be captured; {who} has none. It mixes tokens in another way, as "
            "Mamba does: choose a transformer, or a model with attention in some of its layers."
        )
    return (
        f"a model must have attention to be captured; no part of {who} calls nn.MultiheadAttention, SDPA, "
        "or a softmax in a module whose class is called attention. Where it multiplies queries by keys, as "
        "with torch.einsum, write two lines instead: q, k, v = (x.transpose(1, 2) for x in (q, k, v)), if "
        "they are (batch, token, head, width), and mixed = torch.nn.functional.scaled_dot_product_attention("
        f"q, k, v, attn_mask=mask). Or give weights that you computed to {arrays}."
    )


def _checked_patterns(leave_out: Any) -> tuple[str, ...]:
    if (
        isinstance(leave_out, str)
        or not isinstance(leave_out, Sequence)
        or not all(isinstance(pattern, str) for pattern in leave_out)
    ):
        raise SettingError(
            f"leave_out must be a sequence of names of layers; found {leave_out!r:.60}. "
            "Write leave_out=['*.head.attention']."
        )
    return tuple(leave_out)


def _label_kind(sample: Sample) -> Literal["tokens", "patches", "none"]:
    if not sample.labels:
        return "none"
    seen = "input_ids" not in sample.inputs and (
        "pixel_values" in sample.inputs or sample.picture is not None
    )
    return "patches" if seen else "tokens"


def _stream_labels(stream: StreamPlan, sample: Sample, n_streams: int) -> tuple[tuple[str, ...], ...]:
    """Labels of the queries and keys of a stream; positions where the sample names none."""
    kind = stream.name.split(".")[0]
    own = sample.decoder_labels if kind in ("decoder", "cross") else sample.labels
    seen = sample.decoder_labels if kind == "decoder" else sample.key_labels or sample.labels
    if n_streams > 1 and not reads_tokens(stream.name) and "input_ids" in sample.inputs:
        own = seen = ()
    queries = own if len(own) == stream.n_queries else tuple(map(str, range(stream.n_queries)))
    keys = seen if len(seen) == stream.n_keys else tuple(map(str, range(stream.n_keys)))
    return queries, keys

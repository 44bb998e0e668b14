"""A model type captured in a mode, beside what the same model computes when nobody records it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import transformers

from haarbor.capturing import Sample, capture
from tests.coverage.model_type import ModelType
from tests.coverage.table import MODEL_TYPES
from tests.coverage.truth import Seen, observed

__all__ = ["Captured", "CapturedStream", "batch", "captured", "implementation", "tensors", "undisturbed"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class CapturedStream:
    """What a run holds of one stream; layers one after another along the heads."""

    n_layers: int
    probabilities: Array
    """Shape (layer, head, query, key)."""
    logits: Array
    mask: Array
    """Shape (query, key)."""


@dataclass(frozen=True)
class Captured:
    """What was recorded, and what the model gave meanwhile."""

    streams: dict[str, CapturedStream]
    outputs: list[list[torch.Tensor]]
    """Of every forward pass during the capture."""


def implementation(kind: ModelType, mode: str) -> str:
    """How the model computes its attention in a mode when nobody records it."""
    supported = getattr(transformers, kind.model)._supports_sdpa
    return "sdpa" if supported and (mode == "transparent" or kind.fixed) else "eager"


@cache
def undisturbed(name: str, mode: str) -> tuple[list[Seen], list[torch.Tensor]]:
    """The attention that a model computes by itself, by an independent observer, and its output."""
    kind = MODEL_TYPES[name]
    model = kind.build(implementation(kind, mode))
    with torch.no_grad():
        output = list(tensors(model(**kind.batch())))
        with observed(model) as seen:
            model(**kind.batch())
    return [one for one in seen if not kind.is_left_out(one.name)], output


def batch(kind: ModelType) -> Any:
    """The input as `capture` takes it; tensors that have not one row per sample are one sample together."""
    inputs = kind.batch()
    one_row = all(value.shape[0] == 1 for value in inputs.values())
    return inputs if one_row else Sample(inputs=inputs, labels=(), valid=None)


@cache
def captured(name: str, mode: str) -> Captured:
    """A model type captured with the options it needs. The model starts out as its users build it."""
    kind = MODEL_TYPES[name]
    model = kind.build(implementation(kind, "transparent"))
    outputs: list[list[torch.Tensor]] = []
    model.register_forward_hook(lambda _module, _args, output: outputs.append(list(tensors(output))))
    with tempfile.TemporaryDirectory() as folder:
        run = capture(
            model, [batch(kind)], Path(folder) / "run", mode=mode, content=("probabilities", "logits"),
            **kind.options,
        )  # fmt: skip
        streams = {
            plan.name: CapturedStream(
                n_layers=plan.n_layers,
                probabilities=_by_layer(run.tensor(0, "probabilities", plan.name), plan.n_layers),
                logits=_by_layer(run.tensor(0, "logits", plan.name), plan.n_layers),
                mask=np.asarray(run.mask(0, plan.name)),
            )
            for plan in run.plan.streams
        }
    return Captured(streams=streams, outputs=outputs)


def tensors(output: Any) -> Iterator[torch.Tensor]:
    """Every tensor of floats in what a model returned."""
    if isinstance(output, torch.Tensor):
        if output.is_floating_point():
            yield output
    elif isinstance(output, Mapping):
        for value in output.values():
            yield from tensors(value)
    elif isinstance(output, list | tuple):
        for value in output:
            yield from tensors(value)


def _by_layer(tensor: Any, n_layers: int) -> Array:
    found = np.asarray(tensor)
    n_queries, n_keys, n_heads = found.shape
    return found.transpose(2, 0, 1).reshape(n_layers, n_heads // n_layers, n_queries, n_keys)

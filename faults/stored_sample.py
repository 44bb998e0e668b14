"""A small run with everything a run can hold, and a reading of all of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import haarbor as hb
from faults.answers import as_parts
from haarbor.store import (
    Run,
    RunPlan,
    StreamPlan,
    create_run,
    open_run,
)

__all__ = ["STREAM", "everything_in", "sample_plan", "without_waiting", "write_sample"]

STREAM = StreamPlan(name="decoder", n_layers=2, n_heads=2, n_queries=3, n_keys=4, head_groups=(0, 0))


def without_waiting() -> None:
    """Leave out the wait for the disk: what a killed process wrote, the system still has."""
    os.fsync = lambda descriptor: None


def sample_plan(n_batches: int = 2) -> RunPlan:
    """Both contents, labels, grouped heads, settings."""
    return RunPlan(
        model="sample",
        config_digest="sha256:0",
        streams=(STREAM,),
        n_batches=n_batches,
        contents=("probabilities", "logits"),
        labels="tokens",
        settings={"seed": 7, "mode": "faithful"},
        library_versions={"numpy": "2"},
    )


def write_sample(place: Path, n_batches: int = 2) -> Path:
    """Write the run, organise its first batch, keep a result of all batches."""
    mask = np.tri(3, 4, 1, dtype=bool)
    with create_run(place, sample_plan(n_batches)) as writer:
        for index in writer.missing_batches:
            rng = np.random.default_rng([index, 5])
            with writer.batch(index) as batch:
                batch.write_mask(None, mask)
                batch.write_labels(None, [f"q{index}{i}" for i in range(3)], [f"k{i}é" for i in range(4)])
                batch.write_picture(rng.integers(0, 256, (3, 4, 3), dtype=np.uint8))
                for layer in range(STREAM.n_layers):
                    logits = rng.normal(size=STREAM.layer_shape)
                    weights = np.where(mask, np.exp(logits), 0.0)
                    shares = weights / weights.sum(axis=-1, keepdims=True)
                    batch.write_layer(None, layer, {"probabilities": shares, "logits": logits})
    run = open_run(place)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        organization = hb.organize(np.asarray(run.tensor(0)), mask=run.mask(0), n_iterations=1)
    run.save_result(organization, "organization", batch=0)
    run.save_result({"scores": np.arange(3.0), "note": "made of all batches"}, "scores")
    return place


def everything_in(run: Run, only: Sequence[str] = ()) -> dict[str, Any]:
    """Every value of a run under a name of its own; what cannot be read is the error that said so.

    Values are bytes or texts, so that two readings can be compared by ``==``.

    Parameters
    ----------
    run : Run
    only : sequence of str, optional
        First words of the names to read; all of them if not given.
    """
    readings: dict[str, Callable[[], Any]] = {
        "plan": lambda: run.plan.to_dict(),
        "model": lambda: run.model,
        "batches": lambda: run.batches,
        "organization": lambda: run.load_result("organization", batch=0),
        "scores": lambda: run.load_result("scores"),
    }
    for index in range(run.plan.n_batches or 0):
        for content in run.plan.contents:
            readings[f"{content} {index}"] = partial(_attention, run, index, content)
        readings[f"mask {index}"] = partial(run.mask, index)
        readings[f"labels {index}"] = partial(run.labels, index)
        readings[f"picture {index}"] = partial(run.picture, index)
    found: dict[str, Any] = {}
    for name, reading in readings.items():
        if only and name.split()[0] not in only:
            continue
        try:
            found[name] = _comparable(reading())
        except hb.HaarborError as error:
            found[name] = error
    return found


def _attention(run: Run, batch: int, content: str) -> Any:
    return np.asarray(run.tensor(batch, content))


def _comparable(value: Any) -> Any:
    parts = []
    for name, part in as_parts(value):
        if isinstance(part, np.ndarray):
            parts.append((name, part.shape, str(part.dtype), part.tobytes()))
        elif isinstance(part, hb.PartitionTree):
            parts.append((name, part.levels.tobytes()))
        else:
            parts.append((name, repr(part)))
    return parts

"""A run that was begun before: what it holds, and whether a capture may continue it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haarbor.capturing.inputs import TARGET
from haarbor.errors import StoreError
from haarbor.named_path import require_run_place
from haarbor.store import Run, RunPlan, StreamPlan, is_passing, open_run

if TYPE_CHECKING:
    from zarr.abc.store import Store

__all__ = ["CONTENT", "KEYWORDS", "WEIGHTS", "begun_run", "continued_plan", "continued_rows"]

WEIGHTS = "weights"
"""Setting of a run with the digest of the weights alone, which tells why two models differ."""

CONTENT = "data_content"
"""Setting of a run with the digest of what its samples are made of, where that is known."""

# The command is kept for whoever wants to make the run again; each of its options is checked by itself.
# What the decoder reads is kept to be told; where it is a text of its own, the data say it, too.
_NOT_CHECKED = ("command", TARGET)

KEYWORDS: Mapping[str, str] = {
    "model": "the model {}",
    "configuration": "the configuration {}",
    "heads": "attention of {}",
    "keeps": "{}",
    "pool": "pool={}",
    "tokens": "{} tokens per batch",
    "keys": "{} keys per batch",
    "batches": "{} batches",
    "contents": "content={}",
    "dtype": "dtype={!r}",
    "labels": "labels of {}",
    "data": "data that are {!r}",
    CONTENT: "data whose content is {!s:.19}",
    "place": "another location",
}
"""How messages to users of the Python functions name what a run was begun with."""


def begun_run(location: str | os.PathLike[str] | Store) -> Run | None:
    """Run that is at a place already; None where there is nothing yet.

    Parameters
    ----------
    location : str, path or zarr.abc.store.Store

    Returns
    -------
    Run or None

    Raises
    ------
    StoreError
        If something else lies there, or it cannot be read.
    """
    if isinstance(location, str) and "://" in location:
        return _run_elsewhere(location)
    from zarr.abc.store import Store as AnyStore

    if isinstance(location, AnyStore):
        return _run_elsewhere(location)
    require_run_place(location)
    path = Path(location)
    # A writer that was stopped before it had written anything whole leaves its lock behind, or a part.
    if not path.exists() or all(is_passing(file.name) for file in path.iterdir()):
        return None
    return open_run(location)


def _run_elsewhere(location: str | Store) -> Run | None:
    try:
        return open_run(location)
    # Nothing is there yet. Anything else that is wrong with the place shows when it is written to.
    except StoreError:
        return None


def continued_rows(streams: tuple[StreamPlan, ...], there: RunPlan) -> tuple[StreamPlan, ...]:
    """The streams of a capture, with the chunks of rows that the run was begun with.

    Parameters
    ----------
    streams : tuple of StreamPlan
    there : RunPlan
        Of the run, which may have been begun when large layers were one chunk.

    Returns
    -------
    tuple of StreamPlan
    """
    begun = {stream.name: stream for stream in there.streams}
    return tuple(
        dataclasses.replace(stream, rows_per_chunk=begun[stream.name].rows_per_chunk)
        if stream.name in begun and begun[stream.name].layer_shape == stream.layer_shape
        else stream
        for stream in streams
    )


def continued_plan(there: RunPlan, here: RunPlan, place: str, words: Mapping[str, str] = KEYWORDS) -> RunPlan:
    """The plan with which a run is continued, which is the one it was begun with.

    Parameters
    ----------
    there, here : RunPlan
        Of the run, and of what is to be captured now.
    place : str
        Where the run lies, for the message.
    words : mapping of str to str
        How the message names what differs, as in `KEYWORDS`; other settings are called by their names.

    Returns
    -------
    RunPlan

    Raises
    ------
    StoreError
        If they differ in anything that shows in the run; the message names what the user can change.
    """
    kept = {name: there.settings[name] for name in _NOT_CHECKED if name in there.settings}
    own = {name: value for name, value in here.settings.items() if name not in _NOT_CHECKED}
    plan = dataclasses.replace(here, settings={**own, **kept})
    for name, was, now in _differences(there, plan):
        if name == "weights":
            raise StoreError(
                f"a run is continued with the weights it was begun with; the weights of {here.model} differ: "
                f"{was} in {place}, {now} here. Use the same checkpoint, or choose {words['place']}."
            )
        pattern = words.get(name, "{name} {!r}")
        before, found = (pattern.format(value, name=name) for value in (was, now))
        raise StoreError(
            f"a run is continued as it was begun; {place} was begun with {before}, and this is with {found}. "
            f"Use the same, or choose {words['place']}."
        )
    difference = there.first_difference(plan)
    if difference is not None:
        raise StoreError(
            f"a run is continued as it was begun; at {place} {difference}. Use the same settings, or choose "
            f"{words['place']}."
        )
    return plan


def _differences(there: RunPlan, here: RunPlan) -> Iterator[tuple[str, Any, Any]]:
    """What differs, as the user thinks of it: first the model, then the samples, then the rest."""

    def pair(name: str, was: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
        if was != now:
            yield name, was, now

    yield from pair("model", there.model, here.model)
    weights = [plan.settings.get(WEIGHTS) for plan in (there, here)]
    yield from pair("weights", *(str(digest)[:19] for digest in weights))
    yield from pair("configuration", there.config_digest[:19], here.config_digest[:19])
    yield from pair("heads", _heads(there), _heads(here))
    keeping = {"tensors": "its attention kept", "results": "its results kept, not its attention"}
    yield from pair("keeps", keeping[there.keeps], keeping[here.keeps])
    for one, other in zip(there.streams, here.streams, strict=True):
        yield from pair("pool", one.pool, other.pool)
        yield from pair("tokens", one.n_tokens[0], other.n_tokens[0])
        yield from pair("keys", one.n_tokens[1], other.n_tokens[1])
    yield from pair("batches", _count(there.n_batches), _count(here.n_batches))
    for name in ("contents", "dtype", "labels"):
        yield from pair(name, getattr(there, name), getattr(here, name))
    for name in {**there.settings, **here.settings}:
        yield from pair(name, there.settings.get(name), here.settings.get(name))
    for name in {**there.library_versions, **here.library_versions}:
        yield from pair(name, there.library_versions.get(name), here.library_versions.get(name))


def _heads(plan: RunPlan) -> str:
    streams = (
        f"{stream.n_layers} layers x {stream.n_heads} heads"
        + (f" ({stream.name})" if len(plan.streams) > 1 else "")
        + _key_value_heads(stream)
        for stream in plan.streams
    )
    return ", ".join(streams)


def _key_value_heads(stream: StreamPlan) -> str:
    groups = [stream.groups_of_layer(layer) for layer in range(stream.n_layers)]
    counts = sorted({len(set(layer)) for layer in groups if layer is not None})
    return f", {' or '.join(map(str, counts))} key-value heads" if counts else ""


def _count(n_batches: int | None) -> str:
    return "an unknown number of" if n_batches is None else str(n_batches)

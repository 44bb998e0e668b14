"""A run that was begun before: what it holds, and whether the same capture may go on with it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from haarbor.errors import StoreError
from haarbor.store import Run, RunPlan, open_run
from haarbor.store.keys import keys_at
from haarbor.store.run_document import stored_plan

if TYPE_CHECKING:
    from zarr.abc.store import Store

__all__ = ["KEYWORDS", "WEIGHTS", "begun_run", "continued_plan", "require_place"]

WEIGHTS = "weights"
"""Setting of a run with the digest of the weights alone, which tells why two models differ."""

# Kept with a run for whoever wants to make it again; everything in it is also checked by itself.
_NOT_CHECKED = ("command",)

KEYWORDS: Mapping[str, str] = {
    "model": "the model {}",
    "weights": "the weights {}",
    "configuration": "the configuration {}",
    "heads": "attention of {}",
    "tokens": "{} tokens a batch",
    "keys": "{} keys a batch",
    "batches": "{} batches",
    "contents": "content={}",
    "dtype": "dtype={!r}",
    "labels": "labels of {}",
    "data": "data that are {!r}",
    "place": "another location",
}
"""How the functions of Haarbor call what a run was begun with."""


def require_place(location: Any) -> None:
    """Refuse what can be no place of a run, before anything slow begins.

    Parameters
    ----------
    location : str, path or zarr.abc.store.Store

    Raises
    ------
    StoreError
        If it is nothing of the kind, or something else than a run is there.
    """
    from zarr.abc.store import Store as AnyStore

    if isinstance(location, AnyStore):
        return
    if not isinstance(location, str | os.PathLike):
        raise StoreError(
            f"the location of a run must be a path or a URL; found {location!r:.60}. Give a folder, such as "
            "'run.zarr'."
        )
    text = os.fspath(location)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise StoreError(
            f"the location of a run must be a path or a URL; found {text!r:.60}. Give a folder, such as "
            "'run.zarr'."
        )


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
    require_place(location)
    try:
        there = stored_plan(keys_at(location, read_only=False))
        return None if there is None else open_run(location)
    except StoreError:
        raise
    # A name too long, a folder that may not be looked into, characters no file system takes.
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise StoreError(
            f"the location of a run must be a folder that can be read and written; {str(location)[:80]!r} "
            f"cannot: {reason}. Choose another place."
        ) from error


def continued_plan(there: RunPlan, here: RunPlan, place: str, words: Mapping[str, str] = KEYWORDS) -> RunPlan:
    """Plan with which a run goes on: the one it was begun with.

    Parameters
    ----------
    there, here : RunPlan
        Of the run, and of what is to be captured now.
    place : str
        Where the run lies, for the message.
    words : mapping of str to str
        How the user calls what differs, as `KEYWORDS` does; settings that are not in it by their names.

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
        pattern = words.get(name, "{name} {!r}")
        before, found = pattern.format(was, name=name), pattern.format(now, name=name)
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
    for one, other in zip(there.streams, here.streams, strict=True):
        yield from pair("tokens", one.n_queries, other.n_queries)
        yield from pair("keys", one.n_keys, other.n_keys)
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
        + ("" if stream.head_groups is None else f", {len(set(stream.head_groups))} key-value heads")
        for stream in plan.streams
    )
    return ", ".join(streams)


def _count(n_batches: int | None) -> str:
    return "an unknown number of" if n_batches is None else str(n_batches)

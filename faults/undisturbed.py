"""Whether a command that was disturbed left what the undisturbed one leaves."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from faults.haarbor_command import ended_command
from faults.stored_sample import without_waiting
from faults.templates import COMMANDS, OUTPUT, files_below, template
from haarbor.store import open_run

__all__ = ["same_as_undisturbed"]

# The last bits of what a network computes are torch's: they may differ from one process to the next.
_ROUNDING = 8 * float(np.finfo(np.float32).eps)


def same_as_undisturbed(name: str, here: Path) -> str | None:
    """What differs from the output of the undisturbed command; None if nothing does.

    Files are compared byte by byte, except the attention itself, which may differ by rounding, and the
    digests of it in the markers of the batches. Results are then compared with those of an undisturbed
    command on the very same attention.
    """
    if name == "prune":
        # Its results hold times, which differ; the checkpoint was looked at.
        return None
    found, expected = (files_below(folder / OUTPUT[name]) for folder in (here, template(name)))
    other = _other(found, expected)
    rounded = [key for key in other if _is_attention(key)]
    if rounded:
        fault = _attention_fault(here / OUTPUT[name], template(name) / OUTPUT[name])
        if fault is not None:
            return fault
        if name != "capture":
            expected = _expected_from_same_attention(name, here)
        other = [key for key in _other(found, expected) if not _is_attention(key)]
    if not other:
        return None
    state = "is there" if other[0] not in expected else "is missing" if other[0] not in found else "differs"
    return f"{len(other)} files are not those of an undisturbed command: {other[0]} {state}"


def _other(found: Mapping[str, bytes], expected: Mapping[str, bytes]) -> list[str]:
    return sorted(key for key in {*found, *expected} if found.get(key) != expected.get(key))


def _is_attention(key: str) -> bool:
    """Whether a file of a run holds attention, or the digests of the attention of one batch."""
    parts = key.split("/")
    chunk = len(parts) == 3 and parts[1] in ("probabilities", "logits") and parts[2].startswith("c.")
    return chunk or (len(parts) == 3 and parts[0] == "batches" and parts[2] == "zarr.json")


def _attention_fault(path: Path, expected: Path) -> str | None:
    one, other = open_run(path), open_run(expected)
    if one.batches != other.batches or one.streams != other.streams:
        return "the run does not hold the batches and streams of an undisturbed command"
    for stream in other.streams:
        for batch in other.batches:
            for content in other.contents:
                got, right = (
                    np.asarray(run.tensor(batch=batch, stream=stream, content=content))
                    for run in (one, other)
                )
                if got.shape != right.shape or not np.allclose(got, right, rtol=_ROUNDING, atol=_ROUNDING):
                    return f"the {content} of batch {batch} are not those of an undisturbed command"
    return None


def _expected_from_same_attention(name: str, here: Path) -> dict[str, bytes]:
    """Files of an undisturbed command on a copy of the run without its results."""
    place = here.with_name(f"undisturbed-{name}")
    shutil.copytree(here, place, symlinks=True)
    run = place / OUTPUT["capture"]
    shutil.rmtree(run / "results")
    shutil.copytree(template("capture") / OUTPUT["capture"] / "results", run / "results")
    ended = ended_command(COMMANDS[name], place, without_waiting)
    if ended.code != 0:
        raise RuntimeError(f"haarbor {' '.join(COMMANDS[name])} failed undisturbed: {ended.err}")
    return files_below(place / OUTPUT[name])

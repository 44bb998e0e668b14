"""A run of which some bytes were changed: it says so, or the values are what they were."""

from __future__ import annotations

import functools
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from faults.outcome import Outcome, defect, refused, right
from faults.stored_sample import everything_in, without_waiting, write_sample
from haarbor.errors import HaarborError
from haarbor.store import open_run

__all__ = ["damage_judged", "restored", "whole_sample"]


@functools.cache
def whole_sample(place: Path) -> tuple[Path, Mapping[str, Any]]:
    """The sample run in a folder, and everything in it."""
    without_waiting()
    run = write_sample(place / "sample.zarr")
    return run, everything_in(open_run(run))


@contextmanager
def restored(run: Path, *keys: str) -> Iterator[None]:
    """Leave the files named as they were before the block."""
    before = {key: (run / key).read_bytes() for key in keys}
    try:
        yield
    finally:
        for key, data in before.items():
            if (run / key).is_dir():
                shutil.rmtree(run / key)
            (run / key).write_bytes(data)


def damage_judged(run: Path, before: Mapping[str, Any], only: Sequence[str] = ()) -> Outcome:
    """Outcome of reading everything in a run that may be damaged, or the values named alone.

    Right where every value is what it was and the run calls itself whole; refused where a reading
    says that something is damaged, or `verify` does; a defect where a value is another one, or
    where anything but a HaarborError comes up.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            opened = open_run(run)
            found = everything_in(opened, only)
            damages = opened.verify()
        except HaarborError as error:
            return refused(str(error))
        except Exception as error:
            return defect(f"{type(error).__name__}: {error}")
    other = [
        name
        for name, value in found.items()
        if not isinstance(value, HaarborError) and value != before.get(name)
    ]
    if other:
        noticed = "though verify notices" if damages else "and verify says nothing"
        return defect(f"other values in silence: {', '.join(other[:3])}; {noticed}")
    said = [str(error) for error in found.values() if isinstance(error, HaarborError)]
    said += [f"{damage}. Listed by verify." for damage in damages]
    faulty = [outcome for outcome in map(refused, said) if outcome.verdict == "defect"]
    if faulty:
        return faulty[0]
    return refused(said[0]) if said else right()

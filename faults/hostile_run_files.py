"""Runs of which a file was replaced by something that no run holds; runs with names meant for a terminal."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from faults.haarbor_command import ended_command
from faults.hostile_file import HostileFile, Prepared, deep_json, treacherous_pickle
from faults.spoilt import one_of
from faults.stored_sample import everything_in, write_sample
from haarbor.errors import HaarborError
from haarbor.store import import_arrays, open_run

__all__ = ["RUN_FILES", "changed_json"]

Rng = np.random.Generator
_ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m<script>alert(1)</script>\u202e\r"


def _sample(here: Path) -> tuple[Path, Mapping[str, Any]]:
    kept = here.parent / "whole.zarr"
    if not kept.exists():
        write_sample(kept)
    run = here / "run.zarr"
    shutil.copytree(kept, run)
    return run, everything_in(open_run(kept))


def _read_all(run: Path, before: Mapping[str, Any]) -> Any:
    """Everything in the run; the first refusal if there is one, and what is other than before."""
    opened = open_run(run)
    found = everything_in(opened)
    damages = opened.verify()
    other = [
        key for key, value in found.items() if not isinstance(value, HaarborError) and value != before[key]
    ]
    for value in found.values():
        if isinstance(value, HaarborError) and not other:
            raise value
    return {"other": other, "damages": [str(damage) for damage in damages]}


def _law(answer: Any) -> str | None:
    return f"other values in silence: {answer['other'][:3]}" if answer["other"] else None


def _replaced(rng: Rng, seed: int, here: Path) -> Prepared:
    """A file of the run is something else altogether."""
    run, before = _sample(here)
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.suffix != ".lock")
    path = one_of(rng, files)
    path.unlink()
    name = (
        "a pipe",
        "endless",
        "a link to itself",
        "a folder",
        "nothing",
        "deep JSON",
        "a pickle",
        "another JSON",
        "huge",
    )[seed % 9]
    if name == "a pipe":
        os.mkfifo(path)
    elif name == "endless":
        path.symlink_to("/dev/zero")
    elif name == "a link to itself":
        path.symlink_to(path)
    elif name == "a folder":
        path.mkdir()
    elif name == "deep JSON":
        path.write_text(deep_json(), encoding="ascii")
    elif name == "a pickle":
        path.write_bytes(treacherous_pickle(here))
    elif name == "another JSON":
        path.write_text(
            one_of(rng, ("[]", "null", "5", '"x"', "{}", '{"attributes": []}', '{"attributes": 5}'))
        )
    elif name == "huge":
        with path.open("wb") as stream:
            stream.truncate(1 << 40)
    return Prepared(f"{path.relative_to(run)} is {name}", lambda: _read_all(run, before), "either", _law)


def _rewritten(rng: Rng, seed: int, here: Path) -> Prepared:
    """A value in the description of the run is another one, the JSON in good order."""
    run, before = _sample(here)
    paths = sorted(run.rglob("zarr.json"))
    path = one_of(rng, paths)
    document = json.loads(path.read_text(encoding="utf-8"))
    odd: Any = one_of(
        rng,
        (
            None,
            -1,
            0,
            2**70,
            1e308,
            "",
            "../../x",
            "\x1b[2J",
            [],
            {},
            [[]],
            True,
            "NaN",
            0.5,
            ["x"] * 3,
            {"name": "x"},
            "x" * 100_000,
        ),
    )
    changed = changed_json(document, rng, odd)
    path.write_text(json.dumps(document), encoding="utf-8")
    name = f"{path.relative_to(run)}: {changed} is {str(odd)[:30]!r}"
    return Prepared(name, lambda: _read_all(run, before), "either", _law)


def changed_json(value: Any, rng: Rng, odd: Any) -> str:
    """Put something odd somewhere into JSON; where it was put."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = one_of(rng, keys)
    if isinstance(value[key], (dict, list)) and value[key] and rng.random() < 0.8:
        return f"{key}.{changed_json(value[key], rng, odd)}"
    value[key] = odd
    return str(key)


def _named(rng: Rng, seed: int, here: Path) -> Prepared:
    """Names of models, labels and streams that hold escapes and markup, shown by the commands."""
    X = np.full((3, 3, 2), 1 / 3) + np.arange(2) * 0
    X[0, :, 0] = (0.5, 0.3, 0.2)
    labels = [f"{_ESCAPES}{place}" for place in range(3)]
    import_arrays(X, here / "run.zarr", model=f"model {_ESCAPES}", labels=labels, settings={"data": _ESCAPES})
    words = (
        ("info", "run.zarr"),
        ("info", "run.zarr", "--json"),
        ("organize", "run.zarr"),
        ("report", "run.zarr", "--out", "page.html"),
    )[seed % 4]

    def read() -> Any:
        ended = ended_command(words, here)
        if ended.code not in (0, 1) or "Traceback" in ended.err:
            raise RuntimeError(f"exit code {ended.code}: {ended.err[-200:]}")
        page = (here / "page.html").read_text(encoding="utf-8") if (here / "page.html").exists() else ""
        return {"said": ended.out + ended.err, "page": page}

    def law(answer: Any) -> str | None:
        if "\x1b]0" in answer["said"] or "\x1b[2J" in answer["said"] or "\x07" in answer["said"]:
            return "escapes of a name reach the terminal"
        return "markup of a name is in the page" if "<script>alert(1)</script>" in answer["page"] else None

    return Prepared(f"haarbor {words[0]}", read, "either", law)


def _placed(rng: Rng, seed: int, here: Path) -> Prepared:
    """Places with odd names that hold no run."""
    names = (
        "\x1b[2Jrun.zarr",
        "a\nb",
        "x" * 200,
        "'",
        '"',
        "%s",
        "{0}",
        "<b>",
        "é\u202e",
        " ",
        "-rf",
        "a\tb",
    )
    place = here / names[seed % len(names)]
    place.mkdir()
    (place / "stray").write_text("x", encoding="ascii")
    return Prepared(repr(place.name), lambda: open_run(place), "refused")


def _linked(rng: Rng, seed: int, here: Path) -> Prepared:
    """A link inside the run leads outside: what lies there is not touched when results are removed."""
    run, _ = _sample(here)
    outside = here / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept", encoding="ascii")
    target = run / ("results/decoder/probabilities/batch-00000/organization" if seed % 2 else "results")
    shutil.rmtree(target)
    target.symlink_to(outside, target_is_directory=True)
    opened = open_run(run)

    def read() -> Any:
        opened.save_result(np.arange(3.0), "organization", batch=0)
        opened.delete_result("organization", batch=0)
        return sorted(path.name for path in outside.rglob("*"))

    def law(answer: Any) -> str | None:
        return None if answer == ["kept"] else f"files outside the run were changed: {answer}"

    def judged_read() -> Any:
        try:
            return read()
        finally:
            if sorted(path.name for path in outside.rglob("*")) != ["kept"]:
                raise RuntimeError("files outside the run were changed")

    return Prepared("a link that leads outside", judged_read, "either", law)


RUN_FILES = {
    "file of a run replaced": HostileFile(_replaced, 27, 450),
    "description rewritten": HostileFile(_rewritten, 30, 1500),
    "names for a terminal": HostileFile(_named, 4, 8),
    "places with odd names": HostileFile(_placed, 12, 12),
    "links out of a run": HostileFile(_linked, 2, 2),
}

"""The commands that make a page again, each a line for a shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from haarbor.analysis import Question, RunInvariance, RunRegularity, measured, question_before
from haarbor.report._run_name import run_name
from haarbor.store import RunPart

__all__ = ["commands"]

_OPTION_FLAGS = {
    "tree": "--tree",
    "n_iterations": "--iterations",
    "refine": "--refine",
    "initial": "--initial",
    "approximate": "--approximate",
}


def commands(parts: Sequence[RunPart], n_batches: int | None) -> list[str]:
    """Commands that capture, organise and measure the runs, and write the page.

    Runs are named without their folders, so that the page is the same on every machine. What the command
    line has no option for is a line of Python.

    Parameters
    ----------
    parts : sequence of RunPart
    n_batches : int or None
        As for :func:`haarbor.report.report_html`.

    Returns
    -------
    list of str
    """
    places = _places(parts)
    folders = [place.rpartition("/")[0] for place in places]
    lines = [shlex.join(["mkdir", "-p", *folders])] if any(folders) else []
    for part, place in zip(parts, places, strict=True):
        for line in [_captured(part, place), _organised(part, place), *_measured(part, place)]:
            if line not in lines:
                lines.append(line)
    return [*lines, _reported(parts, places, n_batches)]


def _places(parts: Sequence[RunPart]) -> list[str]:
    """Names of the runs; different ones that are called the same get a folder each."""
    names = [run_name(part.run) for part in parts]
    locations = {str(part.run.location) for part in parts}
    if len(set(names)) < len(locations):
        return [f"{letter}/{name}" for letter, name in zip("AB", names, strict=True)]
    return names


def _captured(part: RunPart, place: str) -> str:
    command = part.run.plan.settings.get("command")
    if isinstance(command, str):
        words = shlex.split(command)
        # The run may have been given another name since.
        if "--out" in words[:-1]:
            words[words.index("--out") + 1] = place
        return shlex.join(words)
    return f"# {place} was made from arrays (haarbor.store.import_arrays): put it here first."


def _organised(part: RunPart, place: str) -> str:
    question = question_before(part)
    changed = question.changed_options
    known = all(name in _OPTION_FLAGS for name in changed)
    if known and question == Question.asked(changed):
        options = [word for name, value in changed.items() for word in (_OPTION_FLAGS[name], str(value))]
        return shlex.join(["haarbor", "organize", place, *_part_flags(part), *options])
    return _python(
        "from haarbor.analysis import organize_run",
        f"organize_run(open_run({place!r}), content={part.content!r}, stream={part.stream!r}, "
        f"options={changed!r}, k={question.k}, network_k={question.network_k})",
    )


def _measured(part: RunPart, place: str) -> list[str]:
    """What measures softmax and smoothness again, where the run holds such results."""
    invariances: dict[int, RunInvariance] = dict(measured(part, "softmax-invariance"))
    regularities: dict[int, RunRegularity] = dict(measured(part, "holder-exponents"))
    lines = []
    for batch in sorted({*invariances, *regularities}):
        asked = [
            (found.settings, found.seed)
            for found in (invariances.get(batch), regularities.get(batch))
            if found is not None
        ]
        settings, seed = asked[0]
        if len(asked) == 2 and asked[0] == asked[1]:
            words = ["haarbor", "invariance", place]
            words += ["--batch", str(batch)] if batch else []
            words += _stream_flag(part)
            words += ["--settings", settings] if settings != "ours" else []
            words += ["--seed", str(seed)] if seed else []
            lines.append(shlex.join([*words, "--no-figures"]))
            continue
        for name, found in (
            ("run_invariance", invariances.get(batch)),
            ("run_regularity", regularities.get(batch)),
        ):
            if found is not None:
                lines.append(
                    _python(
                        f"from haarbor.analysis import {name}",
                        f"{name}(open_run({place!r}), {batch}, stream={part.stream!r}, "
                        f"settings={found.settings!r}, seed={found.seed})",
                    )
                )
    return lines


def _reported(parts: Sequence[RunPart], places: Sequence[str], n_batches: int | None) -> str:
    flags = [_part_flags(part) for part in parts]
    if len(parts) == 1 or _mean_the_same(parts):
        shown = [] if n_batches is None else ["--batches", str(n_batches)]
        # Where one run needs an option to choose its part and the other none, the option means the same.
        return shlex.join(["haarbor", "report", *places, *max(flags, key=len), *shown])
    chosen = ", ".join(
        f"open_run({place!r}).part({part.content!r}, {part.stream!r})"
        for place, part in zip(places, parts, strict=True)
    )
    asked = "" if n_batches is None else f", n_batches={n_batches}"
    return _python(
        "from haarbor.report import write_report", f"write_report([{chosen}], 'report.html'{asked})"
    )


def _mean_the_same(parts: Sequence[RunPart]) -> bool:
    """Whether one set of options chooses the parts of both runs."""
    one, two = parts
    if not _part_flags(one) and not _part_flags(two):
        return True
    return (one.content, one.stream) == (two.content, two.stream)


def _part_flags(part: RunPart) -> list[str]:
    """Options that ask for this part, left out where they are the defaults."""
    usual = part.run.part()
    content = ["--content", part.content] if part.content != usual.content else []
    return [*content, *_stream_flag(part)]


def _stream_flag(part: RunPart) -> list[str]:
    return ["--stream", part.stream] if part.stream != part.run.part().stream else []


def _python(imported: str, call: str) -> str:
    return shlex.join(["python", "-c", f"from haarbor import open_run; {imported}; {call}"])

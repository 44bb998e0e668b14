"""The campaign: every kind of fault, one table."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Sequence

from faults import (
    calls,
    chunks,
    descriptions,
    full_disks,
    hostile_files,
    interrupts,
    kills,
    many_runs,
    permissions,
    two_writers,
)
from faults.forked_cases import forked_outcomes
from faults.kind import Case, Form, Kind
from faults.table import Table

__all__ = ["KINDS", "campaign", "chosen_cases"]

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        calls.KIND,
        descriptions.KIND,
        chunks.KIND,
        kills.KIND,
        interrupts.KIND,
        full_disks.KIND,
        permissions.KIND,
        two_writers.KIND,
        hostile_files.KIND,
        many_runs.KIND,
    )
}  # fmt: skip


def chosen_cases(
    form: Form, kinds: Sequence[str], function: str | None, seeds: Sequence[int]
) -> list[tuple[Kind, list[Case]]]:
    """Cases of the kinds named, or of one function of them, or with these seeds alone."""
    chosen = []
    for name in kinds:
        kind = KINDS[name]
        cases = kind.cases(form)
        if function is not None:
            cases = [case for case in cases if case.function == function]
        if seeds:
            found = {case.function: None for case in cases}
            cases = [Case(name, struck, seed) for struck in found for seed in seeds]
        chosen.append((kind, cases))
    return chosen


def campaign(work: Sequence[tuple[Kind, Sequence[Case]]], *, workers: int, quiet: bool = True) -> Table:
    """Table of all outcomes; what is going on is told on stderr.

    Parameters
    ----------
    work : sequence of (Kind, sequence of Case)
    workers : int
        Processes at a time.
    quiet : bool, default True
        Whether what cases print is thrown away.
    """
    table = Table({kind.name: kind.title for kind, _ in work})
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="haarbor-faults-warm-") as warmed:
        # Warming writes runs, too; some are used again by the cases.
        with contextlib.chdir(warmed):
            for kind, cases in work:
                if cases:
                    kind.warm()
        _fill(table, work, workers=workers, quiet=quiet, begin=begin)
    return table


def _fill(
    table: Table, work: Sequence[tuple[Kind, Sequence[Case]]], *, workers: int, quiet: bool, begin: float
) -> None:
    """Add every outcome to the table."""
    left = {kind.name: len(cases) for kind, cases in work}
    # Those that go on for long in one process begin first, so that none is left over at the end.
    longest_first = sorted(work, key=lambda entry: -entry[0].cases_per_process)
    for case, outcome in forked_outcomes(longest_first, workers=workers, quiet=quiet):
        table.add(case, outcome)
        left[case.kind] -= 1
        if left[case.kind] == 0:
            tried = sum(sum(count.values()) for (kind, _), count in table.counts.items() if kind == case.kind)
            sys.stderr.write(f"{case.kind}: {tried} tried, {time.monotonic() - begin:.0f} s gone\n")
            sys.stderr.flush()

"""The table of a campaign: what was tried, and what it came to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from faults.kind import Case
from faults.outcome import Outcome, Verdict

__all__ = ["Table"]

_COLUMNS = ("kind", "struck", "tried", "right", "refused", "defects")


@dataclass(slots=True, eq=False)
class Table:
    """Outcomes by kind of fault and by what it struck."""

    titles: Mapping[str, str]
    """Title of each kind, in the order in which they are shown."""
    counts: dict[tuple[str, str], Counter[Verdict]] = field(default_factory=dict)
    defects: list[tuple[Case, Outcome]] = field(default_factory=list)

    def add(self, case: Case, outcome: Outcome) -> None:
        """Count one outcome."""
        self.counts.setdefault((case.kind, case.function), Counter())[outcome.verdict] += 1
        if outcome.verdict == "defect":
            self.defects.append((case, outcome))

    def rows(self) -> list[tuple[str, ...]]:
        """Cells of every row, the total last."""
        found, total = [], Counter[Verdict]()
        for kind, title in self.titles.items():
            named = sorted(function for of, function in self.counts if of == kind)
            for place, function in enumerate(named):
                count = self.counts[kind, function]
                total.update(count)
                found.append((title if place == 0 else "", function, *_cells(count)))
        return [*found, ("in all", "", *_cells(total))]

    def totals(self) -> list[tuple[str, ...]]:
        """Cells of a row per kind, the total last."""
        found, total = [], Counter[Verdict]()
        for kind, title in self.titles.items():
            count = Counter[Verdict]()
            for (of, _), each in self.counts.items():
                if of == kind:
                    count.update(each)
            if count:
                found.append((title, *_cells(count)))
            total.update(count)
        return [*found, ("in all", *_cells(total))]

    def text(self) -> str:
        """The table for a terminal."""
        rows = [_COLUMNS, *self.rows()]
        widths = [max(len(row[place]) for row in rows) for place in range(len(_COLUMNS))]
        lines = []
        for row in rows:
            cells = [
                cell.ljust(width) if place < 2 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        rule = "-" * max(map(len, lines))
        return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1]])

    def markdown(self) -> str:
        """The table for a page."""
        head = f"| {' | '.join(_COLUMNS)} |\n| --- | --- | ---: | ---: | ---: | ---: |"
        return "\n".join([head, *map(_line, self.rows())])

    def totals_markdown(self) -> str:
        """The totals of the kinds for a page."""
        head = "| kind | tried | right | refused | defects |\n| --- | ---: | ---: | ---: | ---: |"
        return "\n".join([head, *map(_line, self.totals())])

    def defect_lines(self, *, every: bool = False) -> list[str]:
        """One line for each defect with the way to see it again; those that read alike counted together."""
        if every:
            return [f"{outcome.reason}\n    {case.command}" for case, outcome in self.defects]
        alike: dict[tuple[str, str, str], list[tuple[Case, Outcome]]] = {}
        for case, outcome in self.defects:
            alike.setdefault((case.kind, case.function, _without_numbers(outcome.reason)), []).append(
                (case, outcome)
            )
        lines = []
        for (kind, function, _), found in sorted(alike.items(), key=lambda entry: entry[0]):
            case, outcome = found[0]
            times = f" ({len(found)} times)" if len(found) > 1 else ""
            lines.append(f"{kind}, {function}{times}: {outcome.reason}\n    {case.command}")
        return lines


def _cells(count: Mapping[Verdict, int]) -> Sequence[str]:
    each = [count.get(verdict, 0) for verdict in ("right", "refused", "defect")]
    return tuple(f"{number:,}" for number in (sum(each), *each))


def _line(row: Sequence[str]) -> str:
    cells = [cell.replace("|", "\\|") for cell in row]
    return f"| {' | '.join(cells)} |"


def _without_numbers(reason: str) -> str:
    """What reasons that differ in numbers, quoted names and spoilt arguments have in common."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|-?\d[\d.e+-]*|\bnan\b|\binf\b", "#", reason)[:100]

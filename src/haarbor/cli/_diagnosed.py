"""Head diagnostics made by a command, and told in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haarbor.cli._said_line import say
from haarbor.errors import DataError
from haarbor.head_labels import head_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from haarbor.store import RunPart

__all__ = ["diagnose", "types_line", "types_of"]

_N_NAMED = 3


def diagnose(part: RunPart) -> None:
    """Keep head diagnostics in a run that has been organised; say so in a line where there can be none."""
    from haarbor.diagnostics import run_diagnostics

    try:
        run_diagnostics(part)
    except DataError as error:
        # An array of any numbers can be organised; only attention has these diagnostics.
        say(f"Without head diagnostics: {error}")


def types_of(part: RunPart) -> dict[str, list[str]]:
    """Heads of each type, those with the largest number behind it first; the most frequent type first."""
    from haarbor.diagnostics import run_types

    labels = head_labels(part.sizes.n_layers, part.sizes.n_heads)
    found: dict[str, list[tuple[float, str]]] = {}
    for label, kind in zip(labels, run_types(part), strict=False):
        found.setdefault(kind.name, []).append((-kind.value, label))
    ordered = sorted(found.items(), key=lambda entry: -len(entry[1]))
    return {name: [label for _, label in sorted(heads, key=lambda head: head[0])] for name, heads in ordered}


def types_line(types: Mapping[str, Sequence[str]]) -> str:
    """How many heads there are of each type, and the clearest of them.

    Examples
    --------
    >>> types_line({"broad": ["0.1", "0.3", "1.1", "2.0"], "diagonal": ["5.1"]})
    'broad 4 (0.1, 0.3, 1.1, ...), diagonal 1 (5.1)'
    """
    return ", ".join(
        f"{name} {len(heads)} ({', '.join(heads[:_N_NAMED])}{', ...' if len(heads) > _N_NAMED else ''})"
        for name, heads in types.items()
    )

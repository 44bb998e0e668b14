"""Heads by type, in words, with the number behind each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.diagnostics._attention_diagnostics import SINK, HeadDiagnostics
from haarbor.errors import DataError

__all__ = ["TYPES", "HeadType", "head_types", "mean_figures"]

_CLASS_TOKENS = ("CLS", "[CLS]", "<cls>", "<s>")
_SEPARATORS = ("SEP", "[SEP]", "</s>", "<sep>", "<eos>")
# More than half of the attention, as Clark et al. 2019 name heads of the previous and of the next token.
_MOST = 0.5
_INDUCTION = 0.3
_BROAD = 0.8

TYPES: Mapping[str, str] = {
    "induction": "On repeated random tokens it looks at the token that came after the last occurrence.",
    "duplicate token": "On repeated random tokens it looks at the last occurrence of the same token.",
    "previous token": "It looks at the token before.",
    "next token": "It looks at the token behind.",
    "diagonal": "Every token looks at itself.",
    "first-token sink": "It looks at the first token, which is where attention goes that is not needed.",
    "class token": "It looks at the class token.",
    "first token": "It looks at the first token.",
    "separator": "It looks at the token that ends the text.",
    "last token": "It looks at the last token.",
    "one token": "It looks at one token, which is neither the first nor the last.",
    "same token": "It looks at other tokens that are the same.",
    "local": "It looks at tokens at most three places away.",
    "broad": "It looks at all tokens about alike.",
    "focused": "Every query looks at one token, but at which one depends on the text.",
    "mixed": "None of the others.",
}
"""All types with what they mean, in the order in which they are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadType:
    """Type of one head."""

    name: str
    """One of `TYPES`."""
    figure: str
    """Which figure decided."""
    value: float

    def __str__(self) -> str:
        return f"{self.name} ({self.value:.2f})"


def mean_figures(each: Sequence[HeadDiagnostics]) -> dict[str, FloatArray]:
    """Figures of all heads, means over the batches in which they have a meaning.

    Raises
    ------
    DataError
        If there are no batches.

    See Also
    --------
    haarbor.diagnostics.kept_diagnostics : Those of the batches.
    """
    if not each:
        raise DataError("there must be diagnostics of a batch at least; found none. Run haarbor organize.")
    found = {}
    for name in each[0].figures:
        table = np.stack([np.asarray(one.figures[name], dtype=np.float64) for one in each])
        known = np.isfinite(table)
        counts = known.sum(axis=0)
        sums = np.where(known, table, 0.0).sum(axis=0)
        found[name] = np.divide(sums, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    return found


def head_types(
    each: Sequence[HeadDiagnostics], repeated: Mapping[str, FloatArray] | None = None
) -> tuple[HeadType, ...]:
    """Type of every head.

    A head is of the type whose share is the largest among those that reach their threshold. Induction and
    duplicate tokens are looked at before all others: heads of these types look at the first token wherever
    nothing repeats, and would be taken for sinks.

    Parameters
    ----------
    each : sequence of HeadDiagnostics
        Of the batches of a run.
    repeated : mapping of str to ndarray, optional
        Figures "induction" and "duplicate_token" of the same heads on repeated random tokens.

    Returns
    -------
    tuple of HeadType

    See Also
    --------
    haarbor.diagnostics.run_types : Types of the heads of a run.
    haarbor.plots.head_types_figure : Draws the types.

    Notes
    -----
    Thresholds: 0.5 for the previous, next and same token, the diagonal, near tokens and the focus of a query;
    0.3 for one token in common, induction and duplicate tokens; 0.8 of the largest possible entropy
    for broad heads.
    """
    figures = mean_figures(each)
    words = _token_words(each)
    n_heads = each[0].n_heads
    return tuple(
        _type_of(
            {name: float(values[head]) for name, values in figures.items()},
            {} if repeated is None else {name: float(values[head]) for name, values in repeated.items()},
            words,
        )
        for head in range(n_heads)
    )


def _token_words(each: Sequence[HeadDiagnostics]) -> tuple[str, str]:
    """What the first and the last token are called."""
    if any(one.is_causal for one in each):
        first = "first-token sink"
    else:
        first = "class token" if all(one.first_label in _CLASS_TOKENS for one in each) else "first token"
    last = "separator" if all(one.last_label in _SEPARATORS for one in each) else "last token"
    return first, last


def _type_of(figures: Mapping[str, float], repeated: Mapping[str, float], words: tuple[str, str]) -> HeadType:
    def reached(candidates: Sequence[tuple[str, str, float]], source: Mapping[str, float]) -> HeadType | None:
        # NaN reaches nothing.
        there = [
            HeadType(name=name, figure=figure, value=source[figure])
            for name, figure, least in candidates
            if source.get(figure, np.nan) >= least
        ]
        return max(there, key=lambda found: found.value) if there else None

    first, last = words
    return (
        reached(
            [
                ("induction", "induction", _INDUCTION),
                ("duplicate token", "duplicate_token", _INDUCTION),
            ],
            repeated,
        )
        or reached(
            [
                ("previous token", "previous_token", _MOST),
                ("next token", "next_token", _MOST),
                ("diagonal", "diagonal", _MOST),
                (first, "first_token", SINK),
                (last, "last_token", SINK),
                ("same token", "same_token", _MOST),
            ],
            figures,
        )
        or reached([("one token", "strongest_token", SINK)], figures)
        or reached([("local", "near", _MOST)], figures)
        or reached([("broad", "attention_entropy_normalised", _BROAD)], figures)
        or reached([("focused", "confidence", _MOST)], figures)
        or HeadType(name="mixed", figure="confidence", value=figures["confidence"])
    )

"""Which of many damage curves are drawn: so many lines can be told apart, and no more."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["RANDOM", "drawn_curves"]

RANDOM = "random"
"""Name of the curve of heads removed at random; it is drawn whenever it is there, after the others."""
_MOST = 10


def drawn_curves(damages: Mapping[str, float], recommended: str | None = None) -> list[str]:
    """Names of the curves to draw, in their order; those of least damage where there are many.

    Parameters
    ----------
    damages : mapping of name to float
        Damage at the share that is looked at.
    recommended : str, optional
        Drawn in any case. It was chosen on half of the batches: on all of them others may do less damage.

    Returns
    -------
    list of str

    Examples
    --------
    >>> drawn_curves({"random": 0.5, "leftover": 0.1, "gradient": 0.2})
    ['leftover', 'gradient', 'random']
    """
    named = [name for name in damages if name != RANDOM]
    least = set(sorted(named, key=lambda name: (name != recommended, damages[name]))[:_MOST])
    return [name for name in damages if name in least] + [name for name in damages if name == RANDOM]

"""Whether heads differ enough in their entropy to be ranked by it."""

from __future__ import annotations

__all__ = ["TOGETHER_ADVICE", "are_told_apart", "together_text"]

_LEAST_DIFFERENCE = 0.01

TOGETHER_ADVICE = (
    "That is so with random weights, and where all heads look at everything alike. Check that the model is a "
    "trained one."
)


def are_told_apart(least: float, most: float) -> bool:
    """Whether the lowest and highest entropy of heads differ by more than chance: by 1 % or more.

    Examples
    --------
    >>> are_told_apart(12.14, 12.17), are_told_apart(16.8, 24.7), are_told_apart(0.0, 0.0)
    (False, True, False)
    """
    return most - least >= _LEAST_DIFFERENCE * max(abs(most), abs(least)) and most > least


def together_text(least: float, most: float) -> str:
    """What is said in place of a ranking, where heads are not told apart."""
    return (
        f"The heads cannot be told apart: their Haar entropies all lie between {least:.4g} and {most:.4g}, "
        "so no head has more coarse structure than another, and a ranking would be chance."
    )

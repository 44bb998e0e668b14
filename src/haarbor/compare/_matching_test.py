"""Whether heads that were matched are nearer to each other than heads paired by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray
from haarbor.compare._head_matching import checked_distances, head_matching
from haarbor.errors import ShapeError
from haarbor.options import require_seed, require_whole_number
from haarbor.stored_result import stored_result

__all__ = ["MatchingTest", "matching_test"]


@stored_result("MatchingTest")
@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingTest:
    """Distance of matched heads on tokens that the matching has not seen, against pairs made by chance."""

    matched: float
    """Mean distance of matched heads."""
    chance: float
    """Mean distance of all pairs, which is the mean over all ways to pair the heads."""
    p_value: float
    """Share of random pairings, the found one included, whose mean distance is as low."""
    n_permutations: int

    @property
    def alikeness(self) -> float:
        """Share of the distance by chance that the matching removes: 1 the same heads, 0 as by chance.

        NaN where all heads are the same.
        """
        return 1.0 - self.matched / self.chance if self.chance > 0 else float("nan")

    def __repr__(self) -> str:
        return f"MatchingTest(alikeness {self.alikeness:.3f}, p = {self.p_value:.3g})"


def matching_test(
    seen: npt.ArrayLike, unseen: npt.ArrayLike, *, n_permutations: int = 999, seed: int = 0
) -> MatchingTest:
    """Match heads by some tokens, and test the pairs on others.

    Parameters
    ----------
    seen : array_like of float, shape (n, m)
        Distances by which the heads are matched.
    unseen : array_like of float, shape (n, m)
        Distances of the same heads on other tokens.
    n_permutations : int, default 999
    seed : int, default 0

    Returns
    -------
    MatchingTest

    Raises
    ------
    ShapeError
        If the two do not have the same shape.

    See Also
    --------
    haarbor.compare.head_matching : Pairs of least distance.

    Notes
    -----
    If the tokens that the heads were matched by told nothing about the others, every way to pair the heads
    would be as likely as the one found. So it is compared with random ones; the test is exact, because the
    matching is not made from the distances it is tested on.

    Examples
    --------
    >>> near = 1.0 - np.eye(6)
    >>> found = matching_test(near, near)
    >>> found.alikeness, found.p_value < 0.05
    (1.0, True)
    """
    by, on = checked_distances(seen), checked_distances(unseen)
    if by.shape != on.shape:
        raise ShapeError(
            f"both distances must be of the same heads; found shapes {by.shape} and {on.shape}. "
            "Pass distances of the same two networks."
        )
    n_random = require_whole_number("n_permutations", n_permutations, 1)
    rng = np.random.default_rng(require_seed(seed))
    pairs = head_matching(by)
    matched = float(on[pairs[:, 0], pairs[:, 1]].mean())
    # Rows for the smaller network, so that a random pairing is the beginning of a permutation.
    tall = on if on.shape[0] <= on.shape[1] else on.T
    drawn: FloatArray = np.array(
        [tall[np.arange(tall.shape[0]), rng.permutation(tall.shape[1])[: tall.shape[0]]].mean()
         for _ in range(n_random)]
    )  # fmt: skip
    # Sums in another order differ in their last bits: such ties count as as low.
    as_low = int((drawn <= matched + 1e-12 * abs(matched)).sum())
    return MatchingTest(
        matched=matched,
        chance=float(on.mean()),
        p_value=(1 + as_low) / (1 + n_random),
        n_permutations=n_random,
    )

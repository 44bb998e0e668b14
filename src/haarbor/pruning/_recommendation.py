"""Which score to prune by, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.errors import SettingError
from haarbor.pruning._damage_curves import RANDOM, DamageCurves
from haarbor.pruning._scores import SCORES

__all__ = ["Recommendation", "recommendation"]

_LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The score that did least damage, chosen on some batches and measured on the others."""

    score: str
    """Name of its curve: with the replacement after a comma where several were compared."""
    share: float
    """Of the heads that go: `n_removed` over `n_heads`."""
    n_removed: int
    n_heads: int
    damage: float
    """On the batches it was not chosen on."""
    standard_error: float
    equals: tuple[str, ...]
    """Scores that cannot be told from it at the 5 % level, corrected for the number compared."""
    n_compared: int
    """Scores it was compared with."""

    @property
    def sentence(self) -> str:
        """What to do, in a sentence or two."""
        advice = (
            f"Remove {self.n_removed} of {self.n_heads} heads ({100 * self.share:.3g} %) by '{self.score}': "
            f"damage {self.damage:.4g} +- {self.standard_error:.2g} on batches it was not chosen on."
        )
        if not self.n_compared:
            return f"{advice} It was not compared with any other score."
        told = "It is better than every other score"
        if self.equals:
            # Two or three are named; a list of all would say no more.
            all_of_many = len(self.equals) == self.n_compared > 3
            others = f"any of the other {self.n_compared}" if all_of_many else ", ".join(self.equals)
            told = f"It cannot be told apart from {others}"
        return (
            f"{advice} {told} (paired t-tests over those batches at 5 %, corrected for {self.n_compared} "
            f"comparison{'s' if self.n_compared > 1 else ''})."
        )


def recommendation(curves: DamageCurves, share: float) -> Recommendation:
    """The score to prune by at a share.

    The score is chosen on the even evaluation batches; its damage is reported, and compared with that
    of the others, on the odd ones: the best of many would look better than it is on the data it was
    chosen on. Random removal and control scores are compared with, and never recommended.

    Parameters
    ----------
    curves : DamageCurves
    share : float
        One of those measured, as it was asked for or as it is.

    Returns
    -------
    Recommendation

    Raises
    ------
    SettingError
        If there are fewer than four batches, or nothing but chance to choose from.

    See Also
    --------
    haarbor.pruning.pruning_study : Scores, damage and a recommendation.
    haarbor.pruning.damage_curves : Damage by share of heads.
    """
    place = curves.place(share)
    names = [name for name, curve in curves.curves.items() if name != RANDOM and not _is_control(curve.score)]
    n_batches = curves.baseline.counts.size
    if not names:
        raise SettingError(
            "there must be a score besides chance to recommend one; found none. Name another score as well."
        )
    if n_batches < 4:
        raise SettingError(
            f"a recommendation needs at least 4 evaluation batches; found {n_batches}."
            " Pass more evaluation data."
        )
    even, odd = slice(0, None, 2), slice(1, None, 2)
    best = min(names, key=lambda name: (curves.damage(name, even)[place], names.index(name)))
    own = _by_batch(curves, best, place)
    others = [name for name in curves.curves if name != best]
    equals = tuple(
        name for name in others if not _is_larger((_by_batch(curves, name, place) - own)[odd], len(others))
    )
    on_odd = own[odd]
    return Recommendation(
        score=best,
        share=float(curves.shares[place]),
        n_removed=int(curves.n_removed[place]),
        n_heads=curves.n_heads,
        damage=float(curves.damage(best, odd)[place]),
        standard_error=float(on_odd.std(ddof=1) / np.sqrt(on_odd.size)),
        equals=equals,
        n_compared=len(others),
    )


def _is_control(name: str) -> bool:
    return name in SCORES and SCORES[name].control


def _by_batch(curves: DamageCurves, name: str, place: int) -> FloatArray:
    found: FloatArray = curves.curves[name].damage[:, place].mean(axis=0)
    return found


def _is_larger(difference: FloatArray, n_compared: int) -> bool:
    """Whether differences are above zero on average, by a one-sided t-test corrected for many."""
    from scipy.stats import t

    if not difference.any():
        return False
    error = difference.std(ddof=1) / np.sqrt(difference.size)
    if error == 0.0:
        return bool(difference.mean() > 0)
    chance = float(t.sf(difference.mean() / error, difference.size - 1))
    return chance < _LEVEL / max(n_compared, 1)

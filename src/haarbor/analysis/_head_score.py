"""One number per head, with the words that explain it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, frozen

__all__ = ["HeadScore", "ScoreWords"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeadScore:
    """One number per head."""

    name: str
    """Short and without spaces, as in a column of a table."""
    label: str
    """Name for readers, as in a heading."""
    meaning: str
    """What it measures, exactly, in a sentence or two."""
    high_means: str
    """What a high value says of a head, to be read after "high:"."""
    low_means: str
    values: FloatArray
    """Shape (n_heads,), layer by layer; NaN where a head has none."""
    better_high: bool | None
    """Whether more is better; None where neither is."""
    plain: str = ""
    """What it tells, in words that need no mathematics."""
    group: str = "Other scores"
    """Heading under which it stands among the other scores."""
    compares: bool = True
    """Whether heads of networks of other sizes may be compared by it."""

    def __repr__(self) -> str:
        return f"HeadScore({self.name}, {self.values.size} heads)"


@dataclass(frozen=True, slots=True)
class ScoreWords:
    """Name, label and explanations of a score: everything but its values."""

    name: str
    label: str
    plain: str
    meaning: str
    high_means: str
    low_means: str
    better_high: bool | None = None
    group: str = "Other scores"
    compares: bool = True

    def score(self, values: npt.ArrayLike) -> HeadScore:
        """Score with these words and one value per head."""
        array: FloatArray = np.array(values, dtype=np.float64)
        return HeadScore(
            name=self.name,
            label=self.label,
            meaning=self.meaning,
            high_means=self.high_means,
            low_means=self.low_means,
            values=frozen(array),
            better_high=self.better_high,
            plain=self.plain,
            group=self.group,
            compares=self.compares,
        )

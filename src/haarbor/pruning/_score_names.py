"""Names of scores, as they are typed."""

from __future__ import annotations

from collections.abc import Sequence

from haarbor.errors import SettingError
from haarbor.pruning._damage_curves import RANDOM
from haarbor.pruning._scores import SCORES, scores_named
from haarbor.pruning._searched_choices import SEARCHED, require_starts

__all__ = ["require_score", "score_names"]


def score_names(text: str) -> list[str]:
    """Names of scores in a text with commas; "all" stands for every one.

    Raises
    ------
    SettingError
        If there is no such score.

    See Also
    --------
    haarbor.pruning.pruning_scores : Scores of all heads.

    Examples
    --------
    >>> score_names("leftover, random")
    ['leftover', 'random']
    """
    if not isinstance(text, str):
        raise SettingError(f"scores must be names with commas between them; found {text!r}. Pass a text.")
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if names == ["all"]:
        return [*SCORES, RANDOM]
    require_score(names)
    return names


def require_score(names: Sequence[str]) -> None:
    """Raise unless there is a score of each name, and one besides chance."""
    scores_named([name for name in names if name not in (RANDOM, *SEARCHED)])
    if not set(names) - {RANDOM}:
        raise SettingError(
            "there must be a score besides 'random' to prune by; found none. Name another score as well."
        )
    require_starts(list(names))

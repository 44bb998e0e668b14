"""Batches on which two runs have seen the same tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from haarbor.store import RunPart

__all__ = ["SharedTokens", "shared_tokens"]

Tokens = Literal["the same", "taken to be the same", "different"]

# Setting of a run with the digest of the data it was captured from.
_CONTENT = "data_content"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTokens:
    """Batches that two runs have in common, and how that is known."""

    batches: tuple[int, ...]
    """Empty if the tokens are different."""
    tokens: Tokens
    """"taken to be the same" where shapes agree and neither labels, pictures nor a digest can tell."""


def shared_tokens(first: RunPart, second: RunPart) -> SharedTokens:
    """Batches of two runs with the same tokens under the same number.

    Texts are compared token by token, images pixel by pixel, and anything else by the digest of the data
    that the run was captured from; padding does not count.

    Parameters
    ----------
    first, second : RunPart

    Returns
    -------
    SharedTokens

    See Also
    --------
    haarbor.compare_runs : Runs compared.
    """
    found: list[int] = []
    sure = True
    for batch in sorted(set(first.batches) & set(second.batches)):
        same = _same(first, second, batch)
        if same is not False:
            found.append(batch)
            sure = sure and same is True
    if not found:
        return SharedTokens(batches=(), tokens="different")
    return SharedTokens(batches=tuple(found), tokens="the same" if sure else "taken to be the same")


def _same(first: RunPart, second: RunPart, batch: int) -> bool | None:
    """Whether a batch has the same tokens in both runs; None where nothing tells."""
    valid = [(mask.any(axis=1), mask.any(axis=0)) for mask in (first.mask(batch), second.mask(batch))]
    if any(one.sum() != two.sum() for one, two in zip(*valid, strict=True)):
        return False
    if {first.run.plan.labels, second.run.plan.labels} == {"tokens"}:
        texts = []
        for part, (queries, keys) in zip((first, second), valid, strict=True):
            labels = part.labels(batch)
            texts.append(
                (
                    [labels.query[place] for place in np.flatnonzero(queries)],
                    [labels.key[place] for place in np.flatnonzero(keys)],
                )
            )
        return texts[0] == texts[1]
    one, two = first.run.picture(batch), second.run.picture(batch)
    if one is not None and two is not None:
        return bool(np.array_equal(one, two))
    digests = [part.run.plan.settings.get(_CONTENT) for part in (first, second)]
    return None if None in digests else digests[0] == digests[1]

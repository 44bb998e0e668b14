"""The part of a batch that is not padding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from haarbor.array_types import AnyArray, BoolArray, FloatArray, IntArray
from haarbor.errors import DataError
from haarbor.questionnaire import neutral_tensor

__all__ = ["ValidTokens", "valid_tokens"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ValidTokens:
    """Queries and keys of a batch that are not padding, and their part of the tensor and mask."""

    tensor: AnyArray
    """Shape (n_valid_queries, n_valid_keys, n_heads)."""
    mask: BoolArray
    """Shape (n_valid_queries, n_valid_keys)."""
    queries: IntArray
    """Positions of the valid queries."""
    keys: IntArray
    """Positions of the valid keys."""

    def filled(self, content: str) -> FloatArray:
        """Tensor as it is organised and scored: masked logits are replaced by the mean of their row.

        Parameters
        ----------
        content : {"probabilities", "logits"}
            Masked probabilities are 0 and stay so.
        """
        if content != "logits" or self.mask.all():
            return self.tensor
        return neutral_tensor(self.tensor, ("query", "key", "head"), self.mask, "logits")[0]


def valid_tokens(tensor: npt.ArrayLike, mask: npt.ArrayLike) -> ValidTokens:
    """Cut away padding: queries that may attend to no key, and keys that no query may attend to.

    Parameters
    ----------
    tensor : array_like, shape (n_queries, n_keys, n_heads)
    mask : array_like of bool, shape (n_queries, n_keys)

    Returns
    -------
    ValidTokens

    See Also
    --------
    haarbor.questionnaire.neutral_tensor : Masked entries made neutral.

    Examples
    --------
    >>> import numpy as np
    >>> mask = np.array([[True, False], [False, False]])
    >>> valid_tokens(np.ones((2, 2, 3)), mask).tensor.shape
    (1, 1, 3)
    """
    seen: BoolArray = np.asarray(mask, dtype=bool)
    queries, keys = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    if not queries.size:
        raise DataError("a batch needs at least one valid entry; every entry is masked. Look at its mask.")
    array: AnyArray = np.asarray(tensor)
    if queries.size < seen.shape[0] or keys.size < seen.shape[1]:
        array = array[np.ix_(queries, keys)]
        seen = seen[np.ix_(queries, keys)]
    return ValidTokens(tensor=array, mask=seen, queries=queries, keys=keys)

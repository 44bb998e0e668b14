"""Everything Haarbor raises on purpose.

HaarborError
 ├─ ShapeError        (ValueError)    an array has the wrong shape, axes or dtype
 ├─ DataError         (ValueError)    an array has the right shape and unusable values
 ├─ SettingError      (ValueError)    an option has a value that is not offered
 ├─ TreeError         (ValueError)    an array is not a partition tree, or the tree does not fit
 ├─ AffinityError     (ValueError)    an affinity matrix breaks what a Markov chain needs
 └─ EngineError       (RuntimeError)  the engine asked for cannot run here

HaarborWarning        (UserWarning)
 ├─ AffinityWarning   the affinity is defined, but by a convention the reader should know of
 └─ ConvergenceWarning  the trees returned to an earlier state without settling

A message says what must hold, what was found, and what to do.
"""

__all__ = [
    "AffinityError",
    "AffinityWarning",
    "ConvergenceWarning",
    "DataError",
    "EngineError",
    "HaarborError",
    "HaarborWarning",
    "SettingError",
    "ShapeError",
    "TreeError",
]


class HaarborError(Exception):
    """Root of every error Haarbor raises on purpose."""


class ShapeError(HaarborError, ValueError):
    """An array has the wrong shape, axes or dtype."""


class DataError(HaarborError, ValueError):
    """An array has the right shape and unusable values, such as NaN."""


class SettingError(HaarborError, ValueError):
    """An option has a value that is not offered."""


class TreeError(HaarborError, ValueError):
    """An array is not a partition tree, or a tree does not fit its axis."""


class AffinityError(HaarborError, ValueError):
    """An affinity matrix breaks what a Markov chain needs of it."""


class EngineError(HaarborError, RuntimeError):
    """The engine asked for cannot run here."""


class HaarborWarning(UserWarning):
    """Root of every warning Haarbor gives."""


class AffinityWarning(HaarborWarning):
    """The affinity is defined, but by a convention the reader should know of."""


class ConvergenceWarning(HaarborWarning):
    """The trees returned to an earlier state without settling."""

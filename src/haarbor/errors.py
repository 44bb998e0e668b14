"""Everything Haarbor raises on purpose.

HaarborError
 ├─ ShapeError        (ValueError)    an array has the wrong shape, axes or dtype
 ├─ DataError         (ValueError)    an array has the right shape and unusable values
 ├─ SettingError      (ValueError)    an option has a value that is not offered
 ├─ TreeError         (ValueError)    an array is not a partition tree, or the tree does not fit
 ├─ AffinityError     (ValueError)    an affinity matrix breaks what a Markov chain needs
 ├─ EngineError       (RuntimeError)  the engine asked for cannot run here
 ├─ CaptureError      (RuntimeError)  a model's attention cannot be recorded as asked
 ├─ PruningError      (RuntimeError)  heads of a model cannot be found, ablated or removed as asked
 ├─ CollapseError     (RuntimeError)  the parts of a model's layers cannot be found or switched off
 └─ StoreError        (OSError)       a run on disk cannot be read or written

HaarborWarning        (UserWarning)
 ├─ AffinityWarning   the affinity is defined, but by a convention the reader should know of
 ├─ EngineWarning     another engine works than the one that would have suited
 └─ ResultWarning     a result kept in a run was damaged, and was made again or left out

A message says what must hold, what was found, and what to do.
"""

__all__ = [
    "AffinityError",
    "AffinityWarning",
    "CaptureError",
    "CollapseError",
    "DataError",
    "EngineError",
    "EngineWarning",
    "HaarborError",
    "HaarborWarning",
    "PruningError",
    "ResultWarning",
    "SettingError",
    "ShapeError",
    "StoreError",
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


class CaptureError(HaarborError, RuntimeError):
    """A model's attention cannot be recorded as asked."""


class PruningError(HaarborError, RuntimeError):
    """Heads of a model cannot be found, ablated or removed as asked."""


class CollapseError(HaarborError, RuntimeError):
    """The parts of a model's layers cannot be found or switched off."""


class StoreError(HaarborError, OSError):
    """A run on disk cannot be read or written."""


class HaarborWarning(UserWarning):
    """Root of every warning Haarbor gives."""


class AffinityWarning(HaarborWarning):
    """The affinity is defined, but by a convention the reader should know of."""


class EngineWarning(HaarborWarning):
    """Another engine works than the one that would have suited."""


class ResultWarning(HaarborWarning):
    """A result kept in a run was damaged, and was made again or left out."""

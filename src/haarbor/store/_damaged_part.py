"""What is raised where something stored is not what was written."""

from __future__ import annotations

from haarbor.errors import StoreError

__all__ = ["DamagedPartError"]


class DamagedPartError(StoreError):
    """A part of a run does not hold what was written; the caller knows which part, and says so.

    Not raised where a part cannot be read at all, for want of permission or of a connection: that
    part may be whole.
    """

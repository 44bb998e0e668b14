"""What an error of another library says, short enough for a message."""

from __future__ import annotations

__all__ = ["first_line"]


def first_line(error: BaseException) -> str:
    r"""First line of what an error says, without its full stop; the name of its type if it says nothing.

    Parameters
    ----------
    error : BaseException

    Returns
    -------
    str

    Examples
    --------
    >>> first_line(ValueError("no such size.\nTry another.")), first_line(KeyError())
    ('no such size', 'KeyError')
    """
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(":. ")[:300]

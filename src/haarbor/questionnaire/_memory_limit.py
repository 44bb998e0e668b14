"""A limit of memory, as users write it."""

import re

from haarbor.errors import SettingError
from haarbor.options import found_text, is_whole_number

__all__ = ["memory_limit"]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_LIMIT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?) ?([KMGT]?)B?", re.IGNORECASE)


def memory_limit(given: object) -> int:
    """Bytes of a limit that a user set, a number of bytes or a text such as "2GB" or "512 MB".

    Raises
    ------
    SettingError
        If it is neither, or nothing.

    Examples
    --------
    >>> memory_limit("2GB"), memory_limit("1.5 mb"), memory_limit(4096)
    (2000000000, 1500000, 4096)
    """
    n_bytes = 0
    if isinstance(given, str):
        match = _LIMIT.fullmatch(given.strip())
        if match is not None:
            n_bytes = round(float(match[1]) * _UNITS[match[2].upper()])
    elif is_whole_number(given):
        n_bytes = int(given)  # type: ignore[call-overload]
    if n_bytes < 1:
        raise SettingError(
            "memory must be a size such as '2GB' or '512MB', or a number of bytes; found "
            f"{found_text(given)}. Write a number and its unit."
        )
    return n_bytes

"""Files that file managers and editors leave in the folders they open; a run ignores them."""

from __future__ import annotations

import re

__all__ = ["is_foreign"]

_FOREIGN = re.compile(
    r"\.DS_Store|\._.*|\.localized|\.Spotlight-V100|\.Trashes|\.fseventsd|Icon\r"  # macOS
    r"|Thumbs\.db|ehthumbs\.db|desktop\.ini|~\$.*"  # Windows
    r"|\.directory|\.nfs[0-9a-f]+|\.fuse_hidden[0-9a-f]+"  # Linux
    r"|.*~|\.#.*|#.*#|\..*\.sw[a-p]",  # editors
    re.IGNORECASE | re.DOTALL,
)


def is_foreign(name: str) -> bool:
    """Whether a file of that name holds no data of a user, but was left by a file manager or an editor.

    Examples
    --------
    >>> is_foreign(".DS_Store"), is_foreign("zarr.json~"), is_foreign("zarr.json")
    (True, True, False)
    """
    return _FOREIGN.fullmatch(name) is not None

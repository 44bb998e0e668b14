"""A matrix as a small picture inside HTML."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, real_array
from haarbor.errors import DataError, ShapeError
from haarbor.memory import require_memory
from haarbor.options import require_whole_number
from haarbor.printable import printable

__all__ = ["matrix_picture"]

# Eight colours of viridis, which colour-blind readers can tell apart and which stay ordered in grey.
_VIRIDIS = np.array(
    [
        [68, 1, 84], [70, 50, 126], [54, 92, 141], [39, 127, 142],
        [31, 161, 135], [74, 193, 109], [160, 218, 57], [253, 231, 37],
    ],
    dtype=np.float64,
)  # fmt: skip


def matrix_picture(matrix: npt.ArrayLike, alt: str, *, side: int = 160) -> str:
    """An ``img`` element that shows a matrix, dark for its least value and bright for its largest.

    Parameters
    ----------
    matrix : array_like of float, shape (n_rows, n_columns)
        Finite.
    alt : str
        What the picture shows, in words, for readers who cannot see it.
    side : int, default 160
        Height in pixels on the screen; cells are square.

    Returns
    -------
    str
        HTML with the picture inside it.

    Examples
    --------
    >>> matrix_picture([[0.0, 1.0]], "two cells")[:28]
    '<img alt="two cells" src="da'
    """
    from html import escape

    array = real_array(matrix, "the matrix")
    if array.ndim != 2 or 0 in array.shape:
        raise ShapeError(f"a picture must be of a matrix; found shape {array.shape}. Pass rows and columns.")
    require_memory(16 * 8 * array.size, f"a picture of shape {array.shape}", "Show a part of the matrix.")
    height = require_whole_number("side", side, 1, 100_000)
    # Divided by four, so that the difference of two very large values does not overflow.
    with np.errstate(over="ignore"):
        values: FloatArray = 0.25 * array.astype(np.float64)
    if not np.isfinite(values).all():
        raise DataError("a picture must be of finite values; found some that are not. Leave them out.")
    low, high = float(values.min()), float(values.max())
    share = (values - low) / (high - low) if high > low else np.zeros_like(values)
    place = share * (len(_VIRIDIS) - 1)
    below = np.minimum(place.astype(np.int64), len(_VIRIDIS) - 2)
    part = (place - below)[..., None]
    pixels = np.rint(_VIRIDIS[below] * (1 - part) + _VIRIDIS[below + 1] * part).astype(np.uint8)
    source = base64.b64encode(_png(pixels)).decode("ascii")
    width = max(1, round(height * values.shape[1] / values.shape[0]))
    words = escape(printable(alt))
    return (
        f'<img alt="{words}" src="data:image/png;base64,{source}" width="{width}" height="{height}" '
        'style="image-rendering: pixelated; display: inline-block">'
    )


def _png(pixels: npt.NDArray[np.uint8]) -> bytes:
    height, width, _ = pixels.shape
    # Each row of a PNG begins with the number of its filter; 0 means none.
    rows = np.concatenate([np.zeros((height, 1), dtype=np.uint8), pixels.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
        + chunk(b"IEND", b"")
    )

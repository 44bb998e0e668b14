"""Rows and columns in which the image tokens of a vision-language model see a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["image_grid"]


def image_grid(n_tokens: int, inputs: Mapping[str, Any], config: Any) -> tuple[int, int] | None:
    """Rows and columns of the image tokens of one picture, which come row by row.

    Parameters
    ----------
    n_tokens : int
        Number of image tokens, which stand one after another.
    inputs : mapping of str to object
        What the model is given. ``image_grid_thw`` says what the grid is; several pictures, or tiles of
        one, in ``pixel_values`` mean that there is no single grid.
    config : object
        Configuration of the model, whose ``vision_config`` has the sizes of pictures and patches.

    Returns
    -------
    (int, int) or None
        Where nothing is known of the model, a square; None where the tokens form no grid.

    Examples
    --------
    >>> image_grid(16, {}, None), image_grid(15, {}, None)
    ((4, 4), None)
    """
    vision = getattr(config, "vision_config", None)
    grids = inputs.get("image_grid_thw")
    if grids is not None:
        merged = int(getattr(vision, "spatial_merge_size", 1) or 1)
        rows_of = [[int(size) for size in row] for row in grids]
        if len(rows_of) != 1 or rows_of[0][0] != 1:
            return None
        return _fitting(n_tokens, rows_of[0][1] // merged, rows_of[0][2] // merged)
    pictures = inputs.get("pixel_values")
    if pictures is not None and math.prod(pictures.shape[:-3]) != 1:
        return None
    sizes = [_pair(getattr(vision, name, None)) for name in ("image_size", "patch_size")]
    if sizes[0] is not None and sizes[1] is not None:
        (height, width), (tall, wide) = sizes[0], sizes[1]
        found = _fitting(n_tokens, height // tall, width // wide)
        if found is not None:
            return found
    # Some models pool the patches: fewer tokens than patches, and still a square of them.
    side = math.isqrt(n_tokens)
    return _fitting(n_tokens, side, side)


def _fitting(n_tokens: int, rows: int, columns: int) -> tuple[int, int] | None:
    return (rows, columns) if n_tokens > 0 and rows * columns == n_tokens else None


def _pair(size: Any) -> tuple[int, int] | None:
    """Height and width from a number, a pair or a mapping; None where it is none of them."""
    if isinstance(size, Mapping):
        size = (size.get("height"), size.get("width"))
    if isinstance(size, int):
        size = (size, size)
    if isinstance(size, list | tuple) and len(size) == 2 and all(type(part) is int for part in size):
        return (size[0], size[1]) if min(size) > 0 else None
    return None

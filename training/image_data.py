"""Images and their classes, from mosaics or from an array."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

TILE = 32
N_COLUMNS = 100


def mosaic_images(path: Path) -> np.ndarray:
    """Images of a mosaic of 100 tiles a row, read row by row, shape (n, 32, 32, 3)."""
    Image.MAX_IMAGE_PIXELS = None
    with Image.open(path) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    rows, columns = pixels.shape[0] // TILE, pixels.shape[1] // TILE
    if columns != N_COLUMNS or pixels.shape[0] % TILE:
        raise SystemExit(f"{path.name} must be a mosaic of {N_COLUMNS} tiles of {TILE} x {TILE} a row.")
    tiles = pixels.reshape(rows, TILE, columns, TILE, 3).transpose(0, 2, 1, 3, 4)
    return tiles.reshape(rows * columns, TILE, TILE, 3)


def labelled_images(data: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Images (uint8, n x height x width x 3) and classes of one part, train or test.

    `data` is a folder with ``train0.jpg`` ..., ``test.jpg`` and ``labels.npz``, or an ``.npz`` file with
    ``train_images``, ``train_labels``, ``test_images`` and ``test_labels``.
    """
    if data.suffix == ".npz":
        with np.load(data, allow_pickle=False) as arrays:
            return arrays[f"{part}_images"], arrays[f"{part}_labels"].astype(np.int64)
    files = sorted(data.glob(f"{part}*.jpg"))
    if not files:
        raise SystemExit(f"{data} must hold {part}*.jpg mosaics; it holds none.")
    images = np.concatenate([mosaic_images(file) for file in files])
    with np.load(data / "labels.npz", allow_pickle=False) as labels:
        return images, labels[f"y_{part}"].astype(np.int64)

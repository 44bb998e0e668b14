"""Numbers in the form in which a page holds them: one byte per entry, compressed, written as text."""

from __future__ import annotations

import base64
import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.array_types import AnyArray, BoolArray, ByteArray, FloatArray, frozen

__all__ = ["QuantisedMatrix", "packed_text", "plain_numbers", "quantised_matrix"]

_STEPS = 255


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QuantisedMatrix:
    r"""A matrix as one byte per entry: :math:`\text{offset} + \text{scale} \, (q / 255)^{\text{power}}`."""

    offsets: FloatArray
    """Of each row, float32, shape (n_rows,)."""
    scales: FloatArray
    """Of each row, float32, shape (n_rows,)."""
    steps: ByteArray
    """The q, shape (n_rows, n_columns)."""
    power: int
    """2 for matrices without negative values, so that small values are kept more exactly; 1 for others."""
    largest_error: float
    """Largest absolute difference between an entry and its original value."""

    @property
    def values(self) -> FloatArray:
        """The entries as a reader of the page gets them."""
        fractions = (self.steps.astype(np.float64) / _STEPS) ** self.power
        restored: FloatArray = self.offsets[:, None] + self.scales[:, None] * fractions
        return restored

    def to_bytes(self, kept: BoolArray | None = None) -> bytes:
        """Offsets and scales (little-endian float32), then the steps, or the `kept` ones of them."""
        steps = self.steps if kept is None else self.steps[kept]
        return self.offsets.tobytes() + self.scales.tobytes() + steps.tobytes()


def quantised_matrix(matrix: AnyArray, power: int, n_steps: int = _STEPS) -> QuantisedMatrix:
    r"""Store a matrix as bytes, each row on its own scale.

    Parameters
    ----------
    matrix : ndarray of float, shape (n_rows, n_columns)
        Finite, with at least one column; not negative if the power is 2.
    power : {1, 2}
    n_steps : int, default 255
        A divisor of 255. Fewer steps are less exact and take less room when they are compressed.

    Returns
    -------
    QuantisedMatrix

    Notes
    -----
    With power 2 values are stored by their square roots: of :math:`n` steps, the error about :math:`x` is at
    most about :math:`\sqrt{x\, m} / n`, :math:`m` being the largest of the row. With power 1 it is at most
    the range of the row over :math:`2 n`.

    Examples
    --------
    >>> found = quantised_matrix(np.array([[0.0, 0.25, 1.0]]), 2)
    >>> found.steps.tolist()
    [[0, 128, 255]]
    >>> bool(abs(found.values[0, 1] - 0.25) == found.largest_error < 0.002)
    True
    """
    values = matrix.astype(np.float64)
    offsets = np.zeros(values.shape[0], dtype="<f4") if power == 2 else values.min(axis=1).astype("<f4")
    scales = np.maximum(values.max(axis=1) - offsets, 0.0).astype("<f4")
    share = np.divide(
        values - offsets[:, None],
        scales[:, None].astype(np.float64),
        out=np.zeros_like(values),
        where=scales[:, None] > 0,
    )
    roots = np.clip(share, 0.0, 1.0) ** (1.0 / power)
    steps = (np.rint(roots * n_steps) * (_STEPS // n_steps)).astype(np.uint8)
    found = QuantisedMatrix(
        offsets=frozen(offsets), scales=frozen(scales), steps=frozen(steps), power=power, largest_error=0.0
    )
    error = float(np.abs(found.values - values).max(initial=0.0))
    return QuantisedMatrix(
        offsets=found.offsets,
        scales=found.scales,
        steps=found.steps,
        power=power,
        largest_error=error,
    )


def packed_text(data: bytes) -> str:
    """Compress bytes and write them as base64 text; the same bytes always give the same text.

    Examples
    --------
    >>> zlib.decompress(base64.b64decode(packed_text(b"haar haar haar")))
    b'haar haar haar'
    """
    # The zlib format has no clock in its header, unlike that of gzip.
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def plain_numbers(value: Any, digits: int = 6) -> Any:
    """Arrays and numbers as JSON has them, rounded to some significant digits.

    What is not a number becomes None, for JSON has no word for it.

    Examples
    --------
    >>> plain_numbers({"a": np.array([1.23456789, np.nan]), "n": np.int64(3)})
    {'a': [1.23457, None], 'n': 3}
    """
    if isinstance(value, dict):
        return {str(name): plain_numbers(item, digits) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_numbers(item, digits) for item in value]
    if isinstance(value, np.ndarray):
        return plain_numbers(value.tolist(), digits)
    if isinstance(value, np.generic):
        return plain_numbers(value.item(), digits)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        short = float(f"{value:.{digits}g}")
        return int(short) if short.is_integer() and abs(short) < 1e15 else short
    return value

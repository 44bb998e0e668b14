"""Answers of commands as JSON, for programs to read."""

from __future__ import annotations

import json
import math
from typing import Any

import typer

__all__ = ["echo_json", "without_nan"]


def echo_json(answer: Any) -> None:
    """Print JSON in ASCII, with null for NaN and the infinities, which JSON cannot write."""
    typer.echo(json.dumps(without_nan(answer), indent=2, allow_nan=False))


def without_nan(value: Any) -> Any:
    """`value` with None for NaN and the infinities.

    Examples
    --------
    >>> without_nan({"a": [1.5, float("nan")], "b": (float("-inf"),)})
    {'a': [1.5, None], 'b': [None]}
    """
    if isinstance(value, dict):
        return {name: without_nan(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""Descriptions as JSON text, with the values that a user wants to keep with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from haarbor.errors import SettingError

__all__ = ["json_text"]


def json_text(content: Mapping[str, Any]) -> str:
    """Content of a mask file or of the description of a pruned network, as text.

    Parameters
    ----------
    content : mapping
        JSON values; its entry "origin" is what the user gave.

    Returns
    -------
    str

    Raises
    ------
    SettingError
        If "origin" holds values that JSON has no form for.

    Examples
    --------
    >>> print(json_text({"format": "haarbor-mask", "origin": {"model": "gpt2"}}), end="")
    {
     "format": "haarbor-mask",
     "origin": {
      "model": "gpt2"
     }
    }
    """
    try:
        return json.dumps(content, indent=1) + "\n"
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"origin must hold JSON values only: numbers, texts, lists and mappings; {error}. Convert it "
            "first."
        ) from error

"""Check of arguments that must name something."""

from __future__ import annotations

import os
from typing import TypeVar

import typer

__all__ = ["named"]

_Words = TypeVar("_Words", str, list[str], None)


def named(value: _Words) -> _Words:
    """Return `value` if it can name something on this machine; otherwise report wrong usage (exit code 2).

    Used as the callback of an argument or option. Without it an empty text would mean the current folder,
    or the same as leaving the option out.
    """
    words: list[str] = [value] if isinstance(value, str) else value or []
    for word in words:
        if not word:
            raise typer.BadParameter("must name something; it is empty.")
        try:
            encoded = os.fsencode(word)
        except UnicodeEncodeError:
            raise typer.BadParameter(f"must be a name this machine can write; found {word!a}.") from None
        if b"\0" in encoded:
            raise typer.BadParameter(f"must not hold the character NUL; found {word!a}.")
    return value

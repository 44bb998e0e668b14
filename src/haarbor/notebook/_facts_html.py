"""Facts about a result, and pictures of it, as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from haarbor.printable import printable

__all__ = ["facts_html"]

_CELL = "text-align: left; padding: 1px 12px 1px 0; vertical-align: top"


def facts_html(title: str, facts: Mapping[str, str], pictures: Sequence[tuple[str, str]] = ()) -> str:
    """Title, table of facts, and pictures with captions.

    Parameters
    ----------
    title : str
    facts : mapping of str to str
        Every text is escaped.
    pictures : sequence of (str, str)
        Caption, which is escaped, and HTML of the picture, which is not.

    Returns
    -------
    str
        HTML without scripts, in the colours of the notebook.

    Examples
    --------
    >>> "&lt;b&gt;" in facts_html("Run", {"model": "<b>"})
    True
    """
    rows = "".join(
        f'<tr><th style="{_CELL}; opacity: 0.7; font-weight: 400">{_safe(name)}</th>'
        f'<td style="{_CELL}">{_safe(text)}</td></tr>'
        for name, text in facts.items()
    )
    figures = "".join(
        f'<figure style="display: inline-block; margin: 6px 14px 0 0">{picture}'
        f'<figcaption style="font-size: 0.85em; opacity: 0.75">{_safe(caption)}</figcaption></figure>'
        for caption, picture in pictures
    )
    return (
        f'<div style="font-family: system-ui, sans-serif"><strong>{_safe(title)}</strong>'
        f'<table style="border: 0; margin: 4px 0">{rows}</table>{figures}</div>'
    )


def _safe(text: str) -> str:
    return escape(printable(text))

"""Plotly, imported only where it is needed, and the look that all interactive figures share."""

from __future__ import annotations

from html import escape
from typing import Any

from haarbor.errors import SettingError
from haarbor.printable import printable

__all__ = ["graph_objects", "in_page_style", "plain_label"]


def graph_objects() -> Any:
    """The module ``plotly.graph_objects``.

    Raises
    ------
    SettingError
        If plotly is not installed.
    """
    try:
        import plotly.graph_objects
    except ImportError:
        raise SettingError(
            "these figures need plotly, which is not installed. Run pip install 'haarbor[report]'."
        ) from None
    return plotly.graph_objects


def in_page_style(figure: Any, title: str, *, height: int = 420) -> Any:
    """Give a figure the look of the HTML report and return it."""
    return figure.update_layout(
        title={"text": escape(printable(title)), "font": {"size": 15}},
        height=height,
        margin={"l": 60, "r": 20, "t": 50, "b": 50},
        template="plotly_white",
    )


def plain_label(text: str) -> str:
    """Text without HTML tags for plotly and without characters that cannot be encoded.

    Examples
    --------
    >>> plain_label("<b>the</b>")
    '&lt;b&gt;the&lt;/b&gt;'
    """
    return escape(printable(text), quote=False)

"""A figure whose parts are placed in inches from its upper left corner."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from haarbor.plots.style import PAGE_WIDTH, plain_text

__all__ = ["InchPage"]


class InchPage:
    """Blank figure as wide as a printed page, for pictures of several panels.

    Matplotlib does not line up panels of different kinds. Here every panel is given its place in
    inches, so that nothing is cut off and all pictures of one kind look alike.

    Parameters
    ----------
    height : float
        In inches.
    """

    width = PAGE_WIDTH

    def __init__(self, height: float) -> None:
        self.height = height
        self.figure = Figure(figsize=(self.width, height))

    def panel(self, left: float, top: float, width: float, height: float, **options: Any) -> Any:
        """Axes with their upper left corner at (left, top); `options` as for ``figure.add_axes``."""
        place = (
            left / self.width,
            1.0 - (top + height) / self.height,
            width / self.width,
            height / self.height,
        )
        return self.figure.add_axes(place, **options)

    def text(self, text: str, left: float, top: float, **options: Any) -> None:
        """Text with its upper left corner at (left, top)."""
        self.figure.text(left / self.width, 1.0 - top / self.height, plain_text(text), va="top", **options)

    def heading(self, text: str, top: float) -> None:
        """Name of a network over its part of the page."""
        self.text(text, 0.08, top, fontsize=9, fontweight="bold")

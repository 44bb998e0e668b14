"""A figure that a notebook shows where a cell ends with it."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure

__all__ = ["ShownFigure"]

# So a figure as wide as a printed page is about as wide as a column of text on a screen.
_DOTS_PER_INCH = 120


class ShownFigure(Figure):
    """Figure that shows itself in a notebook, also where pyplot was never imported.

    Matplotlib teaches notebooks to show figures when pyplot makes one, or by ``%matplotlib inline``; figures
    here are made without pyplot.
    """

    def _repr_png_(self) -> bytes:
        """Picture for a notebook."""
        picture = BytesIO()
        self.savefig(picture, format="png", dpi=_DOTS_PER_INCH)
        return picture.getvalue()

"""What a figure holds, for tests to look at."""

from matplotlib.text import Text


def drawn_texts(figure) -> list[str]:
    """Draw a figure and return all its texts that are not empty."""
    figure.draw_without_rendering()
    return texts_of(figure)


def texts_of(figure) -> list[str]:
    """All texts of a figure that has been drawn, those that are empty left out."""
    return [text.get_text() for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


def artist(axes, gid):
    """The one artist of an axes with the given name."""
    (found,) = [child for child in axes.get_children() if child.get_gid() == gid]
    return found

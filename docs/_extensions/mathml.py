"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, nothing from a network."""

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.util import logging

_LOGGER = logging.getLogger(__name__)


def _drawn(node, display):
    drawn = convert(node.astext(), display=display)
    # What the converter does not know it writes as it stands.
    if "\\" in drawn:
        _LOGGER.warning("a formula holds a command that cannot be drawn: %s", node.astext(), location=node)
    return drawn


def _inline_visit(writer, node):
    writer.body.append(_drawn(node, "inline"))
    raise SkipNode


def _displayed_visit(writer, node):
    writer.body.append(f'<div class="math">{_drawn(node, "block")}</div>')
    raise SkipNode


def setup(app):
    """Make it the way in which formulas are drawn."""
    app.add_html_math_renderer("mathml", (_inline_visit, None), (_displayed_visit, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, nothing from a network."""

from latex2mathml.converter import convert


def _inline(writer, node):
    writer.body.append(convert(node.astext()))


def _displayed(writer, node):
    writer.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')


def _inline_visit(writer, node):
    from docutils.nodes import SkipNode

    _inline(writer, node)
    raise SkipNode


def _displayed_visit(writer, node):
    from docutils.nodes import SkipNode

    _displayed(writer, node)
    raise SkipNode


def setup(app):
    """Make it the way in which formulas are drawn."""
    app.add_html_math_renderer("mathml", (_inline_visit, None), (_displayed_visit, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}

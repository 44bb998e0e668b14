"""Whether everything in a figure has its room."""


def assert_nothing_is_cut_off(figure):
    """Everything drawn lies within the figure, and no two titles or axis labels on each other."""
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()
    assert min(drawn.x0, drawn.y0) >= 0, drawn
    assert drawn.x1 <= figure.get_figwidth(), drawn
    assert drawn.y1 <= figure.get_figheight(), drawn
    named = [
        label
        for panel in figure.axes
        for label in (
            panel.xaxis.label,
            panel.yaxis.label,
            panel.title,
            panel._left_title,
            panel._right_title,
        )
        if label.get_text() and not hasattr(panel, "zaxis")
    ] + list(figure.texts)
    boxes = [(label.get_text(), label.get_window_extent()) for label in named]
    for i, (one, box) in enumerate(boxes):
        for other, another in boxes[:i]:
            assert not box.overlaps(another), f"{one!r} lies on {other!r}"

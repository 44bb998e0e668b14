import sys

import pytest

from haarbor.errors import SettingError
from haarbor.plots.interactive._graph_objects import graph_objects, in_page_style


def test_titles_have_no_tags_for_plotly_and_can_be_encoded():
    figure = in_page_style(graph_objects().Figure(), "<b>half \ud800</b>", height=300)
    assert figure.layout.title.text == r"&lt;b&gt;half \ud800&lt;/b&gt;"
    assert figure.layout.height == 300


def test_missing_plotly_is_one_clear_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(SettingError) as caught:
        graph_objects()
    assert str(caught.value) == (
        "these figures need plotly, which is not installed. Run pip install 'haarbor[report]'."
    )

from io import BytesIO

import matplotlib
from matplotlib.image import imread

import haarbor as hb
from haarbor.plots import tree_figure

TREE = hb.PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])


def test_a_figure_shows_itself_as_a_picture_of_its_size():
    figure = tree_figure(TREE)
    picture = imread(BytesIO(figure._repr_png_()), format="png")
    wide, high = figure.get_size_inches()
    assert picture.shape[:2] == (int(120 * high), int(120 * wide))
    assert 0.0 < (picture[..., :3].min(axis=2) < 0.5).mean() < 0.5  # ink on paper


def test_the_picture_does_not_depend_on_the_settings_of_the_notebook():
    plain = tree_figure(TREE)._repr_png_()
    with matplotlib.rc_context({"savefig.dpi": 30, "figure.dpi": 30, "text.color": "white"}):
        assert tree_figure(TREE)._repr_png_() == plain

import matplotlib

import haarbor as hb
from haarbor.plots import save_figure, tree_figure

TREE = hb.PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])


def test_drawing_leaves_the_settings_and_pyplot_alone(tmp_path):
    before = dict(matplotlib.rcParams)
    save_figure(tree_figure(TREE), tmp_path / "tree.svg")
    assert dict(matplotlib.rcParams) == before


def test_settings_of_the_user_do_not_change_a_figure(tmp_path):
    plain = save_figure(tree_figure(TREE), tmp_path / "plain.svg").read_bytes()
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "text.color": "white"}):
        assert save_figure(tree_figure(TREE), tmp_path / "dark.svg").read_bytes() == plain

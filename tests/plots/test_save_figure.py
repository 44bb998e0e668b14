"""Figures on disk, the style they are drawn in, and text that fights back."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest

import haarbor as hb
import haarbor.plots
from haarbor.plots import organized_matrix_figure, save_figure, tree_figure
from haarbor.plots.style._figure_text import plain_text
from tests.plots.figure_contents import drawn_texts

TREE = hb.PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])
HOSTILE = ["$x_", "$", r"\$", "$$", r"\frac{", "\n", "\t", " ", "", "\x00", "\ud800", "漢字", "🙂", "é",
           "Ġthe", "a" * 80, "\u202eabc", "^_{}", "%s", "<b>&amp;"]  # fmt: skip


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_same_figure_gives_the_same_bytes(causal, suffix, tmp_path):
    def written(name):
        figure = organized_matrix_figure(causal.X, causal.organization, title="a $ title")
        return save_figure(figure, tmp_path / f"{name}.{suffix}").read_bytes()

    first = written("first")
    assert first == written("second")
    assert first[:4] == {"png": b"\x89PNG", "svg": b"<?xm", "pdf": b"%PDF"}[suffix]


def test_png_has_200_dots_an_inch(tmp_path):
    from matplotlib.image import imread

    figure = tree_figure(TREE)
    height, width, _ = imread(save_figure(figure, tmp_path / "tree.PNG")).shape
    assert abs(width - 200 * figure.get_figwidth()) <= 1
    assert abs(height - 200 * figure.get_figheight()) <= 1


def test_unknown_endings_and_missing_folders_are_refused(tmp_path):
    with pytest.raises(hb.SettingError, match=r"written as \.png, \.svg or \.pdf; found 'tree\.jpg'"):
        save_figure(tree_figure(TREE), tmp_path / "tree.jpg")
    with pytest.raises(hb.SettingError, match=r"there is no .*nowhere\. Make it first"):
        save_figure(tree_figure(TREE), tmp_path / "nowhere" / "tree.svg")


def test_a_figure_is_written_whole_or_not_at_all_and_never_over_a_device(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.svg")
    with pytest.raises(hb.StoreError, match=r"a figure must be written to a file; .* is a device, a pipe"):
        save_figure(tree_figure(TREE), tmp_path / "pipe.svg")
    (tmp_path / "link.svg").symlink_to("tree.svg")
    save_figure(tree_figure(TREE), tmp_path / "link.svg")
    before = (tmp_path / "tree.svg").read_bytes()
    assert (tmp_path / "link.svg").is_symlink()

    def half(_figure, target, **_options):
        write = target.write if hasattr(target, "write") else Path(target).write_bytes
        write(b"<?xml")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", half)
    with pytest.raises(hb.StoreError, match=r"a figure must be writable; .*No space left on device"):
        save_figure(tree_figure(TREE), tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.svg", "pipe.svg", "tree.svg"]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_hostile_labels_are_drawn(causal, suffix, tmp_path):
    figure = organized_matrix_figure(
        causal.X, causal.organization, query_labels=HOSTILE, key_labels=HOSTILE, title="".join(HOSTILE)
    )
    assert save_figure(figure, tmp_path / f"hostile.{suffix}").stat().st_size > 1000


def test_dollars_reach_the_page_and_begin_no_formula():
    figure = tree_figure(TREE, labels=["$x_", r"\$y$", "$"])
    figure.draw_without_rendering()
    shown = [text._preprocess_math(text.get_text()) for text in figure.axes[0].texts]
    assert shown == [("$x_", False), (r"\$y$", False), ("$", False)]


def test_line_ends_are_visible_and_missing_letters_become_boxes():
    assert plain_text("a\n\t漢") == "a⏎⇥□"
    assert plain_text("Ġé") == "Ġé"
    assert "⏎" in drawn_texts(tree_figure(TREE, labels=["\n", "b", "c"]))


def test_long_titles_stay_within_the_figure(tmp_path):
    figure = tree_figure(TREE, title="a rather long title " * 9)
    figure.draw_without_rendering()
    box = figure._suptitle.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width


def test_drawing_leaves_the_settings_and_pyplot_alone(tmp_path):
    before = dict(matplotlib.rcParams)
    save_figure(tree_figure(TREE), tmp_path / "tree.svg")
    assert dict(matplotlib.rcParams) == before


def test_settings_of_the_user_do_not_change_a_figure(tmp_path):
    plain = save_figure(tree_figure(TREE), tmp_path / "plain.svg").read_bytes()
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "text.color": "white"}):
        assert save_figure(tree_figure(TREE), tmp_path / "dark.svg").read_bytes() == plain


def test_public_names_are_sorted_and_real():
    assert haarbor.plots.__all__ == sorted(haarbor.plots.__all__)
    for name in haarbor.plots.__all__:
        assert getattr(haarbor.plots, name).__name__ == name


def output_of(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_haarbor_does_not_import_matplotlib_nor_plots_pyplot():
    code = "import sys, haarbor; print('matplotlib' in sys.modules)"
    assert output_of(code) == "False\n"
    assert output_of("import sys, haarbor.plots; print('matplotlib.pyplot' in sys.modules)") == "False\n"


def test_missing_matplotlib_is_one_clear_line():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import haarbor\n"
        "try:\n    import haarbor.plots\n"
        "except haarbor.HaarborError as error:\n    print(error)"
    )
    assert output_of(code) == (
        "figures need the matplotlib package, which is not installed. Run pip install 'haarbor[report]'.\n"
    )

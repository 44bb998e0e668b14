"""Figures on disk: the same bytes, written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

import haarbor as hb
from haarbor.plots import organized_matrix_figure, save_figure, tree_figure

TREE = hb.PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])


@pytest.mark.slow
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

"""haarbor demo, as a user types it: with the wheel, its extras and nothing else installed."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import haarbor as hb
from tests.installed_wheel import built_wheel, done, empty_environment, install

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    python = empty_environment(folder / "environment")
    site_packages = install(built_wheel(tmp_path_factory.mktemp("dist")), ("models", "report"), python)
    assert not (site_packages / "pytest").exists()
    command = python.with_name("haarbor")
    return folder / "out", done(
        command, "demo", "--out", folder / "out", "--tokens", 24, "--batches", 2, cwd=folder
    )


def test_demo_ends_with_three_sentences_and_where_everything_is(demo_folder):
    folder, shown = demo_folder
    sentences = [line for line in shown.splitlines() if line.endswith(".") and not line.endswith(" s.")]
    assert len(sentences) == 3
    assert (folder / "report.html").stat().st_size > 100_000
    for place in ("report.html", "figures/figures.md", "transformer-xl.zarr", "vision-transformer.zarr"):
        assert str(folder / place) in shown
        assert (folder / place).exists()


def test_demo_makes_every_figure_and_table_of_the_paper(demo_folder):
    folder, _ = demo_folder
    for ending in ("png", "svg"):
        names = {path.stem for path in (folder / "figures").glob(f"*.{ending}")}
        assert names == {"figure1", "figure2_1", "figure2_2", "figure3", "figure4", "figure5", "figure6"}
    for ending in ("csv", "md"):
        names = {path.stem for path in (folder / "figures").glob(f"table*.{ending}")}
        assert names == {"table1", "table1_stability", "table2", "table3"}


def test_demo_runs_hold_both_trained_networks(demo_folder):
    folder, _ = demo_folder
    text, images = (hb.open_run(folder / f"{name}.zarr") for name in ("transformer-xl", "vision-transformer"))
    assert text.tensor(1).shape == (24, 24, 48)
    assert images.tensor(1).shape == (197, 197, 36)
    assert set(text.contents) == set(images.contents) == {"probabilities", "logits"}
    assert images.picture(0).shape == (56, 56, 3)
    sums = np.asarray(images.tensor(0)).sum(axis=1)
    np.testing.assert_allclose(sums, 1.0, atol=5e-3)


def test_a_second_call_reuses_what_the_first_has_done_and_finds_the_same(command, demo_folder):
    folder, _ = demo_folder
    before = (folder / "figures" / "table2.csv").read_bytes()
    done = command("demo", "--out", folder, "--tokens", 24, "--batches", 2, "--json")
    assert done.code == 0, done.err
    assert "capturing" not in done.err
    assert (folder / "figures" / "table2.csv").read_bytes() == before
    found = json.loads(done.out)
    assert [network["n_heads"] for network in found["networks"]] == [48, 36]
    assert str(folder / "report.html") in found["files"]


def test_another_demo_in_the_same_folder_is_refused_and_nothing_is_lost(command, demo_folder):
    folder, _ = demo_folder
    done = command("demo", "--out", folder, "--tokens", 32, "--batches", 2)
    assert done.code == 1
    assert "transformer-xl.zarr" in done.line
    assert hb.open_run(folder / "transformer-xl.zarr").tensor(0).shape == (24, 24, 48)


def test_help_tells_a_newcomer_what_the_demo_does(command):
    done = command("demo", "--help")
    assert done.code == 0
    assert "two trained networks inside the package" in " ".join(done.out.split())

import csv
import json
import subprocess
import sys

import pytest

import haarbor as hb


def haarbor(*words, cwd):
    command = [sys.executable, "-m", "haarbor", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    small = ("--tokens", "24", "--layers", "2", "--heads", "4", "--batches", "2")
    done = haarbor("demo", "--out", str(folder / "out"), *small, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out", done.stdout


def test_demo_shows_tables_and_names_what_it_wrote(demo_folder):
    folder, shown = demo_folder
    assert "Folders of the head tree" in shown
    assert "Kendall tau" in shown
    for path in folder.iterdir():
        assert path.name in shown


def test_demo_writes_every_figure(demo_folder):
    folder, _ = demo_folder
    names = {path.stem for path in folder.glob("*.png")}
    assert names == {
        "organised_head", "head_affinity", "head_tree", "head_map_3d", "head_map_2d", "head_haar_basis",
        "sorted_coefficients", "entropies", "entropy_map", "convergence", "stability",
    }  # fmt: skip
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in folder.glob("*.png"))


def test_demo_entropies_are_those_of_the_library(demo_folder):
    folder, _ = demo_folder
    network = hb.datasets.synthetic_network(24, 2, 4, batch=1)
    organised = hb.organize(network.tensor, mask=network.mask)
    expected = hb.head_entropy(network.tensor, organised.trees).raw
    with (folder / "entropies.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["batch"] == "1"]
    assert [float(row["raw"]) for row in rows] == pytest.approx(expected.tolist(), rel=1e-9)
    assert [row["kind"] for row in rows] == list(network.head_kinds)


def test_demo_head_tree_can_be_read_back(demo_folder):
    folder, _ = demo_folder
    tree = hb.PartitionTree.from_json((folder / "head_tree.json").read_text())
    network = hb.datasets.synthetic_network(24, 2, 4)
    assert tree == hb.organize(network.tensor, mask=network.mask).trees["head"]


def test_demo_prints_json_that_a_program_can_read(tmp_path):
    words = ("--tokens", "12", "--layers", "1", "--heads", "3", "--batches", "1", "--no-figures", "--json")
    done = haarbor("demo", "--out", str(tmp_path / "out"), *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["shape"] == [12, 12, 3]
    assert found["mean_kendall_tau"] is None
    assert sorted(head for folder in found["head_folders"] for head in folder["heads"]) == [0, 1, 2]


def test_a_folder_that_cannot_be_made_is_one_line_and_exit_code_1(tmp_path):
    (tmp_path / "taken").write_text("a file")
    done = haarbor("demo", "--out", str(tmp_path / "taken" / "inside"), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "--out must be a folder that can be written" in done.stderr


def test_wrong_usage_is_exit_code_2(tmp_path):
    done = haarbor("demo", "--tokens", "many", cwd=tmp_path)
    assert done.returncode == 2


def test_version_is_that_of_the_package(tmp_path):
    done = haarbor("--version", cwd=tmp_path)
    assert done.stdout.strip() == f"haarbor {hb.__version__}"


def test_help_tells_a_newcomer_what_the_demo_does(tmp_path):
    done = haarbor("demo", "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "made-up network" in done.stdout

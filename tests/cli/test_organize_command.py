"""haarbor organize, as a user types it: of runs, and of arrays."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import haarbor as hb
from haarbor import datasets
from haarbor.store import import_arrays
from tests.engines.numpy_device import numpy_gpu


def test_organize_says_in_words_what_it_found(command, captured_run):
    out, _ = captured_run
    done = command("organize", out)
    assert done.code == 0, done.err
    assert "12 heads on 3 batches" in done.out
    assert "Organising 12 heads, 12 x 12, 3 batches ..." in done.err
    assert "Engine: cpu, " in done.err
    again = command("organize", out, "--json")
    found = json.loads(again.out)
    assert found["batches_reused"] == 3
    assert "Every batch had been organised so before; nothing was computed again." in again.err
    assert len(found["highest_entropy"]) == 5


def test_a_limit_of_memory_is_planned_before_the_work(command, copied_run):
    done = command("organize", copied_run, "--memory", "1kB")
    assert done.code == 1
    assert "--memory must hold the distances and one block" in done.err
    assert "Give --memory " in done.err
    assert len(done.err.strip().splitlines()[-1]) < 300
    done = command("organize", copied_run, "--memory", "100 GB")
    assert done.code == 0, done.err
    assert "Plan: the tensor of " in done.err
    assert "fits into 100.0 GB: it is read once and held" in done.err


def test_a_scheduler_goes_with_a_cluster_and_must_answer(command, new_run, monkeypatch):
    done = command("organize", new_run, "--scheduler", "tcp://127.0.0.1:1")
    assert done.code == 1
    assert "--scheduler must go with --engine cluster; found --engine auto" in done.err
    done = command("organize", new_run, "--engine", "clusters")
    assert done.code == 2
    pytest.importorskip("distributed")
    monkeypatch.setattr("haarbor.engines._cluster_session._ANSWER_SECONDS", 0.3)
    done = command("organize", new_run, "--engine", "cluster", "--scheduler", "tcp://127.0.0.1:1")
    assert done.code == 1
    assert "Engine: cluster, the workers of tcp://127.0.0.1:1." in done.err
    assert "a scheduler must answer at tcp://127.0.0.1:1; it did not within" in done.err.splitlines()[-1]


def test_organize_takes_logits_with_their_mask(command, captured_run):
    out, _ = captured_run
    done = command("organize", out, "--content", "logits", "--json")
    assert done.code == 0, done.err
    kept = hb.open_run(out).load_result("organization", batch=0, content="logits")
    assert kept.settings.masked_entries == "row mean of valid logits"


def test_the_engine_is_chosen_and_told(command, captured_run, array, monkeypatch):
    out, _ = captured_run
    found = json.loads(command("organize", out, "--engine", "cpu", "--json").out)
    assert found["engine"] == "cpu"
    np.save("x.npy", array[:, :, 0])
    monkeypatch.setattr("haarbor.engines._engine_choice.GpuEngine", numpy_gpu)
    done = command("organize", "x.npy", "--axes", "row,column", "--engine", "gpu", "-o", "out", "--json")
    assert json.loads(done.out)["engine"] == "gpu"
    assert "Computed on the GPU." in done.err


def test_an_engine_that_cannot_run_is_refused_in_one_line(command, captured_run, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    done = command("organize", captured_run[0], "--engine", "gpu")
    assert done.code == 1
    assert done.err.splitlines()[-1] == (
        "haarbor: the GPU engine needs CuPy, which is not installed. Run pip install 'haarbor[gpu]', or use "
        "--engine cpu."
    )
    assert command("organize", captured_run[0], "--engine", "tpu").code == 2


def test_tables_of_a_run_are_written_where_they_are_asked_for(command, copied_run, tmp_path):
    done = command("organize", copied_run, "-o", tmp_path / "tables")
    assert done.code == 0, done.err
    run = hb.open_run(copied_run)
    folders = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert folders == (
        [*(f"batch{batch}" for batch in run.batches), "head_scores.csv"]
        if run.n_batches > 1
        else ["head.csv", "head_scores.csv", "key.csv", "organization.npz", "query.csv"]
    )


def test_tokens_in_the_tables_are_those_of_the_text_without_padding(command, tmp_path):
    X = datasets.synthetic_attention(n_tokens=5, n_layers=1, heads_per_layer=2)
    mask = np.zeros((6, 6), dtype=bool)
    mask[1:, 1:] = True
    padded = np.zeros((6, 6, 2))
    padded[1:, 1:] = X
    import_arrays(padded, tmp_path / "run", mask=mask, labels=("pad", "a", "b", "c", "d", "e"))
    done = command("organize", tmp_path / "run", "-o", tmp_path)
    assert done.code == 0, done.err
    for axis in ("query", "key"):
        with (tmp_path / f"{axis}.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert {int(row[axis]): row["label"] for row in rows} == dict(enumerate("abcde"))


@pytest.fixture
def array(tmp_path, monkeypatch):
    """The attention of a made-up network, as query x key x head, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return datasets.synthetic_attention(n_tokens=16, n_layers=2, heads_per_layer=3)


def test_attention_becomes_a_run_with_tables_beside_it(command, array):
    np.save("x.npy", array.transpose(2, 0, 1))
    done = command("organize", "x.npy")
    assert done.code == 0, done.err
    assert "6 (head) x 16 (query) x 16 (key); --axes names the axes otherwise." in done.err
    assert "x: 6 heads on 1 batch" in done.out
    assert "Next: haarbor report x-organized/run.zarr -o report.html" in done.out
    run = hb.open_run("x-organized/run.zarr")
    np.testing.assert_allclose(np.asarray(run.tensor(0)), array, rtol=1e-6)
    kept = run.load_result("organization", batch=0)
    expected = hb.organize(np.asarray(run.tensor(0)))
    assert kept.trees == expected.trees
    with Path("x-organized/head.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["head"]) for row in rows] == expected.order("head").tolist()
    entropy = run.load_result("head-entropy", batch=0).raw
    for row in rows:
        assert float(row["haar_entropy"]) == pytest.approx(entropy[int(row["head"])])
    assert command("info", "x-organized/run.zarr").code == 0
    again = command("organize", "x.npy", "--json")
    assert json.loads(again.out)["batches_reused"] == 1


def test_a_run_of_an_array_makes_a_report(command, array):
    np.save("x.npy", array)
    assert command("organize", "x.npy", "--heads-per-layer", 3, "-o", "out").code == 0
    assert hb.open_run("out/run.zarr").heads_per_layer == 3
    done = command("report", "out/run.zarr", "-o", "x.html")
    assert done.code == 0, done.err
    assert Path("x.html").stat().st_size > 10_000


def test_every_batch_of_an_array_has_its_tables(command, array):
    both = np.stack([array, array[:, :, ::-1]]).transpose(0, 3, 1, 2).reshape(2, 2, 3, 16, 16)
    np.save("x.npy", both)
    done = command("organize", "x.npy", "-o", "out")
    assert done.code == 0, done.err
    assert "x: 6 heads on 2 batches" in done.out
    names = ["batch0", "batch1", "head_scores.csv", "run.zarr"]
    assert sorted(path.name for path in Path("out").iterdir()) == names
    assert Path("out/batch1/query.csv").exists()


@pytest.mark.parametrize("shape", [(9, 7), (5, 4, 3), (4, 3, 5, 2), (2, 3, 2, 3, 2)])
def test_any_array_gets_trees_on_all_axes(command, tmp_path, monkeypatch, shape):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal(shape)
    np.save("x.npy", X)
    done = command("organize", "x.npy", "-o", "out")
    assert done.code == 0, done.err
    axes = ("row", "column") if len(shape) == 2 else tuple(f"axis{n}" for n in range(len(shape)))
    expected = hb.organize(X, axes)
    with np.load("out/organization.npz") as arrays:
        for axis, n in zip(axes, shape, strict=True):
            assert f"  {axis}: {n} items, {expected.trees[axis].n_levels} levels; " in done.out
            np.testing.assert_array_equal(arrays[f"{axis}_tree"], expected.trees[axis].levels)
    found = json.loads(command("organize", "x.npy", "-o", "out", "--json").out)
    assert found["shape"] == list(shape)
    assert found["axes"] == list(axes)
    assert [Path(path).name for path in found["files"]] == [*(f"{a}.csv" for a in axes), "organization.npz"]


def test_one_matrix_of_attention_is_a_run_of_one_head(command, array):
    np.save("x.npy", array[:, :, 0])
    done = command("organize", "x.npy", "--axes", "query,key", "-o", "out")
    assert done.code == 0, done.err
    assert "x: 1 head on 1 batch" in done.out
    assert hb.open_run("out/run.zarr").n_heads == 1


def test_a_failed_import_does_not_stand_in_the_way_of_the_next(command, array):
    logits = np.where(np.tri(16, dtype=bool)[:, :, None], np.log(array + 0.01), -np.inf)
    np.save("x.npy", logits)
    done = command("organize", "x.npy")
    assert done.code == 1
    assert "Add --causal if no query sees later keys" in done.line
    assert not Path("x-organized").exists()
    done = command("organize", "x.npy", "--causal")
    assert done.code == 0, done.err
    assert "it is taken for logits" in done.err
    assert hb.open_run("x-organized/run.zarr").contents == ("logits",)


def test_another_array_is_not_written_over_the_first(command, array):
    np.save("x.npy", array)
    np.save("y.npy", array[::-1, ::-1])
    assert command("organize", "x.npy", "-o", "out").code == 0
    done = command("organize", "y.npy", "-o", "out")
    assert done.code == 1
    assert "it holds another. Choose another --out, or remove it." in done.line
    np.testing.assert_allclose(np.asarray(hb.open_run("out/run.zarr").tensor(0)), array, rtol=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--heads-per-layer", "4"), "--heads-per-layer must divide the number of heads; found 4 for 6"),
        (("--stream", "self"), "--stream must go with a run; RUN is an array file. Leave it out."),
        (("--axes", "a,b,c", "--causal"), "--causal must go with attention; the axes are a, b, c"),
        (("--array", "a"), "x.npy holds one. Leave it out."),
    ],
)
def test_options_that_do_not_fit_an_array(command, array, words, message):
    np.save("x.npy", array)
    done = command("organize", "x.npy", *words)
    assert done.code == 1
    assert message in done.line
    assert not Path("x-organized").exists()


def test_options_of_arrays_are_refused_for_a_run(refused):
    done = refused("organize", "RUN", "--axes", "query,key,head", "--causal")
    assert "--axes and --causal must go with an array file" in done.line


def test_streams_are_counted_and_named(command, tmp_path):
    pytest.importorskip("transformers")
    from haarbor import capture
    from haarbor.capturing.inputs import model_inputs, random_samples
    from tests.capturing.small_models import SMALL_MODELS

    model = SMALL_MODELS["t5"].build("eager")
    samples = random_samples(model_inputs(model), n_samples=1, n_tokens=6)
    capture(model, samples, tmp_path / "run", name="t5")
    done = command("organize", tmp_path / "run")
    assert done.code == 0, done.err
    assert done.out.startswith("t5: 36 heads in 3 streams (encoder 3 layers x 4 heads, decoder")
    assert "the run has decoder (12 heads) and cross (12 heads), too: add --stream decoder." in done.out
    found = json.loads(command("organize", tmp_path / "run", "--stream", "cross", "--json").out)
    assert found["streams"] == {"encoder": 12, "decoder": 12, "cross": 12}
    assert (found["stream"], found["n_heads"]) == ("cross", 12)
    done = command("organize", tmp_path / "run", "--stream", "self")
    assert done.line.startswith("haarbor: --stream must be one of encoder, decoder, cross; found 'self'.")


def test_heads_that_cannot_be_told_apart_are_not_ranked(command, tmp_path):
    rng = np.random.default_rng(0)
    same = rng.random((12, 12, 1)) + 1e-4 * rng.random((12, 12, 6))
    for name, X, told in (("same", same, True), ("other", same * np.arange(1, 7), False)):
        import_arrays(X / X.sum((0, 1)).max(), tmp_path / name)
        done = command("organize", tmp_path / name)
        assert done.code == 0, done.err
        assert ("The heads cannot be told apart: " in done.out) is told
        assert ("Most coarse structure" in done.out) is not told
        summary = json.loads(command("organize", tmp_path / name, "--json").out)
        assert summary["heads_told_apart"] is not told


@pytest.mark.slow
def test_organize_takes_a_builder_and_keeps_the_results_of_the_other(command, captured_run):
    out, _ = captured_run
    assert command("organize", out).code == 0
    done = command("organize", out, "--tree", "haar", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["tree"] == "haar"
    run = hb.open_run(out)
    assert run.load_result("organization", batch=0).settings.tree == "haar"
    assert run.load_result("organization.flexible", batch=0).settings.n_iterations == 3
    assert json.loads(command("organize", out, "--json").out)["batches_reused"] == 3
    wrong = command("organize", out, "--tree", "oak")
    assert wrong.code == 2
    assert "--tree" in wrong.err


def test_folders_drawn_at_random_are_told_with_their_error(command, copied_run):
    done = command("organize", copied_run, "--approximate", "40", "--json")
    assert done.code == 0, done.err
    assert "Approximate: distances from 40 folders drawn at random; their standard error is" in done.err
    found = json.loads(done.out)
    assert found["approximate"] == 40
    assert found["approximation_error"] > 0
    # Asked for all of them, the answer is another one.
    done = command("organize", copied_run, "--json")
    assert json.loads(done.out)["approximate"] is None
    assert json.loads(done.out)["batches_reused"] == 0
    done = command("organize", copied_run, "--approximate", "40", "--tree", "haar")
    assert done.code == 1
    assert "approximate must go with trees that are built from distances" in done.line

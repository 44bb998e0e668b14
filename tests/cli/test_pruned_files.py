"""What haarbor prune prints can be had with its files, and is not lost when they cannot be written."""

import importlib
import json
import os
import re
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import transformers  # noqa: E402
from torch import nn  # noqa: E402

import haarbor as hb  # noqa: E402
from haarbor.capturing import load_model  # noqa: E402
from haarbor.errors import PruningError, StoreError  # noqa: E402
from haarbor.pruning import (  # noqa: E402
    model_batches,
    n_parameters,
    network_heads,
    pruning_data,
    pruning_study,
    read_mask,
    removed_heads,
    save_pruned,
    write_mask,
)
from haarbor.pruning._metrics import METRICS, measure  # noqa: E402
from tests.cli.builders import prune_refusal, pruned, saved_model  # noqa: E402
from tests.pruning.builders import files_of_at_most  # noqa: E402

SMALL = ("--calibration", "4", "--evaluation", "4", "--tokens", "32", "--seeds", "1", "--quick")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("llama", ("--budget", 0.3)),  # its key-value heads are left with one and with two query heads
        ("llama", ("--budget", 0.5, "--uniform")),  # loads with transformers alone
        pytest.param("llama", ("--budget", 0.3, "--no-compensate"), marks=pytest.mark.slow),
        pytest.param("opt", ("--budget", 0.3), marks=pytest.mark.slow),  # cannot be made smaller
        pytest.param(
            "albert", ("--budget", 0.7, "--metric", "loss"), marks=pytest.mark.slow
        ),  # its layers share their weights
        pytest.param(
            "gpt_oss", ("--budget", 0.3), marks=pytest.mark.slow
        ),  # not on the list of those that are built from a description
        pytest.param("zoo:transformer-xl", ("--budget", 0.3), marks=pytest.mark.slow),
    ],
)
def test_the_printed_loss_is_that_of_what_was_written(name, options, ids, tmp_path):
    where = name if name.startswith("zoo:") else saved_model(name, tmp_path)
    data = "zoo" if name.startswith("zoo:") else str(ids)
    scores = ("--scores", "leftover,norm")
    done = pruned(where, "--data", data, *scores, *SMALL, *options, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    printed = re.search(r"read back: \S+ ([\d.]+) \(([\d.]+) whole\)\. Load it: (.+)", done.output)
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    best = results["recommendation"]["score"]
    told = float(printed[1])
    assert told == pytest.approx(results["values"][best][0], abs=1e-4)
    # As the printed line says, word for word.
    loaded = load_model(where, dtype="float32")
    network = eval(printed[3], {"haarbor": hb, "transformers": transformers, "model": loaded.model})
    metric = "loss" if name == "albert" else "auto"
    prepared = pruning_data(loaded, data, n_calibration=4, n_evaluation=4, n_tokens=32, metric=metric)
    assert measure(network, prepared.evaluation, prepared.metric).value == pytest.approx(told, abs=1e-4)
    whole = measure(loaded.model, prepared.evaluation, prepared.metric).value
    assert whole == pytest.approx(float(printed[2]), abs=1e-4)
    assert abs(told - whole) > 3e-4
    # The mask alone lacks the refit, and is not said to have it.
    heads = network_heads(loaded.model, prepared.evaluation[0])
    with removed_heads(loaded.model, heads, read_mask(tmp_path / "out" / "mask.json", heads)):
        masked = measure(loaded.model, prepared.evaluation, prepared.metric).value
    refitted = "--no-compensate" not in options
    assert (abs(masked - told) > 3e-4) is refitted
    assert ("The mask alone says which heads; the refit is in the model." in done.output) is refitted


class EncoderVit(nn.Module):
    """A vision transformer as people write it themselves, on nn.TransformerEncoder."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 4, stride=4)
        self.positions = nn.Parameter(torch.randn(1, 17, 32) / 5)
        self.token = nn.Parameter(torch.randn(1, 1, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 48, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.scores = nn.Linear(32, 5)

    def forward(self, pixel_values):
        x = self.patches(pixel_values).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], dim=1) + self.positions
        return self.scores(self.encoder(x)[:, 0])


def test_the_loss_of_a_network_of_the_users_own_is_that_of_what_is_saved(tmp_path):
    torch.manual_seed(1)
    model = EncoderVit().eval()
    with torch.no_grad():
        for weight in model.encoder.parameters():
            if weight.dim() > 1:
                weight.mul_(3.0)
    images, labels = torch.randn(10, 2, 3, 16, 16), torch.randint(0, 5, (10, 2))
    data = model_batches([{"pixel_values": x, "labels": y} for x, y in zip(images, labels, strict=True)])
    loss = METRICS["classification-loss"]
    study = pruning_study(model, data[:4], data[4:], ["leftover", "norm"], budget=0.4, shares=[], metric=loss)
    told = study.curves.value(study.recommendation.score)[study.curves.place(0.4)]
    assert study.value == pytest.approx(told, abs=1e-4)
    assert n_parameters(study.pruned) < n_parameters(model)
    save_pruned(tmp_path / "vit", study.pruned, study.heads, study.removed)
    torch.manual_seed(2)
    loaded = hb.load_pruned(tmp_path / "vit", EncoderVit())
    assert measure(loaded, data[4:], loss).value == pytest.approx(told, abs=1e-4)
    assert n_parameters(loaded) == n_parameters(study.pruned)
    # Neither the whole network nor the mask without the refit has this loss.
    write_mask(tmp_path / "mask.json", study.heads, study.removed)
    with removed_heads(model, study.heads, read_mask(tmp_path / "mask.json", study.heads)):
        assert abs(measure(model, data[4:], loss).value - told) > 1e-3
    assert abs(measure(model, data[4:], loss).value - told) > 1e-3


@pytest.fixture(scope="module")
def studies():
    """Studies of one model by their budget: these tests are about the files, so each study is made once."""
    return {}


@pytest.fixture
def words(llama_words, studies, monkeypatch):
    """A command without --out."""
    study = hb.pruning.pruning_study

    def made_once(*arguments, budget, **options):
        if budget not in studies:
            studies[budget] = study(*arguments, budget=budget, **options)
        return studies[budget]

    monkeypatch.setattr(hb.pruning, "pruning_study", made_once)
    return llama_words


@pytest.fixture(scope="module")
def llama_words(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    np.save(folder / "ids.npy", np.random.default_rng(0).integers(3, 97, (8, 32)))
    return (saved_model("llama", folder), "--data", folder / "ids.npy", "--scores", "norm", *SMALL)


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda out: "", "--out must be the path of a folder; found ''"),
        (lambda out: out.write_text("kept") and out, "must be a folder to write to"),
        (lambda out: out / ("x" * 300), "File name too long"),
        (lambda out: "/proc/nowhere/out", "must be a folder to write to"),
        (lambda out: os.mkfifo(out) or out, "must be a folder to write to"),
        (lambda out: (out / "mask.json").mkdir(parents=True) or out, "mask.json must be written to a file"),
        (lambda out: (out / "damage.png").mkdir(parents=True) or out, "damage.png must be written to a file"),
        (lambda out: _made(out, "results.json"), "results.json must be a file of its own; .* is a link"),
        (lambda out: _made(out, "model"), "a network must be written to a folder of its own; .* is a link"),
        (lambda out: out.mkdir() or ((out / "model").write_text("kept") and out), "model is none"),
        (lambda out: _thesis(out), r"holds thesis\.txt"),
    ],
)
def test_places_that_cannot_be_written_to_are_found_before_the_work(prepare, message, tmp_path):
    place = prepare(tmp_path / "out")
    # There is no such model either: that would be told if the work had begun.
    done = prune_refusal("nowhere/at-all", "--data", "zoo", "--scores", "norm", "--out", place)
    assert re.search(message, str(done.exception)), done.exception
    assert (tmp_path / "elsewhere").is_dir() is (tmp_path / "out" / "model").is_symlink()


def _made(out, name):
    """A folder in which a name is a link that leads out of it."""
    out.mkdir()
    target = out.parent / "elsewhere"
    if name == "model":
        target.mkdir()
    (out / name).symlink_to(target)
    return out


def _thesis(out):
    (out / "model").mkdir(parents=True)
    (out / "model" / "thesis.txt").write_text("kept")
    return out


def _full(*_arguments, **_options):
    raise StoreError("it must be writable; the disk is full. Free some space.")


@pytest.mark.parametrize(
    ("broken", "as_json"),
    [("save_pruned", False), ("save_pruned", True), ("save_figure", False), ("write_mask", False)],
)
def test_what_was_found_is_printed_and_saved_when_a_file_cannot_be_written(
    broken, as_json, words, tmp_path, monkeypatch
):
    where = "haarbor.plots" if broken == "save_figure" else "haarbor.pruning"
    monkeypatch.setattr(importlib.import_module(where), broken, _full)
    done = prune_refusal(*words, "--out", tmp_path, *(["--json"] if as_json else []))
    assert "the disk is full" in str(done.exception)
    if as_json:
        printed = json.loads(done.stdout)
        assert printed["recommendation"]["score"] == "norm"
    else:
        assert "Remove 4 of 12 heads" in done.stdout
    there = {path.name for path in tmp_path.iterdir()}
    missing = {"save_pruned": "model", "save_figure": "damage.png", "write_mask": "mask.json"}[broken]
    assert there == {"damage.png", "mask.json", "model", "results.json"} - {missing}
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["recommendation"]["score"] == "norm"
    assert missing not in results["written"].values()


def test_a_disk_that_is_full_is_one_line_after_the_results(words, tmp_path):
    with files_of_at_most(60_000):
        done = prune_refusal(*words, "--out", tmp_path)
    assert "a network must be writable" in str(done.exception)
    assert "Remove 4 of 12 heads" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damage.png", "mask.json", "results.json"]


def test_a_network_that_is_read_back_as_another_is_told(words, tmp_path, monkeypatch):
    whole = load_model(words[0], dtype="float32").model
    monkeypatch.setattr(hb.pruning, "load_pruned", lambda _folder: whole)
    done = prune_refusal(*words, "--out", tmp_path, "--budget", 0.6)
    assert "must give the loss that was measured" in str(done.exception)
    assert isinstance(done.exception, PruningError)


def test_a_missing_matplotlib_costs_the_figure_alone(words, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("haarbor.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = pruned(*words, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "pip install 'haarbor[report]'" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mask.json", "model", "results.json"]


def test_the_figure_is_told_which_score_is_recommended(words, tmp_path, monkeypatch):
    plots, asked = importlib.import_module("haarbor.plots"), []
    drawn = plots.damage_figure
    monkeypatch.setattr(
        plots, "damage_figure", lambda *args, **given: asked.append(given) or drawn(*args, **given)
    )
    done = pruned(*words, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert [given["score"] for given in asked] == ["norm"]

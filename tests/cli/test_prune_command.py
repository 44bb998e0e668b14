"""haarbor prune, as a user types it."""

import json
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from typer.testing import CliRunner  # noqa: E402

import haarbor as hb  # noqa: E402
from haarbor.analysis import kept_pruning  # noqa: E402
from haarbor.cli._app import app  # noqa: E402
from haarbor.errors import DataError  # noqa: E402
from haarbor.pruning import (  # noqa: E402
    DamageCurves,
    PruningData,
    model_batches,
    network_heads,
    read_mask,
    register_score,
)
from haarbor.pruning._scores import SCORES  # noqa: E402
from haarbor.store import open_run  # noqa: E402
from haarbor.zoo import embedded_network, sample_images_path  # noqa: E402
from tests.capturing.small_models import SMALL_MODELS  # noqa: E402
from tests.cli.builders import prune_refusal, pruned, saved_model  # noqa: E402
from tests.pruning.small_networks import network  # noqa: E402

# Enough samples for what is refused, and no curve.
QUICK = ("--calibration", "4", "--evaluation", "4", "--tokens", "32", "--seeds", "1", "--quick")
SMALL = ("--calibration", "2", "--evaluation", "4", "--tokens", "32", "--seeds", "2")


@pytest.mark.slow
def test_the_whole_way_from_a_model_to_a_smaller_one(tmp_path):
    words = ("zoo:transformer-xl", "--data", "zoo", "--budget", 0.25, "--scores", "leftover,random")
    few = ("--calibration", "2", "--evaluation", "4", "--tokens", "16", "--seeds", "2")
    done = pruned(*words, *few, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "Remove 12 of 48 heads (25 %) by" in done.output
    assert "was asked for" not in done.output
    assert "±" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "damage.png",
        "mask.json",
        "model",
        "results.json",
    ]
    results = json.loads((tmp_path / "results.json").read_text())
    # True shares of 48 heads, not the ones that were asked for.
    assert results["n_removed"] == [5, 10, 12, 14, 19, 24]
    assert results["shares"] == [number / 48 for number in results["n_removed"]]
    assert results["asked"] == [[0.1], [0.2], [0.25], [0.3], [0.4], [0.5]]
    origin = json.loads((tmp_path / "model" / "pruned.json").read_text())["origin"]
    assert (origin["n_removed"], origin["n_heads"], origin["budget"], origin["share"]) == (12, 48, 0.25, 0.25)
    assert json.loads((tmp_path / "mask.json").read_text())["origin"] == origin
    assert len(results["removed"]) == 12
    model = embedded_network("transformer-xl")
    batch = model_batches(torch.arange(20)[None])[0]
    removed = read_mask(tmp_path / "mask.json", network_heads(model, batch))
    assert removed.sum() == 12
    smaller = hb.load_pruned(tmp_path / "model")
    assert smaller(torch.arange(20)[None]).logits.shape == (1, 20, model.config.vocab_size)
    assert results["smaller"][1]["n_parameters"] == sum(weight.numel() for weight in smaller.parameters())


@pytest.mark.slow
def test_json_on_stdout_and_classes_from_the_images_file():
    words = ("zoo:vision-transformer", "--data", sample_images_path(), "--quick", "--scores", "norm,random")
    done = pruned(*words, *SMALL, "--no-compensate", "--within-layer", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["metric"] == "classification-loss"
    assert found["origin"]["within"] == "layer"
    assert found["origin"]["replacement"] == "zero"
    assert (found["asked"], found["n_removed"], found["shares"]) == ([[0.3]], [11], [11 / 36])
    assert "own answers" not in done.stderr
    # Controls cost as much as the rest; what they take no measuring for is there.
    assert [entry["within_layer"] for entry in found["controls"]] == [None]
    assert -1 <= found["controls"][0]["agreement"] <= 1


@pytest.mark.slow
def test_accuracy_is_measured_with_scores_that_need_a_gradient():
    words = ("zoo:vision-transformer", "--data", sample_images_path(), "--quick", "--metric", "accuracy")
    done = pruned(*words, *SMALL, "--scores", "gradient,random", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["metric"] == "accuracy"


@pytest.mark.slow
def test_images_without_classes_are_held_to_the_network_itself(tmp_path):
    with np.load(sample_images_path()) as arrays:
        np.save(tmp_path / "images.npy", arrays["images"][:6])
    words = ("zoo:vision-transformer", "--data", tmp_path / "images.npy", "--quick", "--metric", "accuracy")
    done = pruned(*words, *SMALL, "--scores", "norm", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["baseline"] == 1.0
    assert "the whole network's own answers stand for them" in done.stderr


def test_a_uniform_budget_gives_a_standard_checkpoint(tmp_path):
    model = SMALL_MODELS["llama"].build("sdpa")
    model.save_pretrained(tmp_path / "llama")
    np.save(tmp_path / "ids.npy", np.random.default_rng(0).integers(3, 97, (6, 32)))
    words = (tmp_path / "llama", "--data", tmp_path / "ids.npy", "--budget", 0.5, "--uniform", "--quick")
    done = pruned(*words, *SMALL, "--scores", "leftover", "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["written"]["standard_model"] == "model"
    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "out" / "model")
    assert loaded.config.num_attention_heads == 2
    assert loaded.config.head_dim == 8


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    """A Llama of 5 layers with 8 heads, two by two with the same keys and values; and tokens for it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("grouped")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=97, hidden_size=64, intermediate_size=48, num_hidden_layers=5, num_attention_heads=8,
        num_key_value_heads=4, max_position_embeddings=64,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder / "llama")
    np.save(folder / "ids.npy", np.random.default_rng(0).integers(3, 97, (6, 32)))
    return folder


def test_a_uniform_budget_says_how_many_heads_really_go(grouped, tmp_path):
    words = (grouped / "llama", "--data", grouped / "ids.npy", "--budget", 0.3, "--uniform")
    done = pruned(*words, *SMALL, "--scores", "norm,random", "--controls", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "Remove 20 of 40 heads (50 %) by 'norm'" in done.output
    assert "30 % was asked for: --uniform takes the same number of heads from every group" in done.output
    assert "Controls with 20 heads (50 %) removed" in done.output
    assert "Remove 30 %" not in done.output
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["shares"] == [0.5]
    assert results["n_removed"] == [20]
    assert results["origin"]["share"] == 0.5
    assert {entry["n_removed"] for entry in results["controls"]} == {20}
    assert all(entry["within_layer"] is not None for entry in results["controls"])
    assert len(results["removed"]) == 20
    assert json.loads((tmp_path / "model" / "config.json").read_text())["num_attention_heads"] == 4


def test_a_budget_that_removes_nothing_is_refused_with_the_possible_ones(grouped, tmp_path):
    words = (grouped / "llama", "--data", grouped / "ids.npy", "--budget", 0.2, "--uniform", "--quick")
    done = pruned(*words, *SMALL, "--scores", "norm", "--out", tmp_path)
    assert isinstance(done.exception, hb.SettingError)
    message = str(done.exception)
    assert "20 % of 40 heads" in message
    assert "Possible here: 50 % (20)" in message
    assert "\n" not in message
    assert list(tmp_path.iterdir()) == []


def test_a_network_that_is_too_sure_is_said_to_be_where_a_removal_seems_to_improve_it(tmp_path, monkeypatch):
    # Whether one does is chance here, and tried in tests/pruning/test_answer_scale.py.
    monkeypatch.setattr(DamageCurves, "seems_better", lambda curves, share: True)
    model = network("llama")
    with torch.no_grad():
        model.lm_head.weight *= 40
    model.save_pretrained(tmp_path / "llama")
    np.save(tmp_path / "ids.npy", np.random.default_rng(0).integers(3, 97, (12, 32)))
    words = (tmp_path / "llama", "--data", tmp_path / "ids.npy", "--budget", 0.5, "--no-compensate")
    done = pruned(*words, *SMALL, "--scores", "norm,random", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "The network is surer of its answers than it is right on these data" in done.output
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["too_sure"] in done.output


@pytest.mark.slow
def test_reliability_that_is_not_defined_is_said_to_be_so(tmp_path):
    words = ("zoo:vision-transformer", "--data", "zoo", "--quick", "--scores", "random,relative-norm")
    done = pruned(*words, "--calibration", 4, "--evaluation", 8, "--seeds", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "Reliability of the damages is not defined" in done.output
    assert "nan" not in done.output
    assert json.loads((tmp_path / "results.json").read_text())["reliability"] is None


def test_a_network_that_ties_the_width_of_heads_is_saved_free_form(tmp_path):
    SMALL_MODELS["gpt2"].build("sdpa").save_pretrained(tmp_path / "gpt2")
    np.save(tmp_path / "ids.npy", np.random.default_rng(0).integers(3, 97, (6, 32)))
    words = (tmp_path / "gpt2", "--data", tmp_path / "ids.npy", "--budget", 0.5, "--uniform", "--quick")
    done = pruned(*words, *SMALL, "--scores", "norm", "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["written"]["pruned_model"] == "model"
    assert "load it with haarbor.load_pruned" in done.stderr
    assert hb.load_pruned(tmp_path / "out" / "model").config.model_type == "gpt2"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--scores", "magic"), "a score must be one of"),
        (("--data", "nowhere.txt"), "there is no nowhere.txt"),
        (("--eval-data", "zoo"), "must not overlap"),
    ],
)
def test_bad_input_is_one_clear_line(words, message):
    options = {"--data": "zoo", "--scores": "norm", **dict([words])}
    flat = [part for pair in options.items() for part in pair]
    done = pruned("zoo:transformer-xl", *flat, *SMALL, "--quick")
    assert isinstance(done.exception, hb.HaarborError)
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)


def test_wrong_usage_exits_with_two():
    assert pruned("zoo:transformer-xl", "--data", "zoo", "--metric", "bleu").exit_code == 2
    assert pruned("zoo:transformer-xl", "--data", "zoo", "--budget", 2).exit_code == 2


def test_tokens_beyond_the_vocabulary_are_one_line(tmp_path):
    np.save(tmp_path / "ids.npy", np.full((8, 32), 5000) + np.arange(8)[:, None])
    done = prune_refusal(
        saved_model("llama", tmp_path), "--data", tmp_path / "ids.npy", "--scores", "norm", *QUICK
    )
    assert re.search("(from 0 to 96|below 97|vocabulary)", str(done.exception))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.full(8, 57), "labels must be from 0 to 9, the classes of the model; found 57"),
        (np.full(8, -1), "found -1"),
        (np.full(8, 0.5), "must be whole numbers, one per image; found float64"),
        (np.array(["cat"] * 8), "must be whole numbers, one per image; found <U3"),
        (np.zeros((8, 2), int), r"shape \(8, 2\)"),
        (np.zeros(3, int), "a label for every image; found 3 for 4"),
        (np.array([None] * 8), "could not be read"),
    ],
)
def test_labels_that_do_not_fit_are_one_line(labels, message, tmp_path):
    with np.load(sample_images_path()) as arrays:
        np.savez(tmp_path / "images.npz", images=arrays["images"][:8], labels=labels)
    words = ("zoo:vision-transformer", "--data", tmp_path / "images.npz", "--scores", "norm", *QUICK)
    done = prune_refusal(*words)
    assert isinstance(done.exception, DataError)
    assert re.search(message, str(done.exception)), done.exception


def test_a_model_that_names_commands_to_a_terminal_is_shown_without(tmp_path, ids):
    (tmp_path / "in").mkdir()
    folder = saved_model("llama", tmp_path / "in").rename(tmp_path / "red\x1b[31m")
    done = pruned(folder, "--data", ids, "--scores", "norm", *QUICK)
    assert done.exit_code == 0, done.output
    assert "\x1b[31m" not in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere/at/all", "--data", "zoo"), "there is no model at nowhere/at/all. Check the path."),
        (("zoo:transformer-xl", "--data", "no.txt"), "--data must be a path, hub:NAME, zoo or random; there"),
        (
            ("zoo:transformer-xl", "--data", "zoo", "--eval-data", "no.txt"),
            "--eval-data must be a path, hub:NAME, zoo or random; there is no no.txt.",
        ),
    ],
)
def test_mistyped_paths_are_refused_before_anything_slow(refused, words, message):
    done = refused("prune", *words)
    assert done.code == 1
    assert message in done.line
    assert "Loading" not in done.err


@pytest.fixture(scope="module")
def small_model(tmp_path_factory):
    """A Llama of 3 layers with 4 heads, tokens for it, and a run captured from it."""
    folder = tmp_path_factory.mktemp("small")
    SMALL_MODELS["llama"].build("eager").save_pretrained(folder / "llama")
    np.save(folder / "ids.npy", np.random.default_rng(0).integers(3, 97, (8, 16)))
    return folder


WORDS = ("--calibration", 3, "--evaluation", 4, "--tokens", 16, "--scores", "leftover,norm,random")


def test_results_are_kept_in_a_run_and_healing_is_told_beside_them(small_model, tmp_path):
    run = tmp_path / "run.zarr"
    captured = CliRunner().invoke(
        app,
        [
            "capture", str(small_model / "llama"), "--data", str(small_model / "ids.npy"), "-o", str(run),
            "--batches", "1", "--tokens", "16",
        ],
    )  # fmt: skip
    assert captured.exit_code == 0, captured.output
    words = (small_model / "llama", "--data", small_model / "ids.npy", *WORDS, "--seeds", 1)
    done = pruned(*words, "--quick", "--heal", 3, "--run", run, "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    healing = found["healing"]
    assert healing["steps"] == 3
    # The pruned model is the healed one; the curves are without healing.
    assert found["pruned"]["value"] == pytest.approx(found["baseline"] + healing["damage"], abs=1e-5)
    own = found["values"][found["origin"]["score"]][0]
    assert own == pytest.approx(found["baseline"] + healing["damage_before"], abs=1e-4)
    assert healing["damage"] != healing["damage_before"]
    kept = kept_pruning(open_run(run))
    assert kept.values(kept.score)[0] == pytest.approx(own)
    assert kept.healing["damage"] == pytest.approx(healing["damage"])
    assert "Healed by 3 steps" in " ".join(kept.verdict())
    labels = [f"{layer}.{head}" for layer in range(3) for head in range(4)]
    assert [label for label, gone in zip(labels, kept.removed[kept.score], strict=True) if gone] == found[
        "removed"
    ]
    # A network of other weights is not the one of the run, and that is found out before the work.
    other = SMALL_MODELS["llama"].build("eager")
    with torch.no_grad():
        other.model.layers[0].self_attn.q_proj.weight.mul_(2)
    other.save_pretrained(tmp_path / "other")
    refused = pruned(tmp_path / "other", *words[1:], "--quick", "--run", run)
    assert isinstance(refused.exception, DataError)
    assert "the run must be of the same network; its weights are" in str(refused.exception)


def test_what_was_healed_has_a_row_of_its_own(small_model):
    words = (small_model / "llama", "--data", small_model / "ids.npy", *WORDS, "--seeds", 1, "--heal", 1)
    done = pruned(*words)
    assert done.exit_code == 0, done.output
    (row,) = [line for line in done.output.splitlines() if ", healed" in line]
    # A name and one figure, at the budget; the columns of other shares are empty.
    assert sum(bool(cell.strip()) for cell in re.split("[│|]", row)) == 2
    assert "Healed by 1 step on the calibration data" in done.output


def test_a_pruned_model_is_pruned_again(small_model, tmp_path):
    words = ("--data", small_model / "ids.npy", *WORDS, "--seeds", 1, "--quick")
    first = pruned(small_model / "llama", *words, "--budget", 0.25, "--out", tmp_path / "one")
    assert first.exit_code == 0, first.output
    second = pruned(tmp_path / "one" / "model", *words, "--budget", 0.3, "--out", tmp_path / "two", "--json")
    assert second.exit_code == 0, second.output
    found = json.loads(second.stdout)
    assert (found["origin"]["n_heads"], found["origin"]["n_removed"]) == (9, 3)
    network = hb.load_pruned(tmp_path / "two" / "model")
    batch = model_batches(torch.arange(3, 12)[None])[0]
    assert network_heads(network, batch).n_heads == 6


def test_halves_that_disagree_are_told(small_model):
    register_score("by-batch", lambda found: np.arange(12) * (1 if found.n_samples % 2 else -1))
    try:
        done = pruned(
            small_model / "llama", "--data", small_model / "ids.npy", "--calibration", 3, "--evaluation", 4,
            "--tokens", 16, "--scores", "by-batch,leftover", "--quick",
        )  # fmt: skip
    finally:
        SCORES.pop("by-batch")
    assert done.exit_code == 0, done.output
    assert "The two halves of the calibration data order the heads differently" in done.output
    assert "'by-batch' (-1.00)" in done.output


@pytest.mark.slow
def test_more_samples_are_taken_where_halves_disagree_unless_their_number_is_given(monkeypatch):
    monkeypatch.setattr("haarbor.pruning._agreeing_calibration.LEAST_AGREEMENT", 1.1)
    words = ("zoo:transformer-xl", "--data", "zoo", "--scores", "norm", "--no-compensate")
    few = ("--evaluation", "4", "--tokens", "16", "--seeds", "1")
    done = pruned(*words, *few)
    assert done.exit_code == 0, done.output
    told = " ".join(done.output.split())
    assert "so 256 samples were taken in place of 64 (rank correlation of halves: 'norm'" in told
    for plain in (("--calibration", "16"), ("--quick",)):
        done = pruned(*words, *few, *plain)
        assert "were taken in place of" not in done.output
        assert "Take more calibration data. (--calibration N)" in " ".join(done.output.split())


@pytest.mark.parametrize("other", ["--quick", "--no-compensate"])
def test_thorough_is_neither_quick_nor_without_a_refit(other):
    done = pruned("zoo:vision-transformer", "--data", "zoo", "--thorough", other)
    assert done.exit_code == 2
    assert f"must be given without {other}" in " ".join(done.stderr.split())


@pytest.mark.slow
def test_thorough_compares_two_refits_of_each_score(tmp_path):
    words = ("zoo:transformer-xl", "--data", "zoo", "--thorough", "--scores", "norm,random")
    done = pruned(*words, *SMALL, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "norm, sequential" in done.output
    results = json.loads((tmp_path / "results.json").read_text())
    assert list(results["values"]) == ["norm", "norm, sequential", "random"]
    assert results["asked"] == [[0.3]]
    best = results["recommendation"]["score"]
    assert results["origin"]["replacement"] == ("sequential" if "," in best else "refit")
    place = results["shares"].index(results["recommendation"]["share"])
    # What is written is what was measured.
    assert results["pruned"]["read_back"] == pytest.approx(results["values"][best][place], abs=1e-3)


@pytest.mark.slow
def test_thorough_leaves_out_what_needs_texts_of_one_length_and_says_so(monkeypatch):
    monkeypatch.setattr(PruningData, "alike", property(lambda _data: False))
    words = ("zoo:transformer-xl", "--data", "zoo", "--thorough", "--scores", "norm,random")
    done = pruned(*words, *SMALL)
    assert done.exit_code == 0, done.output
    assert "side by side only" in " ".join(done.stderr.split())
    assert "sequential" not in done.stdout

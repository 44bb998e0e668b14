import json

import numpy as np
import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch")

import haarbor as hb  # noqa: E402
from haarbor.cli.app import app  # noqa: E402
from haarbor.pruning import head_sites, model_batches, read_mask  # noqa: E402
from haarbor.zoo import embedded_network, sample_images_path  # noqa: E402
from tests.capturing.small_models import SMALL_MODELS  # noqa: E402

SMALL = ("--calibration", "2", "--evaluation", "4", "--tokens", "32", "--seeds", "2")


def haarbor(*words):
    return CliRunner().invoke(app, ["prune", *map(str, words)])


def test_the_whole_way_from_a_model_to_a_smaller_one(tmp_path):
    words = ("zoo:transformer-xl", "--data", "zoo", "--budget", 0.25, "--scores", "leftover,gradient,random")
    done = haarbor(*words, *SMALL, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "Remove 25 % by" in done.output
    assert "±" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "damage.png",
        "mask.json",
        "model",
        "results.json",
    ]
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["shares"] == [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]
    assert len(results["removed"]) == 12
    model = embedded_network("transformer-xl")
    batch = model_batches(torch.arange(20)[None])[0]
    removed = read_mask(tmp_path / "mask.json", head_sites(model, batch))
    assert removed.sum() == 12
    smaller = hb.load_pruned(tmp_path / "model")
    assert smaller(torch.arange(20)[None]).logits.shape == (1, 20, model.config.vocab_size)
    assert results["smaller"][1]["n_parameters"] == sum(weight.numel() for weight in smaller.parameters())


def test_json_on_stdout_and_classes_from_the_images_file():
    words = ("zoo:vision-transformer", "--data", sample_images_path(), "--quick", "--scores", "norm,random")
    done = haarbor(*words, *SMALL, "--no-compensate", "--within-layer", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["metric"] == "classification-loss"
    assert found["origin"]["within"] == "layer"
    assert found["origin"]["replacement"] == "zero"
    assert found["shares"] == [0.3]
    assert "own answers" not in done.stderr


def test_accuracy_is_measured_with_scores_that_need_a_gradient():
    words = ("zoo:vision-transformer", "--data", sample_images_path(), "--quick", "--metric", "accuracy")
    done = haarbor(*words, *SMALL, "--scores", "gradient,random", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["metric"] == "accuracy"


def test_images_without_classes_are_held_to_the_network_itself(tmp_path):
    with np.load(sample_images_path()) as arrays:
        np.save(tmp_path / "images.npy", arrays["images"][:6])
    words = ("zoo:vision-transformer", "--data", tmp_path / "images.npy", "--quick", "--metric", "accuracy")
    done = haarbor(*words, *SMALL, "--scores", "norm", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["baseline"] == 1.0
    assert "the whole network's own answers stand for them" in done.stderr


def test_a_uniform_budget_gives_a_standard_checkpoint(tmp_path):
    model = SMALL_MODELS["llama"].build("sdpa")
    model.save_pretrained(tmp_path / "llama")
    np.save(tmp_path / "ids.npy", np.random.default_rng(0).integers(3, 97, (6, 32)))
    words = (tmp_path / "llama", "--data", tmp_path / "ids.npy", "--budget", 0.5, "--uniform", "--quick")
    done = haarbor(*words, *SMALL, "--scores", "leftover", "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["written"]["standard_model"] == "model"
    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "out" / "model")
    assert loaded.config.num_attention_heads == 2
    assert loaded.config.head_dim == 8


def test_a_network_that_ties_the_width_of_heads_is_saved_free_form(tmp_path):
    SMALL_MODELS["gpt2"].build("sdpa").save_pretrained(tmp_path / "gpt2")
    np.save(tmp_path / "ids.npy", np.random.default_rng(0).integers(3, 97, (6, 32)))
    words = (tmp_path / "gpt2", "--data", tmp_path / "ids.npy", "--budget", 0.5, "--uniform", "--quick")
    done = haarbor(*words, *SMALL, "--scores", "norm", "--out", tmp_path / "out", "--json")
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
    done = haarbor("zoo:transformer-xl", *flat, *SMALL, "--quick")
    assert isinstance(done.exception, hb.HaarborError)
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)


def test_wrong_usage_exits_with_two():
    assert haarbor("zoo:transformer-xl", "--data", "zoo", "--metric", "bleu").exit_code == 2
    assert haarbor("zoo:transformer-xl", "--data", "zoo", "--budget", 2).exit_code == 2


def test_a_place_that_cannot_be_written_to_is_found_before_the_work(tmp_path):
    (tmp_path / "file").write_text("kept")
    done = haarbor("nowhere", "--data", "zoo", "--scores", "norm", "--out", tmp_path / "file")
    assert "must be a folder to write to" in str(done.exception)  # not that there is no such model
    assert (tmp_path / "file").read_text() == "kept"

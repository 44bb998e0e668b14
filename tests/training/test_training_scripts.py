"""The training scripts on made-up data, on a CPU: a trial of every one of them."""

import json
import runpy
import sys
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("tokenizers")

from haarbor.zoo import load_checkpoint

SCRIPTS = Path(__file__).parents[2] / "training"


def ran(script, *arguments):
    """What a script prints that is run as if it had been typed."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as told:
        patch.syspath_prepend(SCRIPTS)
        patch.setattr(sys, "argv", [script, *map(str, arguments)])
        runpy.run_path(str(SCRIPTS / script), run_name="__main__")
    return told.getvalue()


def require_steps(folder, n_checkpoints, *more_files):
    """Require checkpoints from step 0 to the last, which all differ and can be loaded."""
    places = sorted(folder.glob("step-*"))
    steps = [int(place.name.removeprefix("step-")) for place in places]
    assert len(steps) == n_checkpoints
    notes = [json.loads((place / "training.json").read_text()) for place in places]
    assert [note["step"] for note in notes] == steps
    assert (steps[0], steps[1], steps[-1]) == (0, 1, notes[0]["n_steps"])
    weights = [next(load_checkpoint(place).parameters()) for place in places]
    assert all(not one.equal(two) for one, two in pairwise(weights))
    assert all((place / file).is_file() for place in places for file in more_files)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Sentences of a small grammar: predictable, so that a few epochs are seen to help."""
    folder = tmp_path_factory.mktemp("text")
    rng = np.random.default_rng(0)
    for part, n_lines in (("train", 1500), ("valid", 200), ("test", 200)):
        lines = []
        for _ in range(n_lines):
            who, where = rng.choice(["cat", "dog", "cow"]), rng.choice(["barn", "house", "field"])
            lines.append(f" The {who} sleeps in the {where} , and the {where} keeps the {who} warm . \n")
        (folder / f"{part}.txt").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def tokenizer(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    ran("train_tokenizer.py", "--data", text, "--out", path, "--vocab-size", 300)
    return path


def test_checkpoints_are_on_a_logarithmic_scale(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    from checkpoints import checkpoint_steps

    assert checkpoint_steps(5000, 12) == [0, 1, 2, 5, 13, 30, 71, 166, 388, 910, 2133, 5000]
    assert checkpoint_steps(3, 12) == [0, 1, 2, 3]
    assert checkpoint_steps(100, 0) == []


@pytest.mark.slow
def test_a_transformer_xl_learns_and_its_card_says_how_well(text, tokenizer, tmp_path):
    common = ("--data", text, "--tokenizer", tokenizer, "--size", "tiny", "--tokens", 16, "--streams", 8,
              "--epochs", 2, "--warmup", 10, "--device", "cpu")  # fmt: skip
    for name, memory in (("with", 16), ("without", 0)):
        ran("train_transformer_xl.py", *common, "--out", tmp_path / name, "--memory", memory,
            "--checkpoints", 4)  # fmt: skip
    require_steps(tmp_path / "with", 4, "tokenizer.json")
    training = json.loads((tmp_path / "with" / "training.json").read_text())
    first, last = training["history"]
    assert last["valid_loss"] < first["valid_loss"] < np.log(300)
    assert training["quality"]["test"]["loss"] < 4
    assert load_checkpoint(tmp_path / "without").config.memory_length == 0
    compared = json.loads(
        ran("compare_memory.py", "--data", text, "--with", tmp_path / "with", "--without",
            tmp_path / "without", "--tokenizer", tokenizer, "--tokens", 16, "--device", "cpu",
            "--out", tmp_path / "memory.json")
    )  # fmt: skip
    assert compared["trained with memory"]["loss"] == pytest.approx(
        training["quality"]["test"]["loss"], abs=1e-4
    )
    ran("model_card.py", tmp_path / "with", "--memory", tmp_path / "memory.json")
    card = (tmp_path / "with" / "MODEL_CARD.md").read_text()
    assert f"perplexity {training['quality']['test']['perplexity']:.2f}" in card
    assert "Is the memory worth it?" in card


@pytest.mark.slow
def test_a_vision_transformer_learns_to_tell_two_kinds_of_images_apart(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 240)
    images = rng.integers(0, 60, (240, 32, 32, 3), dtype=np.uint8)
    images[labels == 1, :, :, 0] += 150
    np.savez(
        tmp_path / "data.npz",
        train_images=images[:200],
        train_labels=labels[:200],
        test_images=images[200:],
        test_labels=labels[200:],
    )
    ran("train_vision_transformer.py", "--data", tmp_path / "data.npz", "--out", tmp_path / "vit", "--size",
        "tiny", "--batch", 20, "--epochs", 12, "--warmup", 1, "--rate", 0.01, "--device", "cpu",
        "--checkpoints", 5)  # fmt: skip
    require_steps(tmp_path / "vit", 5)
    training = json.loads((tmp_path / "vit" / "training.json").read_text())
    assert training["quality"]["test"]["accuracy"] > 0.9
    ran("model_card.py", tmp_path / "vit")
    assert "of 40 test images right" in (tmp_path / "vit" / "MODEL_CARD.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("script", ["train_transformer_xl.py", "train_vision_transformer.py"])
def test_missing_data_are_named(script, tmp_path, request):
    extra = ("--tokenizer", request.getfixturevalue("tokenizer")) if "xl" in script else ()
    # Python prints such a text and ends with status 1.
    with pytest.raises(SystemExit, match="must hold train"):
        ran(script, "--data", tmp_path, "--out", tmp_path, *extra)

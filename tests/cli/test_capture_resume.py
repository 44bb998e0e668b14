"""haarbor capture given again: it goes on, or names the option that differs; and Ctrl-C."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import haarbor as hb  # noqa: E402
from tests.capturing.inputs.small_models import word_tokenizer  # noqa: E402
from tests.capturing.small_models import SMALL_MODELS  # noqa: E402
from tests.cli.capture_words import given  # noqa: E402


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """Folder with a model, its data, and a run of it that stopped after one of three batches."""
    folder = tmp_path_factory.mktemp("begun")
    shown = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    for name, seed in (("tiny", 1), ("other", 2)):
        model = SMALL_MODELS["gpt2"].build("eager")
        if seed == 2:
            with torch.no_grad():
                model.transformer.h[0].attn.c_attn.weight.mul_(1.5)
        model.save_pretrained(folder / name)
        word_tokenizer(pad_token="[PAD]").save_pretrained(folder / name)
    if shown:
        transformers.utils.logging.enable_progress_bar()
    (folder / "book.txt").write_text("the cat sat on the mat the dog ran far\n" * 8)
    (folder / "letter.txt").write_text("the dog sat on the mat the cat ran far\n" * 8)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("haarbor.cli._progress.shown_steps", StopAfterOne)
        code, lines = given(*words("tiny"))
    assert code == 130
    assert not [line for line in lines if "Traceback" in line]
    return folder


class StopAfterOne:
    """A progress bar that stops the command as Ctrl-C does."""

    def __enter__(self):
        return self

    def __exit__(self, *_told):
        return None

    def __call__(self, _step, done, _total):
        if done == 1:
            raise KeyboardInterrupt


def words(model, *more, data="book.txt", out="run.zarr", tokens=6, batches=3):
    sizes = ("--tokens", str(tokens), "--batches", str(batches))
    return [model, "--data", data, "--out", out, *sizes, *more]


@pytest.fixture
def again(begun, tmp_path, monkeypatch):
    """Gives a command in a copy of the folder."""
    shutil.copytree(begun, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return given


def test_the_same_command_goes_on_and_says_so(again):
    code, lines = again(*words("tiny"))
    assert code == 0
    assert "Going on: 1 of 3 batches are complete." in lines
    assert hb.open_run("run.zarr").n_batches == 3


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (words("tiny", tokens=8), "begun with --tokens 6, and this is with --tokens 8"),
        (words("tiny", batches=5), "begun with --batches 3, and this is with --batches 5"),
        (words("tiny", "--logits"), "begun with --no-logits, and this is with --logits"),
        (words("tiny", "--lines"), "begun with --no-lines, and this is with --lines"),
        (words("tiny", "--dtype", "float16"), "begun with --dtype float32, and this is with --dtype float16"),
        (
            words("tiny", "--mode", "transparent"),
            "begun with --mode faithful, and this is with --mode transp",
        ),
        (words("tiny", "--seed", "7"), "begun with --seed 0, and this is with --seed 7"),
        (words("tiny", data="letter.txt"), "begun with --data that is 'book.txt, "),
        (words("other"), "begun with the model tiny, and this is with the model other"),
    ],
    ids=["tokens", "batches", "logits", "lines", "dtype", "mode", "seed", "data", "model"],
)
def test_what_differs_is_named_by_its_option(again, command, message):
    before = sorted(Path("run.zarr").iterdir())
    code, lines = again(*command)
    assert code == 1
    (line,) = [line for line in lines if line.startswith("haarbor: ")]
    assert message in line
    assert line.endswith("Use the same, or choose another --out.")
    assert "streams" not in line
    assert sorted(Path("run.zarr").iterdir()) == before


def test_another_checkpoint_under_the_same_name_is_refused_by_its_weights(again):
    shutil.copyfile("other/model.safetensors", "tiny/model.safetensors")
    code, lines = again(*words("tiny"))
    assert code == 1
    (line,) = [line for line in lines if line.startswith("haarbor: ")]
    assert "with the weights it was begun with; the weights of tiny differ: sha256:" in line
    assert line.endswith("Use the same checkpoint, or choose another --out.")
    assert hb.open_run("run.zarr").n_batches == 1


def test_another_text_under_the_same_name_is_refused(again):
    shutil.copyfile("letter.txt", "book.txt")
    code, lines = again(*words("tiny"))
    assert code == 1
    (line,) = [line for line in lines if line.startswith("haarbor: ")]
    assert "begun with --data whose content is sha256:" in line


def test_memory_is_named_where_it_differs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = words("zoo:transformer-xl", data="zoo", tokens=128, batches=2)
    code, lines = given(*command)
    assert code == 0, lines
    code, lines = given(*command, "--memory")
    assert code == 1
    assert "begun with --no-memory, and this is with --memory" in lines[-1]


@pytest.mark.slow
def test_an_interrupted_command_says_in_one_line_what_is_kept(begun, tmp_path):
    """The run of the fixture is there, whole as far as it goes; a real Ctrl-C does the same, soon."""
    assert hb.open_run(begun / "run.zarr").verify() == ()
    np.save(tmp_path / "ids.npy", np.random.default_rng(0).integers(3, 97, size=(3000, 24)))
    command = [sys.executable, "-m", "haarbor", "capture", str(begun / "tiny"), "--data", "ids.npy",
               "--out", "run", "--tokens", "24", "--batches", "3000"]  # fmt: skip
    running = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )
    deadline = time.monotonic() + 120
    while running.poll() is None and time.monotonic() < deadline:
        if len(list((tmp_path / "run" / "batches").glob("*"))) > 3:
            break
        time.sleep(0.02)
    asked = time.monotonic()
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert time.monotonic() - asked < 10
    assert running.returncode == 130, errors
    kept = hb.open_run(tmp_path / "run")
    assert 0 < kept.n_batches < 3000
    told = [line for line in errors.splitlines() if line.startswith("haarbor: ")]
    assert len(told) == 1, errors
    assert "complete" in told[0]
    assert "Traceback" not in errors
    assert kept.verify() == ()

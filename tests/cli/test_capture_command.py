"""haarbor capture as a user types it: a run, a run that goes on, and what is refused."""

import inspect
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import haarbor as hb  # noqa: E402
from haarbor.cli._capture_command import capture  # noqa: E402
from tests.capturing.small_models import SMALL_MODELS  # noqa: E402
from tests.cli.builders import capture_words, captured, finished, started  # noqa: E402


def test_capture_says_how_large_the_run_will_be_and_what_comes_next(captured_run):
    out, done = captured_run
    assert "The run will take at most" in done.err
    assert "3 layers x 4 heads, 3 batches" in done.out
    assert f"haarbor organize {out}" in done.out


def test_captured_attention_is_that_of_the_model(captured_run, token_file):
    out, _ = captured_run
    model = SMALL_MODELS["gpt2"].build("eager")
    ids = torch.as_tensor(np.load(token_file))[1:2]
    with torch.no_grad():
        layers = model(ids, output_attentions=True).attentions
    expected = torch.cat(layers, dim=1)[0].permute(1, 2, 0).numpy()
    np.testing.assert_allclose(np.asarray(hb.open_run(out).tensor(1)), expected, atol=1e-6)


@pytest.mark.parametrize("option", ["dtype", "mode"])
def test_the_command_and_the_function_have_the_same_defaults(option):
    defaults = [inspect.signature(one).parameters[option].default for one in (capture, hb.capture)]
    assert defaults[0] == defaults[1]


def test_the_same_command_goes_on_and_says_so(again):
    code, lines = again(*capture_words("tiny"))
    assert code == 0
    assert "Going on: 1 of 3 batches are complete." in lines
    assert hb.open_run("run.zarr").n_batches == 3


def test_another_checkpoint_under_the_same_name_is_refused_by_its_weights(again):
    shutil.copyfile("other/model.safetensors", "tiny/model.safetensors")
    code, lines = again(*capture_words("tiny"))
    assert code == 1
    (line,) = [line for line in lines if line.startswith("haarbor: ")]
    assert "with the weights it was begun with; the weights of tiny differ: sha256:" in line
    assert line.endswith("Use the same checkpoint, or choose another --out.")
    assert hb.open_run("run.zarr").n_batches == 1


@pytest.mark.slow
def test_a_killed_capture_goes_on_and_ends_as_the_same_files(
    captured_run, model_folder, token_file, tmp_path
):
    whole, _ = captured_run
    out = tmp_path / "run.zarr"
    words = capture_words(model_folder, "--logits", data=token_file, out=out, tokens=12)
    first = started("capture", *words, cwd=tmp_path)
    while first.poll() is None and not (out / "self").exists():
        time.sleep(0.001)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    done = finished("capture", *words, cwd=tmp_path)
    assert done.code == 0, done.err

    def files(folder):
        captured_parts = (
            path for path in folder.rglob("*") if path.is_file() and "results" not in path.parts
        )
        return {path.relative_to(folder): path.read_bytes() for path in captured_parts}

    assert files(out) == files(whole)


@pytest.mark.slow
def test_an_interrupted_command_says_in_one_line_what_is_kept(begun, tmp_path):
    """The run of the fixture is there, whole as far as it goes; a real Ctrl-C does the same, soon."""
    assert hb.open_run(begun / "run.zarr").verify() == ()
    np.save(tmp_path / "ids.npy", np.random.default_rng(0).integers(3, 97, size=(3000, 24)))
    words = capture_words(begun / "tiny", data="ids.npy", out="run", tokens=24, batches=3000)
    running = started("capture", *words, cwd=tmp_path)
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


def test_data_that_is_not_there_is_one_line(command, model_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command("capture", model_folder, "--data", "missing.txt", "--out", "run")
    assert done.code == 1
    assert "missing.txt" in done.line
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_model_that_is_not_there_is_one_line(tmp_path):
    done = finished("capture", "nowhere", "--data", "random", "--out", "run", cwd=tmp_path)
    assert done.code == 1
    assert "nowhere" in done.line
    assert "Traceback" not in done.err


def test_a_wrong_mode_is_wrong_usage(command, model_folder, tmp_path):
    words = ("--data", "random", "--out", tmp_path / "run", "--mode", "loud")
    assert command("capture", model_folder, *words).code == 2


BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r} or name.startswith({name!r} + "."):
            raise ModuleNotFoundError("No module named " + repr(name), name={name!r})

sys.meta_path.insert(0, Blocked())
sys.argv = ["haarbor", *{words!r}]
from haarbor.cli import main
main()
"""


@pytest.mark.parametrize(
    ("name", "shown", "data"),
    [
        ("torch", "torch", "zoo"),
        pytest.param("transformers", "transformers", "zoo", marks=pytest.mark.slow),
        pytest.param("PIL", "pillow", "images", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_missing_package_is_one_line_that_names_the_extra(name, shown, data, tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(b"")
    model = "zoo:vision-transformer" if name == "PIL" else "zoo:transformer-xl"
    words = ["capture", model, "--data", data, "--out", "run", "--batches", "1"]
    code = BLOCKED.format(name=name, words=words)
    done = finished(code=("-c", code), cwd=tmp_path)
    assert done.code == 1
    # Something is said before the imports that take seconds.
    assert done.err.startswith(f"Loading {model} ...\n")
    assert f"needs {shown}, which is not installed. Run pip install 'haarbor[models]'." in done.line
    assert "Traceback" not in done.err


def test_generate_lets_the_model_answer_every_line(again):
    Path("prompts.txt").write_text("the cat sat\nthe dog ran far\n")
    words = capture_words(
        "tiny", "--lines", "--generate", 4, data="prompts.txt", out="answers.zarr", batches=2
    )
    code, lines = again(*words)
    assert code == 0, lines
    run = hb.open_run("answers.zarr")
    assert run.plan.settings["generate"] == 4
    assert "--generate 4" in run.plan.settings["command"]
    assert run.token_kinds(0).query[:4] == ("prompt", "prompt", "prompt", "answer")
    assert run.labels(1).query[:4] == ("the", "dog", "ran", "far")
    code, lines = again(*words)
    assert code == 0
    assert "Going on: 2 of 2 batches are complete." in lines
    code, lines = again(*words[:-1], 3)
    assert "begun with --generate 4, and this is with --generate 3" in lines[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("zoo:vision-transformer", "--generate", 2), "--generate must follow a text; zoo:vision-tr"),
        (
            ("zoo:transformer-xl", "--generate", 2, "--memory"),
            "--generate must follow a prompt without a mem",
        ),
    ],
    ids=["pictures", "memory"],
)
def test_generate_is_refused_where_there_is_nothing_to_answer(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    code, lines = captured(*capture_words(words[0], *words[1:], data="zoo"))
    assert code == 1
    assert message in lines[-1]
    assert not Path("run.zarr").exists()

"""capture, organize and info, as a user types them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import haarbor as hb  # noqa: E402
from tests.capturing.small_models import SMALL_MODELS  # noqa: E402


def haarbor(*words, cwd):
    command = [sys.executable, "-m", "haarbor", *map(str, words)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def capture_words(data, out):
    sizes = ("--tokens", 12, "--batches", 3)
    return ("--data", data, "--out", out, *sizes, "--dtype", "float32", "--logits")


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "tiny-gpt2"
    SMALL_MODELS["gpt2"].build("eager").save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def token_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "ids.npy"
    np.save(path, np.random.default_rng(0).integers(3, 97, size=(3, 12)))
    return path


@pytest.fixture(scope="module")
def captured(model_folder, token_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    out = folder / "run.zarr"
    words = capture_words(token_file, out)
    done = haarbor("capture", model_folder, *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return out, done


def test_capture_says_how_large_the_run_will_be_and_what_comes_next(captured):
    out, done = captured
    assert "The run will take at most" in done.stderr
    assert "3 layers x 4 heads, 3 batches" in done.stdout
    assert f"haarbor organize {out}" in done.stdout


def test_captured_attention_is_that_of_the_model(captured, token_file):
    out, _ = captured
    model = SMALL_MODELS["gpt2"].build("eager")
    ids = torch.as_tensor(np.load(token_file))[1:2]
    with torch.no_grad():
        layers = model(ids, output_attentions=True).attentions
    expected = torch.cat(layers, dim=1)[0].permute(1, 2, 0).numpy()
    np.testing.assert_allclose(np.asarray(hb.open_run(out).tensor(1)), expected, atol=1e-6)


def test_organize_says_in_words_what_it_found(captured):
    out, _ = captured
    done = haarbor("organize", out, cwd=out.parent)
    assert done.returncode == 0, done.stderr
    assert "12 heads on 3 batches" in done.stdout
    assert "Most alike over all batches" in done.stdout
    found = json.loads(haarbor("organize", out, "--json", cwd=out.parent).stdout)
    assert found["batches_reused"] == 3
    assert len(found["highest_entropy"]) == 5


def test_organize_takes_logits_with_their_mask(captured):
    out, _ = captured
    done = haarbor("organize", out, "--content", "logits", "--json", cwd=out.parent)
    assert done.returncode == 0, done.stderr
    kept = hb.open_run(out).load_result("organization", batch=0, content="logits")
    assert kept.settings.masked_entries == "row mean of valid logits"


def test_info_tells_what_is_there_and_that_it_is_whole(captured):
    out, _ = captured
    done = haarbor("info", out, "--verify", cwd=out.parent)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 complete" in done.stdout
    assert "whole" in done.stdout
    found = json.loads(haarbor("info", out, "--json", cwd=out.parent).stdout)
    assert found["contents"] == ["probabilities", "logits"]
    assert found["library_versions"]["haarbor"] == hb.__version__


def test_info_finds_a_damaged_chunk_and_exits_1(captured, tmp_path):
    out, _ = captured
    copy = tmp_path / "damaged.zarr"
    shutil.copytree(out, copy)
    chunk = max(
        (path for path in (copy / "self" / "probabilities").rglob("*") if path.is_file()), key=os.path.getsize
    )
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 0xFF
    chunk.write_bytes(bytes(content))
    done = haarbor("info", copy, "--verify", cwd=tmp_path)
    assert done.returncode == 1
    assert "1 damaged" in done.stdout


@pytest.mark.slow
def test_a_killed_capture_goes_on_and_ends_as_the_same_files(captured, model_folder, token_file, tmp_path):
    whole, _ = captured
    out = tmp_path / "run.zarr"
    words = capture_words(token_file, out)
    command = [sys.executable, "-m", "haarbor", "capture", model_folder, *words]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    first = subprocess.Popen(
        [str(word) for word in command], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL
    )
    while first.poll() is None and not (out / "self").exists():
        time.sleep(0.001)
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = haarbor(*command[3:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    def files(folder):
        captured_parts = (
            path for path in folder.rglob("*") if path.is_file() and "results" not in path.parts
        )
        return {path.relative_to(folder): path.read_bytes() for path in captured_parts}

    assert files(out) == files(whole)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("capture", "nowhere", "--data", "random", "--out", "run"), "nowhere"),
        (("organize", "nowhere"), "nowhere"),
        (("info", "nowhere"), "nowhere"),
    ],
)
def test_what_is_not_there_is_one_line_and_exit_code_1(words, message, tmp_path):
    done = haarbor(*words, cwd=tmp_path)
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("haarbor:")]
    assert len(lines) == 1
    assert message in lines[0]
    assert "Traceback" not in done.stderr


def test_data_that_is_not_there_is_one_line(model_folder, tmp_path):
    done = haarbor("capture", model_folder, "--data", "missing.txt", "--out", "run", cwd=tmp_path)
    assert done.returncode == 1
    assert "missing.txt" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_wrong_mode_is_wrong_usage(model_folder, tmp_path):
    done = haarbor(
        "capture", model_folder, "--data", "random", "--out", "run", "--mode", "loud", cwd=tmp_path
    )
    assert done.returncode == 2

"""Commands in this process, permissions that hold even where the tests run as root, and shared runs."""

import importlib
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.logit_runs import logit_run
from tests.cli.builders import answer, capture_words, captured, hostile_run

_NOBODY = 65534
_NEEDED = (
    "haarbor.plots",
    "haarbor.report",
    "haarbor.store._local_keys",
    "haarbor.store._remote_keys",
    "plotly.offline",
    "rich.table",
    "zarr.storage",
)


@pytest.fixture
def command():
    """Function that runs a command in this process."""
    return answer


@pytest.fixture
def without_rights():
    """The permissions of a stranger, who may not enter folders of mode 0."""
    # They are imported while there is still permission to read them.
    for module in _NEEDED:
        importlib.import_module(module)
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(_NOBODY)
    yield
    os.seteuid(0)


@pytest.fixture(scope="session")
def new_run(tmp_path_factory):
    """A run with probabilities and logits that is not organised; tests leave it so."""
    folder = tmp_path_factory.mktemp("new") / "run"
    logit_run(folder, contents=("probabilities", "logits"))
    return folder


@pytest.fixture
def copied_run(new_run, tmp_path):
    """A copy of `new_run` that a test may write to."""
    return shutil.copytree(new_run, tmp_path / "run")


@pytest.fixture
def read_only_run(new_run):
    """A run that everybody may read and nobody may write, in a folder that everybody may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        copy = Path(shutil.copytree(new_run, Path(folder) / "run"))
        for part in (*copy.rglob("*"), copy):
            part.chmod(0o555 if part.is_dir() else 0o444)
        yield copy
        for part in (copy, *copy.rglob("*")):
            part.chmod(0o755)


@pytest.fixture(scope="session")
def named_to_harm(tmp_path_factory):
    """A run whose names try to command the terminal."""
    return hostile_run(tmp_path_factory.mktemp("hostile") / "run")


@pytest.fixture
def closed(tmp_path):
    """A folder that nobody may enter."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0)
    yield folder
    folder.chmod(0o700)


@pytest.fixture
def refused(command, new_run, tmp_path, monkeypatch):
    """Function that runs a command which must be refused before anything is done."""
    monkeypatch.chdir(tmp_path)

    def refusal(*words):
        found = command(*[str(new_run) if word == "RUN" else word for word in words])
        assert found.code in (1, 2)
        assert list(tmp_path.iterdir()) == []
        assert not (new_run / "results" / "self").exists()
        return found

    return refusal


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the paper's figures out, for tests of everything else."""
    module = importlib.import_module("haarbor.paper._paper_figures")
    monkeypatch.setattr(module, "_drawings", lambda _results: iter(()))


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    pytest.importorskip("torch")
    from tests.capturing.small_models import SMALL_MODELS

    folder = tmp_path_factory.mktemp("model") / "tiny-gpt2"
    SMALL_MODELS["gpt2"].build("eager").save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def token_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "ids.npy"
    np.save(path, np.random.default_rng(0).integers(3, 97, size=(3, 12)))
    return path


@pytest.fixture(scope="session")
def captured_run(model_folder, token_file, tmp_path_factory):
    """The run of a small model with its logits, and what the command that captured it answered."""
    out = tmp_path_factory.mktemp("runs") / "run.zarr"
    words = capture_words(model_folder, "--logits", data=token_file, out=out, tokens=12)
    done = answer("capture", *words)
    assert done.code == 0, done.err
    return out, done


class _StopAfterOne:
    """A progress bar that stops the command as Ctrl-C does."""

    def __enter__(self):
        return self

    def __exit__(self, *_told):
        return None

    def __call__(self, _step, done, _total):
        if done == 1:
            raise KeyboardInterrupt


@pytest.fixture(scope="session")
def begun(tmp_path_factory):
    """Folder with a model, its data, and a run of it that stopped after one of three batches."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tests.capturing.inputs.small_models import word_tokenizer
    from tests.capturing.small_models import SMALL_MODELS

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
        patch.setattr("haarbor.cli._progress.shown_steps", _StopAfterOne)
        code, lines = captured(*capture_words("tiny"))
    assert code == 130
    assert not [line for line in lines if "Traceback" in line]
    return folder


@pytest.fixture
def again(begun, tmp_path, monkeypatch):
    """Function that gives a capture command in a copy of the folder with the begun run."""
    shutil.copytree(begun, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return captured


@pytest.fixture
def ids(tmp_path):
    np.save(tmp_path / "ids.npy", np.random.default_rng(0).integers(3, 97, (8, 32)))
    return tmp_path / "ids.npy"

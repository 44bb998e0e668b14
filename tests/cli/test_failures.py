"""What is the user's circumstances is one line; what is a defect shows its traceback."""

import errno
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import haarbor
from haarbor.cli._failure_line import failure_line
from haarbor.errors import SettingError
from tests.analysis.logit_runs import logit_run

COMMANDS = {
    "info": ("info", "RUN"),
    "organize": ("organize", "RUN"),
    "figures": ("figures", "RUN", "-o", "out"),
    "invariance": ("invariance", "RUN", "--no-figures"),
    "report": ("report", "RUN"),
}


def words_for(command, run):
    return [str(run) if word == "RUN" else word for word in COMMANDS[command]]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failures") / "run"
    logit_run(folder, contents=("probabilities", "logits"))
    return folder


@pytest.fixture
def closed(tmp_path):
    """A folder that nobody may enter."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0)
    yield folder
    folder.chmod(0o700)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_run_in_a_folder_that_may_not_be_entered(command, closed, tmp_path, monkeypatch, request, name):
    monkeypatch.chdir(tmp_path)
    request.getfixturevalue("without_rights")
    found = command(*words_for(name, closed / "run.zarr"))
    assert found.code == 1
    assert "ermission" in found.line or "read-only" in found.line


@pytest.mark.parametrize(
    "words",
    [
        ("demo", "--out", "PLACE"),
        ("figures", "RUN", "-o", "PLACE"),
        ("invariance", "RUN", "--out", "PLACE"),
        ("report", "RUN", "-o", "PLACE/report.html"),
    ],
)
@pytest.mark.parametrize("inside", ["", "/inside"])
def test_an_output_in_a_folder_that_may_not_be_entered(command, run, closed, request, words, inside):
    request.getfixturevalue("without_rights")
    place = f"{closed}{inside}"
    found = command(*[word.replace("PLACE", place).replace("RUN", str(run)) for word in words])
    assert found.code == 1
    assert " must be " in found.line
    assert place in found.line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("figures", "RUN", "-o", "taken"), "--out must be a folder that can be written; taken: "),
        (("invariance", "RUN", "--out", "taken/inside"), "--out must be a folder that can be written; taken"),
        (("figures", "RUN", "-o", "dangling"), "dangling is a link to nothing"),
        (("demo", "--out", "taken"), "--out must be a folder that can be written; taken: "),
        (("report", "RUN", "-o", "folder"), "the report must be written to a file; folder is a folder"),
        # A pipe stands for every device: a test that fails must not put a page in the place of one.
        (("report", "RUN", "-o", "pipe"), "the report must be written to a file; pipe is a device, a pipe"),
        (("report", "RUN", "-o", "taken/report.html"), "taken"),
        (("figures", "RUN", "-o", "x" * 300), "File name too long"),
        (("report", "RUN", "-o", "x" * 300), "File name too long"),
    ],
)
def test_an_output_that_cannot_be_written_is_found_before_the_work(
    command, run, tmp_path, monkeypatch, words, message
):
    monkeypatch.chdir(tmp_path)
    Path("taken").touch()
    Path("dangling").symlink_to("nowhere")
    Path("folder").mkdir()
    os.mkfifo("pipe")
    found = command(*[str(run) if word == "RUN" else word for word in words])
    assert found.code == 1
    assert message in found.line
    assert found.err.count("\n") == 1
    assert not (run / "results" / "self").exists()


@pytest.fixture
def read_only_run(run, tmp_path):
    """A run that everybody may read and nobody may write, in a folder that everybody may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        copy = Path(shutil.copytree(run, Path(folder) / "run"))
        for part in (*copy.rglob("*"), copy):
            part.chmod(0o555 if part.is_dir() else 0o444)
        yield copy
        for part in (copy, *copy.rglob("*")):
            part.chmod(0o755)


@pytest.mark.parametrize("name", ["organize", "figures", "invariance", "report"])
def test_a_run_that_cannot_keep_results_is_found_before_the_work(
    command, read_only_run, monkeypatch, request, name
):
    monkeypatch.chdir(tempfile.gettempdir())
    request.getfixturevalue("without_rights")
    found = command(*words_for(name, read_only_run))
    assert found.code == 1
    assert "results are kept in the run, which must be a folder that can be written" in found.line
    assert found.err.count("\n") == 1


def test_a_run_that_can_only_be_read_can_be_looked_at(command, read_only_run, request):
    request.getfixturevalue("without_rights")
    assert "made up" in command("info", read_only_run).out


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("place", ["x" * 300, "a/" * 3000 + "run"], ids=["name", "path"])
def test_a_run_whose_name_is_too_long(command, tmp_path, monkeypatch, name, place):
    monkeypatch.chdir(tmp_path)
    found = command(*words_for(name, place))
    assert found.code == 1
    assert "too long" in found.line


@pytest.fixture(scope="module")
def wrong_things(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "text").write_text("a text")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (folder / "empty").mkdir()
    (folder / "other").mkdir()
    (folder / "other" / "letter.txt").touch()
    np.savez(folder / "arrays.npz", a=np.arange(3))
    for name, text in (("deep", "[" * 100_000), ("list", "[1]"), ("half", '{"attributes": {"format"')):
        (folder / name).mkdir()
        (folder / name / "zarr.json").write_text(text)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    "place",
    ["text", "picture.png", "empty", "other", "arrays.npz", "deep", "list", "half", "text/run", "foo://bar"],
)
def test_what_is_no_run_is_one_line(command, wrong_things, tmp_path, monkeypatch, name, place):
    monkeypatch.chdir(tmp_path)
    found = command(*words_for(name, place if "://" in place else wrong_things / place))
    assert found.code == 1
    assert len(found.line) > 30
    assert found.err.count("\n") == 1


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded", "figure1.png"),
        OSError(errno.EROFS, "Read-only file system", "figure1.png"),
        OSError(errno.EMFILE, "Too many open files", "zarr.json"),
        OSError(errno.EIO, "Input/output error"),
        FileNotFoundError(errno.ENOENT, "No such file or directory", "run/zarr.json"),
        PermissionError(errno.EACCES, "Permission denied", b"run/\xff"),
        PermissionError(errno.EACCES, "Permission denied", "one", None, "other"),
        MemoryError("Unable to allocate 349. TiB for an array"),
        MemoryError(),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
        ModuleNotFoundError("No module named 'matplotlib.figure'", name="matplotlib.figure"),
        SettingError("a name\nin two lines, \x1b[31mred"),
    ],
    ids=repr,
)
def test_circumstances_are_one_line(command, monkeypatch, error):
    def refuse(_location):
        raise error

    monkeypatch.setattr("haarbor.store.open_run", refuse)
    found = command("info", "run")
    assert found.code == 1
    assert found.err == f"haarbor: {failure_line(error)}\n"
    assert found.err[:-1].isprintable()


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("division by zero"),
        TypeError("'int' object is not subscriptable"),
        ModuleNotFoundError("No module named 'haarbor.nothing'", name="haarbor.nothing"),
        FileNotFoundError(errno.ENOENT, "No such file or directory"),
        FileNotFoundError(
            errno.ENOENT, "No such file or directory", str(Path(haarbor.__file__).with_name("assets"))
        ),
        OSError("without a number"),
        RecursionError("maximum recursion depth exceeded"),
    ],
    ids=repr,
)
def test_a_defect_shows_its_traceback(monkeypatch, error):
    def refuse(_location):
        raise error

    monkeypatch.setattr("haarbor.store.open_run", refuse)
    monkeypatch.setattr(sys, "argv", ["haarbor", "info", "run"])
    with pytest.raises(type(error)) as raised:
        haarbor.cli.main()
    assert raised.value is error


def test_no_place_for_temporary_files_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "nowhere")])
    with pytest.raises(FileNotFoundError) as raised:
        tempfile._get_default_tempdir()
    assert failure_line(raised.value).endswith("Set TMPDIR to a folder that can be written.")


def test_json_that_is_nested_too_deeply_is_the_files_fault():
    with pytest.raises(RecursionError) as raised:
        json.loads("[" * 100_000)
    assert "nested" in failure_line(raised.value)


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the system sets no limit to files")
def test_figures_on_a_full_disk_are_one_line(command, run, tmp_path, monkeypatch):
    """The system lets no file grow beyond a few bytes, as on a full disk."""
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as undrawn:
        module = importlib.import_module("haarbor.paper._paper_figures")
        undrawn.setattr(module, "_drawings", lambda _results: iter(()))
        assert command("figures", run, "-o", "first", "--seeds", 0).code == 0
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        found = command("figures", "first/results.npz", "-o", "second")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert found.code == 1
    assert "File too large" in found.line

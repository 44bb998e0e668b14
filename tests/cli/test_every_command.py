"""What every command answers to a run that is none, and to wrong usage."""

import numpy as np
import pytest

from tests.cli.builders import RUN_COMMANDS, words_for


@pytest.mark.parametrize("name", RUN_COMMANDS)
def test_a_run_in_a_folder_that_may_not_be_entered(command, closed, tmp_path, monkeypatch, request, name):
    monkeypatch.chdir(tmp_path)
    # Everything is imported while the folder of the sources may be read.
    assert command(*words_for(name, tmp_path / "nothing")).code == 1
    request.getfixturevalue("without_rights")
    found = command(*words_for(name, closed / "run.zarr"))
    assert found.code == 1
    assert "ermission" in found.line or "read-only" in found.line


@pytest.mark.parametrize("name", RUN_COMMANDS)
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


@pytest.mark.parametrize("name", RUN_COMMANDS)
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


@pytest.mark.parametrize("name", ["organize", "info"])
def test_what_is_not_there_is_one_line_and_exit_code_1(command, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command(name, "nowhere")
    assert done.code == 1
    assert "nowhere" in done.line
    assert done.err.count("\n") == 1


HUGE = str(10**30)


@pytest.mark.parametrize(
    "words",
    [
        ("report", "RUN", "--batches", "0"),
        ("report", "RUN", "--batches", "-1"),
        ("report", "RUN", "--batches", "nan"),
        ("report", "RUN", "--batches", "1e3"),
        ("report", "RUN", "--batches", "9" * 5000),
        ("report", "RUN", "--batches", ""),
        ("report", "RUN", "--json", "yes", "three"),
        ("report", "RUN", "--json=yes"),
        ("organize", "RUN", "--iterations", "0"),
        ("organize", "RUN", "--iterations", "inf"),
        ("organize", "RUN", "--iterations", HUGE),
        ("organize", "RUN", "--refine", ""),
        ("organize", "RUN", "--initial", "Cosine"),
        ("figures", "RUN", "-o", "out", "--seeds", HUGE),
        ("figures", "RUN", "-o", "out", "--control-batches", "0"),
        ("figures", "RUN", "-o", "out", "--batch", "-1"),
        ("figures", "RUN", "-o", "out", "--batch", "true"),
        ("figures", "RUN", "-o", "out", "--name", ""),
        ("figures", "RUN", "-o", "out", "--name", "a", "--name", "b"),
        ("figures", "RUN"),
        ("invariance", "RUN", "--seed", "-1"),
        ("invariance", "RUN", "--seed", HUGE),
        ("invariance", "RUN", "--settings", ""),
        ("demo", "--batches", HUGE),
        ("demo", "--tokens", "inf"),
    ],
)
def test_wrong_usage_is_exit_code_2(refused, words):
    assert refused(*words).code == 2

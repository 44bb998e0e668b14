"""Places that cannot be written to are found before the work."""

import os
from pathlib import Path

import pytest


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
def test_an_output_in_a_folder_that_may_not_be_entered(command, new_run, closed, request, words, inside):
    request.getfixturevalue("without_rights")
    place = f"{closed}{inside}"
    found = command(*[word.replace("PLACE", place).replace("RUN", str(new_run)) for word in words])
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
    command, new_run, tmp_path, monkeypatch, words, message
):
    monkeypatch.chdir(tmp_path)
    Path("taken").touch()
    Path("dangling").symlink_to("nowhere")
    Path("folder").mkdir()
    os.mkfifo("pipe")
    found = command(*[str(new_run) if word == "RUN" else word for word in words])
    assert found.code == 1
    assert message in found.line
    assert found.err.count("\n") == 1
    assert not (new_run / "results" / "self").exists()


def test_a_folder_that_cannot_be_made_is_one_line_and_exit_code_1(command, tmp_path):
    (tmp_path / "taken").write_text("a file")
    done = command("demo", "--out", tmp_path / "taken" / "inside")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "--out must be a folder that can be written" in done.line

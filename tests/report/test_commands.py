"""The commands of a page make it again."""

import contextlib
import shlex
import shutil
import sys

import pytest

from haarbor.analysis import organize_run, run_invariance, run_regularity
from haarbor.report import report_html
from haarbor.report._commands import commands
from haarbor.store import open_run
from tests.cli.builders import answer, finished
from tests.report.reading import page_data
from tests.report.runs import logits_run, text_run


def test_runs_of_arrays_are_to_be_put_there_first(text, page):
    assert page_data(page)["about"]["commands"] == [
        "# text.zarr was made from arrays (haarbor.store.import_arrays): put it here first.",
        "haarbor organize text.zarr --iterations 1",
        "haarbor report text.zarr",
    ]
    assert commands([text.part(), text.part()], 2)[-1] == "haarbor report text.zarr text.zarr --batches 2"


def test_a_line_that_two_runs_need_is_there_once(text):
    assert len(commands([text.part(), text.part()], None)) == 3


def test_different_runs_of_one_name_get_a_folder_each(text, tmp_path):
    copy = open_run(shutil.copytree(text.location, tmp_path / "text.zarr"))
    found = commands([text.part(), copy.part()], None)
    assert found[0] == "mkdir -p A B"
    assert "haarbor organize A/text.zarr --iterations 1" in found
    assert "haarbor organize B/text.zarr --iterations 1" in found
    assert found[-1] == "haarbor report A/text.zarr B/text.zarr"


def test_a_run_that_was_renamed_is_captured_under_its_new_name(tmp_path):
    line = "haarbor capture zoo:transformer-xl --data zoo --out old.zarr --batches 2"
    text_run(tmp_path / "old.zarr", n_tokens=8, n_layers=1, n_batches=1, settings={"command": line})
    shutil.move(tmp_path / "old.zarr", tmp_path / "a new.zarr")
    found = commands([open_run(tmp_path / "a new.zarr").part()], None)
    assert found[0] == "haarbor capture zoo:transformer-xl --data zoo --out 'a new.zarr' --batches 2"
    assert found[-1] == "haarbor report 'a new.zarr'"


def test_what_has_no_option_is_python_and_measurements_are_there(tmp_path):
    run = text_run(tmp_path / "run.zarr", n_tokens=8, n_layers=1, n_batches=1)
    organize_run(run, options={"n_iterations": 1, "alpha": 0.5}, k=30)
    [_, organised, _] = commands([run.part()], None)
    words = shlex.split(organised)
    assert words[:2] == ["python", "-c"]
    assert "k=30" in words[2]
    compile(words[2], "line", "exec")


def runs_again(lines, folder):
    """Run lines as a shell would, those of haarbor in this process, which has imported everything."""
    for line in lines:
        words = shlex.split(line, comments=True)
        if words:
            with contextlib.chdir(folder):
                done = answer(*words[1:]) if words[0] == "haarbor" else finished(*words[1:], code=())
            assert done.code == 0, (line, done.err)


@pytest.mark.slow
@pytest.mark.parametrize("measured", ["command", "python"])
def test_the_commands_of_a_page_make_it_byte_for_byte(tmp_path, measured):
    made, again = tmp_path / "made", tmp_path / "again"
    made.mkdir()
    again.mkdir()
    capture = "haarbor capture zoo:transformer-xl --data zoo --out xl.zarr --tokens 12 --batches 2 --logits"
    runs_again([capture, "haarbor organize xl.zarr --iterations 1 --content logits"], made)
    run = open_run(made / "xl.zarr")
    run_invariance(run, 1, seed=3)
    if measured == "command":
        run_regularity(run, 1, seed=3)
    page = report_html(run.part("logits"))
    lines = page_data(page)["about"]["commands"]
    assert [line.split()[1] for line in lines] == [
        "capture", "organize", "invariance" if measured == "command" else "-c", "report",
    ]  # fmt: skip
    runs_again(lines, again)
    assert (again / "report.html").read_text(encoding="utf-8") == page
    assert sys.executable not in page


def test_two_runs_whose_parts_no_option_chooses_are_reported_by_python(text, tmp_path):
    other = logits_run(tmp_path / "raw.zarr")
    # The only content of each is its default: no option is needed.
    assert commands([text.part(), other.part()], None)[-1] == "haarbor report text.zarr raw.zarr"

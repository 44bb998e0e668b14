import sys

import pytest
from faults.kind import Case, Kind
from faults.outcome import Outcome, defect, refused, right
from faults.page import BEGIN, END, written_page
from faults.table import Table

from faults import __main__ as command
from faults import campaign

TITLES = {"calls": "calls made", "kills": "commands killed"}


def filled():
    table = Table(TITLES)
    table.add(Case("calls", "organize", 0), right())
    table.add(Case("calls", "organize", 1), refused("X must be finite; found nan. Drop it."))
    table.add(Case("calls", "organize", 7), defect("another answer, 0.5 in place of 0.25"))
    table.add(Case("calls", "organize", 8), defect("another answer, 0.7 in place of 0.1"))
    table.add(Case("kills", "capture", 3), right())
    return table


def test_rows_count_what_was_tried_and_the_last_row_everything():
    assert filled().rows() == [
        ("calls made", "organize", "4", "1", "1", "2"),
        ("commands killed", "capture", "1", "1", "0", "0"),
        ("in all", "", "5", "2", "1", "2"),
    ]
    assert filled().text().splitlines()[-1].split() == ["in", "all", "5", "2", "1", "2"]


def test_defects_that_read_alike_are_one_line_with_the_way_to_see_the_first_again():
    (line,) = filled().defect_lines()
    assert "(2 times): another answer, 0.5 in place of 0.25" in line
    assert line.endswith("python -m faults calls --function organize --seed 7")
    assert len(filled().defect_lines(every=True)) == 2


def test_a_name_of_several_words_is_quoted_in_the_command():
    assert Case("calls", "run results", 3).command.endswith("--function 'run results' --seed 3")


def test_the_page_holds_the_table_between_its_marks():
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    written = written_page(page, filled())
    assert written.startswith("before\n")
    assert "old" not in written
    assert "| in all |  | 5 | 2 | 1 | 2 |" in written
    assert written_page(written, filled()) == written
    with pytest.raises(ValueError, match="must hold the marks"):
        written_page("no marks", filled())


@pytest.mark.parametrize(("verdict", "code"), [(right(), 0), (Outcome("defect", "planted"), 1)])
def test_the_exit_code_tells_of_defects(monkeypatch, capsys, verdict, code):
    kind = Kind(
        name="planted",
        title="planted",
        functions=lambda: {"it": {"short": range(2), "long": range(9)}},
        tried=lambda function, seed, place: verdict,
    )
    monkeypatch.setitem(campaign.KINDS, "planted", kind)
    monkeypatch.setattr(sys, "argv", ["faults", "planted"])
    assert command.main() == code
    said = capsys.readouterr().out
    assert ("python -m faults planted --function it --seed" in said) == (code == 1)
    monkeypatch.setattr(sys, "argv", ["faults", "planted", "--function", "nothing"])
    assert command.main() == 2
    monkeypatch.setattr(sys, "argv", ["faults", "planted", "--seed", "5", "--markdown"])
    assert command.main() == code
    assert "| planted | it | 1 |" in capsys.readouterr().out

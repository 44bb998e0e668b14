import sys
from pathlib import Path

import pytest
from faults.kind import Case, Kind
from faults.outcome import Outcome, defect, refused, right
from faults.page import BEGIN, BEGIN_TOTALS, END, END_TOTALS, written_page
from faults.table import Table

from faults import __main__ as command
from faults import campaign

DOCS = Path(__file__).parents[2] / "docs"
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


def test_totals_are_those_of_the_kinds():
    assert filled().totals() == [
        ("calls made", "4", "1", "1", "2"),
        ("commands killed", "1", "1", "0", "0"),
        ("in all", "5", "2", "1", "2"),
    ]
    written = written_page(f"before\n{BEGIN_TOTALS}\nold\n{END_TOTALS}\nafter\n", filled())
    assert "old" not in written
    assert "| calls made | 4 | 1 | 1 | 2 |\n| commands killed |" in written
    assert written.endswith(f"{END_TOTALS}\nafter\n")


def shown_rows(page, begin, end):
    between = (DOCS / page).read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in between.strip().splitlines()[2:]]


def test_the_totals_that_are_shown_are_sums_of_the_rows_that_are_shown():
    sums, kind = {}, ""
    for row in shown_rows("evidence/faults.md", BEGIN, END):
        kind = row[0] or kind
        numbers = [int(cell.replace(",", "")) for cell in row[2:]]
        sums[kind] = [
            before + number for before, number in zip(sums.get(kind, [0] * 4), numbers, strict=True)
        ]
    totals = shown_rows("faults.md", BEGIN_TOTALS, END_TOTALS)
    assert {row[0]: [int(cell.replace(",", "")) for cell in row[1:]] for row in totals} == sums
    assert len(totals) > 5


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

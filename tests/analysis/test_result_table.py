import csv
import io

import pytest

from haarbor.analysis import ResultTable
from haarbor.errors import ShapeError


def test_names_cannot_break_a_table():
    table = ResultTable(name="t", title="T", columns=("a|b\n<i>",), rows=(("x|y",),), caption="*c*")
    lines = table.markdown_text().splitlines()
    assert lines[2] == r"| a\|b &lt;i&gt; |"
    assert lines[4] == r"| x\|y |"
    assert list(csv.DictReader(io.StringIO(table.csv_text()))) == [{"a|b\n<i>": "x|y"}]


def test_numbers_keep_four_figures_for_the_eye_and_ten_for_programs():
    numbers = (1 / 3, 12345.678, 3.2, float("nan"), None, 7)
    table = ResultTable(name="t", title="T", columns=("n",), rows=tuple((n,) for n in numbers), caption="")
    cells = [line.strip("| ") for line in table.markdown_text().splitlines()[4:10]]
    assert cells == ["0.3333", "12346", "3.200", "", "", "7"]
    assert table.csv_text().splitlines()[1:4] == ["0.3333333333", "12345.678", "3.2"]


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ShapeError, match="every row must have 2 cells; row 0 has 1"):
        ResultTable(name="t", title="T", columns=("a", "b"), rows=((1,),), caption="")

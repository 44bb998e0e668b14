import re
from importlib.resources import files

import pytest

from haarbor.diagnostics import TYPES, run_diagnostics, run_types
from haarbor.report.sections import SECTIONS
from tests.report.runs import text_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return text_run(tmp_path_factory.mktemp("diagnosed") / "run.zarr", n_batches=1, n_tokens=10, n_layers=2)


def test_types_of_all_heads_with_their_numbers(run):
    section = SECTIONS["diagnostics"]
    assert section(run.part()) is None
    run_diagnostics(run)
    found = section(run.part())
    types = run_types(run)
    names = [one["name"] for one in found["types"]]
    assert [names[place] for place in found["of_heads"]] == [kind.name for kind in types]
    assert found["decided_at"] == [kind.value for kind in types]
    assert [list(TYPES)[place] for place in found["places"]] == names


def test_the_script_has_a_colour_for_every_type():
    script = files("haarbor.report") / "assets" / "sections" / "diagnostics_section.js"
    text = script.read_text(encoding="utf-8").split("const ALL")[0]
    assert len(re.findall("#[0-9a-f]{6}", text)) == len(TYPES)

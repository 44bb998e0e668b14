from pathlib import Path

import pytest
from faults.campaign import campaign
from faults.kind import Case, Kind
from faults.outcome import defect, right


@pytest.fixture
def kind():
    """A fault whose warming leaves a file that its cases read."""
    written = []

    def warm():
        place = Path.cwd() / "warmed"
        place.write_text("here", encoding="utf-8")
        written.append(place)

    def tried(function, seed, place):
        return right() if written[0].read_text(encoding="utf-8") == "here" else defect("gone")

    return Kind(name="planted", title="a planted fault", functions=lambda: {}, tried=tried, warm=warm)


def test_warming_leaves_nothing_behind_and_the_cases_find_what_it_made(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = campaign([(kind, [Case("planted", "f", 0), Case("planted", "f", 1)])], workers=1)
    assert sum(sum(count.values()) for count in table.counts.values()) == 2
    assert not table.defects
    assert list(tmp_path.iterdir()) == []

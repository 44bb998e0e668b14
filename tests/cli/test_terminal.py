"""Something is shown however narrow the terminal calls itself."""

import pytest


@pytest.mark.parametrize("columns", ["0", "1", "many"])
def test_a_terminal_without_columns_still_shows_something(command, new_run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert "float32" in command("info", new_run).out

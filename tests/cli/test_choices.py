import pytest
import typer

from haarbor.cli._choices import checked_choice


def test_a_value_must_be_one_of_the_choices():
    assert checked_choice("--mode", "loud", ("loud", "quiet")) == "loud"
    with pytest.raises(typer.BadParameter, match="must be loud or quiet; found 'Loud'") as raised:
        checked_choice("--mode", "Loud", ("loud", "quiet"))
    assert raised.value.param_hint == "--mode"

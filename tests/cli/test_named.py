"""Arguments that name nothing, or that can be no name."""

import os

import pytest


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("info", ""), "RUN"),
        (("organize", ""), "RUN"),
        (("figures", "RUN", "", "-o", "out"), "RUN"),
        (("report", ""), "RUN"),
        (("look", "zoo:transformer-xl", "-o", ""), "--out"),
        (("look", "zoo:transformer-xl", "--data", ""), "--data"),
        (("organize", "RUN", "--axes", ""), "--axes"),
        (("report", "RUN", "-o", ""), "'--out' / '-o'"),
        (("figures", "RUN", "-o", ""), "'--out' / '-o'"),
        (("invariance", "RUN", "--out", ""), "--out"),
        (("demo", "--out", ""), "--out"),
        (("organize", "RUN", "--content", ""), "--content"),
        (("organize", "RUN", "--stream", ""), "--stream"),
        (("report", "RUN", "--content", ""), "--content"),
        (("invariance", "RUN", "--stream", ""), "--stream"),
        (("invariance", "RUN", "--heads", ""), "--heads"),
    ],
)
def test_an_empty_text_names_nothing(refused, words, named):
    found = refused(*words)
    assert found.code == 2
    assert f"{named}" in found.err
    assert "must name something; it is empty" in found.err


@pytest.mark.parametrize("place", ["nul\0byte", "half \ud800 pair"])
@pytest.mark.parametrize(
    "words", [("info", "PLACE"), ("figures", "RUN", "-o", "PLACE"), ("demo", "--out", "PLACE")]
)
def test_what_can_be_no_name_is_wrong_usage(refused, words, place):
    found = refused(*[word.replace("PLACE", place) for word in words])
    assert found.code == 2
    assert found.err.isascii()


def test_a_name_in_bytes_that_are_no_text_is_a_name(refused):
    found = refused("info", os.fsdecode(b"caf\xe9"))
    assert found.code == 1
    assert "caf\\udce9 must be a Haarbor run; there is nothing there" in found.line

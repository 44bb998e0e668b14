"""An option given twice is refused."""

import pytest


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("report", "RUN", "-o", "a.html", "--out", "b.html"), "--out"),
        (("figures", "RUN", "-o", "a", "-o", "a"), "--out"),
        (("invariance", "RUN", "--figures", "--no-figures"), "--figures"),
        (("organize", "RUN", "--iterations", "2", "--iterations", "3"), "--iterations"),
    ],
)
def test_an_option_given_twice_is_wrong_usage(refused, words, option):
    found = refused(*words)
    assert found.code == 2
    assert option in found.err
    assert "given 2 times" in found.err

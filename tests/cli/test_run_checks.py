"""What a run must hold and allow, told before the work."""

import tempfile

import pytest

from tests.cli.builders import words_for


@pytest.mark.parametrize("name", ["organize", "figures", "invariance", "report"])
def test_a_run_that_cannot_keep_results_is_found_before_the_work(
    command, read_only_run, monkeypatch, request, name
):
    monkeypatch.chdir(tempfile.gettempdir())
    request.getfixturevalue("without_rights")
    found = command(*words_for(name, read_only_run))
    assert found.code == 1
    assert "results are kept in the run, which must be a folder that can be written" in found.line
    assert found.err.count("\n") == 1


HUGE = str(10**30)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("organize", "RUN", "--stream", "crossed"), "stream must be one of self; found 'crossed'"),
        (("organize", "RUN", "--content", "scores"), "holds, probabilities or logits; found 'scores'"),
        (("report", "RUN", "--stream", "\x1b[31m"), "stream must be one of self; found"),
        (("report", "RUN", "--content", "scores"), "holds, probabilities or logits; found 'scores'"),
        (
            ("figures", "RUN", "-o", "out", "--stream", "crossed"),
            "stream must be one of self; found 'crossed'",
        ),
        (("figures", "RUN", "-o", "out", "--content", "scores"), "probabilities or logits; found 'scores'"),
        (("figures", "RUN", "-o", "out", "--batch", HUGE), f"batch must be a complete one, 0; found {HUGE}"),
        (("figures", "RUN", "-o", "out", "--heads", "0.0,0.0"), "--heads must be different ones"),
        (("figures", "RUN", "-o", "out", "--heads", ","), "--heads must be different ones, at least one"),
        (("figures", "RUN", "nowhere", "-o", "out"), "nowhere must be a Haarbor run"),
        (("invariance", "RUN", "--stream", "crossed"), "stream must be one of"),
        (("invariance", "RUN", "--batch", HUGE), f"batch must be a complete one, 0; found {HUGE}"),
        (("invariance", "RUN", "--heads", "0.0,00.1"), "--heads must be written layer.head, from 0.0 to 1.2"),
        (("invariance", "RUN", "--heads", "2.0"), "--heads must be written layer.head, from 0.0 to 1.2"),
        (("invariance", "RUN", "--heads", "9" * 5000 + ".0"), "--heads must be written layer.head"),
        (("invariance", "RUN", "--heads", "1.1,1.1"), "--heads must be different ones"),
    ],
)
def test_what_the_run_does_not_hold_is_told_before_the_work(refused, words, message):
    found = refused(*words)
    assert found.code == 1
    assert message in found.line
    assert found.err.count("\n") == 1

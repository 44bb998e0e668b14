"""Options that make no sense: exit code 2 for wrong usage, 1 and one line for bad input."""

import os

import pytest

from tests.analysis.logit_runs import logit_run

HUGE = str(10**30)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("options") / "run"
    logit_run(folder, contents=("probabilities", "logits"))
    return folder


@pytest.fixture
def refused(command, run, tmp_path, monkeypatch):
    """Run a command that must be refused, with nothing done."""
    monkeypatch.chdir(tmp_path)

    def words(text):
        return [str(run) if word == "RUN" else word for word in text]

    def answer(*text):
        found = command(*words(text))
        assert found.code in (1, 2)
        assert list(tmp_path.iterdir()) == []
        assert not (run / "results" / "self").exists()
        return found

    return answer


@pytest.mark.parametrize(
    "words",
    [
        ("report", "RUN", "--batches", "0"),
        ("report", "RUN", "--batches", "-1"),
        ("report", "RUN", "--batches", "nan"),
        ("report", "RUN", "--batches", "1e3"),
        ("report", "RUN", "--batches", "9" * 5000),
        ("report", "RUN", "--batches", ""),
        ("report", "RUN", "--json", "yes", "three"),
        ("report", "RUN", "--json=yes"),
        ("organize", "RUN", "--iterations", "0"),
        ("organize", "RUN", "--iterations", "inf"),
        ("organize", "RUN", "--iterations", HUGE),
        ("organize", "RUN", "--refine", ""),
        ("organize", "RUN", "--initial", "Cosine"),
        ("figures", "RUN", "-o", "out", "--seeds", HUGE),
        ("figures", "RUN", "-o", "out", "--control-batches", "0"),
        ("figures", "RUN", "-o", "out", "--batch", "-1"),
        ("figures", "RUN", "-o", "out", "--batch", "true"),
        ("figures", "RUN", "-o", "out", "--name", ""),
        ("figures", "RUN", "-o", "out", "--name", "a", "--name", "b"),
        ("figures", "RUN"),
        ("invariance", "RUN", "--seed", "-1"),
        ("invariance", "RUN", "--seed", HUGE),
        ("invariance", "RUN", "--settings", ""),
        ("demo", "--batches", HUGE),
        ("demo", "--tokens", "inf"),
    ],
)
def test_wrong_usage_is_exit_code_2(refused, words):
    assert refused(*words).code == 2


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("info", ""), "run"),
        (("organize", ""), "run"),
        (("figures", "RUN", "", "-o", "out"), "RUN"),
        (("report", ""), "runs"),
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


def test_more_batches_than_there_are_means_all(command, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("report", run, "--batches", HUGE).code == 0

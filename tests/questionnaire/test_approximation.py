"""Questionnaires from some folders: only where asked for, and the result says so."""

import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import Question
from haarbor.errors import SettingError
from haarbor.store import load_results_file, save_results_file
from tests.samples import causal_probabilities

X = causal_probabilities(np.random.default_rng(0), 40, 4, np.float32)


def test_the_result_keeps_what_was_asked_and_how_far_it_is_off(tmp_path):
    exact, found = hb.organize(X), hb.organize(X, approximate=100)
    assert (exact.settings.approximate, exact.approximation_error) == (None, None)
    assert found.settings.approximate == 100
    assert 0 < found.approximation_error < 1
    assert "from 100 folders drawn at random" in repr(found)
    assert "drawn" not in repr(exact)
    save_results_file({"found": found}, tmp_path / "kept.npz")
    kept = load_results_file(tmp_path / "kept.npz")["found"]
    assert (kept.settings, kept.approximation_error) == (found.settings, found.approximation_error)
    again = hb.organize(X, approximate=100)
    assert dict(again.trees) == dict(found.trees)


def test_with_as_many_folders_as_there_are_the_trees_are_the_exact_ones():
    exact, found = hb.organize(X, n_iterations=2), hb.organize(X, n_iterations=2, approximate=10**6)
    assert dict(found.trees) == dict(exact.trees)
    assert found.approximation_error == 0


def test_it_is_another_question():
    assert Question.asked({"approximate": 100}) != Question.asked()
    assert Question.kept({"options": {"tree": "flexible"}, "k": 400, "network_k": 100}) == Question.asked()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"approximate": 1}, "approximate must be"),
        ({"approximate": 0.5}, "approximate must be"),
        ({"approximate": "all"}, "approximate must be"),
        ({"approximate": 50, "tree": "haar"}, "approximate must go with trees that are built from distances"),
        (
            {"approximate": 50, "memory": "4GB"},
            "approximate must go with engine='cpu', and with a tensor that",
        ),
    ],
)
def test_what_cannot_be_sampled_is_refused(options, words):
    with pytest.raises(SettingError, match=words) as caught:
        hb.organize(X, **options)
    assert "\n" not in str(caught.value)


def test_an_engine_of_another_kind_is_refused():
    class Other:
        name = "other"

        def l1_sums(self, blocks, n_items, n_targets):
            raise AssertionError

    with pytest.raises(SettingError, match="found engine 'other'"):
        hb.organize(X, approximate=50, engine=Other())

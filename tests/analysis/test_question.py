import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis._question import Question
from haarbor.errors import SettingError

USUAL = Question.asked()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_iterations": 3, "refine": "latest", "initial": "cosine"},
        {"n_iterations": np.int64(3), "tree_constant": np.float32(1.0)},
        {"alpha": 0, "beta": 1},
        {"alpha": {"query": 0, "key": 0.0, "head": np.float64(0)}, "beta": {"head": 1, "key": 1, "query": 1}},
        {"tree": "flexible", "cut": "zero", "tree_constant": 1},
        {"engine": "cpu"},
        {"engine": hb.CpuEngine(threads=1)},
    ],
    ids=str,
)
def test_options_that_mean_the_same_are_the_same_question(options):
    assert Question.asked(options, np.int32(400), np.uint8(100)) == USUAL
    assert Question.asked(options).changed_options == {}


@pytest.mark.parametrize(
    "asked",
    [
        {"options": {"n_iterations": 2}},
        {"options": {"alpha": {"query": 0, "key": 0, "head": 0.5}}},
        {"options": {"tree": "binary"}},
        {"k": 399},
        {"network_k": 99},
    ],
    ids=str,
)
def test_options_that_mean_something_else_are_another(asked):
    assert Question.asked(**asked) != USUAL
    assert list(Question.asked(**asked).changed_options) == list(asked.get("options", {}))


def test_the_options_are_those_of_organize():
    blocks = hb.datasets.synthetic_attention(n_tokens=8, n_layers=1, heads_per_layer=2)
    settings = hb.organize(blocks, **USUAL.options).settings
    assert {name: getattr(settings, name) for name in USUAL.options} == USUAL.options
    assert hb.organize(blocks).settings == settings


def test_a_question_comes_back_and_one_as_it_was_spelled_is_understood():
    asked = Question.asked({"beta": 0.5, "initial": "gaussian"}, 7, 9)
    assert Question.kept(asked.to_result()) == asked
    spelled = {"options": {"beta": 0.5, "initial": "gaussian", "engine": "gpu"}, "k": 7, "network_k": 9}
    assert Question.kept(spelled) == asked


@pytest.mark.parametrize(
    "value",
    [None, 3, "asked", {}, {"options": None, "k": 1, "network_k": 1}, {"options": {}, "k": 0, "network_k": 1},
     {"options": {"spell": 1}, "k": 1, "network_k": 1}, {"options": {"alpha": "a"}, "k": 1, "network_k": 1}],
    ids=str,
)  # fmt: skip
def test_what_is_no_question_is_none(value):
    assert Question.kept(value) is None


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"options": {"iterations": 3}}, r"options must be among n_iterations, .*; found 'iterations'. See"),
        ({"options": {"mask": None}}, r"options must be among .*; found 'mask'"),
        ({"options": {"axes": ("query", "key", "head")}}, r"options must be among .*; found 'axes'"),
        ({"options": [("n_iterations", 3)]}, "options must be a mapping"),
        ({"options": {3: 3}}, r"options must be among .*; found 3"),
        ({"options": {"n_iterations": 0}}, "n_iterations must be a whole number in 1..10000"),
        ({"options": {"engine": "abacus"}}, "engine"),
        ({"options": {"alpha": {"query": 1}}}, "alpha must be one number or one for each of"),
        ({"k": True}, "k must be a whole number from 1; found True"),
        ({"k": "many"}, "k must be a whole number from 1; found 'many'"),
        ({"network_k": 1.5}, "network_k must be a whole number from 1; found 1.5"),
    ],
)
def test_what_cannot_be_asked_is_one_line(asked, message):
    with pytest.raises(SettingError, match=message) as caught:
        Question.asked(**asked)
    assert "\n" not in str(caught.value)


def test_changed_options_of_a_builder_are_told_from_its_usual_ones():
    assert Question.asked().changed_options == {}
    assert Question.asked({"tree": "haar"}).changed_options == {"tree": "haar"}
    asked = {"tree": "haar", "restraint": 0.1, "n_iterations": 3}
    assert Question.asked(asked).changed_options == asked
    assert Question.asked(asked) == Question.asked(Question.asked(asked).changed_options)

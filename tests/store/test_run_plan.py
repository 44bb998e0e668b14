import numpy as np
import pytest

from haarbor.errors import HaarborError, SettingError, ShapeError, StoreError
from haarbor.store import RunPlan, StreamPlan
from tests.store.builders import CROSS, ENCODER, STREAM, nested, tiny_plan


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_layers": 10**12}, "n_layers of stream 's' must be a whole number from 1 to 100000"),
        ({"n_layers": True}, "n_layers"),
        ({"n_queries": 2.0}, "n_queries"),
        ({"n_keys": "8"}, "n_keys"),
        ({"n_queries": 10**7, "n_keys": 10**7}, "entries per layer"),
        ({"head_groups": (0, True)}, "head_groups"),
        ({"head_groups": (0, 2)}, "head_groups"),
        ({"head_groups": 5}, "head_groups"),
    ],
)
def test_streams_of_sizes_that_none_has_are_refused(changes, words):
    with pytest.raises(ShapeError, match=words):
        StreamPlan(**{"name": "s", "n_layers": 1, "n_heads": 2, "n_queries": 1, "n_keys": 1, **changes})


@pytest.mark.parametrize(
    "name", [None, 5, b"s", "zarr.json", "x.partial", "x.lock", "desktop.ini", "a" * 101]
)
def test_streams_of_names_that_mean_something_else_are_refused(name):
    with pytest.raises(SettingError, match="a stream's name must be"):
        StreamPlan(name=name, n_layers=1, n_heads=1, n_queries=1, n_keys=1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": None}, "model must be a text"),
        ({"model": "\ud800"}, "model must be a text that can be printed; found '.ud800'"),
        ({"config_digest": 3}, "config_digest must be a text"),
        ({"streams": STREAM}, "streams must be several; found StreamPlan"),
        ({"streams": ("decoder",)}, "of StreamPlan; found a str"),
        ({"contents": "logits"}, "contents must be several; found str"),
        ({"n_batches": 10**18}, "n_batches must be at least 1 and at most 1000000"),
        ({"n_batches": 2.5}, "n_batches must be"),
        ({"n_batches": True}, "n_batches must be"),
        ({"settings": [1]}, "settings must be a mapping"),
        ({"settings": {"a": nested(60)}}, "settings must not be nested deeper than 50 levels"),
        ({"settings": {"a": nested(10**5)}}, "settings must not be nested deeper than 50 levels"),
        ({"settings": {"a": ["\ud800"]}}, "every text in settings must be a text that can be printed"),
        ({"library_versions": {"numpy": 2}}, "the version of numpy must be a text"),
    ],
)
def test_plans_that_cannot_be_written_are_refused(changes, words):
    with pytest.raises(HaarborError, match=words):
        tiny_plan(**changes)


def test_a_plan_may_come_with_numbers_of_numpy():
    plan = tiny_plan(n_batches=np.int64(3))
    assert type(plan.n_batches) is int
    assert plan == tiny_plan()
    assert plan.digest == tiny_plan().digest == RunPlan.from_dict(plan.to_dict()).digest


def test_plan_comes_back_from_its_dictionary():
    plan = tiny_plan(streams=(ENCODER, STREAM, CROSS), n_batches=None, settings={"a": [1, {"b": None}]})
    assert RunPlan.from_dict(plan.to_dict()) == plan
    assert RunPlan.from_dict(plan.to_dict()).first_difference(plan) is None


def test_sizes_of_a_run_by_hand():
    # 2 layers x 3 heads x 16 entries x 2 contents x 4 bytes, and a mask of 16 bytes.
    assert tiny_plan().n_bytes_per_batch == 2 * 3 * 16 * 2 * 4 + 16
    assert tiny_plan().n_bytes == 3 * tiny_plan().n_bytes_per_batch
    assert tiny_plan(dtype="float16").n_bytes_per_batch == 2 * 3 * 16 * 2 * 2 + 16
    assert tiny_plan(n_batches=None).n_bytes is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "other"}, "model is 'tiny' there and 'other' here"),
        ({"settings": {"seed": 8, "mode": "faithful"}}, "settings.seed is 7 there and 8 here"),
        ({"settings": {"seed": 7}}, "settings.mode is missing here"),
        ({"settings": {"seed": 7, "mode": "faithful", "x": 1}}, "settings.x is missing there"),
        ({"n_batches": None}, "n_batches is 3 there and None here"),
        ({"contents": ("probabilities",)}, r"contents is .* there and \['probabilities'\] here"),
        (
            {"streams": (StreamPlan(name="decoder", n_layers=2, n_heads=3, n_queries=4, n_keys=5),)},
            r"streams\[0\].n_keys is 4 there and 5 here",
        ),
    ],
)
def test_first_difference_names_the_field(changes, words):
    import re

    assert re.fullmatch(words, tiny_plan().first_difference(tiny_plan(**changes)))


def test_head_groups_may_come_as_an_array():
    plan = StreamPlan(name="s", n_layers=1, n_heads=4, n_queries=2, n_keys=2, head_groups=np.arange(4) // 2)
    assert plan.head_groups == (0, 0, 1, 1)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"streams": ()}, SettingError, "streams of different names"),
        ({"streams": (STREAM, STREAM)}, SettingError, "streams of different names"),
        ({"contents": ("scores",)}, SettingError, "contents must be among"),
        ({"contents": ()}, SettingError, "contents must be among"),
        ({"dtype": "float64"}, SettingError, "dtype must be 'float16' or 'float32'"),
        ({"labels": "words"}, SettingError, "labels must be"),
        ({"n_batches": 0}, SettingError, "n_batches must be at least 1"),
        ({"settings": {"a": object()}}, SettingError, "settings must hold JSON values"),
        ({"settings": {"a": float("nan")}}, SettingError, "settings must hold JSON values"),
    ],
)
def test_plan_rejects(changes, error, words):
    with pytest.raises(error, match=words):
        tiny_plan(**changes)


@pytest.mark.parametrize("name", ["dtype", "labels", "contents"])
@pytest.mark.parametrize(
    "value",
    [np.array(["float32"]), np.array("tokens"), np.array(["logits", "probabilities"]), "x" * 5000, ["x"]],
    ids=["array of one", "array of none", "array of two", "long", "list"],
)
def test_a_choice_must_be_one_of_its_texts(name, value):
    with pytest.raises(SettingError, match=f"{name} must be") as caught:
        tiny_plan(**{name: (value,) if name == "contents" else value})
    assert len(str(caught.value)) < 300


def test_settings_that_are_no_mapping_are_refused_with_advice():
    with pytest.raises(SettingError, match=r"settings must be a mapping .*; found 5\. Pass a dict"):
        tiny_plan(settings=5)


def test_a_long_name_of_a_stream_is_shown_in_part():
    with pytest.raises(SettingError, match="a stream's name must be") as caught:
        StreamPlan(name="x" * 5000, n_layers=1, n_heads=1, n_queries=1, n_keys=1)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["", "batches", "results", "a/b", "..", ".hidden"])
def test_stream_rejects_names_that_are_no_folder_names(name):
    with pytest.raises(SettingError, match="a stream's name must be"):
        StreamPlan(name=name, n_layers=1, n_heads=1, n_queries=1, n_keys=1)


def test_stream_rejects_sizes_and_groups():
    with pytest.raises(
        ShapeError, match="n_heads of stream 's' must be a whole number from 1 to 100000; found 0"
    ):
        StreamPlan(name="s", n_layers=1, n_heads=0, n_queries=1, n_keys=1)
    with pytest.raises(
        ShapeError, match="head_groups of stream 's' must hold a key-value head for each of 2"
    ):
        StreamPlan(name="s", n_layers=1, n_heads=2, n_queries=1, n_keys=1, head_groups=(0,))


def test_unknown_stream_is_named():
    with pytest.raises(SettingError, match="stream must be one of decoder; found 'encoder'"):
        tiny_plan().stream("encoder")


@pytest.mark.parametrize(
    "spoil", [lambda d: d.pop("model"), lambda d: d.update(extra=1), lambda d: d.pop("streams")]
)
def test_damaged_plan_is_a_store_error(spoil):
    values = tiny_plan().to_dict()
    spoil(values)
    with pytest.raises(StoreError, match="the plan of a run must be readable"):
        RunPlan.from_dict(values)

import dataclasses
import json
import math

import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import SettingError, StoreError
from haarbor.questionnaire import consensus
from haarbor.store import create_run, open_run
from haarbor.store._batch_marker import digest_of
from haarbor.store._result_values import restored_value, stored_value
from tests.samples import CHAINED, HALVES, causal_probabilities, random_tree
from tests.store.runs import tiny_plan, write_batch


@pytest.fixture
def place(complete_run):
    return complete_run


@pytest.fixture
def run(place):
    return open_run(place)


@pytest.fixture
def organization(run):
    return hb.organize(run.tensor(0), mask=run.mask(0))


def assert_same(found, expected):
    """Equal in type and value, all the way down."""
    assert type(found) is type(expected)
    if dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            assert_same(getattr(found, field.name), getattr(expected, field.name))
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for name in expected:
            assert_same(found[name], expected[name])
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert np.array_equal(found, expected, equal_nan=found.dtype.kind == "f")
        assert not found.flags.writeable
    else:
        assert found == expected or (math.isnan(found) and math.isnan(expected))


def round_trip(value):
    description, arrays = stored_value(value)
    text = json.dumps(description, allow_nan=False)
    return restored_value(json.loads(text), lambda name: arrays[name].copy())


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -0.1, 1e-300, float("nan"), float("inf"), "é\ud800", [1, [2.5, None]], (1, ("a",)), {},
        {"b": 1, "a": (2, [3])}, {"tuple": 1}, {"type": "x"}, HALVES, (CHAINED, HALVES, CHAINED),
        np.arange(3), np.zeros((2, 0)), np.array(2.5), np.array([True, False]), np.eye(2, dtype=np.float16),
        np.array([np.nan, 1]), {"x/y": np.ones(2), "..": np.zeros(1)}, np.array([2**63 + 1], dtype=np.uint64),
    ],
)  # fmt: skip
def test_values_come_back_as_they_were(value, run):
    assert_same(round_trip(value), value)
    run.save_result(value, "value")
    assert_same(run.load_result("value"), value)


def test_numpy_scalars_become_numbers():
    assert_same(round_trip([np.float64(0.5), np.int32(3), np.bool_(True)]), [0.5, 3, True])


def test_equal_trees_are_kept_once(rng):
    tree = random_tree(rng, 7)
    _, arrays = stored_value({"a": tree, "b": [tree, hb.PartitionTree(tree.levels)]})
    assert list(arrays) == ["a"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), "type that has a stored form; the value is a object"),
        ({"a": [1, {2, 3}]}, r"a\.1 is a set"),
        ({1: 2}, "texts for keys"),
        ({"a": np.array([None])}, "must hold numbers; a is of dtype object"),
        (np.array(["x"]), "must hold numbers"),
        (1j, "is a complex"),
    ],
)
def test_values_without_a_stored_form_are_refused(value, words):
    with pytest.raises(SettingError, match=words):
        stored_value(value)


def test_parts_this_haarbor_does_not_know_are_refused():
    with pytest.raises(StoreError, match=r"parts this Haarbor knows; found \['pickle'\]"):
        restored_value({"pickle": "x"}, None)
    with pytest.raises(StoreError, match="of a type this Haarbor knows; found 'Mystery'"):
        restored_value({"type": "Mystery", "version": 1, "fields": {}}, None)
    with pytest.raises(
        StoreError, match="a stored HeadEntropy must be of version 1 or older; found version 2"
    ):
        restored_value({"type": "HeadEntropy", "version": 2, "fields": {}}, None)
    with pytest.raises(StoreError, match="a stored HeadEntropy must have its fields"):
        restored_value({"type": "HeadEntropy", "version": 1, "fields": {"raw": 1}}, None)


def test_an_organization_comes_back(run, place, organization):
    run.save_result(organization, "organization", batch=0)
    found = open_run(place).load_result("organization", batch=0)
    assert_same(found, organization)
    assert repr(found) == repr(organization)
    assert np.array_equal(found.order("head"), organization.order("head"))


def test_organizations_of_all_kinds_come_back(run, rng):
    tensor = causal_probabilities(rng, 9, 5)
    for options in (
        {"tree": "binary", "initial": "gaussian"},
        {"refine": "published", "alpha": {"query": 0.5, "key": 1.0, "head": 0.0}},
    ):
        expected = hb.organize(tensor, **{"n_iterations": 2, **options})
        run.save_result(expected, "organization", batch=1, content="logits")
        assert_same(run.load_result("organization", batch=1, content="logits"), expected)


def test_entropies_stability_and_consensus_come_back(run, organization):
    tensors = [np.asarray(run.tensor(batch)) for batch in run.batches]
    organizations = [hb.organize(tensor) for tensor in tensors]
    heads = [hb.head_entropy(t, o.trees, k=5) for t, o in zip(tensors, organizations, strict=True)]
    network = hb.network_entropy(tensors[0], organization.trees, k=5)
    stability = hb.ranking_stability([entropy.raw for entropy in heads])
    together = consensus(tensors, organizations)
    run.save_result(heads[0], "head-entropy", batch=0)
    run.save_result(network, "network-entropy", batch=0)
    run.save_result(stability, "ranking-stability")
    run.save_result(together, "consensus")
    assert_same(run.load_result("head-entropy", batch=0), heads[0])
    assert_same(run.load_result("network-entropy", batch=0), network)
    assert_same(run.load_result("ranking-stability"), stability)
    assert_same(run.load_result("consensus"), together)
    assert [(found.batch, found.name) for found in run.results()] == [
        (None, "consensus"), (None, "ranking-stability"), (0, "head-entropy"), (0, "network-entropy"),
    ]  # fmt: skip


def test_results_lie_where_the_layout_says_and_zarr_reads_them(run, place, organization):
    import zarr

    run.save_result(organization, "organization", batch=2, content="logits")
    group = zarr.open_group(place, mode="r")["results/decoder/logits/batch-00002/organization"]
    assert np.array_equal(group["affinities.head"][:], organization.affinities["head"])
    assert [codec["name"] for codec in group["affinities.head"].metadata.to_dict()["codecs"]][-1] == "crc32c"
    assert group.attrs["format"] == "haarbor result"


def test_a_result_replaces_one_of_the_same_name(run):
    run.save_result({"a": np.arange(3), "b": np.ones(2)}, "x", batch=0)
    run.save_result({"c": np.zeros(1)}, "x", batch=0)
    assert list(run.load_result("x", batch=0)) == ["c"]
    run.delete_result("x", batch=0)
    run.delete_result("x", batch=0)
    assert not run.has_result("x", batch=0)
    with pytest.raises(StoreError, match="has no results/decoder/probabilities/batch-00000/x"):
        run.load_result("x", batch=0)


def test_a_result_cut_short_is_absent(run, place, monkeypatch):
    from haarbor.store._local_keys import LocalKeys

    write = LocalKeys.write

    def failing(self, key, data, **options):
        if key.endswith("x/zarr.json"):
            raise KeyboardInterrupt
        write(self, key, data, **options)

    run.save_result(np.arange(3), "x", batch=0)
    monkeypatch.setattr(LocalKeys, "write", failing)
    with pytest.raises(KeyboardInterrupt):
        run.save_result(np.arange(4), "x", batch=0)
    monkeypatch.undo()
    assert not run.has_result("x", batch=0)
    assert run.results() == ()
    run.save_result(np.arange(5), "x", batch=0)
    assert run.load_result("x", batch=0).tolist() == [0, 1, 2, 3, 4]
    assert not list(place.rglob("*.lock"))


def test_results_follow_the_batches_they_were_made_from(run, place):
    run.save_result(1, "own", batch=1)
    run.save_result(2, "kept", batch=0)
    run.save_result(3, "all")
    run.save_result(4, "some", batch=(0, 2))
    with create_run(place, tiny_plan()) as writer:
        writer.discard(1)
        assert not run.has_result("own", batch=1)
        assert not run.has_result("all")
        assert run.load_result("kept", batch=0) == 2
        assert run.load_result("some", batch=(0, 2)) == 4
        with pytest.raises(
            StoreError, match=r"made from 3 batches \(0, 1, 2\), asked for 2 batches \(0, 2\)"
        ):
            run.load_result("all")
        write_batch(writer, 1)
    # The same batch written again is the same batch.
    assert run.load_result("all") == 3
    assert not run.has_result("own", batch=1)


def test_a_result_of_a_batch_that_was_written_anew_is_refused(tmp_path):
    plan = tiny_plan(labels="none", n_batches=1, contents=("logits",))

    def write(value):
        with create_run(tmp_path / "run.zarr", plan) as writer:
            writer.discard(0)
            with writer.batch(0) as batch:
                batch.write_mask(None, np.ones((4, 4), dtype=bool))
                for layer in range(2):
                    batch.write_layer(None, layer, {"logits": np.full((3, 4, 4), value)})
            return writer.run

    write(1.0).save_result(1, "all")
    run = write(2.0)
    assert not run.has_result("all")
    with pytest.raises(StoreError, match=r"the batches were written anew since. Make it again"):
        run.load_result("all")


def test_results_can_be_saved_while_the_run_is_being_written(place):
    with create_run(place, tiny_plan()) as writer:
        writer.run.save_result(1, "x", batch=0)
        assert writer.run.load_result("x", batch=0) == 1


def test_results_that_are_asked_for_wrongly(run):
    with pytest.raises(SettingError, match="a result's name must be letters"):
        run.save_result(1, "../x")
    with pytest.raises(StoreError, match="batch 9 is not there"):
        run.save_result(1, "x", batch=9)
    assert not run.has_result("x", batch=9)


def test_what_became_of_a_result_is_told_without_an_error(run, place):
    run.save_result({"a": np.arange(30)}, "x", batch=0)
    kept = run.kept_result("x", batch=0)
    assert (kept.state, kept.value["a"].size, kept.reason) == ("whole", 30, "")
    assert run.kept_result("y", batch=0).state == "absent"
    run.save_result(1, "z", batch=(0, 1))
    assert run.kept_result("z").state == "outdated"
    assert run.kept_result("z").value is None
    folder = place / "results/decoder/probabilities/batch-00000/x"
    (folder / "a" / ".DS_Store").write_bytes(b"Bud1")
    assert run.has_result("x", batch=0)
    (folder / "a" / "c.0").write_bytes(b"?")
    kept = run.kept_result("x", batch=0)
    assert (kept.state, kept.value) == ("damaged", None)
    assert "Make it again" in kept.reason
    with pytest.raises(StoreError, match="batch 9 is not there"):
        run.kept_result("x", batch=9)


def test_a_disk_that_fails_is_no_damage(run, monkeypatch):
    from haarbor.store._local_keys import LocalKeys

    run.save_result({"a": np.arange(30)}, "x", batch=0)
    read = LocalKeys.read

    def failing(self, key, most_bytes):
        if key.endswith("x/a/c.0"):
            error = StoreError("reading failed: Input/output error.")
            error.errno = 5
            raise error
        return read(self, key, most_bytes)

    monkeypatch.setattr(LocalKeys, "read", failing)
    with pytest.raises(StoreError, match="Input/output error"):
        run.kept_result("x", batch=0)


@pytest.mark.parametrize(
    "value",
    [
        {"type": "HeadEntropy", "version": "new", "fields": {}},
        {"type": "HeadEntropy", "version": 1, "fields": []},
        {"mapping": 3},
        {"tree": "nowhere"},
        {"float": "many"},
    ],
    ids=str,
)
def test_values_that_are_not_what_was_written_are_damage(value, run, place):
    run.save_result(1, "x", batch=0)
    path = place / "results/decoder/probabilities/batch-00000/x/zarr.json"
    document = json.loads(path.read_text())
    attributes = document["attributes"]
    del attributes["digest"]
    attributes["value"] = value
    attributes["digest"] = digest_of(attributes)
    path.write_text(json.dumps(document))
    assert run.kept_result("x", batch=0).state == "damaged"

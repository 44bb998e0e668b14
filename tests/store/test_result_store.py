import shutil

import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import SettingError, StoreError
from haarbor.questionnaire import consensus
from haarbor.store import create_run, open_run
from haarbor.store._local_keys import LocalKeys
from tests.samples import causal_probabilities
from tests.store.builders import RESULT, assert_same, tiny_plan, write_batch


def test_a_result_copied_to_another_place_is_refused(described_run):
    run = open_run(described_run)
    shutil.copytree(described_run / RESULT, described_run / RESULT.replace("probabilities", "logits"))
    with pytest.raises(StoreError, match="it is that of another result"):
        run.load_result("scores", batch=0, content="logits")
    assert not run.has_result("scores", batch=0, content="logits")


@pytest.fixture
def organization(run):
    return hb.organize(run.tensor(0), mask=run.mask(0))


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


def test_all_arrays_are_on_the_disk_before_the_description_is(run, organization, monkeypatch):
    pending, described = set(), []
    write, make_durable = LocalKeys.write, LocalKeys.make_durable

    def noted_write(self, key, data, *, is_durable=True):
        if key.endswith("batch-00000/organization/zarr.json"):
            described.append(sorted(pending))
        if not is_durable:
            pending.add(key)
        write(self, key, data, is_durable=is_durable)

    def noted_durable(self, keys):
        keys = list(keys)
        pending.difference_update(keys)
        make_durable(self, keys)

    monkeypatch.setattr(LocalKeys, "write", noted_write)
    monkeypatch.setattr(LocalKeys, "make_durable", noted_durable)
    run.save_result(organization, "organization", batch=0)
    assert described[-1] == []
    assert not pending


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
            StoreError, match=r"it was made from 3 batches \(0, 1, 2\), and 2 batches \(0, 2\) were asked for"
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
    with pytest.raises(StoreError, match=r"the batches were written again since. Make it again"):
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

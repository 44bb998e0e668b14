import pytest
from faults.damaged_store import damage_judged, restored, whole_sample

from faults import chunks, descriptions
from haarbor.store import batch_marker, chunked_arrays


@pytest.fixture
def sample(tmp_path):
    return whole_sample(tmp_path)


def test_a_run_that_is_whole_is_right(sample):
    assert damage_judged(*sample).verdict == "right"


def test_a_missing_chunk_is_noticed_and_put_back(sample):
    run, before = sample
    key = "decoder/probabilities/c.0.0.0.0.0"
    with restored(run, key):
        (run / key).unlink()
        assert damage_judged(run, before).verdict == "refused"
    assert damage_judged(run, before).verdict == "right"


def test_a_store_that_looks_at_no_checksum_would_be_found_out(sample, monkeypatch):
    run, before = sample
    one, other = "decoder/probabilities/c.0.0.0.0.0", "decoder/probabilities/c.1.0.0.0.0"

    def careless(keys, array, index, key, expected):
        return array[index]

    for module in (chunked_arrays, *_users_of_read_chunk()):
        monkeypatch.setattr(module, "read_chunk", careless)
    with restored(run, one, other):
        (run / one).write_bytes((run / other).read_bytes())
        found = damage_judged(run, before)
    assert found.verdict == "defect"
    assert found.reason.startswith("other values in silence: probabilities 0; and verify says nothing")


def _users_of_read_chunk():
    from haarbor.store import damage, pictures, result_store, run

    return [module for module in (damage, pictures, result_store, run) if hasattr(module, "read_chunk")]


def test_a_label_changed_behind_its_digest_would_be_found_out(sample, monkeypatch):
    run, before = sample
    monkeypatch.setattr(batch_marker, "digest_of", lambda values: "the same for all")
    key = "batches/00000/zarr.json"
    with restored(run, key):
        text = (run / key).read_text()
        digest = text[text.index('"digest": "') + 11 :].split('"')[0]
        (run / key).write_text(text.replace("q00", "q09").replace(digest, "the same for all"))
        found = damage_judged(run, before, ("labels",))
    assert found.verdict == "defect"


def test_every_bit_has_its_turn_in_the_long_form(tmp_path):
    seeds = descriptions.KIND.functions()["root"]
    assert len(seeds["long"]) % 8 == 0
    assert {seed % 8 for seed in seeds["short"]} == set(range(8))
    assert descriptions.KIND.tried("stream group", 0, tmp_path).verdict in ("right", "refused")
    assert chunks.KIND.tried("cut short", 0, tmp_path).verdict == "refused"

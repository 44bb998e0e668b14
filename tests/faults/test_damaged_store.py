import pytest
from faults.damaged_store import damage_judged, restored, whole_sample

from faults import chunks, damaged_store, descriptions
from haarbor.errors import StoreError


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


def test_another_value_in_silence_is_a_defect(sample, monkeypatch):
    run, before = sample
    readings = {**before, "probabilities 0": before["probabilities 1"]}
    monkeypatch.setattr(damaged_store, "everything_in", lambda opened, only: readings)
    found = damage_judged(run, before)
    assert found.verdict == "defect"
    assert found.reason == "other values in silence: probabilities 0; and verify says nothing"


def test_a_reading_that_is_refused_is_noticed_only_if_it_says_so_well(sample, monkeypatch):
    run, before = sample
    for text, verdict in (("the mask is damaged; found 0. Capture it again.", "refused"), ("no.", "defect")):
        readings = {**before, "mask 0": StoreError(text)}
        monkeypatch.setattr(damaged_store, "everything_in", lambda opened, only, found=readings: found)
        assert damage_judged(run, before).verdict == verdict


def test_a_reading_that_fails_in_another_way_is_a_defect(sample, monkeypatch):
    def failing(opened, only):
        raise ValueError("of a library")

    monkeypatch.setattr(damaged_store, "everything_in", failing)
    assert damage_judged(*sample).reason == "ValueError: of a library"


def test_every_bit_has_its_turn_in_the_long_form(tmp_path):
    seeds = descriptions.KIND.functions()["root"]
    assert len(seeds["long"]) % 8 == 0
    assert {seed % 8 for seed in seeds["short"]} == set(range(8))
    assert descriptions.KIND.tried("stream group", 0, tmp_path).verdict in ("right", "refused")
    assert chunks.KIND.tried("cut short", 0, tmp_path).verdict == "refused"

import json
import tracemalloc

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import assert_same_files, edit, files_of, forge, picture_of, tiny_plan


def test_a_run_with_consolidated_descriptions_is_read(described_run):
    import zarr

    with pytest.warns(UserWarning, match="Consolidated metadata"):
        zarr.consolidate_metadata(described_run)
    assert "consolidated_metadata" in json.loads((described_run / "zarr.json").read_text())
    run = open_run(described_run)
    assert run.verify() == ()
    assert np.array_equal(run.picture(0), picture_of(0))


@pytest.mark.parametrize(
    "group",
    [
        "decoder",
        "batches",
        "results",
        "pictures",
        "results/decoder",
        "results/decoder/probabilities/batch-00000",
    ],
)
@pytest.mark.parametrize("how", ["missing", "changed", "no JSON"])
def test_verify_looks_at_groups_and_repair_describes_them_anew(described_run, described_once, group, how):
    file = described_run / group / "zarr.json"
    if how == "missing":
        file.unlink()
    elif how == "changed":
        edit(file, lambda d: d.update(attributes={"a": 1}))
    else:
        file.write_text("{")
    [damage] = open_run(described_run).verify()
    assert str(damage).startswith(f"group {group!r}: its description is ")
    with create_run(described_run, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == ()
    assert_same_files(described_run, described_once)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1]", b'{"zarr_format": 3, "node_type": "group", "attributes": {}}', None]
)
def test_a_damaged_root_is_mended_where_the_batches_bear_witness(
    described_run, described_once, tmp_path, data
):
    root = described_run / "zarr.json"
    if data is None:
        root.unlink()
    else:
        root.write_bytes(data)
    before = files_of(described_run)
    for options in ({}, {"resume": False, "repair": True}):
        with pytest.raises(StoreError, match="must be"):
            create_run(described_run, tiny_plan(), **options)
    with pytest.raises(StoreError, match="must be"):
        create_run(described_run, tiny_plan(model="another"), repair=True)
    assert files_of(described_run) == before
    create_run(described_run, tiny_plan(), repair=True).close()
    assert_same_files(described_run, described_once)


def test_another_program_s_store_is_never_taken_for_a_damaged_run(tmp_path):
    import zarr

    zarr.create_group(tmp_path / "other.zarr", attributes={"format": "weather"})
    before = files_of(tmp_path)
    with pytest.raises(StoreError, match="a zarr store of something else"):
        create_run(tmp_path / "other.zarr", tiny_plan(), repair=True)
    assert files_of(tmp_path) == before


def of_stream(**changes):
    return lambda attributes: attributes["plan"]["streams"][0].update(changes)


def of_plan(**changes):
    return lambda attributes: attributes["plan"].update(changes)


ABSURD = {
    "layers": of_stream(n_layers=10**12),
    "heads": of_stream(n_heads=10**12, head_groups=None),
    "queries": of_stream(n_queries=10**12),
    "keys": of_stream(n_keys=10**30),
    "entries of a layer": of_stream(n_queries=10**7, n_keys=10**7),
    "heads in all": of_stream(n_layers=10**5, n_heads=10**5, head_groups=None),
    "batches": of_plan(n_batches=10**18),
    "no batches": of_plan(n_batches=0),
    "batches as a text": of_plan(n_batches="3"),
    "batches as a fraction": of_plan(n_batches=3.0),
    "batches as a truth": of_plan(n_batches=True),
    "layers as a fraction": of_stream(n_layers=2.0),
    "layers as a list": of_stream(n_layers=[2]),
    "groups as a number": of_stream(head_groups=3),
    "groups as a text": of_stream(head_groups="001"),
    "groups as fractions": of_stream(head_groups=[0, 0, 0.5]),
    "groups beyond the heads": of_stream(head_groups=[0, 0, 3]),
    "a stream's name as a number": of_stream(name=5),
    "a stream's name that climbs": of_stream(name="../x"),
    "a member too many": of_stream(more=1),
    "no streams": of_plan(streams=[]),
    "streams as a number": of_plan(streams=7),
    "streams as a text": of_plan(streams="decoder"),
    "streams of numbers": of_plan(streams=[1, 2]),
    "too many streams": lambda a: a["plan"].update(
        streams=[{**a["plan"]["streams"][0], "name": f"s{i}"} for i in range(1001)]
    ),
    "contents as a text": of_plan(contents="logits"),
    "contents of lists": of_plan(contents=[["logits"]]),
    "no model": lambda a: a["plan"].pop("model"),
    "a model as a number": of_plan(model=3),
    "half a character in the model's name": of_plan(model="gpt\ud800"),
    "half a character in a setting": of_plan(settings={"data": ["\udfff"]}),
    "half a character in a setting's name": of_plan(settings={"\udfff": 1}),
    "versions of numbers": of_plan(library_versions={"numpy": 2}),
    "settings as a list": of_plan(settings=[1]),
    "a digest as nothing": of_plan(config_digest=None),
    "a dtype as a list": of_plan(dtype=["float32"]),
    "labels as a mapping": of_plan(labels={}),
    "a plan as a list": lambda a: a.update(plan=[]),
    "no plan": lambda a: a.pop("plan"),
}


@pytest.mark.parametrize("how", ABSURD)
def test_an_absurd_plan_is_one_line_and_takes_no_memory(place, how):
    forge(place / "zarr.json", ABSURD[how])
    tracemalloc.start()
    with pytest.raises(StoreError, match="must") as caught:
        open_run(place)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700
    str(caught.value).encode()


def test_a_forged_plan_that_can_be_is_a_plan(place):
    forge(place / "zarr.json", of_plan(model="another"))
    assert open_run(place).model == "another"
    with pytest.raises(StoreError, match="it belongs to a run of another plan"):
        open_run(place).tensor(0)

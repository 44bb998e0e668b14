"""Descriptions that say something else than what was written are refused, never followed."""

import json
import shutil

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.runs import (
    assert_same_files,
    files_of,
    picture_of,
    tiny_plan,
    write_batch,
    write_run,
)

RESULT = "results/decoder/probabilities/batch-00000/scores"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    place = write_run(tmp_path_factory.mktemp("described") / "run.zarr", pictures=True)
    open_run(place).save_result({"heads": np.arange(6.0).reshape(2, 3)}, "scores", batch=0)
    return place


@pytest.fixture
def place(written, tmp_path):
    return shutil.copytree(written, tmp_path / "run.zarr")


def edit(file, change):
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))


def transposed(document):
    order = list(range(len(document["shape"])))
    order[-1], order[-2] = order[-2], order[-1]
    document["codecs"].insert(0, {"name": "transpose", "configuration": {"order": order}})


CHANGES = {
    "other keys": lambda d: d["chunk_key_encoding"]["configuration"].update(separator="/"),
    "other keys of an older kind": lambda d: d["chunk_key_encoding"].update(name="v2"),
    "another type": lambda d: d.update(data_type="int32" if d["data_type"] != "bool" else "uint8"),
    "another order of bytes": lambda d: d["codecs"][0].update(configuration={"endian": "big"}),
    "a transpose": transposed,
    "a cropped shape": lambda d: d["shape"].__setitem__(-1, 1),
    "a longer shape": lambda d: d["shape"].__setitem__(0, 10**12),
    "other chunks": lambda d: d["chunk_grid"]["configuration"]["chunk_shape"].__setitem__(-1, 2),
    "another fill value": lambda d: d.update(fill_value=1),
    "a true fill value": lambda d: d.update(fill_value=True),
    "a level that is no number": lambda d: d["codecs"][1]["configuration"].update(level=True),
    "other axes": lambda d: d.update(dimension_names=["a"] * len(d["shape"])),
    "attributes": lambda d: d.update(attributes={"scale": 2}),
    "no codecs": lambda d: d.pop("codecs"),
    "an unknown member": lambda d: d.update(scale=2),
}
ARRAYS = {
    "decoder/logits": lambda run: np.asarray(run.tensor(0, "logits")),
    "decoder/mask": lambda run: run.mask(0),
    "pictures/00000": lambda run: run.picture(0),
    f"{RESULT}/heads": lambda run: run.load_result("scores", batch=0)["heads"],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("path", ARRAYS)
def test_a_description_that_says_something_else_is_refused(place, path, change):
    edit(place / path / "zarr.json", CHANGES[change])
    run = open_run(place)
    with pytest.raises(StoreError, match="its description"):
        ARRAYS[path](run)
    [damage] = run.verify()
    assert "its description" in str(damage)
    assert "\n" not in str(damage)
    if path == f"{RESULT}/heads":
        assert not run.has_result("scores", batch=0)
        assert str(damage).startswith("batch 0, stream 'decoder', result 'scores' of probabilities: ")


@pytest.mark.parametrize("path", [*ARRAYS, "decoder", "batches", "", "batches/00001", RESULT])
def test_a_description_written_anew_by_another_program_is_honoured(place, path):
    file = place / path / "zarr.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps(dict(reversed(document.items())), indent=7))
    run = open_run(place)
    assert run.verify() == ()
    for read in ARRAYS.values():
        assert read(run).size > 0


def test_a_run_with_consolidated_descriptions_is_read(place):
    import zarr

    with pytest.warns(UserWarning, match="Consolidated metadata"):
        zarr.consolidate_metadata(place)
    assert "consolidated_metadata" in json.loads((place / "zarr.json").read_text())
    run = open_run(place)
    assert run.verify() == ()
    assert np.array_equal(run.picture(0), picture_of(0))


@pytest.mark.parametrize(
    "path", ["decoder/probabilities", "decoder/mask", "pictures/00001", f"{RESULT}/heads"]
)
def test_a_missing_chunk_is_damage_and_no_zeros(place, path):
    [chunk] = [
        file for file in (place / path).iterdir() if file.name.startswith(("c.1.1", "c.1.0.0", "c.0"))
    ][:1]
    chunk.unlink()
    [damage] = open_run(place).verify()
    assert "the chunk is missing" in str(damage)


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
def test_verify_looks_at_groups_and_repair_describes_them_anew(place, written, group, how):
    file = place / group / "zarr.json"
    if how == "missing":
        file.unlink()
    elif how == "changed":
        edit(file, lambda d: d.update(attributes={"a": 1}))
    else:
        file.write_text("{")
    [damage] = open_run(place).verify()
    assert str(damage).startswith(f"group {group!r}: its description is ")
    with create_run(place, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == ()
    assert_same_files(place, written)


@pytest.mark.parametrize("change", ["other keys", "another type", "a cropped shape", "no codecs"])
@pytest.mark.parametrize("path", ["decoder/logits", "decoder/mask"])
def test_repair_describes_arrays_anew_and_keeps_the_batches(place, written, path, change):
    edit(place / path / "zarr.json", CHANGES[change])
    with pytest.raises(StoreError, match=rf"the array '{path}' of .* must be described as it was written"):
        create_run(place, tiny_plan())
    with create_run(place, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == ()
    assert_same_files(place, written)


def test_repair_removes_damaged_results_alone(place):
    run = open_run(place)
    run.save_result(np.ones(3), "other")
    edit(place / RESULT / "heads/zarr.json", CHANGES["other keys"])
    (place / "results/decoder/probabilities/all-batches/other/array-0000/c.0").unlink()
    assert [damage.result for damage in run.verify()] == ["other", "scores"]
    with create_run(place, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == ()
    assert run.verify() == ()
    assert run.results() == ()


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1]", b'{"zarr_format": 3, "node_type": "group", "attributes": {}}', None]
)
def test_a_damaged_root_is_mended_where_the_batches_bear_witness(place, written, tmp_path, data):
    root = place / "zarr.json"
    if data is None:
        root.unlink()
    else:
        root.write_bytes(data)
    before = files_of(place)
    for options in ({}, {"resume": False, "repair": True}):
        with pytest.raises(StoreError, match="must be"):
            create_run(place, tiny_plan(), **options)
    with pytest.raises(StoreError, match="must be"):
        create_run(place, tiny_plan(model="another"), repair=True)
    assert files_of(place) == before
    create_run(place, tiny_plan(), repair=True).close()
    assert_same_files(place, written)


def test_another_program_s_store_is_never_taken_for_a_damaged_run(tmp_path):
    import zarr

    zarr.create_group(tmp_path / "other.zarr", attributes={"format": "weather"})
    before = files_of(tmp_path)
    with pytest.raises(StoreError, match="a zarr store of something else"):
        create_run(tmp_path / "other.zarr", tiny_plan(), repair=True)
    assert files_of(tmp_path) == before


def test_a_batch_of_a_run_of_another_plan_is_refused(place, tmp_path):
    other = write_run(tmp_path / "other.zarr", tiny_plan(settings={"seed": 8}), pictures=True)
    for path in ("batches/00001/zarr.json", *(f"decoder/logits/c.1.{layer}.0.0.0" for layer in range(2))):
        shutil.copy(other / path, place / path)
    with pytest.raises(StoreError, match="it belongs to a run of another plan"):
        open_run(place).tensor(1)
    assert [damage.content for damage in open_run(place).verify()] == ["marker"]


def test_a_result_copied_to_another_place_is_refused(place):
    run = open_run(place)
    shutil.copytree(place / RESULT, place / RESULT.replace("probabilities", "logits"))
    with pytest.raises(StoreError, match="it is that of another result"):
        run.load_result("scores", batch=0, content="logits")
    assert not run.has_result("scores", batch=0, content="logits")


def test_arrays_of_a_growing_run_have_room_for_its_batches_and_no_more(tmp_path):
    place = write_run(tmp_path / "run.zarr", tiny_plan(n_batches=None), batches=(0, 1))
    file = place / "decoder/logits/zarr.json"
    run = open_run(place)
    assert run.verify() == ()
    kept = file.read_bytes()
    for room in (1, 3, 10**12, True, None, "2"):
        file.write_bytes(kept)
        edit(file, lambda d, room=room: d["shape"].__setitem__(0, room))
        [damage] = run.verify()
        assert "its description" in damage.reason
    edit(file, lambda d: d["shape"].__setitem__(0, 1))
    with pytest.raises(StoreError, match="room for 2 batches"):
        run.tensor(1, "logits")
    with create_run(place, tiny_plan(n_batches=None), repair=True) as writer:
        assert writer.complete_batches == (0, 1)
    assert file.read_bytes() == kept


def test_a_growing_run_cut_off_before_its_marker_is_whole(tmp_path):
    plan = tiny_plan(n_batches=None)
    place = write_run(tmp_path / "run.zarr", plan, batches=(0, 1))
    shutil.rmtree(place / "batches/00001")
    assert open_run(place).verify() == ()
    with create_run(place, plan) as writer:
        assert open_run(place).verify() == ()
        write_batch(writer, 1)
    write_run(tmp_path / "straight.zarr", plan, batches=(0, 1))
    assert_same_files(place, tmp_path / "straight.zarr")


def test_zarr_reads_every_array_as_haarbor_does(place):
    import zarr

    group = zarr.open_group(place, mode="r")
    run = open_run(place)
    run.save_result(
        {"a": np.array(2.5), "b": np.zeros((0, 2)), "c": np.array([True]), "d": np.int8([3])}, "kinds"
    )
    for batch in run.batches:
        stored = group["decoder/logits"][batch].reshape(6, 4, 4).transpose(1, 2, 0)
        assert np.array_equal(stored, np.asarray(run.tensor(batch, "logits")))
        assert np.array_equal(group["decoder/mask"][batch], run.mask(batch))
    assert np.array_equal(group["pictures/00001"][:], run.picture(1))
    for name, value in run.load_result("kinds").items():
        found = group[f"results/decoder/probabilities/all-batches/kinds/{name}"]
        assert found.dtype == value.dtype
        assert np.array_equal(found[...], value)


def test_descriptions_are_what_zarr_writes_for_the_same_arrays(place, tmp_path):
    import zarr
    from zarr.codecs import BytesCodec, Crc32cCodec, ZstdCodec

    for path in [*ARRAYS, "decoder/probabilities"]:
        ours = json.loads((place / path / "zarr.json").read_text())
        zarr.create_array(
            store=tmp_path / "theirs" / path,
            shape=ours["shape"],
            chunks=ours["chunk_grid"]["configuration"]["chunk_shape"],
            dtype=ours["data_type"],
            serializer=BytesCodec(endian="little"),
            compressors=[ZstdCodec(level=1), Crc32cCodec()],
            fill_value=0,
            chunk_key_encoding={"name": "default", "separator": "."},
            dimension_names=ours.get("dimension_names"),
        )
        assert json.loads((tmp_path / "theirs" / path / "zarr.json").read_text()) == ours

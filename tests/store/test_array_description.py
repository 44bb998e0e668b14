import json

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import RESULT, assert_same_files, edit, tiny_plan


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
def test_a_description_that_says_something_else_is_refused(described_run, path, change):
    edit(described_run / path / "zarr.json", CHANGES[change])
    run = open_run(described_run)
    with pytest.raises(StoreError, match="its description"):
        ARRAYS[path](run)
    [damage] = run.verify()
    assert "its description" in str(damage)
    assert "\n" not in str(damage)
    if path == f"{RESULT}/heads":
        assert not run.has_result("scores", batch=0)
        assert str(damage).startswith("batch 0, stream 'decoder', result 'scores' of probabilities: ")


@pytest.mark.parametrize("path", [*ARRAYS, "decoder", "batches", "", "batches/00001", RESULT])
def test_a_description_written_anew_by_another_program_is_honoured(described_run, path):
    file = described_run / path / "zarr.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps(dict(reversed(document.items())), indent=7))
    run = open_run(described_run)
    assert run.verify() == ()
    for read in ARRAYS.values():
        assert read(run).size > 0


@pytest.mark.parametrize("change", ["other keys", "another type", "a cropped shape", "no codecs"])
@pytest.mark.parametrize("path", ["decoder/logits", "decoder/mask"])
def test_repair_describes_arrays_anew_and_keeps_the_batches(described_run, described_once, path, change):
    edit(described_run / path / "zarr.json", CHANGES[change])
    with pytest.raises(StoreError, match=rf"the array '{path}' of .* must be described as it was written"):
        create_run(described_run, tiny_plan())
    with create_run(described_run, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == ()
    assert_same_files(described_run, described_once)


def test_repair_removes_damaged_results_alone(described_run):
    run = open_run(described_run)
    run.save_result(np.ones(3), "other")
    edit(described_run / RESULT / "heads/zarr.json", CHANGES["other keys"])
    (described_run / "results/decoder/probabilities/all-batches/other/array-0000/c.0").unlink()
    assert [damage.result for damage in run.verify()] == ["other", "scores"]
    with create_run(described_run, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == ()
    assert run.verify() == ()
    assert run.results() == ()


def test_zarr_reads_every_array_as_haarbor_does(described_run):
    import zarr

    group = zarr.open_group(described_run, mode="r")
    run = open_run(described_run)
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


def test_descriptions_are_what_zarr_writes_for_the_same_arrays(described_run, tmp_path):
    import zarr
    from zarr.codecs import BytesCodec, Crc32cCodec, ZstdCodec

    for path in [*ARRAYS, "decoder/probabilities"]:
        ours = json.loads((described_run / path / "zarr.json").read_text())
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

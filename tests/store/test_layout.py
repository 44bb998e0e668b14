import json
import shutil

from haarbor.store import create_run, open_run
from tests.store.builders import tiny_plan, write_run


def test_a_folder_called_like_a_batch_beyond_all_is_no_batch(place):
    for name in ("000003", "99999999999999999999", "00003x", "٠٠٠٠٣"):
        shutil.copytree(place / "batches/00001", place / "batches" / name)
    assert open_run(place).batches == (0, 1, 2)
    with create_run(place, tiny_plan()) as writer:
        assert writer.missing_batches == ()
    shutil.copytree(place / "batches/00001", place / "batches/00007")
    [damage] = open_run(place).verify()
    assert (damage.batch, damage.content) == (7, "marker")


def test_layout_can_be_read_by_zarr_alone(tmp_path):
    import zarr

    write_run(tmp_path / "run.zarr", tiny_plan(dtype="float16"))
    group = zarr.open_group(tmp_path / "run.zarr", mode="r")
    assert sorted(name for name, _ in group.members(max_depth=None)) == [
        "batches", "batches/00000", "batches/00001", "batches/00002",
        "decoder", "decoder/logits", "decoder/mask", "decoder/probabilities", "results",
    ]  # fmt: skip
    assert group.attrs["format"] == "haarbor run"
    assert group.attrs["version"] == 2
    assert group.attrs["error_bound"] == {"relative": 2**-11, "absolute": 2**-25}
    array = group["decoder/probabilities"]
    assert (array.shape, array.chunks) == ((3, 2, 3, 4, 4), (1, 1, 3, 4, 4))
    assert array.metadata.dimension_names == ("batch", "layer", "head", "query", "key")
    codecs = json.loads((tmp_path / "run.zarr/decoder/probabilities/zarr.json").read_text())["codecs"]
    assert [codec["name"] for codec in codecs] == ["bytes", "zstd", "crc32c"]
    assert (group["decoder/mask"].shape, group["decoder/mask"].chunks) == ((3, 4, 4), (1, 4, 4))

import shutil

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.runs import assert_same_files, tiny_plan, write_batch

CHUNK = "decoder/logits/c.1.0.0.0.0"


@pytest.fixture
def place(complete_run):
    return complete_run


def flip(path, position):
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(bytes(data))


SPOILED = {
    "a bit early": lambda path: flip(path, 3),
    "a bit late": lambda path: flip(path, -6),
    "a bit of the checksum": lambda path: flip(path, -1),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "empty": lambda path: path.write_bytes(b""),
    "missing": lambda path: path.unlink(),
    "another chunk": lambda path: shutil.copy(path.with_name("c.1.1.0.0.0"), path),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_damaged_chunk_is_named_and_never_read_as_numbers(place, how):
    SPOILED[how](place / CHUNK)
    run = open_run(place)
    with pytest.raises(
        StoreError,
        match=r"batch 1, stream 'decoder', layer 0, logits: .*run.verify\(\) lists all such parts",
    ):
        np.asarray(run.tensor(1, "logits"))
    [damage] = run.verify()
    assert (damage.batch, damage.stream, damage.layer, damage.content) == (1, "decoder", 0, "logits")
    # Everything else can still be read.
    assert np.isfinite(run.tensor(1, "probabilities")).all()
    assert np.isfinite(run.tensor(1, "logits")[:, :, 3:]).all()
    assert np.isfinite(run.tensor(0, "logits")).all()


def test_repair_makes_damaged_batches_absent_and_the_run_whole_again(place, written_once):
    flip(place / CHUNK, 5)
    (place / "decoder/mask/c.2.0.0").unlink()
    assert [str(damage).split(":")[0] for damage in open_run(place).verify()] == [
        "batch 1, stream 'decoder', layer 0, logits",
        "batch 2, stream 'decoder', mask",
    ]
    with create_run(place, tiny_plan()) as writer:
        assert writer.missing_batches == ()  # reading all of a run is for those who ask
    with create_run(place, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == (1, 2)
        assert open_run(place).batches == (0,)
        for batch in writer.missing_batches:
            write_batch(writer, batch)
    assert open_run(place).verify() == ()
    assert_same_files(place, written_once)


def test_a_damaged_mask_is_named(place):
    flip(place / "decoder/mask/c.0.0.0", 2)
    with pytest.raises(StoreError, match="batch 0, stream 'decoder', mask: "):
        open_run(place).mask(0)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff\xfe"])
def test_a_marker_that_cannot_be_read_is_named_and_repaired(place, data):
    (place / "batches/00001/zarr.json").write_bytes(data)
    run = open_run(place)
    with pytest.raises(StoreError, match=r"the marker of batch 1 of .* must be readable"):
        run.tensor(1)
    [damage] = run.verify()
    assert (damage.batch, damage.content) == (1, "marker")
    with create_run(place, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == (1,)


def test_a_marker_that_was_changed_or_moved_is_noticed(place):
    marker = place / "batches/00001/zarr.json"
    text = marker.read_text()
    marker.write_text(text.replace("q1.0", "q1.9"))
    with pytest.raises(StoreError, match="its digest does not fit what it says"):
        open_run(place).labels(1)
    marker.write_text((place / "batches/00002/zarr.json").read_text())
    with pytest.raises(StoreError, match="must be its own; it is of batch 2"):
        open_run(place).labels(1)


def test_an_array_without_description_is_a_store_error(place):
    (place / "decoder/logits/zarr.json").unlink()
    run = open_run(place)
    with pytest.raises(StoreError, match=r"stream 'decoder', logits: its description is missing"):
        run.tensor(0, "logits")
    [damage] = run.verify()
    assert (damage.batch, damage.stream, damage.content) == (-1, "decoder", "logits")
    with create_run(place, tiny_plan()):
        pass
    assert run.verify() == ()

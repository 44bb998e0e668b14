import shutil

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import CHUNK, assert_same_files, flip, tiny_plan, write_batch

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

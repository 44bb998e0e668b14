import tracemalloc

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import STREAM, forge, mask_of, tiny_plan


def test_a_chunk_longer_than_it_can_be_is_not_swallowed(place):
    with (place / "decoder/logits/c.1.0.0.0.0").open("r+b") as file:
        file.truncate(10**12)  # sparse
    tracemalloc.start()
    with pytest.raises(StoreError, match="layer 0, logits: it holds more than the 1217 bytes"):
        np.asarray(open_run(place).tensor(1, "logits"))
    assert len(open_run(place).verify()) == 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


def test_a_chunk_that_claims_to_unfold_into_more_is_refused_before_it_does(place):
    import google_crc32c
    from numcodecs.zstd import Zstd

    for n_bytes in (10**8, 190, 0):
        data = Zstd(level=1).encode(bytes(n_bytes))[:1000]
        data += google_crc32c.value(data).to_bytes(4, "little")
        (place / "decoder/logits/c.1.0.0.0.0").write_bytes(data)
        forge(
            place / "batches/00001/zarr.json",
            lambda a, data=data: a["checksums"]["decoder/logits"].__setitem__(0, data[-4:].hex()),
        )
        tracemalloc.start()
        with pytest.raises(StoreError, match=f"it holds {n_bytes} bytes of numbers, and not 192"):
            np.asarray(open_run(place).tensor(1, "logits"))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20e6


def test_zeros_are_written_as_a_chunk(tmp_path):
    with create_run(tmp_path / "run.zarr", tiny_plan(n_batches=1, contents=("logits",))) as writer:
        with writer.batch(0) as batch:
            batch.write_mask(None, mask_of(STREAM))
            for layer in range(2):
                batch.write_layer(None, layer, {"logits": np.zeros((3, 4, 4))})
        assert not np.asarray(writer.run.tensor(0, "logits")).any()
    assert (tmp_path / "run.zarr/decoder/logits/c.0.1.0.0.0").is_file()

import tracemalloc

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import open_run
from tests.store.builders import PLACES

DOCUMENTS = {
    "deep lists": b"[" * 10**5,
    "deep objects": b'{"a":' * 10**5,
    "deep in the attributes": b'{"zarr_format":3,"node_type":"group","attributes":{"format":"haarbor run",'
    b'"version":2,"digest":"x","plan":' + b"[" * 900 + b"]" * 900 + b"}}",
    "NaN": b'{"zarr_format":3,"node_type":"group","attributes":{"format":"haarbor run","version":NaN}}',
    "infinity": b'{"zarr_format":3,"node_type":"group","attributes":{"format":"haarbor run","version":2,'
    b'"digest":"x","plan":1e999}}',
    "a huge number": b'{"zarr_format":' + b"9" * 5000 + b"}",
    "not UTF-8": b'{"zarr_format":3,"node_type":"\xff"}',
    "UTF-16": '{"zarr_format":3,"node_type":"group","attributes":{}}'.encode("utf-16"),
    "a name twice": b'{"zarr_format":3,"zarr_format":3,"node_type":"group","attributes":{}}',
    "a number": b"3",
    "a text": b'"text"',
    "nothing": b"",
    "null": b"null",
    "a list": b"[]",
    "zeros": b"\0" * 100,
    "attributes as a list": b'{"zarr_format":3,"node_type":"group","attributes":[]}',
    "another zarr": b'{"zarr_format":2,"node_type":"group","attributes":{}}',
    "a true zarr": b'{"zarr_format":true,"node_type":"group","attributes":{}}',
}


@pytest.mark.parametrize("how", DOCUMENTS)
@pytest.mark.parametrize("what", PLACES)
def test_a_document_that_is_none_is_one_line(place, what, how):
    open_run(place).save_result({"a": np.arange(2)}, "x", batch=1)
    (place / PLACES[what]).write_bytes(DOCUMENTS[how])

    def use():
        run = open_run(place)
        np.asarray(run.tensor(1))
        run.load_result("x", batch=1)

    with pytest.raises(StoreError, match="must") as caught:
        use()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 900
    if what != "root":
        run = open_run(place)
        assert not run.has_result("x", batch=1) or what == "array"
        assert len(run.verify()) == 1


def test_a_document_longer_than_any_is_not_swallowed(place):
    for path in ("batches/00001/zarr.json", "decoder/logits/zarr.json", "zarr.json"):
        with (place / path).open("r+b") as file:
            file.truncate(10**12)  # sparse
        tracemalloc.start()
        with pytest.raises(StoreError, match="it holds more than the"):
            open_run(place).tensor(1, "logits")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20e6

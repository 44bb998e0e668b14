"""Bits of every kind of description flipped: what is read stays the same, or is refused, and verify tells."""

import contextlib
import json

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import StreamPlan, open_run
from tests.store.builders import tiny_plan, write_run

RESULT = "results/decoder/probabilities/batch-00000/scores"
KINDS = {
    "root": "zarr.json",
    "stream": "decoder/zarr.json",
    "batches": "batches/zarr.json",
    "pictures": "pictures/zarr.json",
    "results": "results/zarr.json",
    "group of results": "results/decoder/probabilities/zarr.json",
    "attention": "decoder/probabilities/zarr.json",
    "mask": "decoder/mask/zarr.json",
    "picture": "pictures/00000/zarr.json",
    "marker": "batches/00000/zarr.json",
    "result": f"{RESULT}/zarr.json",
    "array of a result": f"{RESULT}/heads/zarr.json",
    "empty array of a result": f"{RESULT}/none/zarr.json",
}


# Where the number of batches is not planned, only the arrays of the streams are described otherwise.
CASES = [*((kind, 1) for kind in KINDS), ("attention", None), ("mask", None)]


@pytest.fixture(scope="module")
def place(request, tmp_path_factory):
    stream = StreamPlan(name="decoder", n_layers=1, n_heads=2, n_queries=2, n_keys=2)
    plan = tiny_plan(streams=(stream,), n_batches=request.param, contents=("probabilities",), settings={})
    place = tmp_path_factory.mktemp("flipped") / "run.zarr"
    write_run(place, plan, batches=(0,), pictures=True)
    value = {"heads": np.array([0.25, -1.0]), "none": np.zeros((0, 3)), "k": 3}
    open_run(place).save_result(value, "scores", batch=0)
    return place


def read(run):
    """Everything a run says, as bytes."""
    result = run.load_result("scores", batch=0)
    arrays = (run.tensor(0), run.mask(0), run.picture(0), result["heads"], result["none"])
    numbers = [(array.shape, array.dtype.str, np.asarray(array).tobytes()) for array in arrays]
    return repr((run.plan, run.batches, run.labels(0), result["k"], numbers)).encode()


def meaning(data):
    try:
        document = json.loads(data.decode())
    except ValueError:
        return None
    return json.dumps(document, sort_keys=True)


def assert_flips_are_harmless_or_noticed(place, path, bits):
    file = place / path
    kept, whole = file.read_bytes(), open_run(place)
    before = read(whole)
    assert whole.verify() == ()
    try:
        for bit in bits(8 * len(kept)):
            changed = bytearray(kept)
            changed[bit // 8] ^= 1 << bit % 8
            file.write_bytes(changed)
            is_read = is_whole = False
            with contextlib.suppress(StoreError):
                run = open_run(place) if path == KINDS["root"] else whole
                is_whole = run.verify() == ()
                assert read(run) == before, f"bit {bit} changes what is read"
                is_read = True
            if meaning(bytes(changed)) != meaning(kept):
                assert not is_whole, f"bit {bit} is not noticed"
            assert is_read or not is_whole, f"bit {bit} is refused, and verify says whole"
    finally:
        file.write_bytes(kept)


@pytest.mark.parametrize(("kind", "place"), CASES, indirect=["place"])
def test_some_flipped_bits_of_a_description_are_harmless_or_noticed(place, kind, rng):
    def some(n_bits):
        return rng.choice(n_bits, size=min(n_bits, 25), replace=False)

    assert_flips_are_harmless_or_noticed(place, KINDS[kind], some)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "place"), CASES, indirect=["place"])
def test_a_flipped_bit_in_every_byte_of_a_description_is_harmless_or_noticed(place, kind):
    # One bit per byte, each in its turn; `make faults FAULTS=long` flips all eight.
    def one_per_byte(n_bits):
        return (8 * byte + byte % 8 for byte in range(n_bits // 8))

    assert_flips_are_harmless_or_noticed(place, KINDS[kind], one_per_byte)

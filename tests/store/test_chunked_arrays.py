import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import RESULT, tiny_plan


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


@pytest.mark.parametrize(
    "path", ["decoder/probabilities", "decoder/mask", "pictures/00001", f"{RESULT}/heads"]
)
def test_a_missing_chunk_is_damage_and_no_zeros(described_run, path):
    [chunk] = [
        file for file in (described_run / path).iterdir() if file.name.startswith(("c.1.1", "c.1.0.0", "c.0"))
    ][:1]
    chunk.unlink()
    [damage] = open_run(described_run).verify()
    assert "the chunk is missing" in str(damage)

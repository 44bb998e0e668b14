import shutil

import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import forge, tiny_plan, write_run


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


def test_a_batch_of_a_run_of_another_plan_is_refused(described_run, tmp_path):
    other = write_run(tmp_path / "other.zarr", tiny_plan(settings={"seed": 8}), pictures=True)
    for path in ("batches/00001/zarr.json", *(f"decoder/logits/c.1.{layer}.0.0.0" for layer in range(2))):
        shutil.copy(other / path, described_run / path)
    with pytest.raises(StoreError, match="it belongs to a run of another plan"):
        open_run(described_run).tensor(1)
    assert [damage.content for damage in open_run(described_run).verify()] == ["marker"]


MARKERS = {
    "a checksum too few": lambda a: a["checksums"]["decoder/logits"].pop(),
    "a checksum as a number": lambda a: a["checksums"]["decoder/logits"].__setitem__(0, 5),
    "checksums of another array": lambda a: a["checksums"].update(other=["00000000"]),
    "no checksums": lambda a: a.update(checksums=None),
    "labels as a list": lambda a: a.update(labels=[]),
    "labels of another stream": lambda a: a["labels"].update(x={"query": [], "key": None}),
    "labels too few": lambda a: a["labels"]["decoder"].update(query=["a"], key=["b"]),
    "labels of numbers": lambda a: a["labels"]["decoder"].update(query=[1, 2, 3, 4]),
    "kinds as a list": lambda a: a.update(kinds=[]),
    "no kinds at all": lambda a: a.update(kinds={}),
    "kinds of another stream": lambda a: a.update(kinds={"x": {"query": [], "key": None}}),
    "kinds too few": lambda a: a.update(kinds={"decoder": {"query": ["text"], "key": None}}),
    "kinds of numbers": lambda a: a.update(kinds={"decoder": {"query": [1, 2, 3, 4], "key": None}}),
    "a picture as a text": lambda a: a.update(picture="abc"),
    "a batch as a truth": lambda a: a.update(batch=True),
    "no batch": lambda a: a.pop("batch"),
    "a member too many": lambda a: a.update(more=1),
    "another format": lambda a: a.update(format="x"),
    "another version": lambda a: a.update(version=1),
}


@pytest.mark.parametrize("how", MARKERS)
def test_a_forged_marker_is_one_line(place, how):
    forge(place / "batches/00001/zarr.json", MARKERS[how])
    run = open_run(place)
    with pytest.raises(StoreError, match=r"the marker of batch 1 of .* must be readable"):
        run.labels(1)
    assert [damage.content for damage in run.verify()] == ["marker"]


def test_a_forged_picture_is_one_line(place):
    def picture(attributes):
        attributes["picture"] = [10**9, 10**9, 3]
        attributes["checksums"]["pictures/00001"] = ["00000000"]

    forge(place / "batches/00001/zarr.json", picture)
    with pytest.raises(StoreError, match="which no picture is"):
        open_run(place).picture(1)


def test_a_marker_without_kinds_is_what_it_was_before_there_were_any(place):
    assert b"kinds" not in (place / "batches/00001/zarr.json").read_bytes()

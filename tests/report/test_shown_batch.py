"""One batch in the page: matrices, mask, orders, pictures."""

from itertools import pairwise

import numpy as np
import pytest

from haarbor.report import _shown_batch as module
from haarbor.report._coarse_cells import coarse_matrix
from haarbor.report._packing import packed_text
from haarbor.report._shown_batch import patch_grid, shown_batch
from tests.report.reading import matrix
from tests.report.runs import kinds_run, logits_run


def test_every_matrix_comes_back_within_the_error_that_is_stated(text):
    found = shown_batch(text.part(), 1)
    X = np.asarray(text.tensor(1))
    rows, columns = found.data["orders"]["query"], found.data["orders"]["key"]
    errors = []
    for head in range(X.shape[2]):
        kept = text.mask(1)[np.ix_(rows, columns)]
        restored = matrix(found.blobs[f"head-{head}"], 24, 24, found.data["quantisation"]["power"], kept)
        errors.append(np.nanmax(np.abs(restored - X[np.ix_(rows, columns, [head])][:, :, 0])))
    assert max(errors) == pytest.approx(found.data["quantisation"]["largest_error"], rel=1e-5)
    assert 0 < max(errors) < 0.003
    assert found.data["quantisation"]["largest_value"] == X.max()


def test_the_mask_and_the_orders_are_the_runs(text):
    found = shown_batch(text.part(), 0)
    bits = np.unpackbits(np.frombuffer(found.blobs["mask"], dtype=np.uint8), count=24 * 24).reshape(24, 24)
    np.testing.assert_array_equal(bits.astype(bool), text.mask(0))
    organization = text.load_result("organization", batch=0)
    np.testing.assert_array_equal(found.data["orders"]["query"], organization.order("query"))
    for level, sizes in enumerate(found.data["folders"]["key"]):
        along = organization.trees["key"].levels[level][organization.order("key")]
        begins = np.cumsum([0, *sizes])
        assert begins[-1] == 24
        for begin, end in pairwise(begins):
            assert len(set(along[begin:end].tolist())) == 1
    assert len(found.data["folders"]["key"][0]) == 1


def test_fewer_steps_take_less_room_and_say_how_exact_they_are(text):
    fine, coarse = (shown_batch(text.part(), 1, n_steps) for n_steps in (255, 51))
    assert [found.data["quantisation"]["steps"] for found in (fine, coarse)] == [255, 51]
    sizes = [sum(len(packed_text(found.blobs[f"head-{h}"])) for h in range(12)) for found in (fine, coarse)]
    assert sizes[1] < 0.9 * sizes[0]
    kept = text.mask(1)[np.ix_(coarse.data["orders"]["query"], coarse.data["orders"]["key"])]
    X = np.asarray(text.tensor(1))[np.ix_(coarse.data["orders"]["query"], coarse.data["orders"]["key"])]
    error = max(
        np.nanmax(np.abs(matrix(coarse.blobs[f"head-{head}"], 24, 24, 2, kept) - X[:, :, head]))
        for head in range(12)
    )
    assert error == pytest.approx(coarse.data["quantisation"]["largest_error"], rel=1e-5)
    assert 3 * fine.data["quantisation"]["largest_error"] < error < 0.02


def test_logits_keep_their_sign_and_masked_entries_are_not_kept(tmp_path):
    run = logits_run(tmp_path / "raw.zarr")
    found = shown_batch(run.part(), 0)
    quantisation = found.data["quantisation"]
    assert quantisation["power"] == 1
    X, mask = np.asarray(run.tensor(0, "logits")), run.mask(0)
    rows, columns = found.data["orders"]["query"], found.data["orders"]["key"]
    for head in range(X.shape[2]):
        restored = np.zeros((18, 18))
        kept = mask[np.ix_(rows, columns)]
        restored[np.ix_(rows, columns)] = matrix(found.blobs[f"head-{head}"], 18, 18, 1, kept)
        assert np.abs(restored - X[:, :, head])[mask].max() <= quantisation["largest_error"] * 1.001
        assert np.isnan(restored[~mask]).all()


def test_large_matrices_are_shown_by_the_means_of_blocks_in_both_orders(text, monkeypatch):
    monkeypatch.setattr(module, "_MOST_CELLS", 12 * 24 * 24 // 3)
    found = shown_batch(text.part(), 0)
    # 12 heads of 24 x 24 must fit twice into a third: blocks of 3, eight by eight.
    assert found.data["block"] == 3
    X = np.asarray(text.tensor(0))[:, :, 5]
    original = matrix(found.blobs["original-5"], 8, 8, 2)
    np.testing.assert_allclose(
        original, coarse_matrix(X, 3), atol=found.data["quantisation"]["largest_error"]
    )
    orders = found.data["orders"]
    organised = coarse_matrix(X[np.ix_(orders["query"], orders["key"])], 3)
    np.testing.assert_allclose(
        matrix(found.blobs["head-5"], 8, 8, 2), organised, atol=found.data["quantisation"]["largest_error"]
    )


def test_pictures_and_grids_of_patches_come_along(pictures):
    found = shown_batch(pictures.part(), 1)
    assert found.data["grid"] == {"first": 1, "rows": 4, "columns": 4}
    assert found.data["picture"] == [16, 16]
    assert found.blobs["picture"] == pictures.picture(1).tobytes()
    assert "mask" not in found.blobs


@pytest.mark.parametrize(
    "labels",
    [
        ["0,0", "0,1", "1,0"],
        ["0,0", "1,0", "0,1", "1,1"],
        ["0,0", "0,1", "1,0", "1,1", "END"],
        ["CLS", "REG"],
        [],
    ],
)
def test_what_is_no_grid_of_patches_is_none(labels):
    assert patch_grid(labels) is None


def test_grids_may_follow_several_tokens():
    labels = ["CLS", "REG0", *(f"{r},{c}" for r in range(3) for c in range(2))]
    assert patch_grid(labels) == {"first": 2, "rows": 3, "columns": 2}


def test_thumbnails_are_the_organised_matrices_in_small(pictures):
    found = shown_batch(pictures.part(), 0)
    small = np.frombuffer(found.blobs["thumbnails"], dtype=np.uint8).reshape(6, 40, 40)
    orders = found.data["orders"]
    X = np.asarray(pictures.tensor(0))[np.ix_(orders["query"], orders["key"], [2])][:, :, 0]
    places = np.arange(40) * 17 // 40
    expected = np.sqrt((X - X.min()) / (X.max() - X.min()))[np.ix_(places, places)]
    np.testing.assert_allclose(small[2] / 255, expected, atol=0.5 / 255 + 1e-6)


def test_kinds_of_tokens_come_along_where_they_are_known(text, tmp_path):
    assert "query_kinds" not in shown_batch(text.part(), 0).data
    run = kinds_run(tmp_path / "kinds.zarr")
    found = shown_batch(run.part(), 0).data
    assert found["query_kinds"] == found["key_kinds"] == ["special"] + ["image"] * 9 + ["text"] * 6
    assert found["grid"] == {"first": 1, "rows": 3, "columns": 3}


def test_image_tokens_must_stand_together_to_be_a_grid():
    labels = ["0,0", "word", "0,1", "end"]
    assert patch_grid(labels, ["image", "text", "image", "text"]) is None
    assert patch_grid(["1,2", "0,0", "0,1", "end"], ["text", "image", "image", "text"]) == {
        "first": 1, "rows": 1, "columns": 2,
    }  # fmt: skip
    # Without image tokens, a text that looks like a place is no patch of a picture with text after it.
    assert patch_grid(["0,0", "end"], ["text", "text"]) is None

import numpy as np
import pytest

from haarbor.engines._section_sums import SectionSums
from tests.assertions import assert_close

GO_ON = np.zeros(1, np.uint8)


def rows_of_kind(rng, kind, dtype):
    """27 rows of 90 columns, dense, sparse, both, or with zeros at their ends only."""
    rows = rng.normal(size=(27, 90))
    if kind == "sparse":
        rows *= rng.random(rows.shape) < 0.1
    if kind == "both":
        rows[:, ::2] *= rng.random((27, 45)) < 0.1
        rows[:, 1:40] = 0
    if kind == "ends":
        for row in range(27):
            rows[row, 3 * row :] = 0
    if kind == "zero":
        rows[:] = 0
    return rows.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["dense", "sparse", "both", "ends", "zero"])
def test_sections_are_the_plain_sums(rng, kind, dtype):
    rows = rows_of_kind(rng, kind, dtype)
    for begin, end in ((0, 90), (10, 77), (33, 34), (5, 5)):
        out = np.zeros((27, 27))
        SectionSums(rows, begin, end).add((0, 27), out, GO_ON)
        part = rows[:, begin:end].astype(float)
        upper = np.triu_indices(27, 1)
        assert_close(out[upper], np.abs(part[:, None] - part[None]).sum(axis=2)[upper], dtype)


@pytest.mark.parametrize("kind", ["dense", "sparse", "both", "ends"])
def test_parts_make_the_same_bits_as_the_whole(rng, kind):
    rows = rows_of_kind(rng, kind, np.float32)
    section = SectionSums(rows, 0, 90)
    whole, parts = np.zeros((27, 27)), np.zeros((27, 27))
    section.add((0, 27), whole, GO_ON)
    for first in (8, 0, 24, 16):
        section.add((first, min(first + 8, 27)), parts, GO_ON)
    upper = np.triu_indices(27, 1)
    assert parts[upper].tobytes() == whole[upper].tobytes()


@pytest.mark.parametrize("kind", ["sparse", "both"])
def test_sparse_columns_are_summed_entry_by_entry(rng, monkeypatch, kind):
    import haarbor.engines._section_sums as module

    looked_up = []
    monkeypatch.setattr(module, "add_entries_l1", lambda found, *_: looked_up.append(found.row.size))
    rows = rows_of_kind(rng, kind, np.float64)
    SectionSums(rows, 0, 90).add((0, 27), np.zeros((27, 27)), GO_ON)
    SectionSums(rows_of_kind(rng, "dense", np.float64), 0, 90).add((0, 27), np.zeros((27, 27)), GO_ON)
    SectionSums(rows_of_kind(rng, "ends", np.float64), 0, 90).add((0, 27), np.zeros((27, 27)), GO_ON)
    sparse = (rows != 0).sum(axis=0) < 0.3 * 27
    assert looked_up == [(rows[:, sparse] != 0).sum()]

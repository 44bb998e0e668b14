"""Organisations as tables and plain arrays."""

import csv

import numpy as np

import haarbor as hb
from haarbor.cli._organization_files import write_organization


def test_tables_and_arrays_hold_orders_trees_and_maps(tmp_path):
    blocks = np.kron(np.eye(2), np.ones((3, 2)))[[0, 3, 1, 4, 2, 5]] + 0.1
    found = hb.organize(blocks, axes=("row", "column"))
    written = write_organization(tmp_path / "new", found, {"row": {"label": list("abcdef")}})
    assert [path.name for path in written] == ["row.csv", "column.csv", "organization.npz"]
    with (tmp_path / "new" / "row.csv").open() as file:
        rows = list(csv.DictReader(file))
    order = [int(row["row"]) for row in rows]
    assert order == found.order("row").tolist()
    assert [row["label"] for row in rows] == ["abcdef"[item] for item in order]
    assert [int(row["folder_1"]) for row in rows] == found.trees["row"].levels[1][order].tolist()
    # Rows 0, 2 and 4 are one block of the matrix, and 1, 3 and 5 the other.
    assert {frozenset(order[:3]), frozenset(order[3:])} == {frozenset({0, 2, 4}), frozenset({1, 3, 5})}
    places = np.array([[float(row[f"map_{n}"]) for n in (1, 2, 3)] for row in rows])
    np.testing.assert_allclose(places, found.embedding("row")[order], rtol=1e-9, atol=1e-12)
    with np.load(written[-1], allow_pickle=False) as arrays:
        for axis in found.axes:
            np.testing.assert_array_equal(arrays[f"{axis}_order"], found.order(axis))
            np.testing.assert_array_equal(arrays[f"{axis}_tree"], found.trees[axis].levels)
            np.testing.assert_array_equal(arrays[f"{axis}_map"], found.embedding(axis))
            np.testing.assert_array_equal(arrays[f"{axis}_affinity"], found.affinities[axis])


def test_an_axis_of_one_item_has_a_table_of_one_row(tmp_path):
    found = hb.organize(np.arange(12.0).reshape(3, 4, 1) + 1)
    write_organization(tmp_path, found)
    assert (tmp_path / "head.csv").read_text() == "head\n0\n"

import numpy as np

from haarbor.wavelets import haar_basis
from haarbor.wavelets._haar_scales import haar_scales
from tests.assertions import assert_close
from tests.samples import random_tree


def levels_of_functions(tree):
    """Level of the folder that each function splits, read off the functions: -1 for the constant."""
    found = [-1]
    for function in haar_basis(tree)[1:]:
        support = set(np.flatnonzero(np.abs(function) > 1e-12).tolist())
        deepest = max(
            level
            for level in range(tree.n_levels)
            for folder in tree.folders(level)
            if support <= set(folder.tolist())
        )
        found.append(deepest)
    return found


def test_sums_are_those_of_dense_bases(rng):
    rows, columns = random_tree(rng, 9), random_tree(rng, 7)
    values = rng.normal(size=(9, 7, 3))
    found = haar_scales(values, {"query": rows, "key": columns})
    row_basis, column_basis = haar_basis(rows).T, haar_basis(columns).T
    row_levels, column_levels = levels_of_functions(rows), levels_of_functions(columns)
    row_names, column_names = sorted(set(row_levels)), sorted(set(column_levels))
    assert found.by_level.shape == (3, len(row_names), len(column_names))
    assert [-1, *found.query_levels] == row_names
    assert [-1, *found.key_levels] == column_names
    for head in range(3):
        expected = np.zeros((len(row_names), len(column_names)))
        octaves = np.zeros_like(found.by_octave[head])
        counts = np.zeros_like(found.counts)
        for i in range(9):
            for j in range(7):
                size = abs(row_basis[:, i] @ values[:, :, head] @ column_basis[:, j])
                expected[row_names.index(row_levels[i]), column_names.index(column_levels[j])] += size
                support = np.count_nonzero(np.abs(row_basis[:, i]) > 1e-12) * np.count_nonzero(
                    np.abs(column_basis[:, j]) > 1e-12
                )
                if i or j:
                    octave = next(o for o in range(99) if support * 2 ** (o + 1) > 63)
                    octaves[octave] += size
                    counts[octave] += 1
        assert_close(found.by_level[head], expected)
        assert_close(found.by_octave[head], octaves)
        np.testing.assert_array_equal(found.counts, counts)


def test_bytes_hold_both_tables_head_by_head(rng):
    tree = random_tree(rng, 6)
    found = haar_scales(rng.normal(size=(6, 6, 2)), {"query": tree, "key": tree})
    numbers = np.frombuffer(found.to_bytes(), dtype="<f4")
    assert numbers.size == found.by_level.size + found.by_octave.size
    np.testing.assert_allclose(numbers[: found.by_level.size], found.by_level.ravel(), rtol=1e-6)
    np.testing.assert_allclose(numbers[found.by_level.size :], found.by_octave.ravel(), rtol=1e-6)
    assert len(found.to_data()["query_levels"]) + 1 == found.by_level.shape[1]

"""A device whose arrays are numpy's, so that all but the kernels of a GPU engine runs anywhere."""

from contextlib import nullcontext

import numpy as np

from haarbor.engines import GpuEngine
from haarbor.engines._pair_tiles import pair_tiles


class NumpyDevice:
    name = "numpy"
    number = 0
    xp = np

    def __init__(self, free=1 << 40):
        self.free = free

    def free_bytes(self):
        return self.free

    def on_host(self, array):
        return np.asarray(array)

    def one_line_errors(self):
        return nullcontext()

    def extremes(self, numbers):
        assert numbers.flags.c_contiguous
        return float(numbers.min()), float(numbers.max())

    def haar_coefficients(self, columns, left, right, positive, negative, dtype):
        n_items = columns.shape[0]
        nodes = np.concatenate([columns.astype(float), np.zeros(columns.shape)])
        out = np.zeros(columns.shape, dtype)
        for j in range(n_items - 1, 0, -1):
            nodes[n_items + j] = nodes[left[j]] + nodes[right[j]]
            out[j] = positive[j] * nodes[left[j]] - negative[j] * nodes[right[j]]
        out[0] = positive[0] * nodes[n_items + 1 if n_items > 1 else 0]
        return out

    def tiles(self, n_items, dtype):
        return pair_tiles(n_items, dtype, 4)

    def add_pair_sums(self, features, n_items, total, *, square=False):
        tiles = self.tiles(n_items, features.dtype)
        assert features.shape[1] == tiles.pitch
        assert (features[:, n_items:] == 0).all()
        for first, last, n_splits, per_split in tiles.launches(features.shape[0]):
            for split in range(n_splits):
                rows = features[first:last][split * per_split : (split + 1) * per_split, :n_items]
                # In the type of the features, as a thread does.
                sums = np.zeros((n_items, n_items), features.dtype)
                for begin in range(0, rows.shape[0], 32):
                    some = rows[begin : begin + 32]
                    differences = some[:, :, None] - some[:, None, :]
                    sums += (differences**2 if square else np.abs(differences)).sum(axis=0)
                total += sums

    def outer_sums(
        self, flat, offsets, begins, scale, folders, row_stride, n_features, n_items, pitch, items_are_columns
    ):
        first, last = folders
        out = np.zeros((last - first, n_features, pitch), scale.dtype)
        shape = (n_features, n_items) if items_are_columns else (n_items, n_features)
        for folder in range(first, last):
            matrix = np.zeros(shape, scale.dtype)
            for offset in offsets[begins[folder] : begins[folder + 1]]:
                for row in range(shape[0]):
                    begin = offset + row * row_stride
                    matrix[row] += flat[begin : begin + shape[1]].astype(scale.dtype)
            matrix *= scale[folder]
            out[folder - first, :, :n_items] = matrix if items_are_columns else matrix.T
        return out

    def raised_sums(self, features, children, child_begins, scale):
        n_outer, n_features, pitch = features.shape
        out = np.zeros((n_outer, scale.size, pitch), features.dtype)
        for folder in range(scale.size):
            for child in children[child_begins[folder] : child_begins[folder + 1]]:
                out[:, folder] += features[:, child] if child < n_features else out[:, child - n_features]
        return out * scale[:, None]

    def pair_distances(self, rows, pairs):
        return np.abs(rows[pairs[:, 0]] - rows[pairs[:, 1]]).sum(axis=1, dtype=np.float64)

    def rotation_sums(self, rows, threes, shares):
        a, b, c = (rows[folders] for folders in threes.T)
        p, q = (share[:, None].astype(rows.dtype) for share in shares.T)
        one = rows.dtype.type(1)
        differences = [a - b, c - (p * a + (one - p) * b), a - c, b - (q * a + (one - q) * c)]
        return np.stack([np.abs(each).sum(axis=1, dtype=np.float64) for each in differences], axis=1)


def numpy_gpu(free=1 << 40):
    return GpuEngine(NumpyDevice(free))

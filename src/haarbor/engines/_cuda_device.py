"""A CUDA device as CuPy sees it, and the kernels that run on it, compiled when they are first used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from haarbor.engines._pair_tiles import SIDE, PairTiles, pair_tiles
from haarbor.errors import EngineError

__all__ = ["CudaDevice"]

_STORED = {np.dtype(np.float16): 0, np.dtype(np.float32): 1, np.dtype(np.float64): 2}


class CudaDevice:
    """The current CUDA device.

    What an engine needs of a device is here: an array module, and some sums that the module cannot form
    well by itself. The arrays that are passed in and out are those of the module.

    Raises
    ------
    EngineError
        If CuPy is not installed, or sees no device that can be used.
    """

    def __init__(self) -> None:
        self.xp = _cupy()
        self.number = int(self.xp.cuda.Device().id)
        self.name, self.n_processors, self.capability = _properties(self.number)

    def __repr__(self) -> str:
        return f"CudaDevice({self.name!r})"

    def free_bytes(self) -> int:
        """Bytes that can still be taken, those that CuPy keeps for later included."""
        free, _ = self.xp.cuda.runtime.memGetInfo()
        return int(free) + int(self.xp.get_default_memory_pool().free_bytes())

    def on_host(self, array: Any) -> Any:
        """The array as one of numpy."""
        return self.xp.asnumpy(array)

    @contextmanager
    def one_line_errors(self) -> Iterator[None]:
        """Context in which what fails on the device is raised as an EngineError."""
        cuda = self.xp.cuda
        try:
            yield
        except cuda.memory.OutOfMemoryError as error:
            raise EngineError(
                f"the GPU must have memory for this work; {self.name} ran out of it ({_first_line(error)}). "
                "Use engine='cpu', or free memory there."
            ) from None
        except cuda.compiler.CompileException as error:
            raise EngineError(
                f"the kernels must compile for this GPU; for {self.name} they do not ({_first_line(error)}). "
                "Use engine='cpu', and please report this."
            ) from None
        except (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError) as error:
            raise EngineError(
                f"the GPU must finish its work; {self.name} failed ({_first_line(error)}). "
                "Look at nvidia-smi, or use engine='cpu'."
            ) from None

    def tiles(self, n_items: int, dtype: np.dtype[Any]) -> PairTiles:
        """How the pairs of some items are shared out."""
        return pair_tiles(n_items, dtype, self.n_processors)

    def add_pair_sums(self, features: Any, n_items: int, total: Any, *, square: bool = False) -> None:
        """Add sums of absolute differences, or of squared ones, to a matrix.

        Parameters
        ----------
        features : array of float32 or float64, shape (n_features, pitch)
            One column per item, and columns of zeros up to the pitch of `tiles`.
        n_items : int
        total : array of float64, shape (n_items, n_items)
            Symmetric, and stays so.
        square : bool, default False
        """
        tiles = self.tiles(n_items, features.dtype)
        pair_sums, add_partial = self._pair_kernels(features.dtype, tiles.blocks_per_processor, square)
        n_features = features.shape[0]
        for first, last, n_splits, per_split in tiles.launches(n_features):
            partial = self.xp.empty((n_splits, tiles.n_tiles, SIDE**2), features.dtype)
            pair_sums(
                (tiles.n_tiles, n_splits),
                (SIDE**2 // 64,),
                (
                    features[first:last], np.int64(last - first), np.int32(tiles.pitch),
                    np.int32(tiles.n_sides), np.int32(per_split), partial,
                ),
            )  # fmt: skip
            add_partial(
                (tiles.n_tiles, SIDE**2 // 256),
                (256,),
                (
                    partial, np.int32(n_splits), np.int32(tiles.n_tiles), np.int32(tiles.n_sides),
                    np.int32(n_items), total,
                ),
            )  # fmt: skip

    def outer_sums(
        self, flat: Any, offsets: Any, begins: Any, scale: Any, folders: tuple[int, int], row_stride: int,
        n_features: int, n_items: int, pitch: int, items_are_columns: bool,
    ) -> Any:  # fmt: skip
        """Weighted sums of the matrices of some outer folders, shape (n_folders, n_features, pitch).

        Parameters
        ----------
        flat : array of float16, float32 or float64
            The tensor.
        offsets, begins : arrays of int64
            Folder ``g`` sums the matrices that begin at ``offsets[begins[g]:begins[g + 1]]``.
        scale : array of float32 or float64
            Factor of each folder; its type is that of the sums.
        folders : (first, last)
            Which folders.
        row_stride : int
            From one row of a matrix to the next.
        n_features, n_items, pitch : int
            Items from `n_items` up to `pitch` are zeros.
        items_are_columns : bool
            Whether the columns of a matrix are the items, or its rows.
        """
        first, last = folders
        out = self.xp.empty((last - first, n_features, pitch), scale.dtype)
        kernel = self._stored_kernel("_folder_sums.cu", "outer_sums", flat.dtype, scale.dtype)
        kernel(
            (-(-pitch // 32), -(-n_features // 32), last - first),
            (32, 8),
            (
                flat, offsets, begins, scale, np.int32(first), np.int64(row_stride), np.int32(n_features),
                np.int32(n_items), np.int32(pitch), np.int32(items_are_columns), out,
            ),
        )  # fmt: skip
        return out

    def raised_sums(self, features: Any, children: Any, child_begins: Any, scale: Any) -> Any:
        """Weighted sums over the folders of the feature axis, shape (n_outer, n_folders, pitch).

        Parameters
        ----------
        features : array, shape (n_outer, n_features, pitch)
        children, child_begins : arrays of int32
            Folder ``g`` sums ``children[child_begins[g]:child_begins[g + 1]]``; a child below
            ``n_features`` is a feature, any other an earlier folder.
        scale : array
            Factor of each folder.
        """
        n_outer, n_features, pitch = features.shape
        out = self.xp.empty((n_outer, scale.size, pitch), features.dtype)
        kernel = self._stored_kernel("_folder_sums.cu", "raised_sums", features.dtype, features.dtype)
        threads = 64
        kernel(
            (-(-pitch // threads), n_outer),
            (threads,),
            (
                features, children, child_begins, scale, np.int32(n_features), np.int32(scale.size),
                np.int32(pitch), out,
            ),
        )  # fmt: skip
        return out

    def extremes(self, numbers: Any) -> tuple[float, float]:
        """Lowest and highest of an array, C order; both NaN if one of its numbers is."""
        dtype = np.dtype(np.float64 if numbers.dtype == np.float64 else np.float32)
        n_blocks = min(8 * self.n_processors, -(-numbers.size // 256))
        out = self.xp.empty((n_blocks, 2), dtype)
        kernel = self._stored_kernel("_extremes.cu", "extremes", numbers.dtype, dtype)
        kernel((n_blocks,), (256,), (numbers, np.int64(numbers.size), out))
        found = self.on_host(out)
        return float(found[:, 0].min()), float(found[:, 1].max())

    def haar_coefficients(
        self, columns: Any, left: Any, right: Any, positive: Any, negative: Any, dtype: np.dtype[Any]
    ) -> Any:
        """Haar coefficients of the columns of a matrix.

        Parameters
        ----------
        columns : array of float16, float32 or float64, shape (n_items, n_columns), C order
        left, right : arrays of int32, shape (n_items,)
            Nodes on which each function is positive and negative; see `haarbor.HaarSystem`.
        positive, negative : arrays of float64, shape (n_items,)
            Factors of the sums over these nodes.
        dtype : float32 or float64
            Of the coefficients.
        """
        n_items, n_columns = columns.shape
        out = self.xp.empty((n_items, n_columns), dtype)
        sums = self.xp.empty((n_items, n_columns), np.float64)
        kernel = self._stored_kernel("_haar_coefficients.cu", "haar_coefficients", columns.dtype, dtype)
        threads = 128
        kernel(
            (-(-n_columns // threads),),
            (threads,),
            (
                columns, left, right, positive, negative, np.int32(n_items), np.int64(n_columns), sums, out,
            ),
        )  # fmt: skip
        return out

    def pair_distances(self, rows: Any, pairs: Any) -> Any:
        """L1 distances between pairs of rows of a matrix, on the host, summed in float64.

        Parameters
        ----------
        rows : array of float32 or float64, C order
        pairs : ndarray of int, shape (n, 2)
        """
        n_splits, per_split = _splits(rows.shape[1])
        sums = self.xp.empty((pairs.shape[0], n_splits))
        kernel = self._stored_kernel("_folder_rows.cu", "pair_distances", rows.dtype, rows.dtype)
        kernel(
            (pairs.shape[0], n_splits),
            (256,),
            (
                rows, self.xp.asarray(pairs.astype(np.int32)), np.int64(rows.shape[1]), np.int64(per_split),
                sums,
            ),
        )  # fmt: skip
        return self.on_host(sums).sum(axis=1)

    def rotation_sums(self, rows: Any, threes: Any, shares: Any) -> Any:
        """L1 sums of both other ways to join three folders, on the host, shape (n, 4).

        Parameters
        ----------
        rows : array of float32 or float64, C order
            One row per folder, its mean.
        threes : ndarray of int, shape (n, 3)
            Folders A, B and C of a tree with the folders (A, (B, C)). The sums are |A - B|, |C - AB|, |A - C|
            and |B - AC|.
        shares : ndarray of float64, shape (n, 2)
            Share of A in the mean AB, and in AC.
        """
        n_splits, per_split = _splits(rows.shape[1])
        sums = self.xp.empty((threes.shape[0], 4, n_splits))
        kernel = self._stored_kernel("_folder_rows.cu", "rotation_sums", rows.dtype, rows.dtype)
        kernel(
            (threes.shape[0], n_splits),
            (256,),
            (
                rows, self.xp.asarray(threes.astype(np.int32)), self.xp.asarray(shares),
                np.int64(rows.shape[1]), np.int64(per_split), sums,
            ),
        )  # fmt: skip
        return self.on_host(sums).sum(axis=2)

    def _pair_kernels(self, dtype: np.dtype[Any], blocks: int, square: bool) -> tuple[Any, Any]:
        double = dtype == np.float64
        definitions = {
            "REAL": "double" if double else "float", "DOUBLE": int(double), "SQUARE": int(square),
            "ASYNC": int(self.capability >= 80), "MIN_BLOCKS": blocks,
        }  # fmt: skip
        return tuple(
            _kernel("_pair_sums.cu", name, self.number, **definitions)
            for name in ("pair_sums", "add_partial")
        )

    def _stored_kernel(self, file: str, name: str, stored: np.dtype[Any], dtype: np.dtype[Any]) -> Any:
        double = dtype == np.float64
        return _kernel(
            file, name, self.number, REAL="double" if double else "float", DOUBLE=int(double),
            STORED=_STORED[np.dtype(stored)],
        )  # fmt: skip


@lru_cache(maxsize=64)
def _properties(number: int) -> tuple[str, int, int]:
    """Name, number of processors and ten times the compute capability; asking takes a millisecond."""
    found = _cupy().cuda.runtime.getDeviceProperties(number)
    capability = 10 * int(found["major"]) + int(found["minor"])
    return found["name"].decode(), int(found["multiProcessorCount"]), capability


def _splits(n_columns: int) -> tuple[int, int]:
    """Into how many runs the columns of rows are divided, and their length: at most 512 runs.

    Examples
    --------
    >>> _splits(20_000)
    (3, 8192)
    """
    per_split = max(8192, -(-n_columns // 512))
    return max(1, -(-n_columns // per_split)), per_split


@lru_cache(maxsize=64)
def _kernel(file: str, name: str, device: int, **definitions: Any) -> Any:
    source = resources.files("haarbor.engines").joinpath(file).read_text("utf-8")
    options = ("-std=c++17", *(f"-D{key}={value}" for key, value in definitions.items()))
    return _cupy().RawModule(code=source, options=options).get_function(name)


def _cupy() -> Any:
    try:
        import cupy
    except ModuleNotFoundError:
        raise EngineError(
            "the GPU engine needs CuPy, which is not installed. Run pip install 'haarbor[gpu]', or use "
            "engine='cpu'."
        ) from None
    except Exception as error:
        raise EngineError(
            f"the GPU engine needs CuPy, which is installed and cannot be imported ({_first_line(error)}). "
            "Install the CuPy of your CUDA version, or use engine='cpu'."
        ) from None
    try:
        n_devices = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        raise EngineError(
            f"the GPU engine needs a CUDA device that can be used; CuPy finds none ({_first_line(error)}). "
            "Check the driver with nvidia-smi, or use engine='cpu'."
        ) from None
    if n_devices == 0:
        raise EngineError(
            "the GPU engine needs a CUDA device; CuPy finds none. Check the driver with nvidia-smi, or use "
            "engine='cpu'."
        )
    return cupy


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].strip()[:200].rstrip(".")

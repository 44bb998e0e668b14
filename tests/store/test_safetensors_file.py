import resource
import time
from pathlib import Path

import numpy as np
import pytest

from haarbor.errors import HaarborError, StoreError
from haarbor.store import import_arrays
from haarbor.store._array_files import arrays_in_file
from tests.store.builders import assert_refused, safetensors

ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


SAFETENSORS = {
    "nothing": b"",
    "a length alone": (5).to_bytes(8, "little"),
    "a length beyond all": (2**63).to_bytes(8, "little") + b"{}",
    "no JSON": safetensors(b"{"),
    "a list": safetensors([]),
    "deep": safetensors(b"[" * 10**5),
    "NaN": safetensors(b'{"x": NaN}'),
    "not UTF-8": safetensors(b'{"\xff": 1}'),
    "a name twice": safetensors(b'{"x": {}, "x": {}}'),
    "an entry as a number": safetensors({"x": 5}),
    "an entry as a list": safetensors({"x": [1, 2]}),
    "no entry": safetensors({"x": None}),
    "no type": safetensors({"x": {"shape": [2], "data_offsets": [0, 8]}}, bytes(8)),
    "no shape": safetensors({"x": {"dtype": "F32", "data_offsets": [0, 8]}}, bytes(8)),
    "no place": safetensors({"x": {"dtype": "F32", "shape": [2]}}, bytes(8)),
    "a type as a list": safetensors({"x": {**ENTRY, "dtype": ["F32"]}}, bytes(8)),
    "a type as a number": safetensors({"x": {**ENTRY, "dtype": 32}}, bytes(8)),
    "a type that is none": safetensors({"x": {**ENTRY, "dtype": "F8_E4M3"}}, bytes(8)),
    "a shape as a number": safetensors({"x": {**ENTRY, "shape": 2}}, bytes(8)),
    "a shape of fractions": safetensors({"x": {**ENTRY, "shape": [2.0]}}, bytes(8)),
    "a shape of texts": safetensors({"x": {**ENTRY, "shape": ["2"]}}, bytes(8)),
    "a shape of truths": safetensors({"x": {**ENTRY, "shape": [True, 2]}}, bytes(8)),
    "a negative shape": safetensors({"x": {**ENTRY, "shape": [-1, -2]}}, bytes(8)),
    "an absurd shape": safetensors({"x": {**ENTRY, "shape": [10**12]}}, bytes(8)),
    "a shape that wraps around": safetensors({"x": {**ENTRY, "shape": [2**33, 2**31, 1]}}, bytes(8)),
    "an empty shape beyond all": safetensors(
        {"x": {**ENTRY, "shape": [0, 2**61, 2**61], "data_offsets": [0, 0]}}
    ),
    "too many axes": safetensors({"x": {**ENTRY, "shape": [1] * 99, "data_offsets": [0, 4]}}, bytes(8)),
    "a place beyond the end": safetensors({"x": {**ENTRY, "data_offsets": [8, 16]}}, bytes(8)),
    "a place before the start": safetensors({"x": {**ENTRY, "data_offsets": [-8, 0]}}, bytes(8)),
    "a place that ends first": safetensors({"x": {**ENTRY, "data_offsets": [8, 0]}}, bytes(8)),
    "a place of one": safetensors({"x": {**ENTRY, "data_offsets": [8]}}, bytes(8)),
    "a place of fractions": safetensors({"x": {**ENTRY, "data_offsets": [0.0, 8.0]}}, bytes(8)),
}


@pytest.mark.parametrize("how", SAFETENSORS)
def test_safetensors_that_are_not_what_they_say(tmp_path, how):
    path = tmp_path / "x.safetensors"
    path.write_bytes(SAFETENSORS[how])
    assert_refused(path)


def test_a_tensor_of_a_strange_type_does_not_hide_the_others(tmp_path):
    data = safetensors(
        {
            "odd": {"dtype": "F4", "shape": [3], "data_offsets": [0, 2]},
            "x": {**ENTRY, "data_offsets": [2, 10]},
        },
        bytes(2) + np.array([0.25, 0.75], dtype=np.float32).tobytes(),
    )
    (tmp_path / "x.safetensors").write_bytes(data)
    found = arrays_in_file(tmp_path / "x.safetensors")
    assert found["x"].tolist() == [0.25, 0.75]  # at an odd place, too
    with pytest.raises(StoreError, match="'odd' in it is of type 'F4', which numpy does not have"):
        found["odd"]


@pytest.mark.slow
def test_twenty_thousand_tensors_are_quick_and_take_one_file_handle(tmp_path):
    n = 20_000
    names = [f"model.layers.{i}.weight" for i in range(n)]
    header = {
        name: {"dtype": ("BF16", "F16")[i % 2], "shape": [2, 2], "data_offsets": [8 * i, 8 * i + 8]}
        for i, name in enumerate(names)
    }
    (tmp_path / "x.safetensors").write_bytes(safetensors(header, np.arange(4 * n, dtype=np.uint16).tobytes()))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Other tests of the same process may have left files open, until they are collected.
    already = max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (already + 64, limits[1]))
    try:
        begun = time.process_time()
        found = arrays_in_file(tmp_path / "x.safetensors")
        arrays = [found[name] for name in names]
        assert time.process_time() - begun < 5
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert arrays[1].view(np.uint16).tolist() == [[4, 5], [6, 7]]
    assert (arrays[2].view(np.uint32) >> 16).tolist() == [[8, 9], [10, 11]]
    with pytest.raises(HaarborError, match="it must be clear which array is which") as caught:
        import_arrays(tmp_path / "x.safetensors", tmp_path / "run.zarr")
    assert len(str(caught.value)) < 400


def test_safetensors_are_read_as_the_library_reads_them(tmp_path, rng):
    from safetensors.numpy import load_file, save_file

    dtypes = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
    arrays = {dtype: rng.integers(0, 2, size=(2, 3)).astype(dtype) for dtype in dtypes}
    save_file({**arrays, "scalar": np.array(1.5), "empty": np.zeros((0, 2))}, tmp_path / "x.safetensors")
    expected = load_file(tmp_path / "x.safetensors")
    found = arrays_in_file(tmp_path / "x.safetensors")
    assert sorted(found) == sorted(expected)
    for name in expected:
        assert found[name].dtype == expected[name].dtype
        assert np.array_equal(found[name], expected[name])


def test_bfloat16_in_safetensors_becomes_float32(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    tensor = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).bfloat16()
    save_file({"x": tensor}, tmp_path / "x.safetensors")
    found = arrays_in_file(tmp_path / "x.safetensors")["x"]
    assert np.array_equal(found, tensor.float().numpy())

"""Files of arrays that are damaged, absurd or of another kind: one line, nothing allocated, no warning."""

import io
import json
import resource
import struct
import time
import tracemalloc
import zipfile

import numpy as np
import pytest

from haarbor.errors import HaarborError, StoreError
from haarbor.store import import_arrays, load_results_file, save_results_file
from haarbor.store._array_files import arrays_in_file


def npy(header, data=b"", version=(1, 0)):
    """Bytes of a .npy file with a header as given."""
    text = header.encode("latin1")
    length = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text + data


def described(descr="'<f8'", order="False", shape="(2,)", more=""):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, {more}}}\n"


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def npz(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


NPY = {
    "nothing": b"",
    "a start": b"\x93NUM",
    "a text": b"1, 2, 3",
    "a start alone": b"\x93NUMPY\x01\x00",
    "a header cut off": npy(described())[:40],
    "a header of four gigabytes": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{",
    "a header of spaces": npy(" " * 9000),
    "a version of the future": npy(described(), bytes(16), version=(9, 0)),
    "another version": npy(described(), bytes(16), version=(3, 0)),
    "numbers missing": npy(described(), bytes(15)),
    "numbers too many": npy(described(), bytes(17)),
    "an absurd shape": npy(described(shape="(1000000000000,)"), bytes(16)),
    "a shape beyond all": npy(described(shape="(9" + "9" * 5000 + ",)"), bytes(16)),
    "a shape that wraps around": npy(described(shape="(4294967296, 4294967296)")),
    "an empty shape beyond all": npy(described(shape="(0, 4611686018427387904, 4611686018427387904)")),
    "a negative shape": npy(described(shape="(-2,)"), bytes(16)),
    "a shape of fractions": npy(described(shape="(2.0,)"), bytes(16)),
    "a shape of truths": npy(described(shape="(True, 2)"), bytes(16)),
    "a shape as a list": npy(described(shape="[2]"), bytes(16)),
    "a shape of texts": npy(described(shape="('2',)"), bytes(16)),
    "too many axes": npy(described(shape=f"({'1, ' * 99})"), bytes(8)),
    "no shape": npy("{'descr': '<f8', 'fortran_order': False, }", bytes(16)),
    "a member too many": npy(described(more="'x': 1, "), bytes(16)),
    "an order that is none": npy(described(order="'maybe'"), bytes(16)),
    "records": npy(described(descr="[('a', '<f8')]"), bytes(16)),
    "texts": npy(described(descr="'<U4'"), bytes(32)),
    "old texts": npy(described(descr="'|a5'"), bytes(10)),
    "times": npy(described(descr="'<M8[s]'"), bytes(16)),
    "a type that is none": npy(described(descr="'<q9'"), bytes(16)),
    "a type as a number": npy(described(descr="8"), bytes(16)),
    "Python that is evaluated": npy(described(shape="(__import__('os').getpid(),)"), bytes(16)),
    "a deep header": npy("(" * 9000),
    "a chain of signs": npy("{'descr': " + "-" * 8000 + "1}"),
    "a strange escape": npy(described(descr="'\\d'"), bytes(16)),
    "a list in a list": npy("[[" * 100),
}


@pytest.mark.parametrize("how", NPY)
@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_numpy_files_that_are_not_what_they_say(tmp_path, kind, how):
    path = tmp_path / f"x.{kind}"
    path.write_bytes(NPY[how] if kind == "npy" else npz(x=NPY[how]))
    assert_refused(path)


def assert_refused(path, words=r"must be a .* file of numbers"):
    tracemalloc.start()
    with pytest.raises(StoreError, match=words) as caught:
        dict(arrays_in_file(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700
    str(caught.value).encode()


@pytest.mark.parametrize("descr", ["'|O'", "'O'"])
@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_python_objects_are_never_unpickled(tmp_path, kind, descr):
    data = npy(described(descr=descr), bytes(16))
    (tmp_path / f"x.{kind}").write_bytes(data if kind == "npy" else npz(x=data))
    assert_refused(tmp_path / f"x.{kind}", "holds pickled objects, which may run code when opened")


@pytest.mark.parametrize(
    "array",
    [np.zeros((0, 3)), np.array(2.5), np.arange(6).reshape(2, 3), np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]),
     np.arange(3, dtype=">i4"), np.array([True, False]), np.ones(2, dtype=np.float16),
     np.ones(2, dtype=np.complex64), np.ones(2, dtype=np.longdouble)],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("save", [np.save, np.savez, np.savez_compressed])
def test_what_numpy_saves_is_read_as_numpy_reads_it(tmp_path, array, save):
    path = tmp_path / ("x.npy" if save is np.save else "x.npz")
    save(path, array)
    [found] = arrays_in_file(path).values()
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert np.array_equal(found, array)


def test_headers_of_other_programs_are_understood(tmp_path):
    numbers = np.array([1.0, 2.0]).tobytes()
    for header in (
        '{"descr":"<f8","fortran_order":False,"shape":(2,)}',
        "{'shape': (2L,), 'descr': '<f8', 'fortran_order': False}   \n",
    ):
        (tmp_path / "x.npy").write_bytes(npy(header, numbers))
        assert arrays_in_file(tmp_path / "x.npy")[""].tolist() == [1.0, 2.0]


def test_archives_that_are_not_what_they_say(tmp_path):
    whole = npz(x=npy(described(), bytes(16)), y=npy(described(), bytes(16)))
    path = tmp_path / "x.npz"
    for data in (b"", b"PK", whole[:-30], whole[30:]):
        path.write_bytes(data)
        assert_refused(path)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x.npy", npy(described(), bytes(16)))
    path.write_bytes(file.getvalue())
    assert_refused(path)
    # Encrypted, says the flag of both headers.
    data = bytearray(whole)
    for start in (data.index(b"PK\3\4") + 6, data.index(b"PK\1\2") + 8):
        data[start] |= 1
    path.write_bytes(bytes(data))
    assert_refused(path)
    # Larger, says the header, than these bytes can become.
    data = bytearray(whole)
    place = data.index(b"PK\1\2") + 24
    data[place : place + 4] = struct.pack("<I", 2**32 - 2)
    path.write_bytes(bytes(data))
    assert_refused(path)


def test_other_members_of_an_archive_are_passed_over(tmp_path):
    np.savez(tmp_path / "x.npz", pattern=np.ones((2, 2, 1)))
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive:
        archive.writestr("README.txt", "made by me")
    assert list(arrays_in_file(tmp_path / "x.npz")) == ["pattern"]


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
    with pytest.raises(StoreError, match="'odd' in it is of the type F4, which numpy does not have"):
        found["odd"]


def test_twenty_thousand_tensors_are_quick_and_take_one_file_handle(tmp_path):
    n = 20_000
    names = [f"model.layers.{i}.weight" for i in range(n)]
    header = {
        name: {"dtype": ("BF16", "F16")[i % 2], "shape": [2, 2], "data_offsets": [8 * i, 8 * i + 8]}
        for i, name in enumerate(names)
    }
    (tmp_path / "x.safetensors").write_bytes(safetensors(header, np.arange(4 * n, dtype=np.uint16).tobytes()))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
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


@pytest.mark.parametrize("kind", ["npy", "npz", "safetensors"])
def test_flipped_bits_of_a_file_are_one_line_or_numbers(tmp_path, kind, rng):
    """Whatever a damaged header says, it is an array or a refusal, and never a warning."""
    array = np.arange(24.0).reshape(2, 3, 4)
    path = tmp_path / f"x.{kind}"
    if kind == "npy":
        np.save(path, array)
    elif kind == "npz":
        np.savez_compressed(path, array)
    else:
        path.write_bytes(
            safetensors(
                {"x": {"dtype": "F64", "shape": [2, 3, 4], "data_offsets": [0, 192]}}, array.tobytes()
            )
        )
    kept = path.read_bytes()
    refused = 0
    for bit in rng.choice(8 * min(len(kept), 400), size=300, replace=False):
        data = bytearray(kept)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bytes(data))
        try:
            found = dict(arrays_in_file(path))
        except StoreError:
            refused += 1
            continue
        for values in found.values():
            assert values.nbytes <= 200
    assert refused > 50


def test_a_results_file_that_claims_the_absurd_takes_no_memory(tmp_path):
    path = tmp_path / "results.npz"
    for how in ("an absurd shape", "a header of four gigabytes", "a shape that wraps around", "records"):
        path.write_bytes(npz(**{"description.json": NPY[how]}))
        tracemalloc.start()
        with pytest.raises(StoreError, match="must be a results file of Haarbor; it is damaged") as caught:
            load_results_file(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20e6
        assert "\n" not in str(caught.value)


def test_a_results_file_that_is_nested_too_deeply_is_one_line(tmp_path):
    text = np.frombuffer(b'{"format":"haarbor results","version":1,"value":' + b"[" * 10**5, dtype=np.uint8)
    np.savez(tmp_path / "deep.npz", **{"description.json": text})
    with pytest.raises(StoreError, match=r"its description\.json is not"):
        load_results_file(tmp_path / "deep.npz")


def test_results_may_have_arrays_of_any_name(tmp_path):
    value = {"file": np.ones(2), "allow_pickle": np.zeros(1), "args": np.full(1, 3.0)}
    found = load_results_file(save_results_file(value, tmp_path / "results.npz"))
    assert {name: array.tolist() for name, array in found.items()} == {
        name: array.tolist() for name, array in value.items()
    }

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import load_results_file
from haarbor.store._array_files import arrays_in_file
from tests.store.builders import assert_refused, npy, npy_header, npz

NPY = {
    "nothing": b"",
    "a start": b"\x93NUM",
    "a text": b"1, 2, 3",
    "a start alone": b"\x93NUMPY\x01\x00",
    "a header cut off": npy(npy_header())[:40],
    "a header of four gigabytes": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{",
    "a header of spaces": npy(" " * 9000),
    "a version of the future": npy(npy_header(), bytes(16), version=(9, 0)),
    "another version": npy(npy_header(), bytes(16), version=(3, 0)),
    "numbers missing": npy(npy_header(), bytes(15)),
    "numbers too many": npy(npy_header(), bytes(17)),
    "an absurd shape": npy(npy_header(shape="(1000000000000,)"), bytes(16)),
    "a shape beyond all": npy(npy_header(shape="(9" + "9" * 5000 + ",)"), bytes(16)),
    "a shape that wraps around": npy(npy_header(shape="(4294967296, 4294967296)")),
    "an empty shape beyond all": npy(npy_header(shape="(0, 4611686018427387904, 4611686018427387904)")),
    "a negative shape": npy(npy_header(shape="(-2,)"), bytes(16)),
    "a shape of fractions": npy(npy_header(shape="(2.0,)"), bytes(16)),
    "a shape of truths": npy(npy_header(shape="(True, 2)"), bytes(16)),
    "a shape as a list": npy(npy_header(shape="[2]"), bytes(16)),
    "a shape of texts": npy(npy_header(shape="('2',)"), bytes(16)),
    "too many axes": npy(npy_header(shape=f"({'1, ' * 99})"), bytes(8)),
    "no shape": npy("{'descr': '<f8', 'fortran_order': False, }", bytes(16)),
    "a member too many": npy(npy_header(more="'x': 1, "), bytes(16)),
    "an order that is none": npy(npy_header(order="'maybe'"), bytes(16)),
    "records": npy(npy_header(descr="[('a', '<f8')]"), bytes(16)),
    "texts": npy(npy_header(descr="'<U4'"), bytes(32)),
    "old texts": npy(npy_header(descr="'|a5'"), bytes(10)),
    "times": npy(npy_header(descr="'<M8[s]'"), bytes(16)),
    "a type that is none": npy(npy_header(descr="'<q9'"), bytes(16)),
    "a type as a number": npy(npy_header(descr="8"), bytes(16)),
    "Python that is evaluated": npy(npy_header(shape="(__import__('os').getpid(),)"), bytes(16)),
    "a deep header": npy("(" * 9000),
    "a chain of signs": npy("{'descr': " + "-" * 8000 + "1}"),
    "a strange escape": npy(npy_header(descr="'\\d'"), bytes(16)),
    "a list in a list": npy("[[" * 100),
}


@pytest.mark.parametrize("how", NPY)
@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_numpy_files_that_are_not_what_they_say(tmp_path, kind, how):
    path = tmp_path / f"x.{kind}"
    path.write_bytes(NPY[how] if kind == "npy" else npz(x=NPY[how]))
    assert_refused(path)


@pytest.mark.parametrize("descr", ["'|O'", "'O'"])
@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_python_objects_are_never_unpickled(tmp_path, kind, descr):
    data = npy(npy_header(descr=descr), bytes(16))
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
    whole = npz(x=npy(npy_header(), bytes(16)), y=npy(npy_header(), bytes(16)))
    path = tmp_path / "x.npz"
    for data in (b"", b"PK", whole[:-30], whole[30:]):
        path.write_bytes(data)
        assert_refused(path)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x.npy", npy(npy_header(), bytes(16)))
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

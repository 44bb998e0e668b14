"""Array files, results files and mask files that are not what they say."""

from __future__ import annotations

import io
import json
import os
import socket
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from faults.hostile_file import HostileFile, Prepared, deep_json, treacherous_pickle
from faults.spoilt import one_of
from haarbor.store import import_arrays, load_results_file, save_results_file

__all__ = ["ARRAY_FILES"]

Rng = np.random.Generator


def _imported(path: Path) -> Callable[[], Any]:
    return lambda: np.asarray(import_arrays(path, path.parent / "run.zarr").tensor(0))


def _npy_bytes(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _npy_header(text: str, body: bytes = b"") -> bytes:
    head = text.encode("latin-1") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + body


def _good(rng: Rng) -> Any:
    weights = np.exp(rng.normal(size=(3, 4, 2)))
    return weights / weights.sum(axis=1, keepdims=True)


def _npy(rng: Rng, seed: int, here: Path) -> Prepared:
    data = _npy_bytes(_good(rng))
    place = int(rng.integers(len(data)))
    flipped = bytearray(data)
    flipped[place % 128] ^= 1 << int(rng.integers(8))
    pickled = (
        b"\x93NUMPY\x01\x00v\x00"
        + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117)
        + b"\n"
    )
    descr = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }"
    variants: tuple[tuple[str, bytes, Any], ...] = (
        ("empty", b"", "refused"),
        ("cut short", data[:place], "refused"),
        ("a bit of the header flipped", bytes(flipped), "either"),
        ("objects", pickled + treacherous_pickle(here), "refused"),
        ("absurd size", _npy_header(descr % "(1000000000, 1000000000, 1000000000)", data), "refused"),
        ("absurd size", _npy_header(descr % "(9223372036854775807, 2, 2)", data), "refused"),
        ("negative size", _npy_header(descr % "(-1, 4, 2)", data), "refused"),
        (
            "no numbers",
            _npy_header("{'descr': '<U8', 'fortran_order': False, 'shape': (1, 1, 1), }", b"x" * 64),
            "refused",
        ),
        (
            "code in the header",
            _npy_header(f"__import__('pathlib').Path({str(here / 'executed')!r}).touch()"),
            "refused",
        ),
        ("deep header", _npy_header("(" * 5000 + ")" * 5000), "refused"),
        ("header of nothing", b"\x93NUMPY\x09\x09" + data[8:], "refused"),
        ("plain text", b"1 2 3\n", "refused"),
        ("no rows", _npy_bytes(np.zeros((0, 4, 2))), "refused"),
        ("one axis", _npy_bytes(np.zeros(5)), "refused"),
        ("not numbers", _npy_bytes(np.full((3, 4, 2), np.nan)), "refused"),
        ("complex", _npy_bytes(_good(rng) + 1j), "refused"),
        ("records", _npy_bytes(np.zeros((2, 2, 2), [("a", "f8")])), "refused"),
        ("zip file", b"PK\x03\x04" + bytes(100), "refused"),
    )
    name, content, demand = variants[seed % len(variants)]
    path = here / "a.npy"
    path.write_bytes(content)
    return Prepared(name, _imported(path), demand)


def _npz(rng: Rng, seed: int, here: Path) -> Prepared:
    path = here / "a.npz"
    np.savez(path, probabilities=_good(rng))
    data = path.read_bytes()
    place = int(rng.integers(len(data)))
    flipped = bytearray(data)
    flipped[place] ^= 1 << int(rng.integers(8))
    name = (
        "cut short",
        "bit flipped",
        "objects",
        "absurd size",
        "many arrays",
        "not arrays",
        "names that climb",
        "no array",
        "the same name twice",
        "encrypted",
        "deep name",
        "bit flipped",
    )[seed % 12]
    demand: Any = "refused"
    if name == "cut short":
        path.write_bytes(data[:place])
    elif name == "bit flipped":
        path.write_bytes(flipped)
        demand = "either"
    else:
        head = b"\x93NUMPY\x01\x00v\x00"
        absurd = (
            head
            + b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 9, 9), }".ljust(117)
            + b"\n"
        )
        objects = head + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n"
        entries: dict[str, list[tuple[str, bytes]]] = {
            "objects": [("probabilities.npy", objects + treacherous_pickle(here))],
            "absurd size": [("probabilities.npy", absurd)],
            "many arrays": [(f"array {place}.npy", _npy_bytes(np.zeros(1))) for place in range(3000)],
            "not arrays": [("probabilities.npy", b"text")],
            "names that climb": [
                ("../../executed.npy", _npy_bytes(_good(rng))),
                ("b.npy", _npy_bytes(_good(rng))),
            ],
            "no array": [],
            "the same name twice": [("probabilities.npy", _npy_bytes(_good(rng)))] * 2,
            "encrypted": [("probabilities.npy", _npy_bytes(_good(rng)))],
            "deep name": [("\x1b[2J/" * 50 + ".npy", b""), ("x\ny.npy", b"")],
        }
        with zipfile.ZipFile(path, "w") as archive:
            for entry, content in entries[name]:
                _quietly(archive, entry, content)
        if name == "encrypted":
            marked = bytearray(path.read_bytes())
            marked[6] |= 1
            marked[marked.rindex(b"PK\x01\x02") + 8] |= 1
            path.write_bytes(marked)
        demand = "either" if name == "the same name twice" else "refused"
    return Prepared(name, _imported(path), demand)


def _quietly(archive: zipfile.ZipFile, entry: str, content: bytes) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr(zipfile.ZipInfo(entry), content)


def _safetensors(rng: Rng, seed: int, here: Path) -> Prepared:
    body = _good(rng).astype("<f4").tobytes()
    entry = {"dtype": "F32", "shape": [3, 4, 2], "data_offsets": [0, len(body)]}
    good = json.dumps({"probabilities": entry}).encode()
    place = int(rng.integers(len(good)))
    flipped = bytearray(good)
    flipped[place] ^= 1 << int(rng.integers(8))

    def entry_with(**changes: Any) -> bytes:
        return json.dumps({"probabilities": {**entry, **changes}}).encode()

    many = json.dumps(
        {f"t{n}": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} for n in range(20_000)}
    )
    variants: tuple[tuple[str, bytes, Any], ...] = (
        ("cut short", good[:place], "refused"),
        ("a bit of the header flipped", bytes(flipped), "either"),
        ("deep header", b'{"a": ' + deep_json().encode() + b"}", "refused"),
        ("absurd shape", entry_with(shape=[10**18, 10**18]), "refused"),
        ("negative shape", entry_with(shape=[-3, -4, 2]), "refused"),
        ("offsets backwards", entry_with(data_offsets=[len(body), 0]), "refused"),
        ("offsets beyond the end", entry_with(data_offsets=[8, len(body) + 8]), "refused"),
        ("offsets of no number", entry_with(data_offsets=["a", None]), "refused"),
        ("20,000 tensors", many.encode(), "refused"),
        ("a list", b"[1, 2]", "refused"),
        ("nothing", b"null", "refused"),
        ("no JSON", b"\xff\xfe" * 20, "refused"),
        ("unknown numbers", entry_with(dtype="F8_E4M3"), "refused"),
        ("text in place of numbers", entry_with(dtype={"a": 1}), "refused"),
        ("a name with escapes", json.dumps({"\x1b[2J\n": entry, "b": entry}).encode(), "refused"),
        ("shape of fractions", entry_with(shape=[3.5, 4, 2]), "refused"),
        ("endless number", entry_with(shape=[float("inf")]), "refused"),
        ("the same name twice", good[:-1] + b", " + good[1:], "either"),
    )
    name, head, demand = variants[seed % len(variants)]
    path = here / "a.safetensors"
    length = len(head) if seed % 5 else one_of(rng, (2**63, 2**64 - 1, 0, 1, len(head) + 1))
    demand = demand if length == len(head) else "either"
    path.write_bytes(struct.pack("<Q", length) + head + body)
    return Prepared(name, _imported(path), demand)


def _special(rng: Rng, seed: int, here: Path) -> Prepared:
    suffix = (".npy", ".npz", ".safetensors")[seed // 8 % 3]
    path = here / f"a{suffix}"
    name = (
        "a pipe",
        "a socket",
        "a device",
        "a link to itself",
        "a folder",
        "a link to nothing",
        "endless",
        "a pickle",
    )[seed % 8]
    if name == "a pipe":
        os.mkfifo(path)
    elif name == "a socket":
        os.chdir(here)
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(path.name)
        listening.close()
    elif name == "a device":
        path.symlink_to("/dev/null")
    elif name == "endless":
        path.symlink_to("/dev/zero")
    elif name == "a link to itself":
        path.symlink_to(path)
    elif name == "a folder":
        path.mkdir()
    elif name == "a link to nothing":
        path.symlink_to(here / "nothing")
    else:
        path = here / ("a.pt", "a.pkl", "a.bin", "a.npy", "a.npz")[seed // 8 % 5]
        path.write_bytes(treacherous_pickle(here))
    return Prepared(name, _imported(path), "refused")


def _results_file(rng: Rng, seed: int, here: Path) -> Prepared:
    value = {"scores": np.arange(4.0), "note": "kept"}
    path = save_results_file(value, here / "results.npz")
    data = bytearray(path.read_bytes())
    place = int(rng.integers(len(data)))
    name = (
        "bit flipped",
        "cut short",
        "longer",
        "another description",
        "deep description",
        "an array swapped",
    )[seed % 6]
    if name == "bit flipped":
        data[place] ^= 1 << int(rng.integers(8))
    elif name == "cut short":
        del data[place:]
    elif name == "longer":
        data[place:place] = rng.bytes(9)
    if name in ("bit flipped", "cut short", "longer"):
        path.write_bytes(data)
    else:
        with np.load(path) as archive:
            arrays = {key: archive[key] for key in archive.files}
        if name == "an array swapped":
            arrays = {
                key: found if key.endswith(".json") else found[::-1] + 1 for key, found in arrays.items()
            }
        else:
            text = (
                deep_json() if name == "deep description" else '{"format": "haarbor results", "version": 1}'
            )
            arrays["description.json"] = np.frombuffer(text.encode(), dtype=np.uint8)
        np.savez(path, **arrays)

    def law(answer: Any) -> str | None:
        same = np.array_equal(answer["scores"], value["scores"]) and answer["note"] == "kept"
        # A file made anew with other numbers is another file; nothing can tell.
        return None if same or name == "an array swapped" else f"other values in silence: {answer}"

    demand: Any = "refused" if name in ("another description", "deep description", "cut short") else "either"
    return Prepared(name, lambda: load_results_file(path), demand, law)


ARRAY_FILES = {
    "npy": HostileFile(_npy, 36, 540),
    "npz": HostileFile(_npz, 24, 240),
    "safetensors": HostileFile(_safetensors, 36, 540),
    "special files": HostileFile(_special, 24, 48),
    "results file": HostileFile(_results_file, 24, 600),
}

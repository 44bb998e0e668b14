"""Kernels compiled in a process of its own, while a command waits for the first."""

import os
import subprocess
import sys

import pytest

from haarbor.cli import _kernels_ahead
from haarbor.cli._kernels_ahead import kernels_ahead, start_compiling


@pytest.mark.slow
def test_what_is_compiled_ahead_is_found_by_the_next_process(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "haarbor.cli._kernels_ahead"]
    subprocess.run(command, check=True, env=environment)
    code = (
        "import numpy as np, haarbor as hb\n"
        "from haarbor.engines._pairwise_kernels import l1_kernel\n"
        "from haarbor.transport._means_kernels import means_kernel, transposed_means_kernel\n"
        "from haarbor.wavelets._haar_kernels import add_powers, analyse\n"
        "X = np.random.default_rng(0).random((9, 8, 7)).astype(np.float32)\n"
        "hb.head_entropy(X, hb.organize(X).trees)\n"
        "for kernel in (l1_kernel, means_kernel, transposed_means_kernel, add_powers, analyse):\n"
        "    assert not kernel.stats.cache_misses, kernel\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_process_ends_with_the_command():
    with kernels_ahead() as started:
        start_compiling(started)
        assert started[0].poll() is None
    assert started[0].poll() is not None


def test_a_machine_that_starts_no_processes_does_without(monkeypatch):
    def refuse(*_words, **_options):
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(_kernels_ahead.subprocess, "Popen", refuse)
    with kernels_ahead() as started:
        start_compiling(started)
    assert started == []

"""One seeded generator, and how much hypothesis tries."""

import gc
import os

if "PYTEST_XDIST_WORKER" in os.environ:
    # There is one process per core: more threads in each would only wait for one another.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from functools import cache

import numpy as np
import pytest
from hypothesis import settings

# What is made before the first test stays until the last: to look through it for garbage again and again
# would take a third of the time of collecting.
gc.disable()

settings.register_profile("local", deadline=None, max_examples=25)
settings.register_profile("ci", deadline=None, max_examples=40, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local"))


@pytest.fixture
def rng():
    return np.random.default_rng(20250615)


# Files that take longest begin first, so that no process is left with one of them at the end.
LONGEST = ("test_demo_command", "test_real_pruning", "test_wheel", "test_training_scripts", "test_views")


def pytest_collection_modifyitems(items):
    # The order of everything else stays.
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@cache
def gpu_missing():
    """Why there is no GPU for tests, or None."""
    from haarbor import EngineError, GpuEngine

    try:
        GpuEngine()
    except EngineError as error:
        return str(error)
    return None


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu") and gpu_missing():
        pytest.skip(gpu_missing())

"""One seeded generator, and how much hypothesis tries."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    # There is one process per core: more threads in each would only wait for one another.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("local", deadline=None, max_examples=40)
settings.register_profile("ci", deadline=None, max_examples=40, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local"))


@pytest.fixture
def rng():
    return np.random.default_rng(20250615)


# Folders and files of tests that share what is slow to make: a browser, a large network, a whole demo.
TOGETHER = (
    "browser",
    "real",
    "test_demo_command",
    "test_file_accesses",
    "test_invariance_command",
    "test_paper_figures",
    "test_timm",
    "test_timm_pruning",
    "test_wheel",
)


# First of all: xdist reads the groups in the same step.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests that share what is slow to make run in one process."""
    for item in items:
        for name in (item.path.parent.name, item.path.stem):
            if name in TOGETHER:
                item.add_marker(pytest.mark.xdist_group(name))

"""One seeded generator, and how much hypothesis tries."""

import os

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

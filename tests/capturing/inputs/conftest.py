"""What the tests of several modules are given."""

import numpy as np
import pytest


@pytest.fixture
def pixels(rng):
    return rng.integers(0, 256, (3, 20, 14, 3), dtype=np.uint8)


@pytest.fixture
def story(tmp_path):
    path = tmp_path / "story.txt"
    path.write_text("the cat sat\n\non the mat\nthe dog ran far\n", encoding="utf-8")
    return path

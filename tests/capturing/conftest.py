"""What the tests of several modules are given."""

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture
def tokens():
    return torch.randn(1, 10, 32, generator=torch.Generator().manual_seed(0))

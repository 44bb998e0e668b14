"""Layers that cannot be recorded together are refused by name."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing import capture  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402
from tests.capturing.builders import Scorer  # noqa: E402


def test_layers_of_different_size_are_refused_by_name(tokens, tmp_path):
    class Pooling(nn.Module):
        def forward(self, x):
            return x[:, ::2]

    model = nn.Sequential(Scorer(), Pooling(), Scorer()).eval()
    with pytest.raises(CaptureError, match=r"layer 2 has \(4, 5, 5\), the first 'self' layer \(4, 10, 10\)"):
        capture(model, [tokens], tmp_path / "run")

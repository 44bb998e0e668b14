"""Every call goes to the layer and stream that it was observed in."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing import capture  # noqa: E402
from tests.capturing.builders import Scorer  # noqa: E402


def test_layers_of_different_size_are_streams_of_their_own(tokens, tmp_path):
    class Pooling(nn.Module):
        def forward(self, x):
            return x[:, ::2]

    model = nn.Sequential(Scorer(), Pooling(), Scorer()).eval()
    run = capture(model, [tokens], tmp_path / "run")
    shapes = {stream.name: stream.layer_shape for stream in run.plan.streams}
    assert shapes == {"self.0": (4, 10, 10), "self.2": (4, 5, 5)}
    with torch.no_grad():
        half = capture(model[2], [model[1](model[0](tokens))], tmp_path / "half")
    np.testing.assert_array_equal(np.asarray(run.tensor(0, stream="self.2")), np.asarray(half.tensor(0)))

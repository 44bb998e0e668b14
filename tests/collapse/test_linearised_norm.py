import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from haarbor.collapse._linearised_norm import linearised_norm
from haarbor.errors import CollapseError

X = torch.randn(5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 1.0


class LessOne(torch.nn.Module):
    """A norm that keeps its gain less one."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(-0.5, 0.5, 6, dtype=torch.float64))

    def forward(self, x):
        return (1 + self.weight) * x / torch.sqrt((x**2).mean(-1, keepdim=True) + 1e-6)


def seen(module):
    with torch.no_grad():
        answer = module(X).numpy()
    return linearised_norm(module, X.numpy(), answer, "norm"), answer


def gained(module):
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.linspace(0.5, 2.0, 6))
    return module.double()


@pytest.mark.parametrize(
    ("module", "centred"),
    [
        (gained(torch.nn.LayerNorm(6)), True),
        (torch.nn.LayerNorm(6, elementwise_affine=False).double(), True),
        (gained(torch.nn.RMSNorm(6)), False),
        (LessOne(), False),
    ],
)
def test_at_the_tokens_it_is_the_norm_and_elsewhere_it_is_linear(module, centred):
    found, answer = seen(module)
    assert found.centred == centred
    np.testing.assert_allclose(found.linear(X.numpy()) + found.bias, answer, atol=1e-10)
    one, two = np.random.default_rng(0).normal(size=(2, 5, 6))
    np.testing.assert_allclose(found.linear(one + 2 * two), found.linear(one) + 2 * found.linear(two))


def test_what_is_no_norm_is_refused():
    with pytest.raises(CollapseError, match="must scale each token"):
        seen(torch.nn.Tanh())

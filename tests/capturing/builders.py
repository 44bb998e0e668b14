"""Models written by hand that the tests of several modules capture."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


class Scorer(nn.Module):
    """A hand-written layer, as people write them."""

    def __init__(self, *, causal=False, bias=None):
        super().__init__()
        self.packed = nn.Linear(32, 96)
        self.causal = causal
        self.bias = bias

    def forward(self, x):
        q, k, v = self.packed(x).view(1, -1, 3, 4, 8).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=self.bias, is_causal=self.causal
        )
        return mixed.transpose(1, 2).reshape(x.shape)

"""What enters and leaves the output projections, seen and changed."""

import torch
from torch import nn

from haarbor.pruning import model_batches, network_heads, removed_heads


def test_the_identity_in_place_of_a_projection_is_exact():
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = torch.randn(2, 5, 16)
    with torch.no_grad():
        plain = attention(x, x, x, need_weights=False)[0]
        heads = network_heads(_Wrapped(attention).eval(), model_batches(x)[0])
        model = _Wrapped(attention).eval()
        with removed_heads(model, heads, []):
            torch.testing.assert_close(model(x), plain, rtol=0, atol=1e-6)


class _Wrapped(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.layers = nn.ModuleList([attention])

    def forward(self, x):
        return self.layers[0](x, x, x, need_weights=False)[0]

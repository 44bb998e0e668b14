"""Encoder, decoder and cross attention are told apart."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing._torch_modules import recorded_modules  # noqa: E402


def test_encoder_decoder_and_cross_attention_of_torch_are_streams(tokens):
    torch.manual_seed(4)
    model = nn.Transformer(32, 4, 2, 3, 48, batch_first=True).eval()
    from haarbor.capturing._streams import stream_of

    seen = []
    with torch.no_grad(), recorded_modules(model, lambda n, m, _c, _w: seen.append(stream_of(n, m, model))):
        model(tokens, tokens[:, :6])
    assert seen == ["encoder"] * 2 + ["decoder", "cross"] * 3

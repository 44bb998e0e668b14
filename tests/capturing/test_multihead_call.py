import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing import capture, recorded_calls  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402
from tests.capturing.builders import Scorer  # noqa: E402


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 48, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()


def slow_attention(layer, x, additive):
    """Softmax of scaled scores, a query and a head at a time."""
    q, k, _ = layer.packed(x).view(-1, 3, 4, 8).permute(1, 2, 0, 3).detach().double().numpy()
    found = np.zeros((q.shape[1], k.shape[1], 4))
    for head in range(4):
        for query in range(q.shape[1]):
            scores = [q[head, query] @ key / np.sqrt(8) for key in k[head]] + additive[query]
            weight = np.exp(scores - np.max(scores))
            found[query, :, head] = weight / weight.sum()
    return found


def multihead_weights(module, x, **options):
    with torch.no_grad():
        _, weights = module(x, x, x, need_weights=True, average_attn_weights=False, **options)
    return weights[0].numpy().transpose(1, 2, 0)


def test_an_encoder_of_torch_is_recorded_as_its_layers_compute_it(encoder, tokens, tmp_path):
    run = capture(encoder, [tokens], tmp_path / "run")
    assert len(run.layers) == 3
    first = np.asarray(run.tensor(0))[:, :, :4]
    np.testing.assert_allclose(first, multihead_weights(encoder.layers[0].self_attn, tokens), atol=1e-6)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("separate", [True, False])
def test_multihead_attention_with_masks_of_every_kind_is_recorded(tokens, batch_first, separate):
    torch.manual_seed(1)
    sizes = {"kdim": 24, "vdim": 24} if separate else {}
    module = nn.MultiheadAttention(32, 4, batch_first=batch_first, **sizes).eval()
    key = torch.randn(1, 7, 24 if separate else 32)
    query = tokens if batch_first else tokens.transpose(0, 1)
    key = key if batch_first else key.transpose(0, 1)
    closed = torch.zeros(10, 7, dtype=torch.bool)
    closed[:, 5] = True
    padding = torch.tensor([[False] * 6 + [True]])
    bias = torch.randn(10, 7, generator=torch.Generator().manual_seed(2))
    for mask in (closed, bias, bias.masked_fill(closed, -torch.inf)):
        calls = []
        options = {"key_padding_mask": padding, "attn_mask": mask}
        if mask.dtype != torch.bool:
            options["key_padding_mask"] = torch.zeros(1, 7).masked_fill(padding, -torch.inf)
        with torch.no_grad():
            with recorded_calls(module, lambda _n, _m, call, _w, calls=calls: calls.append(call)):
                module(query, key, key, **options)
            _, weights = module(query, key, key, average_attn_weights=False, **options)
        (call,) = calls
        every = slice(0, 4)
        found = call.probabilities(call.logits(every), every)
        torch.testing.assert_close(found, weights, atol=1e-6, rtol=0)
        assert not call.valid()[0, :, 6].any()
        assert call.valid()[0, 0, :5].all()


@pytest.mark.parametrize("causal", [True, False])
def test_a_hand_written_layer_is_seen_through_sdpa(tokens, tmp_path, causal):
    torch.manual_seed(2)
    model = nn.Sequential(Scorer(causal=causal), Scorer(causal=causal)).eval()
    run = capture(model, [tokens], tmp_path / "run", content=("probabilities", "logits"))
    additive = np.triu(np.full((10, 10), -np.inf), 1) if causal else np.zeros((10, 10))
    np.testing.assert_allclose(
        np.asarray(run.tensor(0))[:, :, :4], slow_attention(model[0], tokens, additive), atol=1e-6
    )
    np.testing.assert_array_equal(run.mask(0), np.isfinite(additive))
    # Logits are there above the diagonal too: they are recorded before the mask.
    assert np.abs(np.asarray(run.tensor(0, "logits"))[0, 1:]).min() > 0


def test_an_additive_mask_is_a_bias_where_it_is_finite(tokens, tmp_path):
    torch.manual_seed(3)
    bias = torch.randn(10, 10)
    bias[:, 9] = -torch.inf
    model = nn.Sequential(Scorer(bias=bias)).eval()
    run = capture(model, [tokens], tmp_path / "run", content=("probabilities", "logits"))
    np.testing.assert_allclose(
        np.asarray(run.tensor(0)), slow_attention(model[0], tokens, bias.numpy()), atol=1e-6
    )
    assert not run.mask(0)[:, 9].any()
    plain = capture(
        nn.Sequential(_without_bias(model[0])).eval(), [tokens], tmp_path / "plain", content=("logits",)
    )
    difference = np.asarray(run.tensor(0, "logits")) - np.asarray(plain.tensor(0, "logits"))
    np.testing.assert_allclose(difference[:, :9, 0], bias[:, :9].numpy(), atol=1e-5)


def _without_bias(layer):
    other = Scorer()
    other.load_state_dict(layer.state_dict())
    return other


def test_hooks_are_gone_after_an_exception(encoder, tokens):
    def fail(*_told):
        raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"), recorded_calls(encoder, fail):
        encoder(tokens)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in encoder.modules())
    assert torch.isfinite(encoder(tokens)).all()


def test_output_of_a_hand_written_model_is_unchanged_bit_for_bit(tokens):
    model = nn.Sequential(Scorer(causal=True), nn.LayerNorm(32), Scorer()).eval()
    with torch.no_grad():
        before = model(tokens)
        with recorded_calls(model, lambda *_told: None):
            during = model(tokens)
    assert torch.equal(before, during)


def test_a_model_without_attention_is_refused(tokens, tmp_path):
    with pytest.raises(
        CaptureError, match=r"no part of Linear calls nn\.MultiheadAttention, SDPA, or a softmax"
    ):
        capture(nn.Linear(32, 32).eval(), [tokens], tmp_path / "run")


def test_keys_that_are_no_tokens_are_refused(tokens, tmp_path):
    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(32, 4, batch_first=True, add_zero_attn=True)

        def forward(self, x):
            return self.attention(x, x, x)[0]

    with pytest.raises(CaptureError, match="attends to a key that is no token"):
        capture(Wrapped().eval(), [tokens], tmp_path / "run")


def test_no_batches_is_an_error(encoder, tmp_path):
    with pytest.raises(CaptureError, match="at least one batch"):
        capture(encoder, [], tmp_path / "run")

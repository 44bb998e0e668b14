"""Every call goes to the layer and stream that it was observed in."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing import _attention_call, _observed_calls, capture  # noqa: E402
from haarbor.errors import CaptureError, SettingError, StoreError  # noqa: E402
from haarbor.store import block_widths  # noqa: E402
from tests.capturing.builders import Scorer  # noqa: E402
from tests.capturing.small_models import IDS, SMALL_MODELS, gpt2  # noqa: E402


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


@pytest.mark.parametrize("mode", ["faithful", "transparent"])
@pytest.mark.parametrize("name", ["llama", "mistral", "bert"])
def test_chunks_of_rows_hold_what_whole_layers_hold(name, mode, tmp_path, monkeypatch):
    model, batch = SMALL_MODELS[name].build("eager"), SMALL_MODELS[name].batch()
    contents = ("probabilities", "logits")
    whole = capture(model, [batch], tmp_path / "whole", mode=mode, content=contents)
    assert whole.plan.stream().rows_per_chunk is None
    # Three rows of all heads are a chunk, and two rows of one head are computed at a time.
    monkeypatch.setattr(_observed_calls, "_MOST_CHUNK_BYTES", 4 * 4 * 14 * 3)
    plain = _attention_call.AttentionCall.blocks
    monkeypatch.setattr(
        _attention_call.AttentionCall, "blocks", lambda call, rows=slice(None): plain(call, rows, 4 * 14 * 2)
    )
    rows = capture(model, [batch], tmp_path / "rows", mode=mode, content=contents)
    assert rows.plan.stream().rows_per_chunk == 3
    for content in contents:
        np.testing.assert_allclose(
            np.asarray(rows.tensor(0, content)), np.asarray(whole.tensor(0, content)), atol=1e-6
        )
    np.testing.assert_array_equal(rows.mask(0), whole.mask(0))


def test_no_more_than_a_chunk_of_rows_is_computed_at_a_time(tmp_path, monkeypatch):
    model = SMALL_MODELS["llama"].build("sdpa")
    limit = 4 * 14 * 2
    plain = _attention_call.AttentionCall.blocks
    monkeypatch.setattr(
        _attention_call.AttentionCall, "blocks", lambda call, rows=slice(None): plain(call, rows, limit)
    )
    monkeypatch.setattr(_observed_calls, "_MOST_CHUNK_BYTES", 4 * limit)
    sizes, softmax = [], torch.softmax

    def seen(scores, **options):
        sizes.append(4 * scores.numel())
        return softmax(scores, **options)

    monkeypatch.setattr(torch, "softmax", seen)
    capture(model, [SMALL_MODELS["llama"].batch()], tmp_path / "run", mode="transparent")
    assert max(sizes) == limit
    # Once to check the layers, and once to record them.
    assert sum(sizes) == 2 * 3 * 4 * 4 * 14 * 14


@pytest.mark.parametrize("pool", [2, 5, 20])
@pytest.mark.parametrize("name", ["llama", "bert", "bart"])
def test_blocks_hold_the_means_of_whole_layers(name, pool, tmp_path):
    model, batch = SMALL_MODELS[name].build("eager"), SMALL_MODELS[name].batch()
    whole = capture(model, [batch], tmp_path / "whole")
    found = capture(model, [batch], tmp_path / "pooled", pool=pool)
    assert found.verify() == ()
    for stream in whole.plan.streams:
        values, mask = np.asarray(whole.tensor(0, stream=stream.name)), whole.mask(0, stream.name)
        means = np.asarray(found.tensor(0, stream=stream.name))
        sizes = found.plan.stream(stream.name)
        assert (sizes.n_tokens, sizes.pool) == (values.shape[:2], pool)
        assert found.mask(0, stream.name).shape == means.shape[:2]
        is_token = mask.any(axis=1)
        for i in range(means.shape[0]):
            own = slice(i * pool, (i + 1) * pool)
            for j in range(means.shape[1]):
                keys = slice(j * pool, (j + 1) * pool)
                block = values[own, keys][is_token[own]].astype(float)
                expected = block.mean(axis=(0, 1)) if block.size else 0.0
                np.testing.assert_allclose(means[i, j], expected, atol=1e-6)
                assert found.mask(0, stream.name)[i, j] == mask[own, keys].any()
        totals = (means * block_widths(values.shape[1], pool)[None, :, None]).sum(axis=1)
        has_tokens = [is_token[i * pool : (i + 1) * pool].any() for i in range(means.shape[0])]
        np.testing.assert_allclose(totals[has_tokens], 1.0, atol=1e-5)


def test_blocks_are_told_by_their_positions_and_run_without_eager_attention(tmp_path):
    run = capture(gpt2(), [IDS], tmp_path / "run", pool=3)
    assert run.labels(0).query == ("0-2", "3-5", "6-7")
    assert run.plan.settings["mode"] == "transparent"
    with pytest.raises(StoreError, match=r"begun with pool=3, and this is with pool=4\."):
        capture(gpt2(), [IDS], tmp_path / "run", pool=4)
    with pytest.raises(StoreError, match="begun with pool=3, and this is with pool=1"):
        capture(gpt2(), [IDS], tmp_path / "run", mode="transparent")
    tokens = torch.randn(1, 6, 32)
    with pytest.raises(CaptureError, match=r"sample 1 has 5 x 5 in the stream 'self', .* 6 x 6\. Pad"):
        capture(Scorer().eval(), [tokens, tokens[:, :5]], tmp_path / "unequal", pool=2)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"pool": 0}, "pool must be"),
        ({"pool": 2.5}, "pool must be"),
        ({"pool": 2, "content": ("probabilities", "logits")}, "pool must go without logits; the softmax of"),
        ({"keeps": "nothing"}, "keeps must be"),
        ({"on_batch": 3}, "on_batch must be functions"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(wrong, words, tmp_path):
    with pytest.raises(SettingError, match=words) as caught:
        capture(gpt2(), [IDS], tmp_path / "run", **wrong)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_run_begun_with_whole_layers_goes_on_with_them(tmp_path, monkeypatch):
    batches = [IDS[:1], IDS[1:2]]
    stop = [0]

    def interrupt(_step, done, _total):
        stop[0] += 1
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        capture(gpt2(), batches, tmp_path / "run", on_progress=interrupt)
    monkeypatch.setattr(_observed_calls, "_MOST_CHUNK_BYTES", 1)
    run = capture(gpt2(), batches, tmp_path / "run")
    assert (run.batches, run.plan.stream().rows_per_chunk) == ((0, 1), None)

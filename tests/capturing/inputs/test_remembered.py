import numpy as np
import pytest

torch = pytest.importorskip("torch")

import haarbor as hb  # noqa: E402
from haarbor.capturing.inputs import (  # noqa: E402
    Sample,
    TokenInputs,
    memory_window_samples,
    random_samples,
    windows_to_fill,
)
from haarbor.errors import CaptureError  # noqa: E402
from haarbor.zoo import TransformerXL, TransformerXLConfig  # noqa: E402

TAKES = TokenInputs(vocab_size=50, max_tokens=None)


def network(memory_length):
    torch.manual_seed(0)
    config = TransformerXLConfig(
        vocab_size=50, width=16, n_layers=2, n_heads=2, head_width=8, inner_width=16,
        memory_length=memory_length,
    )  # fmt: skip
    model = TransformerXL(config).eval()
    for name, weight in model.named_parameters():
        if "norm" not in name:
            torch.nn.init.normal_(weight, std=0.3)
    return model


def windows(n, n_tokens):
    return random_samples(TAKES, n_samples=n, n_tokens=n_tokens, seed=0)


def test_attention_with_memory_is_that_of_the_whole_text(tmp_path):
    """With room for the whole text before, the recorded rows are the last rows of one long window."""
    model, parts = network(memory_length=12), windows(4, 4)
    run = hb.capture(model, memory_window_samples(parts, model), tmp_path / "run")
    assert run.n_batches == 1
    whole = torch.cat([part.inputs["input_ids"] for part in parts], dim=1)
    long = hb.capture(model, [{"input_ids": whole}], tmp_path / "long")
    found, expected = np.asarray(run.tensor(0)), np.asarray(long.tensor(0))
    assert found.shape == (4, 16, 4)
    np.testing.assert_allclose(found, expected[-4:], atol=1e-5)
    np.testing.assert_array_equal(run.mask(0), long.mask(0)[-4:])


def test_keys_are_labelled_with_the_remembered_tokens():
    model, parts = network(memory_length=6), windows(5, 4)
    samples = memory_window_samples(parts, model)
    assert len(samples) == 3
    for index in range(3):
        before = [label for part in parts[index : index + 2] for label in part.labels]
        sample = samples[index]
        assert sample.labels == parts[index + 2].labels
        assert sample.key_labels == (*before[-6:], *sample.labels)
        assert sample.inputs["memory"].shape == (1, 2, 6, 16)


def test_samples_are_the_same_in_any_order():
    model, parts = network(memory_length=4), windows(6, 4)
    samples = memory_window_samples(parts, model)
    forward = [samples[index].inputs["memory"] for index in range(5)]
    backward = [samples[index].inputs["memory"] for index in reversed(range(5))]
    for one, two in zip(forward, reversed(backward), strict=True):
        assert torch.equal(one, two)
    assert "each with the 4 tokens before it in memory" in samples.description


def test_labels_of_memory_reach_the_run(tmp_path):
    model, parts = network(memory_length=4), windows(3, 4)
    samples = memory_window_samples(parts, model)
    run = hb.capture(model, samples, tmp_path / "run")
    assert tuple(run.labels(1).key) == samples[1].key_labels
    assert tuple(run.labels(1).query) == samples[1].labels


@pytest.mark.parametrize("model", [network(0), torch.nn.Linear(2, 2)], ids=["no memory", "another kind"])
def test_a_model_without_memory_is_refused(model):
    with pytest.raises(CaptureError, match="must have a memory of earlier segments"):
        windows_to_fill(model, 4)


def test_too_few_windows_are_refused():
    with pytest.raises(CaptureError, match=r"the text holds 2 windows, of which that takes 2"):
        memory_window_samples(windows(2, 4), network(memory_length=8))


def test_key_labels_are_empty_where_keys_are_the_queries():
    assert Sample(inputs={}, labels=("a",), valid=None).key_labels == ()

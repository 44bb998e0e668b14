import numpy as np
import pytest

torch = pytest.importorskip("torch")
import haarbor as hb  # noqa: E402
from haarbor.capturing.inputs import Sample, memory_window_samples, windows_to_fill  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402
from tests.capturing.inputs.builders import memory_network, windows  # noqa: E402


def test_attention_with_memory_is_that_of_the_whole_text(tmp_path):
    """With room for the whole text before, the recorded rows are the last rows of one long window."""
    model, parts = memory_network(memory_length=12), windows(4, 4)
    run = hb.capture(model, memory_window_samples(parts, model), tmp_path / "run")
    assert run.n_batches == 1
    whole = torch.cat([part.inputs["input_ids"] for part in parts], dim=1)
    long = hb.capture(model, [{"input_ids": whole}], tmp_path / "long")
    found, expected = np.asarray(run.tensor(0)), np.asarray(long.tensor(0))
    assert found.shape == (4, 16, 4)
    np.testing.assert_allclose(found, expected[-4:], atol=1e-5)
    np.testing.assert_array_equal(run.mask(0), long.mask(0)[-4:])


def test_keys_are_labelled_with_the_remembered_tokens():
    model, parts = memory_network(memory_length=6), windows(5, 4)
    samples = memory_window_samples(parts, model)
    assert len(samples) == 3
    for index in range(3):
        before = [label for part in parts[index : index + 2] for label in part.labels]
        sample = samples[index]
        assert sample.labels == parts[index + 2].labels
        assert sample.key_labels == (*before[-6:], *sample.labels)
        assert sample.inputs["memory"].shape == (1, 2, 6, 16)


def test_samples_are_the_same_in_any_order():
    model, parts = memory_network(memory_length=4), windows(6, 4)
    samples = memory_window_samples(parts, model)
    forward = [samples[index].inputs["memory"] for index in range(5)]
    backward = [samples[index].inputs["memory"] for index in reversed(range(5))]
    for one, two in zip(forward, reversed(backward), strict=True):
        assert torch.equal(one, two)
    assert "each with the 4 tokens before it in memory" in samples.description


def test_labels_of_memory_reach_the_run(tmp_path):
    model, parts = memory_network(memory_length=4), windows(3, 4)
    samples = memory_window_samples(parts, model)
    run = hb.capture(model, samples, tmp_path / "run")
    assert tuple(run.labels(1).key) == samples[1].key_labels
    assert tuple(run.labels(1).query) == samples[1].labels


@pytest.mark.parametrize(
    "model", [memory_network(0), torch.nn.Linear(2, 2)], ids=["no memory", "another kind"]
)
def test_a_model_without_memory_is_refused(model):
    with pytest.raises(CaptureError, match="must have a memory of earlier segments"):
        windows_to_fill(model, 4)


def test_too_few_windows_are_refused():
    with pytest.raises(CaptureError, match=r"the text holds 2 windows, of which that takes 2"):
        memory_window_samples(windows(2, 4), memory_network(memory_length=8))


def test_key_labels_are_empty_where_keys_are_the_queries():
    assert Sample(inputs={}, labels=("a",), valid=None).key_labels == ()

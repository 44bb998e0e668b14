"""What cannot be recorded is named, and may be left out on purpose."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing import capture  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402


class HandAttention(nn.Module):
    """Attention written out, of all tokens or within windows."""

    def __init__(self, window=None):
        super().__init__()
        self.num_heads, self.window = 4, window
        self.mix = nn.Linear(32, 96)

    def forward(self, x):
        batch, length, width = x.shape
        rows = x if self.window is None else x.reshape(-1, self.window, width)
        q, k, v = self.mix(rows).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) / 8**0.5).softmax(-1)
        return (weights @ v).transpose(1, 2).reshape(batch, length, width)


class PointAttention(nn.Module):
    """Weights over a few points per query, with queries before heads."""

    def __init__(self):
        super().__init__()
        self.num_heads = 2
        self.points = nn.Linear(32, 8)

    def forward(self, x):
        weights = self.points(x).unflatten(-1, (2, 4)).softmax(-1)
        return x * weights.sum((2, 3), keepdim=False)[..., None]


def network(*layers):
    torch.manual_seed(0)
    return nn.Sequential(*layers).eval()


def test_hand_written_attention_is_recorded_from_its_softmax(tokens, tmp_path):
    model = network(HandAttention(), HandAttention())
    before = model(tokens)
    run = capture(model, [tokens], tmp_path / "run", content=("probabilities", "logits"))
    assert [(s.name, s.n_layers, s.n_heads) for s in run.plan.streams] == [("self", 2, 4)]
    q, k, _ = model[0].mix(tokens).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
    logits = (q @ k.transpose(-1, -2) / 8**0.5)[0].detach().numpy().transpose(1, 2, 0)
    np.testing.assert_allclose(np.asarray(run.tensor(0, "logits"))[..., :4], logits, atol=1e-6)
    assert torch.equal(before, model(tokens))


def test_attention_that_cannot_be_recorded_is_refused_by_name(tokens, tmp_path):
    model = network(HandAttention(), PointAttention())
    with pytest.raises(
        CaptureError,
        match=r"^all attention of Sequential must be recorded.*; layer 1 cannot be: its softmax of shape "
        r"\(1, 10, 2, 4\) .*\. To capture the rest, pass leave_out=\['1'\]",
    ):
        capture(model, [tokens], tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_it_may_be_left_out_on_purpose(tokens, tmp_path):
    model = network(HandAttention(), PointAttention())
    run = capture(model, [tokens], tmp_path / "run", leave_out=["1"])
    alone = capture(nn.Sequential(model[0]).eval(), [tokens], tmp_path / "alone")
    np.testing.assert_array_equal(np.asarray(run.tensor(0)), np.asarray(alone.tensor(0)))
    assert run.plan.settings["leave_out"] == ["1"]
    assert "leave_out" not in alone.plan.settings


def test_a_layer_that_could_be_recorded_may_be_left_out_too(tokens, tmp_path):
    model = network(HandAttention(), HandAttention())
    run = capture(model, [tokens], tmp_path / "run", leave_out=["0"])
    assert len(run.layers) == 1


def test_where_nothing_can_be_recorded_there_is_no_rest_to_capture(tokens, tmp_path):
    with pytest.raises(CaptureError, match=r"Give weights that you computed to haarbor\.import_arrays"):
        capture(network(PointAttention()), [tokens], tmp_path / "run")


def test_windows_are_refused_with_both_ways_out(tokens, tmp_path):
    model = network(HandAttention(), HandAttention(window=5))
    with pytest.raises(
        CaptureError, match=r"within 2 groups of tokens .* pass groups='heads' .*; to capture the rest, pass"
    ):
        capture(model, [tokens], tmp_path / "run")


def test_windows_are_heads_of_their_own_where_that_is_asked(tokens, tmp_path):
    model = network(HandAttention(window=5))
    run = capture(model, [tokens], tmp_path / "run", groups="heads")
    assert run.plan.stream().layer_shape == (8, 5, 5)
    for window in range(2):
        part = capture(model, [tokens[:, 5 * window : 5 * window + 5]], tmp_path / f"part{window}")
        found = np.asarray(run.tensor(0))[..., 4 * window : 4 * window + 4]
        np.testing.assert_allclose(found, np.asarray(part.tensor(0)), atol=1e-7)


def test_what_is_left_out_must_be_there(tokens, tmp_path):
    with pytest.raises(CaptureError, match=r"'\*\.head' names none\. There are \*\. Write one of these"):
        capture(network(HandAttention()), [tokens], tmp_path / "run", leave_out=["*.head"])
    assert not (tmp_path / "run").exists()


def test_not_everything_may_be_left_out(tokens, tmp_path):
    with pytest.raises(CaptureError, match=r"leave_out names all layers of Sequential\. Name fewer"):
        capture(network(HandAttention()), [tokens], tmp_path / "run", leave_out=["0"])


@pytest.mark.parametrize("wrong", ["layer", [1], None])
def test_leave_out_must_be_names(tokens, tmp_path, wrong):
    with pytest.raises(Exception, match=r"leave_out must be a sequence of names of layers"):
        capture(network(HandAttention()), [tokens], tmp_path / "run", leave_out=wrong)

"""What the organised attention says of each head."""

import numpy as np
import pytest
import torch

import haarbor as hb
from haarbor.pruning import NetworkHeads, calibration_pass
from haarbor.pruning._attention_statistics import AttentionSums
from haarbor.pruning._model_batches import forward
from haarbor.trees._control_trees import halved_tree
from tests.pruning.builders import layer_heads, projection_inputs
from tests.pruning.small_networks import batches, network


@pytest.mark.parametrize("name", ["llama", "bert", "zoo-txl", "multihead", "albert"])
def test_attention_statistics_are_those_of_the_captured_attention(name, tmp_path):
    model, data = network(name), batches(name, 2, size=1)
    found = calibration_pass(model, data, parts={"attention"})
    run = hb.capture(model, [dict(batch.inputs) for batch in data], tmp_path / "run.zarr")
    n_tokens = 11 if name == "bert" or name == "albert" else 14
    expected, plain, shannon = [], [], []
    for batch in run.batches:
        tensor = np.asarray(run.tensor(batch), dtype=np.float32)[:n_tokens, :n_tokens]
        mask = run.mask(batch)[:n_tokens, :n_tokens]
        org = hb.organize(tensor, mask=mask, content="probabilities")
        expected.append(hb.head_entropy(tensor, org.trees))
        halves = {axis: halved_tree(n_tokens) for axis in ("query", "key")}
        plain.append(hb.head_entropy(tensor, halves).raw)
        rows = np.where(tensor > 0, tensor, 1.0)
        shannon.append(-(rows * np.log(rows)).sum(1).mean(0))
    statistics = found.attention
    np.testing.assert_allclose(statistics.entropy, np.mean([e.raw for e in expected], axis=0), rtol=1e-4)
    fine = np.mean([e.all_scales - e.raw for e in expected], axis=0)
    np.testing.assert_allclose(statistics.fine_scales, fine, atol=1e-4 * statistics.all_scales.max())
    np.testing.assert_allclose(statistics.no_tree_entropy, np.mean(plain, axis=0), rtol=1e-4)
    np.testing.assert_allclose(statistics.attention_entropy, np.mean(shannon, axis=0), rtol=1e-3, atol=1e-4)
    assert statistics.distances.shape == (run.n_heads, run.n_heads)


def test_the_output_norm_on_the_query_tree_is_that_of_the_written_vectors():
    model, data = network("llama"), batches("llama", 1, size=1)
    found = calibration_pass(model, data, parts={"attention"})
    tensors = []
    from haarbor.capturing import recorded_calls

    with recorded_calls(model, lambda _n, _m, _c, weights: tensors.append(weights[0]), mode="faithful"):
        forward(model, data[0])
    tensor = torch.cat(tensors).permute(1, 2, 0).detach().numpy()
    org = hb.organize(tensor, mask=np.tri(14, dtype=bool), content="probabilities")
    x = projection_inputs(model, found.heads, data)[1][0]
    weight = model.model.layers[1].self_attn.o_proj.weight.detach().double().numpy()
    written = x[:, 16:24] @ weight[:, 16:24].T
    coefficients = hb.haar_transform(written, {"query": org.trees["query"]}, ("query", "channel"))
    expected = np.linalg.norm(coefficients, axis=1).sum()
    assert found.attention.output_haar_norm[4 + 2] == pytest.approx(expected, rel=1e-4)


def test_fine_and_coarse_scales_add_up_beyond_four_hundred_functions():
    tensor = hb.datasets.synthetic_attention(n_tokens=24, n_layers=2, heads_per_layer=3)
    heads = NetworkHeads((layer_heads(3, 2), layer_heads(3, 2)))
    sums = AttentionSums(heads)
    sums.add(tensor, [np.ones((24, 6))] * 2, np.ones((24, 24), bool), [np.eye(6)] * 2)
    found = sums.statistics()
    org = hb.organize(tensor, mask=np.ones((24, 24), bool), content="probabilities")
    entropy = hb.head_entropy(tensor, org.trees)
    np.testing.assert_allclose(found.all_scales, entropy.all_scales, rtol=1e-6)
    np.testing.assert_allclose(found.fine_scales, entropy.fine_share * entropy.all_scales, rtol=1e-6)
    assert found.fine_scales.min() > 0
    # A constant vector (1, 1) a token: its only coefficient is the root of 24, times the root of 2.
    np.testing.assert_allclose(found.output_haar_norm, 48**0.5, rtol=1e-6)
    assert not np.allclose(found.random_tree_entropy, found.entropy)

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import haarbor as hb
from haarbor.errors import DataError, PruningError, SettingError
from haarbor.pruning import (
    LayerHeads,
    LayerMoments,
    NetworkHeads,
    backward_elimination,
    calibration_pass,
    network_heads,
    pruning_scores,
    register_score,
)
from haarbor.pruning._attention_statistics import AttentionSums
from haarbor.pruning._metrics import METRICS, Metric
from haarbor.pruning._model_batches import forward
from haarbor.pruning._output_norms import contribution_gram, output_norms, relative_output_norms
from haarbor.pruning._redundancy import folder_ranks, redundancy_ranks
from haarbor.pruning._scores import SCORES
from haarbor.trees._control_trees import halved_tree
from tests.assertions import assert_close
from tests.pruning.small_networks import batches, network
from tests.pruning.test_compensation import site_inputs
from tests.reference.pruning import greedy_leftovers, redundancy_order


def site(n_heads, head_width, group=1):
    return LayerHeads(
        projection="o",
        attention="a",
        call=0,
        n_heads=n_heads,
        head_width=head_width,
        head_group=group,
        block="b",
    )


def moments_of(x, weight, energy):
    """Moments by their definition."""
    shares = 1 / energy
    return LayerMoments(
        second=x.T @ x / len(x),
        mean=x.mean(0),
        relative_second=(x * shares[:, None]).T @ x / len(x),
        relative_mean=(x * shares[:, None]).sum(0) / shares.sum(),
        relative_weight=shares.mean(),
        residual_energy=energy.mean(),
        n_tokens=len(x),
        weight=weight,
        bias=np.zeros(len(weight)),
    )


@pytest.mark.parametrize("relative", [True, False])
def test_the_elimination_is_that_of_fitting_every_candidate_anew(rng, relative):
    heads = NetworkHeads((site(3, 2), site(4, 2)))
    xs = [
        rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6)),
        rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8)),
    ]
    weights = [rng.normal(size=(5, 6)), rng.normal(size=(5, 8))]
    energies = [rng.uniform(1, 9, 60), rng.uniform(20, 90, 60)]
    moments = [moments_of(x, w, e) for x, w, e in zip(xs, weights, energies, strict=True)]
    found = backward_elimination(moments, heads, relative=relative, ridge=0.01)
    centred, scaled = [], []
    for x, weight, energy in zip(xs, weights, energies, strict=True):
        shares = 1 / energy if relative else np.ones(60)
        y = (x - (x * shares[:, None]).sum(0) / shares.sum()) * np.sqrt(shares)[:, None]
        centred.append(y)
        whole = weight if relative else weight / np.sqrt(energy.mean())
        scaled.append(whole)
    order, increases = greedy_leftovers(centred, scaled, 2, 0.01)
    starts = [0, 3]
    assert found.order.tolist() == [starts[layer] + head for layer, head in order]
    assert_close(found.increases, increases, scale=1e3 * max(increases))
    assert found.ranks[found.order].tolist() == list(range(7))


def test_a_head_that_follows_from_another_goes_first(rng):
    x = rng.normal(size=(80, 6))
    x[:, 2:4] = x[:, 4:6] @ rng.normal(size=(2, 2))
    weight = np.ones((3, 6)) * [5, 5, 9, 9, 9, 9]
    found = backward_elimination(
        [moments_of(x, weight, np.ones(80))], NetworkHeads((site(3, 2),)), ridge=1e-9
    )
    assert found.order[0] in (1, 2)
    assert found.increases[0] < 1e-6 * found.increases[1]


def test_every_layer_keeps_a_head_until_no_other_is_left(rng):
    heads = NetworkHeads((site(2, 1), site(2, 1)))
    small = moments_of(1e-6 * rng.normal(size=(30, 2)), np.ones((1, 2)), np.ones(30))
    large = moments_of(rng.normal(size=(30, 2)), np.ones((1, 2)), np.ones(30))
    order = backward_elimination([small, large], heads).order
    assert set(order[:2].tolist()) & {0, 1}
    assert set(order[:2].tolist()) & {2, 3}


def test_gram_matrix_of_what_heads_write(rng):
    x, weight = rng.normal(size=(50, 6)), rng.normal(size=(4, 6))
    parts = [x[:, 2 * h : 2 * h + 2] @ weight[:, 2 * h : 2 * h + 2].T for h in range(3)]
    expected = [[np.mean(np.sum(a * b, axis=1)) for b in parts] for a in parts]
    assert_close(contribution_gram(x.T @ x / 50, weight, site(3, 2)), expected, scale=10)


def test_norms_are_root_mean_squares_of_what_heads_write(rng):
    x, weight, energy = rng.normal(size=(50, 4)), rng.normal(size=(4, 4)), rng.uniform(1, 5, 50)
    moments, heads = [moments_of(x, weight, energy)], NetworkHeads((site(2, 2),))
    squares = np.stack([np.square(x[:, s] @ weight[:, s].T).sum(1) for s in (slice(0, 2), slice(2, 4))])
    assert_close(output_norms(moments, heads), np.sqrt(squares.mean(1)))
    assert_close(relative_output_norms(moments, heads), np.sqrt((squares / energy).mean(1)))
    mean = relative_output_norms(moments, heads, per_token=False)
    assert_close(mean, np.sqrt(squares.mean(1) / energy.mean()))


def test_scores_relative_to_a_stream_that_was_not_found_are_refused():
    model, data = network("gpt2"), batches("gpt2", 2)
    heads = network_heads(model, data[0])
    lost = NetworkHeads(tuple(LayerHeads(**{**_fields(layer), "block": None}) for layer in heads.layers))
    found = calibration_pass(model, data, heads=lost)
    assert pruning_scores(found, ["norm"])["norm"].shape == (12,)
    with pytest.raises(PruningError, match="residual stream of layer 0 was not found"):
        pruning_scores(found, ["relative-norm"])


def _fields(layer):
    return {name: getattr(layer, name) for name in LayerHeads.__slots__}


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_redundancy_follows_its_definition(n_heads, seed):
    rng = np.random.default_rng(seed)
    points, sizes = rng.normal(size=(n_heads, 2)), rng.uniform(0.5, 2, n_heads)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    ranks = redundancy_ranks(distances, sizes)
    assert np.argsort(ranks).tolist() == redundancy_order(distances.tolist(), sizes.tolist())


def test_every_folder_keeps_its_largest_head():
    points = np.array([0.0, 0.1, 10.0, 10.1, 10.2])
    distances = np.abs(points[:, None] - points[None])
    ranks = folder_ranks(distances, np.array([1.0, 2.0, 5.0, 4.0, 3.0]))
    assert sorted(ranks.tolist()) == [0, 1, 2, 3, 4]
    # 1 is the larger of the first pair, 2 the largest of all.
    assert ranks[2] == 4
    assert ranks[0] < ranks[1]
    assert max(ranks[3], ranks[4], ranks[0]) < ranks[1]


@pytest.mark.parametrize("name", ["llama", "bert", "zoo-vit", "multihead", "albert"])
def test_gradients_are_derivatives_by_the_gates(name):
    model, data = network(name), batches(name, 2, size=1)
    metric = METRICS["classification-loss" if name == "zoo-vit" else "loss"]
    found = calibration_pass(model, data, parts={"gradients"}, metric=metric)
    from haarbor.pruning import gated_heads

    model = model.double()
    # Models of transformers take their softmax in float32 whatever they are cast to.
    step = 1e-3 if name in ("llama", "bert", "albert") else 1e-6
    for layer, head in ((0, 1), (1, 3)):
        values = []
        for sign in (1, -1):
            gates = [torch.ones(4, dtype=torch.float64) for _ in found.heads.layers]
            gates[layer][head] += sign * step
            with torch.no_grad(), gated_heads(model, found.heads, gates):
                total, count = metric.total(model, data[1])
            values.append(float(total) / count)
        expected = (values[0] - values[1]) / (2 * step)
        assert found.gradients[1, layer * 4 + head] == pytest.approx(expected, rel=2e-2, abs=2e-4)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_the_accuracy_takes_the_gradient_of_the_loss():
    model, data = network("zoo-vit"), batches("zoo-vit", 3)
    by_accuracy, by_loss = (
        calibration_pass(model, data, parts={"gradients"}, metric=name).gradients
        for name in ("accuracy", "classification-loss")
    )
    np.testing.assert_array_equal(by_accuracy, by_loss)
    assert np.abs(by_loss).max() > 0
    assert METRICS["accuracy"].total(model, data[0])[0] in (0.0, 1.0, 2.0)  # and counts what is right


def test_tokens_are_classified_one_by_one():
    model, data = network("llama"), batches("llama", 1)
    with torch.no_grad():
        logits = forward(model, data[0]).logits
    labelled = replace(data[0], labels=logits.argmax(dim=-1))
    assert METRICS["accuracy"].total(model, labelled) == (28.0, 28.0)  # two texts of 14 tokens
    total, count = METRICS["classification-loss"].total(model, labelled)
    assert count == 28
    assert float(total.detach()) == pytest.approx(-float(logits.log_softmax(-1).amax(-1).sum()), rel=1e-5)
    found = calibration_pass(model, [labelled], parts={"gradients"}, metric="accuracy")
    assert np.isfinite(found.gradients).all()
    with pytest.raises(
        DataError, match=r"one label per answer, shape \(2, 14\); found labels of shape \(2,\)"
    ):
        METRICS["accuracy"].total(model, replace(data[0], labels=torch.zeros(2, dtype=torch.long)))


def test_a_metric_without_a_gradient_is_refused_for_scores_that_need_one():
    model, data = network("zoo-vit"), batches("zoo-vit", 1)
    counted = Metric("right", METRICS["accuracy"].function)
    with pytest.raises(PruningError, match="the metric 'right' has no gradient"):
        calibration_pass(model, data, parts={"gradients"}, metric=counted)


def test_gradient_scores_are_their_definitions():
    model, data = network("llama"), batches("llama", 3, size=1)
    found = calibration_pass(model, data, parts={"gradients"})
    scores = pruning_scores(found, ["gradient", "taylor", "fisher"])
    assert_close(scores["gradient"], np.mean([abs(g) for g in found.gradients], axis=0))
    assert_close(scores["taylor"], -np.mean(list(found.gradients), axis=0))
    assert_close(scores["fisher"], np.mean([g**2 for g in found.gradients], axis=0))


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
    from haarbor.capturing._huggingface import recorded_attention

    with recorded_attention(model, "faithful", lambda _n, _m, _c, weights: tensors.append(weights[0])):
        forward(model, data[0])
    tensor = torch.cat(tensors).permute(1, 2, 0).detach().numpy()
    org = hb.organize(tensor, mask=np.tri(14, dtype=bool), content="probabilities")
    x = site_inputs(model, found.heads, data)[1][0]
    weight = model.model.layers[1].self_attn.o_proj.weight.detach().double().numpy()
    written = x[:, 16:24] @ weight[:, 16:24].T
    coefficients = hb.haar_transform(written, {"query": org.trees["query"]}, ("query", "channel"))
    expected = np.linalg.norm(coefficients, axis=1).sum()
    assert found.attention.output_haar_norm[4 + 2] == pytest.approx(expected, rel=1e-4)


def test_fine_and_coarse_scales_add_up_beyond_four_hundred_functions():
    tensor = hb.datasets.synthetic_attention(n_tokens=24, n_layers=2, heads_per_layer=3)
    heads = NetworkHeads((site(3, 2), site(3, 2)))
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


def test_a_pass_over_single_samples_is_a_pass_over_batches():
    model = network("llama")
    joint = calibration_pass(model, batches("llama", 2, size=3))
    apart = calibration_pass(model, batches("llama", 2, size=3), parts={"attention", "gradients"})
    for one, two in zip(joint.moments, apart.moments, strict=True):
        assert_close(one.second, two.second, np.float32)
    assert joint.n_samples == apart.n_samples == 6
    assert apart.gradients.shape == (2, 12)
    assert apart.attention.n_samples == 6


def test_a_score_of_the_user_is_asked_for_by_name():
    found = calibration_pass(network("llama"), batches("llama"))
    register_score("late-first", lambda seen: -seen.heads.layer_of_head, meaning="late layers")
    try:
        assert pruning_scores(found, ["late-first"])["late-first"].tolist() == [0] * 4 + [-1] * 4 + [-2] * 4
        with pytest.raises(SettingError, match="there is a score 'late-first' already"):
            register_score("late-first", lambda seen: seen)
    finally:
        del SCORES["late-first"]
    register_score("short", lambda _seen: [1.0])
    try:
        with pytest.raises(DataError, match="must give one finite number per head, 12"):
            pruning_scores(found, ["short"])
    finally:
        del SCORES["short"]
    with pytest.raises(SettingError, match="a score must be one of"):
        pruning_scores(found, ["magic"])


@pytest.mark.parametrize(("name", "part"), [("gradient", "gradients"), ("h400", "attention")])
def test_scores_say_what_the_pass_did_not_gather(name, part):
    found = calibration_pass(network("llama"), batches("llama"))
    with pytest.raises(PruningError, match=f"needs the {part} of the heads"):
        pruning_scores(found, [name])


def test_tree_scores_are_refused_where_layers_attend_over_different_tokens():
    with pytest.raises(PruningError, match="same queries and keys"):
        calibration_pass(network("t5"), batches("t5"), parts={"attention"})
    with pytest.raises(SettingError, match="parts must be"):
        calibration_pass(network("t5"), batches("t5"), parts={"magic"})

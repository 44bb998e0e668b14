import numpy as np
import pytest

pytest.importorskip("transformers")

import torch

import haarbor as hb
from haarbor.collapse import (
    FIGURES,
    VARIANTS,
    composite_norm,
    effective_rank,
    initialised,
    network_blocks,
    rank_collapse,
    stable_rank,
    switched_off,
    token_cosine,
    token_residual,
)
from haarbor.errors import CollapseError, DataError, SettingError
from haarbor.pruning import forward, model_batches
from haarbor.store import load_results_file, save_results_file
from tests.pruning.small_networks import batches, network

PAIR = ["as it is", "no skips, no MLPs"]


@pytest.fixture(scope="module")
def measured():
    model, given = network("bert"), batches("bert", 2)
    return model, given, rank_collapse(model, given, variants=PAIR)


def test_the_figures_are_those_of_the_tokens_without_padding(measured):
    model, given, found = measured
    blocks = network_blocks(model, given[0])
    number = 0
    for batch in given:
        kept = {}
        with switched_off(model, blocks, PAIR[1], on_state=kept.__setitem__), torch.no_grad():
            forward(model, batch)
        for row in range(len(batch)):
            valid = batch.inputs["attention_mask"][row].bool() if "attention_mask" in batch.inputs else ...
            for depth in range(4):
                x = kept[depth][row][valid].double().numpy()
                assert found.n_tokens[number] == x.shape[0]
                exact = {
                    "composite": token_residual(x).relative,
                    "composite_least": token_residual(x).least,
                    "frobenius": token_residual(x, norm="frobenius").relative,
                    "stable_rank": stable_rank(x),
                    "effective_rank": effective_rank(x),
                    "cosine": token_cosine(x),
                    "log10_size": np.log10(composite_norm(x)),
                }
                assert tuple(exact) == FIGURES
                for name, value in exact.items():
                    # Beyond the floor the two passes may round differently.
                    slack = {"rel": 1e-6, "abs": found.floor}
                    assert found.figures[name][1, depth, number] == pytest.approx(value, **slack)
            number += 1
    assert number == 4


def test_skips_prevent_the_collapse_of_an_encoder(measured):
    found = measured[2]
    assert found.middle("composite", "as it is")[-1] > 0.3
    assert found.middle("composite", "no skips, no MLPs")[-1] < 1e-5
    assert found.middle("cosine", "no skips, no MLPs")[-1] > 0.9999
    assert found.middle("effective_rank", "no skips, no MLPs")[-1] < 1.01


def test_all_variants_begin_with_the_same_tokens(measured):
    for values in measured[2].figures.values():
        np.testing.assert_array_equal(values[0, 0], values[1, 0])


def test_it_is_kept_whole_in_a_file(measured, tmp_path):
    found = measured[2]
    again = load_results_file(save_results_file({"trained": found}, tmp_path / "found.npz"))["trained"]
    assert again.variants == found.variants
    for name in FIGURES:
        np.testing.assert_array_equal(again.figures[name], found.figures[name])
    np.testing.assert_array_equal(again.n_tokens, found.n_tokens)
    assert again.floor == found.floor
    assert repr(again) == repr(found)


def test_pure_attention_of_a_real_encoder_falls_doubly_exponentially_at_initialisation():
    model = initialised(network("zoo-vit")).double()
    for name, weight in model.named_parameters():
        # At its own scale two layers already leave less than float64 can tell.
        if "query_key_value.weight" in name:
            weight.data.mul_(4.0)
    found = rank_collapse(model, batches("zoo-vit"), variants=["no skips, no MLPs", "no MLPs"])
    logs = -np.log(found.middle("composite", "no skips, no MLPs"))
    # The rate of the theorem, which has no norms: three times as many digits in every layer.
    assert logs[-1] / logs[-2] == pytest.approx(3.0, rel=0.1)
    rate = found.rate("no skips, no MLPs")
    assert rate.doubly > rate.singly
    assert found.middle("composite", "no MLPs")[-1] > 0.3


def test_tokens_that_overflow_are_told_and_not_made_up():
    model = network("gpt2")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "mlp.c_proj.weight" in name:
                weight.mul_(1e20)
    found = rank_collapse(
        model, batches("gpt2"), variants=["no MLPs", "no normalisation"], like=network("gpt2")
    )
    assert found.lost("no MLPs") is None
    assert found.lost("no normalisation") in (2, 3)
    assert np.isnan(found.middle("composite", "no normalisation")[-1])
    assert np.isfinite(found.middle("composite", "no normalisation")[:2]).all()


def test_all_variants_in_order_and_progress():
    steps = []
    found = hb.rank_collapse(
        network("zoo-txl"), batches("zoo-txl", 2, size=1), on_progress=lambda *step: steps.append(step)
    )
    assert found.variants == tuple(VARIANTS)
    assert found.n_layers == 3
    assert steps[0] == ("rank collapse", 0, 12)
    assert steps[-1] == ("rank collapse", 12, 12)
    assert np.all(found.figures["composite_least"] <= found.figures["composite"])


def test_wrong_arguments_are_refused():
    model, given = network("zoo-vit"), batches("zoo-vit")
    with pytest.raises(SettingError, match="a variant must be one of"):
        rank_collapse(model, given, variants=["no heads"])
    with pytest.raises(SettingError, match="variants must be a list"):
        rank_collapse(model, given, variants="no skips")
    with pytest.raises(SettingError, match="variants must be a list"):
        rank_collapse(model, given, variants=[])
    with pytest.raises(DataError, match="at least one batch"):
        rank_collapse(model, [])
    with pytest.raises(DataError, match="two tokens or more"):
        rank_collapse(network("gpt2"), torch.tensor([[5]]), variants=PAIR)
    found = rank_collapse(model, given, variants=PAIR)
    for figure, variant in (("rank", "as it is"), ("cosine", "no MLPs")):
        with pytest.raises(SettingError, match="must be one of"):
            found.middle(figure, variant)


def test_tokens_must_come_with_the_batch_in_front():
    model = network("multihead-last")
    with pytest.raises(CollapseError, match=r"\(batch, token, width\); found \(14, 2, 32\)"):
        rank_collapse(model, model_batches(torch.randint(0, 97, (2, 14))))

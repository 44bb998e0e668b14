import numpy as np
import pytest
import torch

from haarbor.diagnostics import MODEL_FIGURES, head_diagnostics
from haarbor.diagnostics._head_circuits import head_circuits
from haarbor.errors import DataError, SettingError
from haarbor.pruning import model_batches, network_heads
from haarbor.store import load_results_file, save_results_file
from tests.capturing.small_models import SMALL_MODELS


def built(name):
    torch.manual_seed(0)
    return SMALL_MODELS[name].build("eager").eval()


def batches(model, n=4, length=10):
    torch.manual_seed(1)
    return [{"input_ids": torch.randint(5, 60, (1, length))} for _ in range(n)]


def of_each_head(weight, n_heads):
    return weight.detach().double().numpy().reshape(n_heads, -1, weight.shape[1])


def llama_weights(model, layer, n_heads):
    attention = model.model.layers[layer].self_attn
    n_shared = attention.k_proj.weight.shape[0] // (attention.q_proj.weight.shape[0] // n_heads)
    shared = np.arange(n_heads) // (n_heads // n_shared)
    key, value = (
        of_each_head(part.weight, n_shared)[shared] for part in (attention.k_proj, attention.v_proj)
    )
    return of_each_head(attention.q_proj.weight, n_heads), key, value


def gpt2_weights(model, layer, n_heads):
    fused = model.transformer.h[layer].attn.c_attn.weight.T
    return [of_each_head(part, n_heads) for part in fused.chunk(3)]


def bert_weights(model, layer, n_heads):
    attention = model.base_model.encoder.layer[layer].attention.self
    return [of_each_head(part.weight, n_heads) for part in (attention.query, attention.key, attention.value)]


@pytest.mark.parametrize(
    ("name", "weights"), [("llama", llama_weights), ("gpt2", gpt2_weights), ("bert", bert_weights)]
)
def test_weights_of_heads_are_told_from_what_the_network_computes(name, weights):
    model = built(name)
    rows = list(model_batches(batches(model, 5)))
    heads = network_heads(model, rows[0])
    found = head_circuits(model, heads, rows)
    number = 0
    for layer, one in enumerate(heads.layers):
        query, key, value = weights(model, layer, one.n_heads)
        for head in range(one.n_heads):
            circuit = found[number]
            np.testing.assert_allclose(circuit.query, query[head], rtol=1e-3, atol=1e-6)
            np.testing.assert_allclose(circuit.key, key[head], rtol=1e-3, atol=1e-6)
            np.testing.assert_allclose(circuit.value, value[head], rtol=1e-3, atol=1e-6)
            number += 1
    assert number == heads.n_heads


def test_everything_is_measured_and_stored(tmp_path):
    model = built("gpt2")
    steps = []
    found = head_diagnostics(model, batches(model), period=4, on_progress=lambda *step: steps.append(step))
    assert steps[-1] == ("head diagnostics", 4, 4)
    assert set(found.figures) == set(MODEL_FIGURES)
    assert all(np.isfinite(values).all() for values in found.figures.values())
    n_layers = int(found.layers.max()) + 1
    assert found.states["largest"].shape == (n_layers + 1, 4)
    with torch.no_grad():
        hidden = model(**batches(model)[0], output_hidden_states=True).hidden_states
    for depth in range(n_layers):
        x = hidden[depth][0].double().abs()
        np.testing.assert_allclose(found.states["largest"][depth, 0], float(x.max()), rtol=1e-6)
        place = (int(found.states["token"][depth, 0]), int(found.states["channel"][depth, 0]))
        assert float(x[place]) == float(x.max())
    save_results_file({"one": found}, tmp_path / "found.npz")
    again = load_results_file(tmp_path / "found.npz")["one"]
    np.testing.assert_array_equal(again.figures["induction"], found.figures["induction"])
    assert again.repeated.keys() == {"induction", "duplicate_token"}


def test_massive_activations_are_found_where_they_are_put():
    model = built("gpt2")
    with torch.no_grad():
        model.transformer.wpe.weight[0, 3] = 5000.0
    found = head_diagnostics(model, batches(model), period=4)
    assert 0 in found.massive_layers()
    assert (found.states["token"][0] == 0).all()
    assert (found.states["channel"][0] == 3).all()
    assert head_diagnostics(built("gpt2"), batches(model), period=4).massive_layers().size == 0


def test_the_model_is_left_as_it_was():
    model = built("llama")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    head_diagnostics(model, batches(model), period=4)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_bad_options_are_told():
    model = built("gpt2")
    with pytest.raises(SettingError, match="period"):
        head_diagnostics(model, batches(model), period=1)
    with pytest.raises(SettingError, match="vocabulary must be ids"):
        head_diagnostics(model, batches(model), vocabulary=[0.5])
    with pytest.raises(DataError, match="at least one batch"):
        head_diagnostics(model, [])

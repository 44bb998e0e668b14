import warnings

import numpy as np
import pytest

import haarbor as hb
from haarbor.datasets import synthetic_attention
from haarbor.spectral import device_spectrum
from tests.assertions import assert_close, assert_same_trees
from tests.engines.numpy_device import NumpyDevice, numpy_gpu

each_engine = pytest.mark.parametrize(
    "engine",
    [pytest.param(numpy_gpu, id="numpy"), pytest.param(hb.GpuEngine, marks=pytest.mark.gpu, id="cuda")],
)


@pytest.fixture
def tensor(rng):
    latent = [rng.random((n, 3)) for n in (12, 10, 7)]
    return np.einsum("qa,ka,ha->qkh", *latent) + 0.05 * rng.random((12, 10, 7))


def assert_same(gpu, cpu, dtype):
    assert gpu.settings.engine == "gpu"
    for axis in cpu.axes:
        assert gpu.history[axis] == cpu.history[axis], f"the trees of {axis} differ"
        assert_close(gpu.affinities[axis], cpu.affinities[axis], dtype)
        if axis in cpu.initial_affinities:
            assert_close(gpu.initial_affinities[axis], cpu.initial_affinities[axis], dtype)


@each_engine
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"initial": "gaussian"},
        {"tree": "binary"},
        {"refine": "published", "alpha": 1.0, "beta": 0.5},
        {"start": "order"},
    ],
    ids=repr,
)
def test_trees_and_affinities_are_those_of_the_cpu(tensor, engine, settings, dtype):
    X = tensor.astype(dtype)
    assert_same(hb.organize(X, engine=engine(), **settings), hb.organize(X, engine="cpu", **settings), dtype)


@each_engine
def test_haar_trees_are_those_of_the_cpu(tensor, engine):
    found = hb.organize(tensor, tree="haar", engine=engine())
    assert_same_trees(found.trees, hb.organize(tensor, tree="haar", engine="cpu").trees)


@each_engine
def test_matrices_are_organised_too(rng, engine):
    X = rng.random((20, 3)) @ rng.random((3, 17))
    assert_same(hb.organize(X, engine=engine()), hb.organize(X, engine="cpu"), np.float64)


@each_engine
@pytest.mark.parametrize("size", [2.0**-900, 2.0**900])
@pytest.mark.parametrize("initial", ["cosine", "gaussian"])
def test_very_large_and_very_small_numbers_are_scaled(tensor, engine, initial, size):
    ordinary = hb.organize(tensor, initial=initial, engine="cpu")
    found = hb.organize(size * tensor, initial=initial, engine=engine())
    assert_same_trees(found.trees, ordinary.trees)
    expected = hb.organize(size * tensor, initial=initial, engine="cpu")
    assert_close(found.affinities["query"], expected.affinities["query"])


@each_engine
def test_zeros_count_as_missing_in_the_first_affinity(tensor, engine):
    causal = np.tril(np.ones((12, 10)))[:, :, None] * tensor
    assert_same(hb.organize(causal, engine=engine()), hb.organize(causal, engine="cpu"), np.float64)


@each_engine
def test_empty_slices_are_told_as_on_the_cpu(tensor, engine):
    tensor[3] = tensor[5] = 0
    with pytest.warns(hb.AffinityWarning, match=r"2 of 12 slices hold only zeros \(first: 3\)"):
        found = hb.organize(tensor, engine=engine())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hb.AffinityWarning)
        assert_same(found, hb.organize(tensor, engine="cpu"), np.float64)


@each_engine
def test_masked_logits_are_made_neutral_first(tensor, engine):
    mask = np.tril(np.ones((12, 10), bool))
    logits = np.where(mask[:, :, None], tensor, -np.inf)
    found = hb.organize(logits, mask=mask, content="logits", engine=engine())
    assert_same(found, hb.organize(logits, mask=mask, content="logits", engine="cpu"), np.float64)
    assert found.settings.masked_entries == "row mean of valid logits"


@each_engine
def test_spectra_of_many_items_come_from_the_device(rng, engine, monkeypatch):
    X = rng.random((130, 3)) @ rng.random((3, 5)) + 0.01 * rng.random((130, 5))
    asked = []

    def note(affinity, device):
        asked.append(affinity.shape)
        return device_spectrum(affinity, device)

    monkeypatch.setattr("haarbor.questionnaire._device_questionnaire.device_spectrum", note)
    found = hb.organize(X, n_iterations=1, engine=engine())
    assert asked == [(130, 130), (130, 130)]
    assert_same(found, hb.organize(X, n_iterations=1, engine="cpu"), np.float64)


def test_a_tensor_that_does_not_fit_is_refused_in_one_line(tensor):
    with pytest.raises(
        hb.EngineError, match=r"a tensor of shape \(12, 10, 7\) would take .* and 99 bytes are free"
    ):
        hb.organize(tensor, engine=hb.GpuEngine(NumpyDevice(free=99)))


def test_distances_on_trees_are_those_of_the_cpu(tensor):
    trees = hb.organize(tensor).trees
    for axis in ("query", "head"):
        others = {name: tree for name, tree in trees.items() if name != axis}
        assert_close(hb.tree_emd(tensor, others, engine=numpy_gpu()), hb.tree_emd(tensor, others))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("engine", ["gpu", "auto"])
def test_torch_tensors_on_the_device_are_organised_there(tensor, engine, dtype):
    torch = pytest.importorskip("torch")
    heads_first = torch.tensor(tensor).to(getattr(torch, dtype)).permute(2, 0, 1).contiguous().cuda()
    X = heads_first.permute(1, 2, 0)
    found = hb.organize(X, engine=engine)
    assert found.settings.precision == ("float64" if dtype == "float64" else "float32")
    host = X.double() if dtype == "float64" else X.float()
    assert_same(found, hb.organize(host.cpu().numpy(), engine="cpu"), found.settings.precision)


@pytest.mark.gpu
def test_larger_attention_has_the_trees_of_the_cpu():
    for causal in (False, True):
        X = synthetic_attention(n_tokens=200, n_layers=6, seed=1, causal=causal).astype(np.float32)
        assert_same(hb.organize(X, engine="gpu"), hb.organize(X, engine="cpu"), np.float32)

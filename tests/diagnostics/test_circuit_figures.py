import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from haarbor.diagnostics import HeadCircuit, circuit_figures, composition_scores
from haarbor.diagnostics._circuit_figures import product_spectrum


def circuit(rng, width=7, head=3):
    return HeadCircuit(*(rng.normal(size=(head, width)) for _ in range(3)), rng.normal(size=(width, head)))


def test_figures_are_those_of_the_whole_matrices(rng):
    circuits = [circuit(rng) for _ in range(4)]
    found = circuit_figures(circuits)
    for head, one in enumerate(circuits):
        for name, whole in (("qk", one.query.T @ one.key), ("ov", one.output @ one.value)):
            s = np.linalg.svd(whole, compute_uv=False)[:3]
            shares = s / s.sum()
            np.testing.assert_allclose(
                found[f"{name}_effective_rank"][head], np.exp(-(shares * np.log(shares)).sum()), rtol=1e-9
            )
            values = np.linalg.eigvals(whole)
            np.testing.assert_allclose(
                found[f"{name}_positive"][head], values.real.sum() / np.abs(values).sum(), rtol=1e-6
            )


def test_a_head_that_copies_and_one_that_does_the_opposite():
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 2)))[0]
    circuits = [HeadCircuit(basis.T, basis.T, sign * basis.T, basis) for sign in (1, -1)]
    found = circuit_figures(circuits)
    np.testing.assert_allclose(found["ov_positive"], [1, -1])
    np.testing.assert_allclose(found["qk_positive"], [1, 1])
    np.testing.assert_allclose(found["ov_effective_rank"], [2, 2])


def test_composition_is_that_of_the_whole_matrices(rng):
    circuits = [circuit(rng) for _ in range(4)]
    layers = np.array([0, 0, 1, 2])
    found = composition_scores(circuits, layers)
    norm = np.linalg.norm
    for later in range(4):
        for earlier in range(4):
            M, N = (
                circuits[later].query.T @ circuits[later].key,
                circuits[later].output @ circuits[later].value,
            )
            W = circuits[earlier].output @ circuits[earlier].value
            expected = {"query": M.T @ W, "key": M @ W, "value": N @ W}
            sizes = {"query": norm(M), "key": norm(M), "value": norm(N)}
            for kind, whole in expected.items():
                value = found[kind][later, earlier]
                if layers[earlier] < layers[later]:
                    np.testing.assert_allclose(value, norm(whole) / (sizes[kind] * norm(W)), rtol=1e-5)
                else:
                    assert np.isnan(value)


def test_what_is_not_known_is_empty(rng):
    one = circuit(rng)
    circuits = [
        one,
        HeadCircuit(None, None, one.value, one.output),
        HeadCircuit(None, None, None, one.output),
    ]
    found = composition_scores(circuits, np.array([0, 1, 2]))
    assert np.isnan(found["query"]).all()
    assert np.isfinite(found["value"][1, 0])
    assert np.isnan(found["value"][2]).all()
    assert np.isnan(circuit_figures(circuits)["qk_positive"]).tolist() == [False, True, True]


@given(st.integers(1, 4), st.integers(0, 10**6))
def test_spectra_of_products_do_not_need_the_product(n, seed):
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(6, n)), rng.normal(size=(n, 5))
    whole = np.linalg.svd(left @ right, compute_uv=False)[:n]
    np.testing.assert_allclose(product_spectrum(left, right), whole, rtol=1e-7, atol=1e-9)

import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import organize_run
from haarbor.analysis._valid_tokens import valid_tokens
from haarbor.paper import paper_results
from tests.paper.runs import KINDS, networks, paper_run, stored


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_those_of_the_library(kind, gathered):
    run, found = gathered(kind)
    content = "logits" if kind == "logits" else "probabilities"
    assert found.content == content
    tokens = valid_tokens(run.tensor(0, content), run.mask(0))
    mask = None if tokens.mask.all() else tokens.mask
    org = hb.organize(tokens.tensor, mask=mask, content=content)
    assert {axis: found.trees[axis] for axis in org.axes} == dict(org.trees)
    for axis in org.axes:
        np.testing.assert_array_equal(found.orders[axis], org.order(axis))
    np.testing.assert_allclose(found.head_affinity, org.affinities["head"], rtol=1e-6)
    np.testing.assert_array_equal(found.head_map.coordinates, org.embedding("head"))
    for place, head in enumerate(found.shown_heads):
        shown = np.where(tokens.mask, tokens.tensor[:, :, head], 0.0)
        np.testing.assert_array_equal(found.matrices[place], shown)
    X = tokens.filled(content)
    entropy = hb.head_entropy(X, org.trees)
    np.testing.assert_array_equal(found.head_entropies[0].raw, entropy.raw)
    expected = [int(np.argmax(entropy.raw)), int(np.argmin(entropy.raw))][: min(2, run.n_heads)]
    assert list(found.expanded_heads) == expected
    np.testing.assert_allclose(np.abs(found.head_coefficients).sum(axis=1), entropy.raw[expected], rtol=1e-5)
    for batch, values in enumerate(found.network_coefficients):
        assert np.abs(values).sum() == pytest.approx(found.network_entropies[batch].raw, rel=1e-5)
    assert found.controls["0"].organised == pytest.approx(hb.haar_l1(X, org.trees), rel=1e-6)


def test_batches_are_those_of_the_run_and_no_more(gathered):
    _, found = gathered("open")
    assert len(found.head_entropies) == 7
    assert len(found.network_coefficients) == 5
    _, single = gathered("one batch")
    assert len(single.network_coefficients) == 1
    assert single.summary()["mean_kendall_tau"] is None


def test_padding_is_cut_from_every_batch(gathered):
    run, found = gathered("padded")
    later = paper_results(run, batch=2, control_seeds=0)
    assert found.mask.shape == (16, 16)
    assert later.mask.shape == (9, 9)
    np.testing.assert_array_equal(later.head_entropies[2].raw, found.head_entropies[2].raw)
    assert later.controls == {}


def test_logits_of_a_shown_head_are_kept_where_the_run_has_them(gathered):
    _, found = gathered("causal")
    (example,) = found.softmax_examples
    assert example.head == found.shown_heads[0]
    logits = networks(1, 16, 2, 3, "logits")[0][:, :, example.head]
    np.testing.assert_allclose(example.logits, np.where(np.tri(16, dtype=bool), logits, 0), rtol=1e-6)
    expected = hb.organize(
        logits.astype(np.float32), n_iterations=10, alpha=1.0, beta=0.0, mask=np.tri(16, dtype=bool),
        content="logits",
    )  # fmt: skip
    assert dict(example.trees) == dict(expected.trees)
    assert gathered("open")[1].softmax_examples == ()


def test_numbers_that_half_precision_holds_are_kept_so(tmp_path):
    halves = [tensor.astype(np.float16).astype(np.float32) for tensor in networks(1, 10, 1, 3)]
    run = stored(tmp_path / "run.zarr", {"probabilities": halves}, 3, mask="causal")
    assert paper_results(run, control_seeds=0).matrices.dtype == np.float16


def test_heads_and_batch_can_be_chosen(gathered):
    run, _ = gathered("causal")
    found = paper_results(run, heads=["1.2", 0], batch=1, content="logits", control_seeds=0, name="mine")
    assert found.shown_heads == (5, 0)
    assert [found.head_names[head] for head in found.shown_heads] == ["1.2", "0.0"]
    assert (found.batch, found.content, found.name) == (1, "logits", "mine")
    np.testing.assert_array_equal(
        found.matrices[0][np.tri(16, dtype=bool)],
        np.asarray(run.tensor(1, "logits"))[:, :, 5][np.tri(16, dtype=bool)],
    )


def test_controls_are_made_on_as_many_batches_as_asked(gathered):
    run, _ = gathered("causal")
    found = paper_results(run, control_seeds=1, control_batches=9, batch=1)
    assert list(found.controls) == ["1", "0"]


def test_what_a_run_was_organised_with_is_kept(tmp_path):
    run = paper_run("causal", tmp_path / "run.zarr")
    organize_run(run, options={"n_iterations": 1, "refine": "published"})
    found = paper_results(run, control_seeds=0)
    assert (found.settings.n_iterations, found.settings.refine) == (1, "published")
    other = paper_results(run, control_seeds=0, options={"n_iterations": 2})
    assert other.settings.n_iterations == 2


def test_progress_names_the_work(tmp_path):
    told = []
    paper_results(
        paper_run("causal", tmp_path / "run.zarr"),
        control_seeds=2,
        on_progress=lambda *step: told.append(step),
    )
    assert told == [
        ("organising", 1, 2), ("organising", 2, 2), ("expanding", 1, 2), ("expanding", 2, 2),
        ("controls", 1, 2), ("controls", 2, 2),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def unorganised(tmp_path_factory):
    """A run that the tests only read."""
    return paper_run("logits", tmp_path_factory.mktemp("run") / "run.zarr")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"content": "scores"}, "content must be one that the run holds, logits; found 'scores'"),
        ({"content": "probabilities"}, "content must be one that the run holds"),
        ({"stream": "cross"}, "stream must be one of"),
        ({"batch": 2}, "batch must be a complete one, 0, 1; found 2"),
        ({"heads": ["2.0"]}, "heads must be written layer.head, from 0.0 to 1.2; found '2.0'"),
        ({"heads": [6]}, "found 6"),
        ({"heads": []}, "heads must be different ones, at least one"),
        ({"heads": ["0.1", 1]}, "heads must be different ones"),
        ({"heads": [True]}, "heads must be written layer.head, .*; found True"),
        ({"heads": [None]}, "found None"),
        ({"heads": [0.0]}, "found 0.0"),
        ({"heads": "0.1"}, "heads must be a list of heads; found '0.1'"),
        ({"heads": 3}, "heads must be a list of heads; found 3"),
        ({"name": " "}, "name must be a text with letters; found ' '"),
        ({"name": 3}, "name must be a text with letters; found 3"),
        ({"control_seeds": -1}, "control_seeds must be a whole number from 0; found -1"),
        ({"control_seeds": None}, "control_seeds must be a whole number from 0; found None"),
        ({"control_batches": 0.5}, "control_batches must be a whole number from 1; found 0.5"),
        ({"content": 3}, "content must be one that the run holds, logits; found 3"),
        ({"stream": 3}, "stream must be one of self; found 3"),
        ({"batch": "0"}, "batch must be a complete one, 0, 1; found '0'"),
        ({"batch": False}, "batch must be a complete one, 0, 1; found False"),
        ({"options": 3}, "options must be a mapping"),
        ({"on_progress": 3}, "on_progress must be a function"),
    ],
)
def test_what_is_not_there_is_refused_before_any_work(options, message, unorganised):
    run = unorganised
    with pytest.raises(hb.SettingError, match=message):
        paper_results(run, **options)
    assert run.results() == ()


@pytest.mark.parametrize("run", [None, "run.zarr", 3])
def test_what_is_no_run_is_refused(run):
    with pytest.raises(hb.SettingError, match=r"run must be a Run; found .* Open it with haarbor\.open_run"):
        paper_results(run)


def test_a_run_keeps_the_numbers_of_functions_it_was_organised_with(tmp_path):
    run = paper_run("open", tmp_path / "run.zarr")
    organize_run(run, k=7, network_k=9, options={"n_iterations": 1})
    found = paper_results(run, control_seeds=0)
    assert found.head_entropies[0].k == 7
    assert found.network_entropies[0].k == 9
    assert found.settings.n_iterations == 1

"""Results that were spoilt on disk are made again, and that is said."""

import shutil
import warnings

import numpy as np
import pytest

from haarbor.analysis import head_scores, organize_run, run_invariance, run_regularity
from haarbor.errors import ResultWarning, StoreError
from haarbor.paper import paper_results
from haarbor.store import open_run
from tests.analysis.damage import EVERY, OF_ANY, OF_ARRAYS, result_folder
from tests.analysis.logit_runs import logit_run
from tests.analysis.network_runs import stored

OF_A_BATCH = ("organization", "head-entropy", "network-entropy")


@pytest.fixture(scope="module")
def organised(tmp_path_factory):
    run = stored(tmp_path_factory.mktemp("organised") / "run", n_batches=2)
    return run, organize_run(run)


@pytest.fixture
def copy(organised, tmp_path):
    return shutil.copytree(organised[0].location, tmp_path / "run")


def assert_as_before(found, organised):
    _, before = organised
    for one, other in zip(found.head_entropies, before.head_entropies, strict=True):
        np.testing.assert_array_equal(one.raw, other.raw)
    assert [entropy.raw for entropy in found.network_entropies] == [
        entropy.raw for entropy in before.network_entropies
    ]
    np.testing.assert_array_equal(found.stability.kendall_tau, before.stability.kendall_tau)
    np.testing.assert_array_equal(found.consensus.distances, before.consensus.distances)


CASES = [
    *[(name, how) for name in OF_A_BATCH for how in ("description garbled", "deleted")],
    *[("organization", how) for how in EVERY],
    ("head-entropy", "array flipped"),
    ("asked", "description garbled"),
    ("asked", "description cut"),
]


@pytest.mark.parametrize(("name", "how"), dict.fromkeys(CASES))
def test_a_damaged_batch_is_organised_again(name, how, organised, copy):
    EVERY[how](result_folder(copy, name, batch=1))
    run = open_run(copy)
    with pytest.warns(ResultWarning, match=f"damaged.*made again.*{name} of batch 1") as told:
        found = organize_run(run)
    assert len(told) == 1
    assert found.remade == (f"{name} of batch 1",)
    assert (found.n_remade, found.n_reused) == (1, 1)
    assert_as_before(found, organised)
    again = organize_run(open_run(copy))
    assert (again.n_remade, again.n_reused) == (0, 2)


@pytest.mark.parametrize("how", [*OF_ANY, *OF_ARRAYS])
@pytest.mark.parametrize("name", ["consensus", "ranking-stability"])
def test_damaged_results_of_all_batches_are_made_again(name, how, organised, copy):
    EVERY[how](result_folder(copy, name))
    with pytest.warns(ResultWarning, match=f"{name} of all batches"):
        found = organize_run(open_run(copy))
    assert (found.remade, found.n_reused) == ((f"{name} of all batches",), 2)
    assert_as_before(found, organised)
    assert organize_run(open_run(copy)).n_remade == 0


def test_many_are_told_in_one_line(copy):
    for batch in range(2):
        for name in OF_A_BATCH:
            shutil.rmtree(result_folder(copy, name, batch=batch))
    with pytest.warns(ResultWarning) as told:
        found = organize_run(open_run(copy))
    assert found.n_remade == 6
    (warning,) = told
    assert str(warning.message) == (
        "results kept in a run must be whole; found damaged, and made again: organization of batch 0, "
        "head-entropy of batch 0, network-entropy of batch 0, organization of batch 1, "
        "head-entropy of batch 1, and 1 more. Check the disk."
    )


def test_foreign_files_are_no_damage(copy):
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    run = open_run(copy)
    found = organize_run(run)
    assert (found.n_reused, found.n_remade) == (2, 0)
    assert all(run.has_result(name, batch=1) for name in OF_A_BATCH)
    assert {(name.batch, name.name) for name in run.results()} >= {(1, "organization"), (None, "consensus")}


def test_a_result_of_another_kind_under_our_name_is_made_again(copy, organised):
    open_run(copy).save_result({"not": "an organisation"}, "organization", batch=1)
    with pytest.warns(ResultWarning, match="organization of batch 1"):
        assert_as_before(organize_run(open_run(copy)), organised)


def test_an_unfinished_or_older_batch_is_not_called_damaged(copy):
    run = open_run(copy)
    run.delete_result("asked", batch=0)
    run.delete_result("consensus")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = organize_run(run)
    assert (found.n_reused, found.n_remade) == (1, 0)


def test_figures_have_the_damaged_made_again(copy, organised):
    run = open_run(copy)
    before = paper_results(run, control_seeds=0)
    EVERY["array flipped"](result_folder(copy, "organization", batch=1))
    EVERY["description cut"](result_folder(copy, "asked", batch=0))
    with pytest.warns(ResultWarning, match="asked of batch 0, organization of batch 1"):
        again = paper_results(open_run(copy), control_seeds=0)
    np.testing.assert_array_equal(again.scores, before.scores)


def test_what_was_asked_is_known_from_the_answers_where_the_note_is_damaged(copy):
    run = open_run(copy)
    organize_run(run, options={"n_iterations": 1, "alpha": 0.5}, k=7, network_k=9)
    for batch in range(2):
        EVERY["description cut"](result_folder(copy, "asked", batch=batch))
    with pytest.warns(ResultWarning, match="asked of batch 0, asked of batch 1"):
        found = paper_results(open_run(copy), control_seeds=0)
    assert (found.settings.n_iterations, found.settings.alpha["key"]) == (1, 0.5)
    assert (found.head_entropies[0].k, found.network_entropies[0].k) == (7, 9)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    run = logit_run(tmp_path_factory.mktemp("measured") / "run")
    return (
        run,
        run_invariance(run, settings="paper", seed=3)[0],
        run_regularity(run, settings="paper", seed=3),
    )


@pytest.mark.parametrize("how", EVERY)
@pytest.mark.parametrize(
    "name",
    [
        "head-trees",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("softmax-invariance", "holder-exponents")),
    ],
)
def test_damaged_results_of_single_heads_are_made_again(name, how, measured, tmp_path):
    run, invariance, regularity = measured
    copy = shutil.copytree(run.location, tmp_path / "run")
    EVERY[how](result_folder(copy, name, batch=0, content="logits"))
    asked = {"settings": "paper", "seed": 3}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found, _ = run_invariance(open_run(copy), **asked)
        exponents = run_regularity(open_run(copy), **asked)
    lines = [str(warning.message) for warning in told]
    if how == "deleted":
        assert lines == []
    else:
        (line,) = lines
        assert f"found damaged, and made again: {name} of batch 0" in line
    np.testing.assert_array_equal(found.figures["exact"], invariance.figures["exact"])
    np.testing.assert_array_equal(exponents.organised, regularity.organised)
    kept = open_run(copy).load_result(name, batch=0, content="logits")
    assert kept.settings == "paper"


def test_scores_of_damaged_results_are_refused_and_optional_ones_left_out(measured, copy, tmp_path):
    EVERY["array flipped"](result_folder(copy, "head-entropy", batch=1))
    with pytest.raises(StoreError, match=r"head-entropy.*Make it again"):
        head_scores(open_run(copy))
    logits = shutil.copytree(measured[0].location, tmp_path / "logits")
    organize_run(open_run(logits))
    EVERY["array flipped"](result_folder(logits, "softmax-invariance", batch=0, content="logits"))
    with pytest.warns(ResultWarning, match=r"softmax-invariance of batch 0.*left out.*haarbor invariance"):
        found = head_scores(open_run(logits))
    names = {score.name for score in found}
    assert "holder-exponent" in names
    assert "softmax-invariance" not in names

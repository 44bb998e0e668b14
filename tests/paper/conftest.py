"""Runs of every kind with their results, made once for all tests."""

import pytest

pytest.importorskip("matplotlib")

from haarbor.paper import paper_results
from tests.paper.runs import paper_run


@pytest.fixture(scope="session")
def gathered(tmp_path_factory):
    """Run and results of a kind, made when it is first asked for; tests must not organise it otherwise."""
    made = {}

    def of(kind):
        if kind not in made:
            run = paper_run(kind, tmp_path_factory.mktemp("run") / "run.zarr")
            made[kind] = run, paper_results(run, control_seeds=2)
        return made[kind]

    return of


@pytest.fixture(scope="session")
def results_of(gathered):
    """Results of a kind of run."""
    return lambda kind: gathered(kind)[1]

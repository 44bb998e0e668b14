"""What the page holds of a run."""

import json

import numpy as np
import pytest

from haarbor.errors import DataError
from haarbor.report import report_html
from haarbor.store import import_arrays
from tests.report.reading import blob, matrix, page_data
from tests.report.runs import network_tensors, text_run


def test_the_page_holds_the_scores_and_geometry_of_the_run(text, page):
    found = page_data(page)["runs"][0]
    scores = {score["name"]: score for score in found["scores"]}
    entropies = [text.load_result("head-entropy", batch=batch).raw for batch in text.batches]
    np.testing.assert_allclose(scores["entropy"]["values"], np.mean(entropies, axis=0), rtol=1e-5)
    np.testing.assert_allclose(scores["entropy"]["by_batch"], entropies, rtol=1e-5)
    assert all(score["meaning"] and score["high"] and score["low"] for score in found["scores"])
    consensus = text.load_result("consensus")
    np.testing.assert_array_equal(found["geometry"]["levels"], consensus.tree.levels)
    assert sorted(found["geometry"]["order"]) == list(range(12))
    distances = np.frombuffer(blob(page, "run-0-geometry-distances"), dtype="<f4").reshape(12, 12)
    np.testing.assert_allclose(distances, consensus.distances / 3, rtol=1e-6)
    affinity = matrix(blob(page, "run-0-geometry-affinity"), 12, 12, 1)
    np.testing.assert_allclose(affinity, consensus.affinity, atol=1 / 255)
    for head, nearest in enumerate(found["geometry"]["nearest"]):
        apart = np.where(np.arange(12) == head, np.inf, consensus.distances[head])
        assert nearest[0] == np.argmin(apart)
        assert head not in nearest
        assert found["geometry"]["nearest_distances"][head] == sorted(
            found["geometry"]["nearest_distances"][head]
        )


def test_parts_that_are_absent_are_not_mentioned(text, page, tmp_path):
    found = page_data(page)["runs"][0]
    assert sorted(found["sections"]) == ["network-entropy", "stability"]
    one = text_run(tmp_path / "one.zarr", n_batches=1, n_tokens=12)
    found = page_data(report_html(one))["runs"][0]
    assert sorted(found["sections"]) == ["network-entropy"]
    assert not [score for score in found["scores"] if score["name"].startswith("batches")]
    assert "batches are" not in json.dumps(found["overview"])


def test_two_runs_and_several_batches_are_kept_apart(text, pictures):
    page = report_html([text, pictures], n_batches=2)
    first, second = page_data(page)["runs"]
    assert (first["model"], second["model"]) == ("made up", "sees")
    assert [shown["batch"] for shown in first["shown"]] == [0, 1]
    assert blob(page, "run-0-batch-1-head-3") != blob(page, "run-0-batch-0-head-3")
    assert blob(page, "run-1-batch-1-picture") == pictures.picture(1).tobytes()


def test_runs_that_are_not_organised_are_refused(tmp_path):
    run = import_arrays(
        network_tensors(1, 8, 1, 2), tmp_path / "new.zarr", axes=("batch", "query", "key", "head")
    )
    with pytest.raises(DataError, match=r"must be organised before it is reported.*haarbor organize"):
        report_html(run)

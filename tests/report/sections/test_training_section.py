import numpy as np

import haarbor as hb
from haarbor.diagnostics import TYPES
from haarbor.report.sections._training_section import training_section
from tests.compare.networks import attention, written


def test_it_holds_what_was_followed(tmp_path):
    runs = [
        written(tmp_path / str(seed), [attention(0, seed=seed)], words="w", model=f"step {seed}")
        for seed in range(2)
    ]
    film = hb.training_film(runs)
    found = training_section(runs[-1].part())
    assert found["names"] == ["step 0", "step 1"]
    assert found["verdict"] == list(film.verdict())
    np.testing.assert_array_equal(found["layers"]["entropies"], film.by_layer("entropies"))
    np.testing.assert_array_equal(found["network"]["sink_rates"], film.sink_rates)
    assert found["residuals"] is None
    counts = film.type_counts()
    assert [one["name"] for one in found["types"]] == list(counts)
    assert [list(TYPES)[one["place"]] for one in found["types"]] == list(counts)
    np.testing.assert_array_equal(found["types"][0]["counts"], next(iter(counts.values())))
    assert training_section(runs[0].part()) is None

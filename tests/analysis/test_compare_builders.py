import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import compare_builders, held_out_coherence, organize_run


@pytest.fixture
def run(tmp_path):
    for batch in range(2):
        np.save(tmp_path / f"{batch}.npy", hb.datasets.synthetic_attention(12, 2, 3, batch=batch))
    files = [tmp_path / f"{batch}.npy" for batch in range(2)]
    return hb.import_arrays(files, tmp_path / "run.zarr", heads_per_layer=3)


@pytest.mark.slow
def test_builders_are_compared(run):
    organize_run(run)
    organize_run(run, options={"tree": "haar"})
    table = compare_builders(run)
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert list(rows) == ["flexible", "haar"]
    tensors = [np.asarray(run.tensor(batch)) for batch in range(2)]
    found = held_out_coherence(tensors, "haar")
    assert rows["haar"]["held-out heads"] == pytest.approx(found.mean_heads)
    assert rows["haar"]["next batch"] == pytest.approx(found.mean_batches)
    assert rows["haar"]["coherence in sample"] == pytest.approx(found.in_sample.mean())
    assert rows["haar"]["key depth"] == pytest.approx(found.depth["key"].mean())
    assert rows["flexible"]["batches"] == 2
    quick = compare_builders(run, held_out=False)
    assert quick.columns == table.columns[:7]
    assert [row[:7] for row in table.rows] == list(quick.rows)


def test_a_run_that_was_not_organised_cannot_be_compared(run):
    with pytest.raises(hb.DataError, match="builders can be compared where a batch was organised"):
        compare_builders(run)


def test_wrong_arguments_are_refused(run):
    with pytest.raises(hb.SettingError, match="held_out must be"):
        compare_builders(run, held_out="yes")

import numpy as np
import pytest

from haarbor.errors import SettingError
from haarbor.plots.interactive import over_batches_figure


def test_lines_are_the_head_and_the_quantiles_of_all_heads(text):
    figure = over_batches_figure(text, "1.2")
    table = np.stack([text.load_result("head-entropy", batch=b).raw for b in range(3)])
    np.testing.assert_array_equal(figure.data[3].y, table[:, 6])
    for trace, share in zip(figure.data[:3], (0.9, 0.1, 0.5), strict=True):
        np.testing.assert_allclose(trace.y, np.quantile(table, share, axis=1))


def test_a_score_that_no_single_batch_has_is_refused(text):
    with pytest.raises(SettingError, match="every batch holds"):
        over_batches_figure(text, 0, "batches-in-top")

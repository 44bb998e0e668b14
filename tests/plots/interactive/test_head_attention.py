import numpy as np

from haarbor.plots.interactive import attention_figure
from tests.report.runs import HOSTILE, text_run


def test_attention_is_shown_in_both_orders_without_masked_entries(text):
    figure = attention_figure(text, "1.2", batch=2)
    X, mask = np.asarray(text.tensor(2))[:, :, 6], text.mask(2)
    org = text.load_result("organization", batch=2)
    rows, columns = org.order("query"), org.order("key")
    np.testing.assert_array_equal(figure.data[0].customdata, np.where(mask, X, np.nan))
    np.testing.assert_array_equal(figure.data[1].customdata, np.where(mask, X, np.nan)[np.ix_(rows, columns)])
    assert figure.data[1].x[0] == f"{columns[0]} tok{columns[0]}"


def test_labels_have_no_tags_for_plotly(tmp_path):
    labels = [f"{HOSTILE}{i}" for i in range(8)]
    run = text_run(tmp_path / "evil.zarr", n_tokens=8, n_layers=1, heads=2, n_batches=1, labels=labels)
    for trace in attention_figure(run, 0).data:
        for name in (*trace.x, *trace.y):
            assert "<" not in name
            assert "&lt;/script&gt;&lt;img src=x" in name


def test_labels_that_cannot_be_encoded_are_written_out(tmp_path):
    labels = [f"half \ud800 \x1b {i}" for i in range(8)]
    run = text_run(tmp_path / "odd.zarr", n_tokens=8, n_layers=1, heads=2, n_batches=1, labels=labels)
    figure = attention_figure(run, 0)
    assert figure.data[0].x[3] == r"3 half \ud800 \x1b 3"
    figure.to_html().encode("utf-8")

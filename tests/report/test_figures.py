import re

import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import head_scores
from haarbor.errors import DataError, SettingError
from haarbor.plots import interactive as figures
from tests.report.runs import HOSTILE, text_run


def test_the_head_map_holds_the_score_layer_by_layer(text):
    figure = figures.head_map_figure(text, "fine-share")
    scores = {score.name: score for score in head_scores(text)}
    np.testing.assert_array_equal(figure.data[0].z, scores["fine-share"].values.reshape(3, 4))
    assert figure.layout.title.text == "Share of fine scales"
    with pytest.raises(
        SettingError, match=r"score must be one that the run holds, entropy, .*found 'beauty'"
    ):
        figures.head_map_figure(text, "beauty")


@pytest.mark.parametrize("dimensions", [2, 3])
def test_points_of_the_map_are_the_diffusion_coordinates(text, dimensions):
    trace = figures.diffusion_map_figure(text, dimensions).data[0]
    expected = hb.diffusion_map(text.load_result("consensus").affinity).coordinates
    for name, column in zip("xyz"[:dimensions], expected.T, strict=False):
        np.testing.assert_array_equal(getattr(trace, name), column)
    assert list(trace.text) == [f"{layer}.{head}" for layer in range(3) for head in range(4)]


def test_the_affinity_stands_in_tree_order(text):
    org = text.load_result("organization", batch=1)
    trace = figures.affinity_figure(org, heads_per_layer=4).data[0]
    order = org.order("head")
    np.testing.assert_array_equal(trace.z, org.affinities["head"][np.ix_(order, order)])
    assert list(trace.x) == [f"{h // 4}.{h % 4}" for h in order]
    assert list(figures.affinity_figure(org).data[0].x) == [str(h) for h in order]


def test_the_icicle_is_the_tree(text):
    trace = figures.head_tree_figure(text).data[0]
    tree = text.load_result("consensus").tree
    size, parent, label = (
        dict(zip(trace.ids, column, strict=True)) for column in (trace["values"], trace.parents, trace.labels)
    )
    leaves = [name for name in trace.ids if size[name] == 1]
    assert sorted(label[name] for name in leaves) == sorted(f"{h // 4}.{h % 4}" for h in range(12))

    order = figures.affinity_figure(text).data[0].x
    assert [label[name] for name in leaves] == list(order)
    assert (trace.sort, trace.branchvalues, trace.maxdepth) == (False, "total", None)

    def heads_below(name):
        if size[name] == 1:
            return {label[name]}
        return set().union(*(heads_below(child) for child in trace.ids if parent[child] == name))

    folders = {frozenset(f"{h // 4}.{h % 4}" for h in folder) for level in tree for folder in level}
    assert {frozenset(heads_below(name)) for name in trace.ids} == folders


def test_attention_is_shown_in_both_orders_without_masked_entries(text):
    figure = figures.attention_figure(text, "1.2", batch=2)
    X, mask = np.asarray(text.tensor(2))[:, :, 6], text.mask(2)
    org = text.load_result("organization", batch=2)
    rows, columns = org.order("query"), org.order("key")
    np.testing.assert_array_equal(figure.data[0].customdata, np.where(mask, X, np.nan))
    np.testing.assert_array_equal(figure.data[1].customdata, np.where(mask, X, np.nan)[np.ix_(rows, columns)])
    assert figure.data[1].x[0] == f"{columns[0]} tok{columns[0]}"


def test_scales_and_batches_of_a_head(text):
    scales = figures.haar_scales_figure(text, 6).data[0]
    org, X = text.load_result("organization", batch=0), np.asarray(text.tensor(0))
    coefficients = np.abs(
        hb.haar_transform(
            X[:, :, 6], {"query": org.trees["query"], "key": org.trees["key"]}, axes=("query", "key")
        )
    )
    assert np.sum(scales.customdata) == pytest.approx(coefficients.sum(), rel=1e-5)
    assert scales.customdata[0][0] == pytest.approx(coefficients[0, 0], rel=1e-5)
    batches = figures.over_batches_figure(text, "1.2")
    expected = [text.load_result("head-entropy", batch=b).raw[6] for b in range(3)]
    np.testing.assert_array_equal(batches.data[3].y, expected)


def test_labels_have_no_tags_for_plotly(tmp_path):
    labels = [f"{HOSTILE}{i}" for i in range(8)]
    run = text_run(tmp_path / "evil.zarr", n_tokens=8, n_layers=1, heads=2, n_batches=1, labels=labels)
    for trace in figures.attention_figure(run, 0).data:
        for name in (*trace.x, *trace.y):
            assert "<" not in name
            assert "&lt;/script&gt;&lt;img src=x" in name


def test_what_is_not_there_is_refused(text):
    org = text.load_result("organization", batch=0)
    for head in ("9.9", 12, -1, True, "x"):
        with pytest.raises(SettingError, match=r"head must be written layer.head, from 0.0 to 2.3"):
            figures.attention_figure(text, head)
    with pytest.raises(SettingError, match="dimensions must be 2 or 3"):
        figures.diffusion_map_figure(text, 4)
    with pytest.raises(SettingError, match="heads_per_layer must divide the 12 heads; found 5"):
        figures.affinity_figure(org, heads_per_layer=5)
    with pytest.raises(SettingError, match="every batch holds"):
        figures.over_batches_figure(text, 0, "batches-in-top")
    small = hb.organize(hb.datasets.synthetic_attention(n_tokens=8, n_layers=1, heads_per_layer=3))
    with pytest.raises(DataError, match="a map in 3 dimensions needs 4 heads; found 3"):
        figures.diffusion_map_figure(small, 3)


ASKED = [
    (figures.affinity_figure, {}, ("source", "heads_per_layer")),
    (figures.attention_figure, {"head": 0}, ("run", "head", "batch")),
    (figures.diffusion_map_figure, {}, ("source", "dimensions", "heads_per_layer")),
    (figures.haar_scales_figure, {"head": 0}, ("run", "head", "batch")),
    (figures.head_map_figure, {}, ("run", "score", "batch")),
    (figures.head_tree_figure, {}, ("source", "heads_per_layer")),
    (figures.over_batches_figure, {"head": 0}, ("run", "head", "score")),
]


@pytest.mark.parametrize(
    ("draw", "options", "name"),
    [(draw, options, name) for draw, options, names in ASKED for name in names],
    ids=lambda case: case if isinstance(case, str) else getattr(case, "__name__", ""),
)
def test_an_argument_of_the_wrong_kind_is_one_line_that_says_what_to_do(draw, options, name, text):
    given = {("source" if "source" in draw.__annotations__ else "run"): text, **options}
    for value in (None, 1.5, object(), [None], {}):
        if value is None and name in ("batch", "heads_per_layer"):
            continue
        with pytest.raises(SettingError) as caught:
            draw(**{**given, name: value})
        assert re.fullmatch(r"[^\n]+ must [^\n]+; found [^\n]+\. [A-Z][^\n]+\.", str(caught.value))


def test_labels_that_cannot_be_encoded_are_written_out(tmp_path):
    labels = [f"half \ud800 \x1b {i}" for i in range(8)]
    run = text_run(tmp_path / "odd.zarr", n_tokens=8, n_layers=1, heads=2, n_batches=1, labels=labels)
    figure = figures.attention_figure(run, 0)
    assert figure.data[0].x[3] == r"3 half \ud800 \x1b 3"
    figure.to_html().encode("utf-8")

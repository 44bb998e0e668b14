"""Arguments of the wrong kind are one line: what must hold, what was found, what to do."""

import re

import numpy as np
import pytest

import haarbor as hb
from haarbor import paper, plots

TREE = hb.PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])
X = np.random.default_rng(3).random((5, 5, 3))
ORG = hb.organize(X, n_iterations=1)
TWO = hb.organize(X[:, :, 0], n_iterations=1)
ENTROPY = hb.head_entropy(X, ORG.trees)
FIGURE = plots.tree_figure(TREE)
WRONG = [
    (plots.affinity_figure, {"organization": ORG}, ("organization", "axis", "labels", "title")),
    (plots.coefficients_figure, {"X": X, "trees": ORG.trees}, ("trees", "title")),
    (
        plots.diffusion_map_figure,
        {"organization": ORG},
        ("organization", "axis", "dimensions", "time", "labels", "n_outliers", "title"),
    ),
    (plots.entropy_figure, {"entropies": ENTROPY}, ("entropies", "measure", "title")),
    (plots.haar_basis_figure, {"tree": TREE}, ("tree", "scale", "labels", "title")),
    (
        plots.organized_matrix_figure,
        {"X": X, "organization": ORG},
        ("organization", "query_labels", "key_labels", "quantiles", "border_level", "title"),
    ),
    (
        plots.paraproduct_figure,
        {"logits": X[:, :, 0], "row_tree": TWO.trees["query"], "column_tree": TWO.trees["key"]},
        ("row_order", "column_order", "title"),
    ),
    (plots.save_figure, {"figure": FIGURE, "path": "tree.svg"}, ("figure", "path")),
    (plots.tree_figure, {"tree": TREE}, ("tree", "labels", "width", "title")),
    (paper.write_paper_figures, {"results": [], "folder": "x"}, ("results",)),
]
CASES = [(draw, options, name) for draw, options, names in WRONG for name in names]
# None leaves these out.
OPTIONAL = {
    "labels",
    "title",
    "query_labels",
    "key_labels",
    "row_order",
    "column_order",
    "width",
    "border_level",
}


@pytest.mark.parametrize(
    ("draw", "options", "name"),
    CASES,
    ids=lambda case: case if isinstance(case, str) else getattr(case, "__name__", ""),
)
def test_an_argument_of_the_wrong_kind_is_refused(draw, options, name):
    for value in (None, object(), 1.5j, [None], {"a": object()}):
        if value is None and name in OPTIONAL:
            continue
        if isinstance(value, dict) and name in ("border_level", "trees"):
            continue
        with pytest.raises(hb.HaarborError) as caught:
            draw(**{**options, name: value})
        assert re.fullmatch(
            r"[^\n]+ must [^\n]+; (found|missing) [^\n]+\. [A-Z][^\n]+\.", str(caught.value)
        ), caught.value


def test_no_results_and_no_list_of_results_are_told_apart(tmp_path):
    with pytest.raises(hb.SettingError, match=r"results must be a list of PaperResults; found 'x'"):
        paper.write_paper_figures("x", tmp_path)
    with pytest.raises(hb.SettingError, match="at least one network; found none"):
        paper.write_paper_figures((), tmp_path)

"""Arguments of the wrong kind are one line: what must hold, what was found, what to do."""

import re

import pytest

from haarbor.errors import SettingError
from haarbor.plots import interactive as figures

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

from pathlib import Path

import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import organize_run
from haarbor.notebook import facts_html, matrix_picture
from haarbor.store import import_arrays
from tests.analysis.damage import EVERY, result_folder
from tests.notebook.builders import HOSTILE, pixels_of


def test_texts_that_no_page_can_hold_or_a_terminal_would_obey_are_written_out(tmp_path):
    odd = "half \ud800 \x1b[2J\u202e"
    shown = r"half \ud800 \x1b[2J\u202e"
    html = facts_html(odd, {odd: odd}, [(odd, matrix_picture([[1.0]], odd))])
    assert html.count(shown) == 5
    html.encode("utf-8")
    name = "odd \x1b[2J\u202e"
    run = import_arrays(np.ones((4, 4, 2)), tmp_path / "run.zarr", axes=("query", "key", "head"), model=name)
    assert r"odd \x1b[2J\u202e" in run._repr_html_()
    assert repr(run).startswith(r"Run(odd \x1b[2J\u202e: ")


@pytest.fixture
def run(tmp_path):
    X = np.stack([hb.datasets.synthetic_network(12, 2, 3, batch=b).tensor for b in range(2)])
    return import_arrays(
        X, tmp_path / "run.zarr", axes=("batch", "query", "key", "head"), heads_per_layer=3, model=HOSTILE
    )


def test_a_run_shows_its_facts_and_once_organised_its_heads(run):
    html = run._repr_html_()
    assert "not yet" in html
    assert "<img" not in html
    assert "2 layers x 3" in html
    organize_run(run)
    html = run._repr_html_()
    raw = run.load_result("head-entropy", batch=0).raw
    pixels = pixels_of(html)
    assert pixels.shape == (2, 3, 3)
    assert pixels.reshape(6, 3)[np.argmax(raw)].tolist() == [253, 231, 37]
    assert pixels.reshape(6, 3)[np.argmin(raw)].tolist() == [68, 1, 84]
    assert HOSTILE not in html
    EVERY["array flipped"](result_folder(Path(run.location), "head-entropy", batch=0))
    html = run._repr_html_()
    assert "damaged; haarbor organize makes it again" in html
    assert "<img" not in html


def test_an_organisation_shows_its_facts_and_an_affinity_an_axis():
    X = hb.datasets.synthetic_attention(n_tokens=12, n_layers=2, heads_per_layer=2)
    org = hb.organize(X)
    html = org._repr_html_()
    assert html.count("<img") == 3
    assert "12 query, 12 key, 4 head" in html
    order = org.order("query")
    affinity = org.affinities["query"][np.ix_(order, order)]
    bright = pixels_of(html)[np.unravel_index(np.argmax(affinity), affinity.shape)]
    assert bright.tolist() == [253, 231, 37]

"""Heads, and the batch, that the interactive figures are asked for."""

import numpy as np
import pytest

from haarbor.errors import DataError, SettingError
from haarbor.plots.interactive import affinity_figure, attention_figure
from haarbor.plots.interactive._heads import batch_index, head_index, heads_of
from haarbor.store import RunPlan, StreamPlan, create_run, open_run


def test_a_head_that_is_not_there_is_refused(text):
    for head in ("9.9", 12, -1, True, "x"):
        with pytest.raises(SettingError, match=r"head must be written layer.head, from 0.0 to 2.3"):
            attention_figure(text, head)


def test_a_head_is_found_by_its_name_and_by_its_number(text):
    assert head_index(text, "1.2") == head_index(text, np.int64(6)) == 6


def test_heads_that_do_not_fill_their_layers_are_refused(text):
    org = text.load_result("organization", batch=0)
    with pytest.raises(SettingError, match="heads_per_layer must divide the 12 heads; found 5"):
        affinity_figure(org, heads_per_layer=5)


def test_heads_of_an_organisation_have_layers_only_where_their_number_is_given(text):
    org = text.load_result("organization", batch=0)
    named, numbered = heads_of(org, 4), heads_of(org)
    assert (named.names[6], numbered.names[6]) == ("1.2", "6")
    assert named.layers.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert set(numbered.layers.tolist()) == {0}


def test_the_first_complete_batch_is_shown_where_none_is_asked_for(text, tmp_path):
    assert (batch_index(text, None), batch_index(text, 2)) == (0, 2)
    stream = StreamPlan(name="self", n_layers=1, n_heads=1, n_queries=2, n_keys=2)
    with create_run(tmp_path / "run", RunPlan(model="made up", streams=(stream,), n_batches=1)):
        pass
    with pytest.raises(DataError, match="at least one complete batch; it has none"):
        batch_index(open_run(tmp_path / "run"), None)

"""How many batches a page shows."""

import json

import pytest

from haarbor.report import report_html
from haarbor.report._packing import plain_numbers
from haarbor.report._shown_batches import shown_batches
from tests.report.reading import page_data

PLENTY = 10**9


def size_of(shown, place):
    """Letters that a batch takes in the page."""
    texts = [text for name, text in shown.texts.items() if name.startswith(f"batch-{place}-")]
    return len(json.dumps(plain_numbers(shown.data[place]))) + sum(map(len, texts))


def test_all_batches_are_shown_where_there_is_room(text, page):
    shown = shown_batches(text.part(), None, PLENTY)
    assert [batch["batch"] for batch in shown.data] == [0, 1, 2]
    assert [batch["quantisation"]["steps"] for batch in shown.data] == [255, 85, 85]
    assert len(page_data(page)["runs"][0]["shown"]) == 3


def test_batches_are_left_out_from_the_one_that_does_not_fit(text):
    everything = shown_batches(text.part(), None, PLENTY)
    first_two = size_of(everything, 0) + size_of(everything, 1)
    assert len(shown_batches(text.part(), None, first_two).data) == 2
    assert len(shown_batches(text.part(), None, first_two - 1).data) == 1


def test_the_first_batch_is_there_in_any_case_and_as_fine_as_there_is_room_for(text):
    fine = size_of(shown_batches(text.part(), 1, 0), 0)
    for room, steps in ((fine, 255), (fine - 1, 85), (1, 51)):
        [batch] = shown_batches(text.part(), None, room).data[:1]
        assert batch["quantisation"]["steps"] == steps


@pytest.mark.parametrize("n_batches", [1, 2, 3, 7])
def test_what_is_asked_for_is_shown_whatever_room_there_is(text, n_batches):
    shown = shown_batches(text.part(), n_batches, 1)
    assert [batch["quantisation"]["steps"] for batch in shown.data] == [255] * min(3, n_batches)


def test_a_page_stays_below_its_limit_while_more_than_one_batch_is_shown(text, monkeypatch):
    from haarbor.report import _page

    whole = len(report_html(text).encode())
    monkeypatch.setattr(_page, "MOST_BYTES", whole - 1)
    found = report_html(text)
    shown = page_data(found)["runs"][0]["shown"]
    assert 1 <= len(shown) < 3
    assert len(found.encode()) < whole


def test_batches_keep_their_own_names(text):
    shown = shown_batches(text.part(), 2, 0)
    heads = [sum(name.startswith(f"batch-{place}-head-") for name in shown.texts) for place in (0, 1)]
    assert heads == [12, 12]

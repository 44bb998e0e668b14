"""Every score is explained where it stands, and in the glossary; what is left out is said."""

import pytest

from haarbor.analysis import head_scores
from haarbor.report import write_report
from tests.browser.looking import state


def test_scores_of_a_head_are_grouped_with_bars_and_explained_by_pointer_and_keyboard(
    opened, text_page, text_runs
):
    page = opened(text_page)
    facts = page.locator("#explorer-card .fact")
    scores = head_scores(text_runs[0])
    assert facts.count() == len(scores)
    assert page.locator("#explorer-card .fact-group h4").all_inner_texts() == [
        "Broad pattern and detail", "Among the heads",
    ]  # fmt: skip
    card = page.locator(".tooltip")
    for reach in ("hover", "focus"):
        for score in (scores[0], scores[-1]):
            fact = page.locator(f'.fact[data-score="{score.name}"]')
            getattr(fact, reach)()
            assert card.is_visible()
            assert score.plain in card.inner_text()
            assert f"High: {score.high_means}." in card.inner_text()
        page.mouse.move(2, 2)
    page.keyboard.press("Escape")
    assert card.is_hidden()
    page.keyboard.press("Enter")
    assert state(page, "score") == scores[-1].name
    head = state(page, "chosen")
    for score in scores:
        values = score.values
        share = (values[head] - values.min()) / (values.max() - values.min() or 1)
        bar = page.locator(f'.fact[data-score="{score.name}"] .place')
        assert float(bar.evaluate("b => parseFloat(b.style.getPropertyValue('--share'))")) == pytest.approx(
            100 * share, abs=0.6
        )


def test_the_glossary_holds_every_score(opened, text_page, text_runs):
    page = opened(text_page)
    words = page.locator("#glossary-section").inner_text()
    for score in head_scores(text_runs[0]):
        for text in (score.label, score.plain, score.meaning, score.low_means):
            assert text in words


def test_legends_are_beside_their_charts_and_never_on_them(opened, two_page):
    page = opened(two_page, charts=True, width=390)
    for figure in ("#along-depth", "#counts", "#haar-scales"):
        assert page.locator(f"{figure} svg .legend").count() == 0
        legend = page.locator(f"{figure} .swatches").bounding_box()
        chart = page.locator(f"{figure} .chart").first.bounding_box()
        assert legend["y"] + legend["height"] <= chart["y"]


def test_the_page_says_which_batches_were_left_out(opened, text_page, text_runs, tmp_path):
    # This page was asked for two of three batches.
    page = opened(text_page)
    note = page.locator("#explorer-card .left-out")
    assert "Of 3 batches the matrices of 2 can be looked at here; one batch is left out" in note.inner_text()
    assert "haarbor report text.zarr --batches 3" in note.inner_text()
    write_report(text_runs[0], tmp_path / "all.html")
    page = opened(tmp_path / "all.html")
    assert page.locator(".left-out").count() == 0
    assert page.locator("#explorer-card").get_by_label("Batch").locator("option").count() == 3

"""Tables that leave the page."""

import csv
import io
import zipfile

import pytest

from haarbor.analysis import head_scores


def rows_of(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def downloaded(page, button):
    with page.expect_download() as waiting:
        button.click()
    return waiting.value


def test_a_table_is_downloaded_as_csv(opened, text_page, text_runs):
    page = opened(text_page)
    found = downloaded(page, page.locator("#head-map button.csv"))
    assert found.suggested_filename == "heads.csv"
    rows = rows_of(found.path().read_text(encoding="utf-8"))
    assert len(rows) == 13
    scores = {score.name: score for score in head_scores(text_runs[0])}
    assert set(scores) <= set(rows[0])
    for head, row in enumerate(rows[1:]):
        named = dict(zip(rows[0], row, strict=True))
        assert (int(named["layer"]), int(named["head"])) == divmod(head, 4)
        assert float(named["entropy"]) == pytest.approx(scores["entropy"].values[head], rel=1e-5)


def test_all_tables_come_in_one_archive(opened, text_page, text_runs):
    page = opened(text_page)
    found = downloaded(page, page.locator("#all-tables"))
    with zipfile.ZipFile(found.path()) as archive:
        assert archive.testzip() is None
        tables = {name: rows_of(archive.read(name).decode()) for name in archive.namelist()}
    assert set(tables) == {
        "heads.csv", "scores-by-batch.csv", "head-tree.csv", "head-distances.csv", "haar-scales.csv",
        "comparison.csv", "agreement.csv", "batch-trees.csv", "network-entropy.csv",
    }  # fmt: skip
    assert len(tables["scores-by-batch.csv"]) == 1 + 3 * 12
    assert [len(row) for row in tables["head-distances.csv"]] == [14] * 13
    consensus = text_runs[0].load_result("consensus")
    assert float(tables["head-distances.csv"][2][5]) == pytest.approx(consensus.distances[1, 3] / 3, rel=1e-5)
    assert [int(row[3]) for row in tables["head-tree.csv"][1:]] == consensus.tree.levels[1].tolist()
    for name in tables:
        assert page.locator(f'#tables button[data-table="{name.removesuffix(".csv")}"]').count() == 1


def test_texts_that_look_like_formulas_or_markup_stay_texts(opened, text_page):
    page = opened(text_page)
    text = page.evaluate("Haarbor.csv(['a', 'b'], [['=1+1', -1], ['say \"x\", y', '@me'], [null, 'a\\nb']])")
    assert text == 'a,b\r\n\'=1+1,-1\r\n"say ""x"", y",\'@me\r\n,"a\nb"\r\n'

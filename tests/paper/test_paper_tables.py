"""Tables 1 to 3 against values worked out by hand."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import CoherenceControls
from haarbor.paper import paper_tables

# Ten heads in two layers of five; a tenth is one head.
SCORES = np.array(
    [
        [9, 1, 2, 3, 4, 5, 6, 7, 8, 0],
        [9, 1, 2, 3, 4, 5, 6, 7, 8, 0],
        [1, 9, 2, 3, 4, 5, 6, 7, 8, 0],
        [9, 0, 2, 3, 4, 5, 6, 7, 8, 1],
    ],
    dtype=float,
)


def rows_of(table):
    return list(csv.DictReader(io.StringIO(table.csv_text())))


def with_scores(found, scores, name):
    """`found` with other entropies: `scores`, one row a batch, 12 heads."""
    scores = np.pad(scores, ((0, 0), (0, found.n_heads - scores.shape[1])), constant_values=4.5)
    entropies = tuple(replace(found.head_entropies[0], raw=row) for row in scores)
    networks = tuple(
        replace(found.network_entropies[0], raw=10.0 * i, normalised=float(i), mean_removed=0.5 * i)
        for i in range(len(scores))
    )
    return replace(
        found, head_entropies=entropies, network_entropies=networks, batches=tuple(range(len(scores))),
        name=name,
    )  # fmt: skip


@pytest.fixture(scope="module")
def one_run(results_of):
    return results_of("open")


@pytest.fixture
def four_batches(one_run):
    return with_scores(one_run, SCORES, "four")


def test_table_1_counts_the_heads_in_the_tenths_by_hand(four_batches):
    # Twelve heads: a tenth is two. Tops: {0, 8} three times, {1, 8} once; bottoms {9, 1}, {9, 1},
    # {9, 0}, {1, 9}.
    table = paper_tables([four_batches])[0]
    assert table.rows == (
        (1, "2.0", 4, "2.1", 4),
        (2, "0.0", 3, "0.1", 3),
        (3, "0.1", 1, "0.0", 1),
    )
    assert "The paper shows 6 batches; four has 4 batches." in table.caption


def test_ties_of_table_1_go_to_the_mean_entropy(one_run):
    # Each batch has its own two highest and two lowest heads: every count is one.
    scores = np.full((2, 12), 5.0)
    scores[0, [3, 4]], scores[1, [6, 7]] = (50, 20), (40, 30)
    scores[0, [8, 9]], scores[1, [10, 11]] = (1, -3), (0, -2)
    table = paper_tables([with_scores(one_run, scores, "tied")])[0]
    assert [row[1] for row in table.rows] == ["0.3", "1.2", "1.3"]
    assert [row[3] for row in table.rows] == ["2.1", "2.3", "2.2"]


def test_stability_by_hand(four_batches):
    (row,) = rows_of(paper_tables([four_batches])[1])
    assert (row["batches"], row["heads"], row["heads in a tenth"]) == ("4", "12", "2")
    assert (row["in the top of every batch"], row["in the bottom of every batch"]) == ("1", "1")
    # Of six pairs of tops three are the same and three share one of three heads.
    assert float(row["Jaccard of the tops, mean"]) == pytest.approx((3 * 1 + 3 / 3) / 6)
    assert float(row["Jaccard of the bottoms, mean"]) == pytest.approx((3 * 1 + 3 / 3) / 6)
    assert float(row["Jaccard by chance"]) == pytest.approx(2 / 22)
    expected = hb.ranking_stability(four_batches.scores)
    assert float(row["Kendall tau, mean"]) == pytest.approx(expected.mean_kendall_tau, rel=1e-9)
    assert float(row["Kendall tau, least"]) == pytest.approx(expected.kendall_tau.min(), rel=1e-9)


def test_stability_tells_of_six_batches_and_of_all_where_there_are_more(one_run):
    rows = rows_of(paper_tables([one_run])[1])
    assert [row["batches"] for row in rows] == ["6", "7"]


def test_table_2_puts_networks_side_by_side_and_leaves_missing_batches_empty(one_run, four_batches):
    other = with_scores(one_run, SCORES[:2], "two")
    table = paper_tables([four_batches, other])[2]
    rows = rows_of(table)
    assert [row["batch"] for row in rows] == ["1", "2", "3", "4", "mean"]
    assert [row["four H"] for row in rows] == ["0", "10", "20", "30", "15"]
    assert [row["four H/norm"] for row in rows] == ["0", "1", "2", "3", "1.5"]
    assert [row["two mean-removed"] for row in rows] == ["0", "0.5", "", "", "0.25"]
    assert "The paper shows 5 batches; four has 4 batches, two has 2 batches." in table.caption
    assert "All of it is of probabilities." in table.caption


def test_five_batches_are_shown_where_there_are_more(one_run):
    rows = rows_of(paper_tables([one_run])[2])
    assert [row["batch"] for row in rows] == ["1", "2", "3", "4", "5", "mean"]
    assert float(rows[-1]["open H"]) == pytest.approx(
        np.mean([entropy.raw for entropy in one_run.network_entropies[:5]])
    )


def test_networks_of_different_content_are_said_not_to_be_comparable(four_batches):
    table = paper_tables([four_batches, replace(four_batches, content="logits", name="b")])[2]
    assert "NOT comparable" in table.caption
    assert "four: probabilities; b: logits" in table.caption


def test_table_3_by_hand(four_batches):
    controls = CoherenceControls(
        organised=2.0,
        shuffled_items=np.array([4.0, 6.0]),
        random_trees=np.array([2.0, 2.0]),
        shuffled_entries=np.array([8.0, 8.0]),
        original_order=np.array([1.0]),
        seed=0,
    )
    table = paper_tables([replace(four_batches, controls={"3": controls})])[3]
    assert table.rows[0] == ("four", 3, "organised", None, 2.0, 1.0, None, None, None)
    assert table.rows[1][3:] == (2, 5.0, 2.5, pytest.approx(np.sqrt(0.5)), 2.0, 3.0)
    assert table.rows[4][3:] == (1, 1.0, 0.5, None, None, None)


def test_table_3_is_left_out_where_no_control_was_made(four_batches):
    tables = paper_tables([replace(four_batches, controls={})])
    assert [table.name for table in tables] == ["table1", "table1_stability", "table2"]


def test_networks_of_one_name_are_told_apart(four_batches):
    columns = paper_tables([four_batches, four_batches])[2].columns
    assert columns[1] == "four (1) H"
    assert columns[4] == "four (2) H"


def test_tables_need_a_network():
    with pytest.raises(hb.SettingError, match="at least one network"):
        paper_tables([])

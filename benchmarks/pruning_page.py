"""Tables of docs/evidence/pruning.md, made of what pruning.py and its two companions write.

    python benchmarks/pruning_page.py docs/results

The files are those of pruning.py, pruning_baselines.py, pruning_calibration.py and answer_scale.py, in
folders of these names; pruning_one_pass, pruning_both_orders and pruning_searches have those of
pruning_baselines.py with a few of the scores.

On the page each table follows the comment that is printed before it, up to the next blank line; a test
compares them with the files.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scipy.stats import t

__all__ = [
    "all_tables",
    "baseline_tables",
    "calibration_tables",
    "loaded_cases",
    "one_pass_tables",
    "page_tables",
    "result_tables",
    "scale_tables",
]

_SUMMED_UP, _REPLACEMENT = ("leftover-response", "leftover"), "refit"
_OURS = "leftover"
"""How the names of the scores begin that are not of others."""
_LEVEL = 0.05
_CLEAR = 2
"""Standard errors beyond which a difference is called clear."""
_MARKER = re.compile(r"<!-- table ([^\n]+?) -->\n(.*?)(?=\n[ \t]*\n|\Z)", re.DOTALL)


def loaded_cases(folder: Path) -> list[dict[str, Any]]:
    """Cases of a folder; those that something was chosen on come first, else by name."""
    cases = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return sorted(cases, key=lambda case: (case["role"] != "chosen on", case["name"]))


def result_tables(cases: list[dict[str, Any]]) -> dict[str, str]:
    """Markdown of all tables by the words of their marker, such as "minilm refit" or "summary leftover"."""
    tables = {
        f"{case['name']} {replacement}": damage_table(case, replacement)
        for case in cases
        for replacement in case["replacements"]
    }
    summaries = {f"summary {score}": summary_table(cases, score) for score in _SUMMED_UP}
    return {**summaries, **tables} if cases else {}


def baseline_tables(cases: list[dict[str, Any]]) -> dict[str, str]:
    """Markdown of the comparisons with the methods of others, such as "baselines smollm2"."""
    tables = {f"baselines {case['name']}": _baseline_table(case) for case in cases}
    confirmed = [case for case in cases if case["role"] == "confirmed on"]
    summaries = {"baselines summary": cases, "baselines summary confirmed": confirmed}
    chosen = [case for case in cases if "choice" in case]
    choices = {"choice": _choice_table(chosen), "choice against": _choice_summary(chosen)} if chosen else {}
    return {**choices, **{name: _baseline_summary(of) for name, of in summaries.items() if of}, **tables}


def calibration_tables(cases: list[dict[str, Any]]) -> dict[str, str]:
    """Markdown of what the amount of calibration data changes, such as "calibration smollm2"."""
    return {f"calibration {case['name']}": _calibration_table(case) for case in cases}


def _calibration_table(case: Mapping[str, Any]) -> str:
    """A row for each score, refit and amount of data; each share by the largest and the smallest ridge."""
    ridges = [row["ridge"] for row in case["rows"]]
    columns = [
        (place, ridge)
        for place in range(len(case["shares"]))
        for ridge in dict.fromkeys((max(ridges), min(ridges)))
    ]
    lines: dict[tuple[str, str, int], dict[tuple[int, float], str]] = {}
    for row in case["rows"]:
        cells = lines.setdefault((row["score"], row["refit"], row["n_tokens"]), {})
        for place, pair in enumerate(zip(row["damage"], row["standard_errors"], strict=True)):
            cells[place, row["ridge"]] = _with_error(*pair, sign="+")
    percentages = _percentages(case["shares"])
    heads = [f"{percentages[place]}, ridge {ridge:g}" for place, ridge in columns]
    rows = [
        [score, refit, f"{n_tokens:,}", *(cells.get(column, "") for column in columns)]
        for (score, refit, n_tokens), cells in sorted(lines.items())
    ]
    return _markdown(["damage", "refit", "tokens", *heads], rows)


def all_tables(folder: Path) -> dict[str, str]:
    """All tables of the page, from the folder of results."""
    return {
        **result_tables(loaded_cases(folder / "pruning")),
        **baseline_tables(loaded_cases(folder / "pruning_baselines")),
        **calibration_tables(loaded_cases(folder / "pruning_calibration")),
        **one_pass_tables(loaded_cases(folder / "pruning_one_pass"), "one pass"),
        **one_pass_tables(loaded_cases(folder / "pruning_both_orders"), "both orders"),
        **{
            f"searches {case['name']}": _baseline_table(case)
            for case in loaded_cases(folder / "pruning_searches")
        },
        **scale_tables(loaded_cases(folder / "answer_scale")),
    }


def scale_tables(cases: list[dict[str, Any]]) -> dict[str, str]:
    """Markdown of how sure networks are of their answers, "answer scale"."""
    rows = [
        [
            f"{case['name']}{'' if case['role'] == 'chosen on' else ', confirmed'}",
            f"{case['baseline']:.3f}",
            f"{case['factor']:.2f}",
            _with_error(-case["gain"], case["standard_error"], sign="+"),
        ]
        for case in cases
    ]
    head = ["network", "loss", "factor on its scores", "change of the loss by it"]
    return {"answer scale": _markdown(head, rows)} if cases else {}


def one_pass_tables(cases: list[dict[str, Any]], title: str) -> dict[str, str]:
    """Markdown of the scores by one forward and one backward pass, or few, against gradient importance."""
    scores = [row["score"] for row in cases[0]["rows"]] if cases else []
    against = cases[0]["compared_with"][0] if cases else ""
    tables = {
        f"{title} {score}": _difference_table(cases, score, against) for score in scores if score != against
    }
    return {**tables, f"{title} summary": _baseline_summary(cases)} if cases else {}


def _difference_table(cases: list[dict[str, Any]], score: str, against: str) -> str:
    """How much more damage a score does than the one compared with, a row for each case."""
    rows = []
    for case in cases:
        row = next(row for row in case["rows"] if row["score"] == score)
        pairs = zip(row["more_than_ours"], row["standard_errors_of_more"], strict=True)
        cells = [_with_error(*pair, sign="+") for pair in pairs]
        rows.append([f"{case['name']} ({_sizes(case)})", case["role"], *cells])
    return _markdown([f"{score} less {against}, refit", "", *_percentages(cases[0]["shares"])], rows)


def _baseline_table(case: Mapping[str, Any]) -> str:
    rows = [
        [
            row["score"],
            row["replacement"],
            *(
                _with_error(*pair, sign="+")
                for pair in zip(row["damage"], row["standard_errors"], strict=True)
            ),
        ]
        for row in case["rows"]
    ]
    return _markdown(["damage", "removed heads", *_percentages(case["shares"])], rows)


def _baseline_summary(cases: list[dict[str, Any]]) -> str:
    """In how many comparisons a method does clearly more damage than ours, and clearly less."""
    counts: dict[tuple[str, str], list[int]] = {}
    for case in cases:
        for row in case["rows"]:
            if [row["score"], row["replacement"]] == case["compared_with"]:
                continue
            found = counts.setdefault((row["score"], row["replacement"]), [0, 0, 0])
            for more, error in zip(row["more_than_ours"], row["standard_errors_of_more"], strict=True):
                found[0] += more > _CLEAR * error
                found[1] += more < -_CLEAR * error
                found[2] += 1
    ours = " with ".join(cases[0]["compared_with"])
    rows = [[*method, *map(str, found)] for method, found in counts.items()]
    return _markdown([f"against {ours}", "removed heads", "clearly worse", "clearly better", "of"], rows)


def _choice_table(cases: list[dict[str, Any]]) -> str:
    """What is chosen by measuring at each share, and its damage where it was not chosen."""
    rows = [
        [
            f"{case['name']}{'' if case['role'] == 'chosen on' else ', confirmed'}",
            *(
                f"{_with_error(damage, error, sign='+')} {score}{', in turn' if way == 'sequential' else ''}"
                for (score, way), damage, error in zip(
                    case["choice"]["chosen"],
                    case["choice"]["damage"],
                    case["choice"]["standard_errors"],
                    strict=True,
                )
            ),
        ]
        for case in cases
    ]
    return _markdown(["chosen by measuring", *_percentages(cases[0]["shares"])], rows)


def _choice_summary(cases: list[dict[str, Any]]) -> str:
    """In how many comparisons a method of others does more damage than what is chosen by measuring, and less.

    Once by two standard errors; once by t-tests at 5 %, corrected for the number of methods of others that
    one choice is compared with.
    """
    counts: dict[tuple[str, str], list[int]] = {}
    for case in cases:
        others = [row for row in case["choice"]["rows"] if not row["score"].startswith(_OURS)]
        sure = t.isf(_LEVEL / len(others), case["n_evaluation_batches"] // 2 - 1)
        for row in others:
            found = counts.setdefault((row["score"], row["replacement"]), [0, 0, 0, 0, 0])
            for more, error in zip(row["more_than_ours"], row["standard_errors_of_more"], strict=True):
                found[0] += more > _CLEAR * error
                found[1] += more < -_CLEAR * error
                found[2] += more > sure * error
                found[3] += more < -sure * error
                found[4] += 1
    rows = [[*method, *map(str, found)] for method, found in counts.items()]
    together = [sum(column) for column in zip(*counts.values(), strict=True)]
    heads = ["clearly worse", "clearly better", "worse, corrected", "better, corrected", "of"]
    return _markdown(
        ["against the choice", "removed heads", *heads], [*rows, ["together", "", *map(str, together)]]
    )


def page_tables(page: str) -> dict[str, str]:
    """Markdown of the marked tables of a page, by the words of their marker.

    Raises
    ------
    ValueError
        If a marker stands there twice.
    """
    tables: dict[str, str] = {}
    for words, table in _MARKER.findall(page):
        if words in tables:
            raise ValueError(f"a table must be on the page once; {words!r} is there twice.")
        tables[words] = table.rstrip()
    return tables


def damage_table(case: Mapping[str, Any], replacement: str) -> str:
    """The metric without some heads, a row for each score."""
    scores = case["replacements"][replacement]["scores"]
    rows = [
        [score, *(_with_error(*pair) for pair in zip(found["values"], found["standard_errors"], strict=True))]
        for score, found in scores.items()
    ]
    return _markdown([replacement, *_percentages(case["shares"])], rows)


def summary_table(cases: list[dict[str, Any]], score: str) -> str:
    """How much more damage a score does than gradient importance, a row for each case."""
    shares = cases[0]["shares"] if cases else []
    rows = []
    for case in cases:
        if case["shares"] != shares:
            raise ValueError(f"all cases must have the shares {shares}; {case['name']} has {case['shares']}.")
        measured = case["replacements"].get(_REPLACEMENT, {"scores": {}})["scores"].get(score, {})
        if "difference_to_gradient" in measured:
            pairs = zip(
                measured["difference_to_gradient"], measured["standard_errors_of_difference"], strict=True
            )
            cells = [_with_error(*pair, sign="+") for pair in pairs]
        else:
            cells = ["not measured"] * len(shares)
        rows.append([f"{case['name']} ({_sizes(case)})", case["role"], *cells])
    return _markdown([f"{score} less gradient, {_REPLACEMENT}", "", *_percentages(shares)], rows)


def _sizes(case: Mapping[str, Any]) -> str:
    heads = case["heads"]
    return f"{case['layers']} x {heads[0]}" if len(set(heads)) == 1 else f"{sum(heads)} heads"


def _percentages(shares: list[float]) -> list[str]:
    return [f"{100 * share:g} %" for share in shares]


def _with_error(value: float, error: float, *, sign: str = "") -> str:
    return f"{value:{sign}.3f} ±{error:.3f}"


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/pruning_page.py FOLDER_OF_RESULTS")
    for name, table in all_tables(Path(sys.argv[1])).items():
        print(f"<!-- table {name} -->\n{table}\n")

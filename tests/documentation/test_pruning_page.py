"""The marked tables of docs/evidence/pruning.md are those of the files they were made from."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def loaded_module():
    spec = importlib.util.spec_from_file_location("pruning_page", ROOT / "benchmarks" / "pruning_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pruning_page = loaded_module()
RESULTS = ROOT / "docs" / "results"
MEASURED = pruning_page.all_tables(RESULTS)
SHOWN = pruning_page.page_tables((ROOT / "docs" / "evidence" / "pruning.md").read_text(encoding="utf-8"))


def made_case(name, role, damage):
    row = {
        "values": [damage, 2 * damage],
        "standard_errors": [0.01, 0.02],
        "difference_to_gradient": [-damage, damage],
        "standard_errors_of_difference": [0.001, 0.002],
    }
    return {
        "name": name,
        "layers": 2,
        "heads": [4, 4],
        "role": role,
        "shares": [0.1, 0.3],
        "replacements": {"refit": {"scores": {"leftover-response": row}}},
    }


def test_page_shows_every_table_that_was_measured_and_no_other():
    assert set(SHOWN) == set(MEASURED)


def test_tables_of_the_page_are_measured():
    assert {name: MEASURED[name] for name in SHOWN} == SHOWN


def test_a_whole_network_has_the_same_loss_in_all_files_on_the_same_data():
    """A network that one machine reads otherwise, its tokens say, is another network."""
    found = {}
    for path in sorted(RESULTS.glob("pruning*/*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        data = case["name"], case["metric"], case["n_evaluation_batches"]
        found.setdefault(data, {})[path.parent.name] = case["baseline"]
    assert max(map(len, found.values())) > 2
    for data, baselines in found.items():
        assert max(baselines.values()) - min(baselines.values()) < 2e-4, (data, baselines)


def test_tables_are_made_of_files_in_the_order_of_their_roles(tmp_path):
    for case in (made_case("ants", "confirmed on", 1.0), made_case("bees", "chosen on", 0.5)):
        (tmp_path / f"{case['name']}.json").write_text(json.dumps(case))
    tables = pruning_page.result_tables(pruning_page.loaded_cases(tmp_path))
    assert list(tables) == ["summary leftover-response", "summary leftover", "bees refit", "ants refit"]
    assert tables["ants refit"] == (
        "| refit | 10 % | 30 % |\n|---|---|---|\n| leftover-response | 1.000 ±0.010 | 2.000 ±0.020 |"
    )
    assert tables["summary leftover-response"].splitlines()[2:] == [
        "| bees (2 x 4) | chosen on | -0.500 ±0.001 | +0.500 ±0.002 |",
        "| ants (2 x 4) | confirmed on | -1.000 ±0.001 | +1.000 ±0.002 |",
    ]


def test_tables_of_a_page_end_at_a_blank_line():
    page = "text\n\n<!-- table a refit -->\n| a |\n|---|\n\nmore\n\n<!-- table summary -->\n| b |\n"
    assert pruning_page.page_tables(page) == {"a refit": "| a |\n|---|", "summary": "| b |"}


def test_the_examples_of_the_page_run(tmp_path, monkeypatch, capsys):
    torch = pytest.importorskip("torch")
    from haarbor.pruning._scores import SCORES

    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "pruning.md").read_text(), flags=re.DOTALL)
    scope = {}
    try:
        for block in blocks:
            exec(block, scope)
    finally:
        SCORES.pop("late-first", None)
    assert "Ablation(2 of 48 heads" in capsys.readouterr().out
    assert scope["study"].recommendation.n_removed == 2
    ids = scope["texts"][0]
    torch.testing.assert_close(scope["smaller"](ids), scope["study"].pruned(ids))


def test_page_with_a_table_twice_is_refused():
    with pytest.raises(ValueError, match="'summary' is there twice"):
        pruning_page.page_tables("<!-- table summary -->\n| a |\n\n<!-- table summary -->\n| a |\n")


def made_row(score, replacement, more):
    return {
        "score": score,
        "replacement": replacement,
        "damage": [0.1, 0.2],
        "standard_errors": [0.01, 0.02],
        "more_than_ours": more,
        "standard_errors_of_more": [0.01, 0.01],
    }


def test_clear_differences_to_the_methods_of_others_are_counted(tmp_path):
    rows = [made_row("ours", "refit", [0, 0]), made_row("theirs", "zero", [0.021, -0.03])]
    case = {"name": "ants", "role": "chosen on", "shares": [0.1, 0.3], "rows": rows}
    (tmp_path / "ants.json").write_text(json.dumps({**case, "compared_with": ["ours", "refit"]}))
    (tmp_path / "bees.json").write_text(
        json.dumps({**case, "name": "bees", "compared_with": ["ours", "refit"]})
    )
    tables = pruning_page.baseline_tables(pruning_page.loaded_cases(tmp_path))
    assert list(tables) == ["baselines summary", "baselines ants", "baselines bees"]
    assert tables["baselines summary"].splitlines()[2:] == ["| theirs | zero | 2 | 2 | 4 |"]
    assert tables["baselines ants"].splitlines()[3] == "| theirs | zero | +0.100 ±0.010 | +0.200 ±0.020 |"


def test_few_scores_are_compared_with_one_network_by_network(tmp_path):
    rows = [made_row("theirs", "refit", [0, 0]), made_row("ours", "refit", [-0.03, 0.004])]
    case = {"name": "ants", "role": "chosen on", "shares": [0.1, 0.3], "rows": rows, "layers": 2}
    case |= {"heads": [4, 4], "compared_with": ["theirs", "refit"]}
    (tmp_path / "ants.json").write_text(json.dumps(case))
    tables = pruning_page.one_pass_tables(pruning_page.loaded_cases(tmp_path), "one pass")
    assert tables["one pass ours"].splitlines() == [
        "| ours less theirs, refit |  | 10 % | 30 % |",
        "|---|---|---|---|",
        "| ants (2 x 4) | chosen on | -0.030 ±0.010 | +0.004 ±0.010 |",
    ]
    assert tables["one pass summary"].splitlines()[2:] == ["| ours | refit | 0 | 1 | 2 |"]
    assert pruning_page.one_pass_tables([], "one pass") == {}


def test_calibration_tables_have_a_row_per_amount_of_data(tmp_path):
    rows = [
        {"n_batches": size, "n_tokens": 256 * size, "refit": "refit", "ridge": ridge, "score": "leftover",
         "damage": [0.1 * size, ridge], "standard_errors": [0.01, 0.02]}
        for size, ridge in ((16, 0.1), (4, 0.1), (4, 0.03), (4, 0.01))
    ]  # fmt: skip
    case = {"name": "ants", "role": "chosen on", "shares": [0.3, 0.5], "rows": rows}
    (tmp_path / "ants.json").write_text(json.dumps(case))
    tables = pruning_page.calibration_tables(pruning_page.loaded_cases(tmp_path))
    assert tables["calibration ants"].splitlines() == [
        "| damage | refit | tokens | 30 %, ridge 0.1 | 30 %, ridge 0.01 | 50 %, ridge 0.1 | "
        "50 %, ridge 0.01 |",
        "|---|---|---|---|---|---|---|",
        "| leftover | refit | 1,024 | +0.400 ±0.010 | +0.400 ±0.010 | +0.100 ±0.020 | +0.010 ±0.020 |",
        "| leftover | refit | 4,096 | +1.600 ±0.010 |  | +0.100 ±0.020 |  |",
    ]

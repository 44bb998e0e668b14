"""What the pages on paraproducts show can be run, and say what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paraproducts.md").read_text(encoding="utf-8")
EVIDENCE = (ROOT / "docs" / "evidence" / "paraproducts.md").read_text(encoding="utf-8")


def test_the_lines_of_the_page_run(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    scope = {}
    exec(block, scope)
    assert set(scope["errors"]) == {"paper", "paper+boundary", "corrected", "corrected+marginals"}
    assert "linear row x column" in capsys.readouterr().out


@pytest.mark.slow
def test_the_counterexample_prints_what_the_page_says():
    command = [sys.executable, str(ROOT / "examples" / "paraproduct_counterexample.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    shown = re.search(
        r"\$ python examples/paraproduct_counterexample.py\n(.*?)\n\n", EVIDENCE, flags=re.DOTALL
    )
    assert [line.strip() for line in done.stdout.splitlines()] == [
        line.strip() for line in shown[1].splitlines()
    ]

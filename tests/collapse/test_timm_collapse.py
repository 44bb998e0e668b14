"""Vision transformers of timm without their parts, in a process of their own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TIMM = Path(sys.prefix) / "timm"
pytestmark = pytest.mark.slow


def test_the_parts_of_a_timm_vision_transformer_are_off():
    if not TIMM.exists():
        pytest.skip("make test installs timm beside the environment")
    script = Path(__file__).with_name("timm_collapse.py")
    words = [sys.executable, str(script), str(TIMM)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kind"] == "norm first"
    assert found["layers"] == 3
    assert len(found["differences"]) == 6
    assert max(found["differences"].values()) < 1e-12

"""Vision transformers of timm, pruned in a process of their own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TIMM = Path(sys.prefix) / "timm"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pruned(tmp_path_factory):
    if not TIMM.exists():
        pytest.skip("make test installs timm beside the environment")
    script = Path(__file__).with_name("timm_pruning.py")
    words = [sys.executable, str(script), str(TIMM), str(tmp_path_factory.mktemp("timm"))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("variant", ["vit", "deit_distilled", "query_key_norm"])
def test_timm_vision_transformers_become_smaller_and_load_again(pruned, variant):
    assert pruned[variant]["projection"] == "blocks.1.attn.proj"
    assert pruned[variant]["block"] == "blocks.1"
    assert pruned[variant]["masked_change"] > 1e-4
    assert pruned[variant]["difference"] < 1e-5
    # A head of a tiny vision transformer: 3 x 64 rows of 192 weights and a bias, and 64 columns of 192.
    assert pruned[variant]["fewer_parameters"] == 3 * (3 * 64 * 193 + 64 * 192)


@pytest.mark.parametrize("variant", ["rotary", "relative_bias"])
def test_other_layouts_of_timm_are_masked_and_refused_as_smaller_ones(pruned, variant):
    assert pruned[variant]["masked_change"] > 1e-4
    assert "can still be removed by a mask" in pruned[variant]["refusal"]

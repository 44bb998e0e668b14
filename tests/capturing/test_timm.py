import json
import subprocess
import sys
from pathlib import Path

import pytest

TIMM = Path(sys.prefix) / "timm"


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    if not TIMM.exists():
        pytest.skip("make test installs timm beside the environment")
    out = tmp_path_factory.mktemp("timm")
    script = Path(__file__).with_name("timm_capture.py")
    done = subprocess.run(
        [sys.executable, str(script), str(TIMM), str(out)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


VARIANTS = ["vit", "deit_distilled", "query_key_norm", "rotary", "relative_bias"]


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_timm_attention_is_recorded_as_its_own_unfused_path_computes_it(captured, variant):
    assert captured[variant]["error"] < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_timm_models_compute_what_they_did_and_keep_no_hooks(captured, variant):
    assert captured[variant]["output_unchanged"]
    assert captured[variant]["hooks_left"] == 0

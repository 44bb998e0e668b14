import subprocess
import sys

import numpy as np
import pytest

from haarbor.collapse import (
    NetworkPaths,
    keep_collapse,
    keep_paths,
    kept_collapse,
    kept_paths,
    path_decomposition,
    random_attention_stack,
)
from haarbor.errors import DataError, SettingError
from haarbor.store import open_run
from tests.collapse.made_up import made_bound, made_collapse, made_paths
from tests.compare.networks import attention, written


@pytest.fixture
def run(tmp_path):
    return written(tmp_path / "run", [attention(0)], weights="sha256:one")


def test_residuals_and_bounds_are_kept_whole(run):
    assert kept_collapse(run) is None
    keep_collapse(run, {"trained": made_collapse(2)}, bounds={"trained": made_bound(2)}, data="some texts")
    again = kept_collapse(open_run(run.location))
    assert again.data == "some texts"
    expected = made_collapse(2)
    for name, values in expected.figures.items():
        np.testing.assert_array_equal(again.results["trained"].figures[name], values)
    np.testing.assert_array_equal(again.bounds["trained"].limits, made_bound(2).limits)


def test_the_verdict_tells_how_every_variant_ends(run):
    kept = keep_collapse(run, {"trained": made_collapse(2)}, bounds={"trained": made_bound(2)})
    first, second = kept.verdict()
    assert first.startswith("Residual of the tokens after 2 layers, trained")
    assert "as it is 0.24;" in first
    assert "no normalisation lost after 2 layers;" in first
    assert first.endswith("attention alone 0.")
    assert "proved from the first layer on" in second


def test_paths_are_kept_without_their_tokens(run):
    assert kept_paths(run) is None
    stack = random_attention_stack(n_layers=2, n_heads=2, width=4, qk_width=2, skips=True)
    tokens = path_decomposition(stack, np.eye(5, 4), n_most=4)
    whole = NetworkPaths(
        tokens=tokens, mlps=0.5 * tokens.output, biases=0 * tokens.output, error=1e-9, with_mlps=True
    )
    keep_paths(run, whole)
    again = kept_paths(open_run(run.location))
    np.testing.assert_allclose(again.shares["MLPs"], whole.shares()["MLPs"])
    assert list(again.beginnings) == ["tokens", "MLPs"]
    assert again.n_tokens == 5
    np.testing.assert_array_equal(again.residual_error, tokens.residual_error)


def test_another_network_is_refused(run):
    with pytest.raises(DataError, match="its weights are sha256:one, and those of the model are sha256:two"):
        keep_collapse(run, {"trained": made_collapse(2)}, weights="sha256:two")
    with pytest.raises(DataError, match="it has 2 layers, and 3 were measured"):
        keep_collapse(run, {"trained": made_collapse(3)})
    with pytest.raises(DataError, match="it has 2 layers, and the paths pass 3"):
        keep_paths(run, made_paths(3))
    with pytest.raises(SettingError, match="there must be a result to keep"):
        keep_collapse(run, {})
    with pytest.raises(SettingError, match="a result must be"):
        keep_collapse(run, {"trained": 0.5})
    with pytest.raises(SettingError, match="paths must be"):
        keep_paths(run, 0.5)
    assert kept_collapse(run) is None


def test_what_is_kept_is_read_without_torch(run):
    keep_collapse(run, {"trained": made_collapse(2)})
    code = (
        "import sys\nfrom haarbor.store import open_run\nfrom haarbor.collapse import kept_collapse\n"
        f"found = kept_collapse(open_run({run.location!r}))\n"
        "print(found.results['trained'].n_layers, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "False"]

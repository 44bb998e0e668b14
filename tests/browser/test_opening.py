"""Large runs make files that can be sent, and that open."""

import numpy as np
import pytest

from haarbor.analysis import organize_run
from haarbor.report import write_report
from haarbor.store import import_arrays, open_run
from tests.browser.looking import n_colours


def large_run(place, n_tokens, n_layers, heads, *, side=None):
    """Heads that look at places a few steps away, some farther than others, with noise."""
    rng = np.random.default_rng(0)
    steps = np.arange(n_tokens)
    tensor = np.empty((1, n_tokens, n_tokens, n_layers * heads), dtype=np.float32)
    for head in range(n_layers * heads):
        reach, shift = 2.0 + head % 17, head % 11
        scores = -np.abs(steps[:, None] - shift - steps[None]) / reach + rng.normal(size=(n_tokens, n_tokens))
        if side is None:
            scores[~np.tri(n_tokens, dtype=bool)] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        tensor[0, :, :, head] = weights / weights.sum(axis=1, keepdims=True)
    options = {"labels": [f"token{i}" for i in range(n_tokens)], "mask": "causal"}
    if side is not None:
        options = {
            "labels": ["CLS", *(f"{r},{c}" for r in range(side) for c in range(side))],
            "pictures": rng.integers(0, 256, (1, 224, 224, 3), dtype=np.uint8),
        }
    import_arrays(
        tensor,
        place,
        axes=("batch", "query", "key", "head"),
        heads_per_layer=heads,
        dtype="float16",
        **options,
    )
    run = open_run(place)
    organize_run(run, options={"n_iterations": 1})
    return run


# Tokens, layers, heads per layer, patches along a side, and the most bytes of the page.
LARGE = {
    "144 heads x 197 patches": (197, 12, 12, 14, 15_000_000),
    "270 heads x 256 tokens": (256, 30, 9, None, 15_000_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_large_pages_are_small_files_that_open(opened, tmp_path, name):
    n_tokens, n_layers, heads, side, most_bytes = LARGE[name]
    run = large_run(tmp_path / "large.zarr", n_tokens, n_layers, heads, side=side)
    assert write_report(run, tmp_path / "large.html") <= most_bytes
    # How soon is measured by benchmarks/page.py.
    page = opened(tmp_path / "large.html")
    assert page.locator("#head-map .head").count() == n_layers * heads
    assert n_colours(page.locator("#explorer-card .matrix canvas").first) > 50

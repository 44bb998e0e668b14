"""Large runs make files that can be sent, and open quickly."""

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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_tokens", "n_layers", "heads", "side", "most_ms", "most_bytes"),
    [(197, 12, 12, 14, 2000, 15_000_000), (256, 30, 9, None, 5000, 25_000_000)],
    ids=["144 heads x 197 patches", "270 heads x 256 tokens"],
)
def test_large_pages_are_small_files_that_open_quickly(
    opened, tmp_path, n_tokens, n_layers, heads, side, most_ms, most_bytes
):
    run = large_run(tmp_path / "large.zarr", n_tokens, n_layers, heads, side=side)
    assert write_report(run, tmp_path / "large.html") <= most_bytes
    page = opened(tmp_path / "large.html")
    # The page notes when everything but the charts is drawn and can be used, since navigation began.
    assert int(page.evaluate("document.documentElement.dataset.usable")) <= most_ms
    assert page.locator("#head-map .head").count() == n_layers * heads
    assert n_colours(page.locator("#explorer-card .matrix canvas").first) > 50

"""Heads of trained networks whose jobs are known, found by their diagnostics."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import haarbor as hb
from haarbor.capturing import load_model
from haarbor.capturing.inputs import text_samples
from haarbor.diagnostics import mean_figures, run_diagnostics, run_types
from haarbor.zoo import sample_text_path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning"),
]
ROOT = Path(__file__).parents[2]


def types_on(loaded, text, place, **options):
    samples = text_samples(text, loaded.tokenizer, takes=loaded.takes, **options)
    run = hb.capture(loaded.model, samples, place)
    run_diagnostics(run)
    return [kind.name for kind in run_types(run)]


def test_the_later_layers_of_smollm2_have_a_sink_at_the_first_token(smollm2, tmp_path):
    kinds = types_on(smollm2, sample_text_path(), tmp_path / "run.zarr", n_tokens=64, n_samples=2)
    sinks = [head // 9 for head, name in enumerate(kinds) if name == "first-token sink"]
    assert len(sinks) > 135
    # Eleven layers of nine heads.
    assert sum(17 <= layer <= 27 for layer in sinks) > 0.9 * 99


def test_the_atom_mapping_head_of_rxnmapper_looks_at_the_same_atoms(network_folder, tmp_path):
    loaded = load_model(str(network_folder("rxnmapper")))
    reactions = ROOT / "examples" / "reactions.txt"
    samples = text_samples(
        reactions, loaded.tokenizer, takes=loaded.takes, n_tokens=128, n_samples=6, split="lines"
    )
    run = hb.capture(loaded.model, samples, tmp_path / "run.zarr")
    same = mean_figures(run_diagnostics(run))["same_token"]
    # The layers share their weights, so that head 5 does the same in most of them.
    first = [divmod(int(head), 8) for head in np.argsort(-same)[:8]]
    assert (10, 5) in first
    assert {head for _, head in first} == {5}

"""Trained networks from the package registry, captured and organised from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import haarbor as hb  # noqa: E402
from haarbor.capturing import recorded_calls  # noqa: E402
from haarbor.capturing.inputs import text_samples  # noqa: E402
from haarbor.zoo import sample_text_path  # noqa: E402
from tests.cli.builders import answer  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    # GGUF tensors come to torch from read-only memory, and are copied there.
    pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning"),
]
ROOT = Path(__file__).parents[2]
TEXT = sample_text_path()
REACTIONS = ROOT / "examples" / "reactions.txt"


def haarbor(*words):
    done = answer(*words)
    assert done.code == 0, done.err
    return done.out


def test_smollm2_is_captured_and_organised(smollm2, tmp_path):
    samples = text_samples(TEXT, smollm2.tokenizer, n_tokens=48, takes=smollm2.takes, n_samples=1)
    run = hb.capture(smollm2.model, samples, tmp_path / "run.zarr")
    assert (len(run.layers), run.heads_per_layer) == (30, 9)
    assert run.plan.stream().head_groups == (0, 0, 0, 1, 1, 1, 2, 2, 2)
    tensor = np.asarray(run.tensor(0))
    np.testing.assert_allclose(tensor.sum(axis=1), 1, atol=2e-3)
    assert not tensor[np.triu_indices(48, 1)].any()
    assert hb.organize_run(run).head_entropies[0].raw.size == 270


@pytest.mark.parametrize(("mode", "attention"), [("transparent", "sdpa"), ("faithful", "eager")])
def test_perplexity_of_smollm2_is_unchanged_by_capture(smollm2, mode, attention, monkeypatch):
    sample = text_samples(TEXT, smollm2.tokenizer, n_tokens=96, takes=smollm2.takes, n_samples=1)[0]
    model = smollm2.model
    monkeypatch.setattr(model.config, "_attn_implementation_internal", attention)
    inputs = {**sample.inputs, "labels": sample.inputs["input_ids"]}
    with torch.no_grad():
        before = model(**inputs).loss
        with recorded_calls(model, lambda *_told: None, mode=mode):
            during = model(**inputs).loss
    assert torch.equal(before, during)
    assert 1.0 < before.item() < 6.0


def test_minilm_is_captured_with_padding_left_out(network_folder, tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("Heads of one kind belong together.\nA short line.\n")
    out = tmp_path / "run.zarr"
    words = ("--data", lines, "--lines", "--out", out, "--tokens", 16, "--batches", 2)
    haarbor("capture", network_folder("minilm"), *words)
    run = hb.open_run(out)
    assert run.n_heads == 72
    valid = [int(run.mask(batch).any(axis=1).sum()) for batch in run.batches]
    assert valid[0] > valid[1] > 2
    assert run.labels(1).query[0] == "[CLS]"
    assert json.loads(haarbor("organize", out, "--json"))["n_heads"] == 72


def test_the_tree_gathers_the_atom_mapping_heads_of_rxnmapper(network_folder, tmp_path):
    out = tmp_path / "run.zarr"
    words = ("--data", REACTIONS, "--lines", "--out", out, "--tokens", 48, "--batches", 12)
    haarbor("capture", network_folder("rxnmapper"), *words)
    haarbor("organize", out)
    run = hb.open_run(out)
    assert (len(run.layers), run.heads_per_layer) == (12, 8)
    tree = run.load_result("consensus").tree
    known = 10 * 8 + 5
    # The layers share their weights: head 5 of every layer computes the same kind of match.
    folder = next(items for items in tree.folders(1) if known in items)
    assert len(folder) < 20
    assert set(folder % 8) == {5}

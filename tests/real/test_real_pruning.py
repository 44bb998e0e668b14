"""Trained networks from the package registry, pruned."""

import copy
import lzma
import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import haarbor as hb  # noqa: E402
from haarbor.pruning import (  # noqa: E402
    calibration_pass,
    compensate,
    compensated,
    model_batches,
    n_parameters,
    prune_heads,
    pruning_scores,
    removal,
    require_disjoint,
    save_pruned,
    standard_model,
)
from haarbor.pruning._metrics import METRICS, measure  # noqa: E402
from haarbor.zoo import sample_text_path  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    # GGUF tensors come to torch from read-only memory, and are copied there.
    pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning"),
]
SHARED = Path(os.environ.get("HAARBOR_SHARED", Path(__file__).parents[2].parent / "shared"))
TEXT = sample_text_path()


def first_layers(model, n_layers):
    """The network without its later layers: as real, and quicker to prune and to write."""
    config = copy.deepcopy(model.config)
    config.num_hidden_layers = n_layers
    shorter = type(model)(config).eval()
    kept = shorter.state_dict().keys()
    shorter.load_state_dict({name: weight for name, weight in model.state_dict().items() if name in kept})
    return shorter


def windows(loaded, text, n_windows, n_tokens):
    ids = loaded.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"][: n_windows * n_tokens]
    rows = torch.tensor(ids).view(n_windows, n_tokens)
    return model_batches([{"input_ids": row[None]} for row in rows])


def test_smollm2_becomes_smaller_and_computes_what_it_does_masked(smollm2, tmp_path):
    model, batches = first_layers(smollm2.model, 4), windows(smollm2, TEXT.read_text(), 4, 64)
    found = calibration_pass(model, batches[:2])
    scores = pruning_scores(found, ["leftover"])["leftover"]
    for within in ("network", "uniform"):
        removed = removal(scores, found.heads, 1 / 3, within=within)
        fits = compensate(model, found.heads, removed, batches[:2])
        smaller = prune_heads(model, found.heads, removed, batch=batches[2], compensation=fits)
        assert n_parameters(smaller) < n_parameters(model)
        with compensated(model, found.heads, fits):
            expected = measure(model, batches[2:], METRICS["loss"]).value
        assert measure(smaller, batches[2:], METRICS["loss"]).value == pytest.approx(expected, abs=1e-4)
        if within == "uniform":
            plain = standard_model(smaller, found.heads, removed, batches[3])
            plain.save_pretrained(tmp_path / "standard")
            loaded = type(model).from_pretrained(tmp_path / "standard").eval()
            assert (loaded.config.num_attention_heads, loaded.config.num_key_value_heads) == (6, 3)
        else:
            save_pruned(tmp_path / "free", smaller, found.heads, removed)
            loaded = hb.load_pruned(tmp_path / "free")
        assert measure(loaded, batches[2:], METRICS["loss"]).value == pytest.approx(expected, abs=1e-4)


@pytest.mark.shared
@pytest.mark.skipif(
    not (SHARED / "data" / "wikitext-2").is_dir(), reason="needs WikiText-2 in ../shared/data"
)
def test_thirty_per_cent_of_the_heads_of_smollm2_go_for_a_loss_of_at_most_3_65(smollm2):
    def text(part):
        return lzma.open(SHARED / "data" / "wikitext-2" / f"{part}.txt.xz", "rt", encoding="utf-8").read()

    model = smollm2.model
    calibration = windows(smollm2, text("train")[:60_000], 8, 256)
    lines = "".join(line.strip() for line in text("test").splitlines())
    evaluation = windows(smollm2, lines[:20_000], 6, 256)
    require_disjoint(calibration, evaluation)
    found = calibration_pass(model, calibration)
    removed = removal(pruning_scores(found, ["leftover"])["leftover"], found.heads, 0.3)
    assert removed.sum() == 81
    assert measure(model, evaluation, METRICS["loss"]).value == pytest.approx(3.48, abs=0.01)
    with compensated(
        model, found.heads, compensate(model, found.heads, removed, None, moments=found.moments)
    ):
        assert measure(model, evaluation, METRICS["loss"]).value < 3.65

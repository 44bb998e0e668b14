"""Pruned networks read back with what they take."""

from haarbor.pruning import is_pruned_folder, prune_heads, pruned_model, save_pruned
from tests.pruning.builders import everything


def test_what_a_pruned_network_takes_is_known_again(tmp_path):
    model, heads, data, _ = everything("zoo-vit")
    smaller = prune_heads(model, heads, [(0, 1)], batch=data[0])
    statistics = {"mean": [0.1, 0.2, 0.3], "std": [1.0, 2.0, 3.0]}
    save_pruned(tmp_path / "vit", smaller, heads, [(0, 1)], origin={"images": statistics})
    loaded = pruned_model(str(tmp_path / "vit"))
    assert (loaded.takes.size, loaded.takes.mean, loaded.takes.std) == ((16, 16), (0.1, 0.2, 0.3), (1, 2, 3))
    assert loaded.tokenizer is None
    # What is no mean of images is not used.
    save_pruned(
        tmp_path / "odd", smaller, heads, [(0, 1)], origin={"images": {"mean": "x", "std": [0, 0, 0]}}
    )
    assert pruned_model(str(tmp_path / "odd")).takes.mean == (0.5, 0.5, 0.5)
    model, heads, data, _ = everything("llama")
    save_pruned(tmp_path / "llama", prune_heads(model, heads, [(0, 1)], batch=data[0]), heads, [(0, 1)])
    assert pruned_model(str(tmp_path / "llama")).takes.vocab_size == 97
    assert is_pruned_folder(str(tmp_path / "llama"))
    assert not is_pruned_folder(str(tmp_path))
    assert not is_pruned_folder("\0")

import itertools

import numpy as np
import pytest

from haarbor.errors import ShapeError
from haarbor.store import import_arrays
from tests.store.builders import CAUSAL, heads


def test_axes_may_stand_in_any_order(attention, tmp_path):
    names = ("batch", "layer", "head", "query", "key")
    for number, order in enumerate(list(itertools.permutations(range(5)))[::13]):
        array = attention.transpose(order)
        run = import_arrays(array, tmp_path / f"{number}.zarr", axes=[names[i] for i in order])
        for batch in range(2):
            assert np.array_equal(run.tensor(batch), heads(attention, batch))


def test_heads_of_all_layers_may_share_an_axis(attention, new_place):
    run = import_arrays(heads(attention, 1), new_place, heads_per_layer=3, mask="causal")
    assert (run.layers, run.heads_per_layer, run.batches) == ((0, 1), 3, (0,))
    assert np.array_equal(run.tensor(0), heads(attention, 1))
    assert np.array_equal(run.mask(0), CAUSAL)


@pytest.mark.parametrize("tensors", [False, True])
def test_a_transformer_lens_cache_is_understood(attention, new_place, tensors):
    torch = pytest.importorskip("torch")
    convert = torch.tensor if tensors else np.asarray
    scores = np.where(CAUSAL, attention * 2 - 1, -np.inf)
    cache = {"hook_embed": convert(np.zeros((2, 5, 8)))}
    for layer in (1, 0):
        cache[f"blocks.{layer}.attn.hook_q"] = convert(np.zeros((2, 5, 3, 4)))
        cache[f"blocks.{layer}.attn.hook_attn_scores"] = convert(scores[:, layer])
        cache[f"blocks.{layer}.attn.hook_pattern"] = convert(attention[:, layer])
    run = import_arrays(cache, new_place, mask="causal", model="gpt2-small")
    assert (run.model, run.contents, run.batches) == ("gpt2-small", ("probabilities", "logits"), (0, 1))
    assert np.array_equal(run.tensor(1), heads(attention, 1))
    assert np.array_equal(run.tensor(1, "logits"), heads(scores.astype(np.float32), 1))


def test_a_cache_may_lack_the_batch_axis_and_hold_bfloat16(new_place, attention):
    torch = pytest.importorskip("torch")
    tensors = [torch.tensor(attention[0, layer]).bfloat16() for layer in range(2)]
    cache = {f"blocks.{i}.attn.hook_pattern": tensor for i, tensor in enumerate(tensors)}
    run = import_arrays(cache, new_place)
    expected = torch.cat(tensors).float().numpy().transpose(1, 2, 0)
    assert np.array_equal(run.tensor(0), expected)


def test_a_cache_lacking_a_layer_is_refused(new_place, attention):
    cache = {f"blocks.{i}.attn.hook_pattern": attention[:, 0] for i in (0, 3)}
    with pytest.raises(ShapeError, match="probabilities of layers \\[1, 2\\] are missing"):
        import_arrays(cache, new_place)
    cache = {"blocks.0.attn.hook_pattern": attention[:, 0], "blocks.1.attn.hook_pattern": attention[:, 0, :2]}
    with pytest.raises(ShapeError, match="layers of a cache must be alike"):
        import_arrays(cache, new_place)

"""Small runs of every kind that the paper's figures have to cope with."""

import numpy as np

import haarbor as hb
from haarbor.store import RunPlan, StreamPlan, create_run, import_arrays, open_run

KINDS = ("causal", "open", "one batch", "rectangular", "logits", "padded", "one head")


def networks(n_batches, n_tokens, n_layers, n_heads, content="probabilities", causal=True):
    return [
        hb.datasets.synthetic_network(
            n_tokens, n_layers, n_heads, batch=batch, content=content, causal=causal
        ).tensor
        for batch in range(n_batches)
    ]


def stored(folder, arrays, n_heads, mask=None, model="made up"):
    axes = ("batch", "query", "key", "head")
    return import_arrays(
        {name: np.stack(tensors) for name, tensors in arrays.items()},
        folder, axes=axes, heads_per_layer=n_heads, mask=mask, model=model,
    )  # fmt: skip


def padded(folder):
    """Three batches of 16, 12 and 9 valid tokens, and padding up to 16."""
    stream = StreamPlan(name="self", n_layers=2, n_heads=3, n_queries=16, n_keys=16)
    plan = RunPlan(model="padded", streams=(stream,), n_batches=3, contents=("probabilities",))
    with create_run(folder, plan) as writer:
        for index, length in enumerate((16, 12, 9)):
            network = hb.datasets.synthetic_network(length, 2, 3, batch=index)
            whole, mask = np.zeros((16, 16, 6)), np.zeros((16, 16), dtype=bool)
            whole[:length, :length], mask[:length, :length] = network.tensor, network.mask
            with writer.batch(index) as batch:
                batch.write_mask("self", mask)
                for layer in range(2):
                    heads = whole[:, :, 3 * layer : 3 * layer + 3].transpose(2, 0, 1)
                    batch.write_layer("self", layer, {"probabilities": heads})
    return open_run(folder)


def paper_run(kind, folder):
    """Run of one of `KINDS`."""
    if kind == "padded":
        return padded(folder)
    if kind == "open":
        tensors = networks(7, 18, 3, 4, causal=False)
        return stored(folder, {"probabilities": tensors}, 4, model="open")
    if kind == "rectangular":
        tensors = [tensor[:10] for tensor in networks(2, 15, 2, 3, causal=False)]
        return stored(folder, {"probabilities": tensors}, 3, model="rectangular")
    if kind == "logits":
        tensors = networks(2, 14, 2, 3, "logits")
        return stored(folder, {"logits": tensors}, 3, mask="causal", model="logits alone")
    if kind == "one head":
        return stored(folder, {"probabilities": networks(2, 12, 1, 1)}, 1, mask="causal", model="one head")
    n_batches = 1 if kind == "one batch" else 2
    arrays = {content: networks(n_batches, 16, 2, 3, content) for content in ("probabilities", "logits")}
    return stored(folder, arrays, 3, mask="causal", model=kind)

"""Small runs that hold logits."""

import numpy as np

import haarbor as hb
from haarbor.store import RunPlan, StreamPlan, create_run, open_run

N_TOKENS, N_LAYERS, N_HEADS = 20, 2, 3


def network(batch=0):
    return hb.datasets.synthetic_network(N_TOKENS, N_LAYERS, N_HEADS, batch=batch, content="logits")


def logit_run(folder, *, contents=("logits",), padding=0, flat_head=None, n_batches=1):
    """Run of a made-up causal network; a flat head has the same logits everywhere."""
    size = N_TOKENS + padding
    stream = StreamPlan(name="self", n_layers=N_LAYERS, n_heads=N_HEADS, n_queries=size, n_keys=size)
    plan = RunPlan(
        model="made up", streams=(stream,), n_batches=n_batches, contents=contents, dtype="float32"
    )
    with create_run(folder, plan) as writer:
        for index in range(n_batches):
            made = network(index)
            whole = np.zeros((size, size, N_LAYERS * N_HEADS))
            whole[:N_TOKENS, :N_TOKENS] = made.tensor
            if flat_head is not None:
                whole[:, :, flat_head] = 1.0
            mask = np.zeros((size, size), dtype=bool)
            mask[:N_TOKENS, :N_TOKENS] = made.mask
            with writer.batch(index) as batch:
                batch.write_mask("self", mask)
                for layer in range(N_LAYERS):
                    heads = whole[:, :, layer * N_HEADS : (layer + 1) * N_HEADS].transpose(2, 0, 1)
                    values = {"logits": heads, "probabilities": np.where(mask, 1 / size, 0.0) + 0 * heads}
                    batch.write_layer("self", layer, {name: values[name] for name in contents})
    return open_run(folder)

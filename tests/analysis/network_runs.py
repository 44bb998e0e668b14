"""Small runs of a made-up causal network, with padding and unfinished where a test asks for it."""

import numpy as np

import haarbor as hb
from haarbor.store import RunPlan, StreamPlan, create_run, open_run

N_TOKENS, N_LAYERS, N_HEADS = 20, 2, 3


def networks(content="probabilities"):
    return [
        hb.datasets.synthetic_network(N_TOKENS, N_LAYERS, N_HEADS, batch=batch, content=content)
        for batch in range(3)
    ]


def stored(folder, content="probabilities", padding=0, n_batches=3, masked=None):
    """Run of three batches of which `n_batches` are complete; masked entries are `masked` if it is given."""
    stream = StreamPlan(
        name="self",
        n_layers=N_LAYERS,
        n_heads=N_HEADS,
        n_queries=N_TOKENS + padding,
        n_keys=N_TOKENS + padding,
    )
    plan = RunPlan(model="made up", streams=(stream,), n_batches=3, contents=(content,))
    with create_run(folder, plan) as writer:
        for index, network in enumerate(networks(content)[:n_batches]):
            whole = np.zeros((N_TOKENS + padding, N_TOKENS + padding, N_LAYERS * N_HEADS))
            whole[:N_TOKENS, :N_TOKENS] = network.tensor
            mask = np.zeros(whole.shape[:2], dtype=bool)
            mask[:N_TOKENS, :N_TOKENS] = network.mask
            if masked is not None:
                whole[~mask] = masked
            with writer.batch(index) as batch:
                batch.write_mask("self", mask)
                for layer in range(N_LAYERS):
                    heads = whole[:, :, layer * N_HEADS : (layer + 1) * N_HEADS]
                    batch.write_layer("self", layer, {content: heads.transpose(2, 0, 1)})
    return open_run(folder)

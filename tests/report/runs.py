"""Small organised runs for pages: text, pictures, and texts that would like to be markup."""

import numpy as np

import haarbor as hb
from haarbor.analysis import organize_run
from haarbor.store import RunPlan, StreamPlan, create_run, import_arrays, open_run

HOSTILE = '</script><img src=x onerror="window.hacked=1"><!--'
OPTIONS = {"n_iterations": 1}


def network_tensors(n_batches, n_tokens, n_layers, heads_per_layer, content="probabilities", causal=True):
    return np.stack(
        [
            hb.datasets.synthetic_network(
                n_tokens, n_layers, heads_per_layer, batch=batch, content=content, causal=causal
            ).tensor
            for batch in range(n_batches)
        ]
    )


def text_run(
    place, *, n_batches=3, n_tokens=24, n_layers=3, heads=4, labels=None, model="made up", **options
):
    """A causal network on tokens, organised."""
    import_arrays(
        network_tensors(n_batches, n_tokens, n_layers, heads),
        place,
        axes=("batch", "query", "key", "head"),
        heads_per_layer=heads,
        mask="causal",
        labels=labels or [f"tok{i}" for i in range(n_tokens)],
        model=model,
        **options,
    )
    run = open_run(place)
    organize_run(run, options=OPTIONS)
    return run


def picture_run(place, *, n_batches=2, side=4, n_layers=2, heads=3, model="sees", pixels=16):
    """A network of a class token and side x side patches, with pictures, organised."""
    n_tokens = side * side + 1
    rng = np.random.default_rng(5)
    pictures = rng.integers(0, 256, (n_batches, pixels, pixels, 3), dtype=np.uint8)
    import_arrays(
        network_tensors(n_batches, n_tokens, n_layers, heads, causal=False),
        place,
        axes=("batch", "query", "key", "head"),
        heads_per_layer=heads,
        labels=["CLS", *(f"{r},{c}" for r in range(side) for c in range(side))],
        pictures=pictures,
        model=model,
    )
    run = open_run(place)
    organize_run(run, options=OPTIONS)
    return run


def logits_run(place):
    """A network with logits alone, organised."""
    import_arrays(
        network_tensors(2, 18, 2, 2, content="logits"),
        place,
        axes=("batch", "query", "key", "head"),
        heads_per_layer=2,
        content="logits",
        mask="causal",
        model="raw",
    )
    run = open_run(place)
    organize_run(run, options=OPTIONS)
    return run


def kinds_run(place, *, kinds=None, labels=None, picture=True, n_batches=1):
    """A causal network that reads a start, nine image tokens and six words, organised.

    Other kinds and labels may be given for the sixteen tokens.
    """
    kinds = kinds or ("special", *["image"] * 9, *["text"] * 6)
    words = ("what", "is", "in", "this", "picture", "?")
    labels = labels or ("<s>", *(f"{row},{column}" for row in range(3) for column in range(3)), *words)
    tensors = network_tensors(n_batches, 16, 2, 3)
    stream = StreamPlan(name="self", n_layers=2, n_heads=3, n_queries=16, n_keys=16)
    plan = RunPlan(
        model="reads and sees", config_digest="", streams=(stream,), n_batches=n_batches,
        contents=("probabilities",), labels="tokens",
    )  # fmt: skip
    rng = np.random.default_rng(6)
    with create_run(place, plan) as writer:
        for index, tensor in enumerate(tensors):
            with writer.batch(index) as batch:
                for layer in range(2):
                    values = tensor[:, :, 3 * layer : 3 * layer + 3].transpose(2, 0, 1)
                    batch.write_layer(None, layer, {"probabilities": values})
                batch.write_mask(None, np.tri(16, dtype=bool))
                batch.write_labels(None, labels)
                batch.write_kinds(None, kinds)
                if picture:
                    batch.write_picture(rng.integers(0, 256, (24, 24, 3), dtype=np.uint8))
    run = open_run(place)
    organize_run(run, options=OPTIONS)
    return run

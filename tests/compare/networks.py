"""Made-up networks that read the same texts: heads of a few kinds, in an order and strength of their own."""

import numpy as np

from haarbor.store import RunPlan, StreamPlan, create_run, open_run

N_TOKENS, N_LAYERS, N_HEADS = 16, 2, 4


def text(batch):
    """Topic of each token of a text."""
    return np.random.default_rng([batch, 7]).integers(0, 4, size=N_TOKENS)


def attention(batch, *, seed=0, n_layers=N_LAYERS, kinds="previous"):
    """Attention of a network on a text, query x key x head; the seed sets order and strength of heads."""
    rng = np.random.default_rng(seed)
    topics, place = text(batch), np.arange(N_TOKENS)
    lag = place[:, None] - place[None, :]
    same = topics[:, None] == topics[None, :]
    scores = [-np.abs(lag - 1), 1.0 * same, 1.0 * (place == 0)[None, :] + 0 * lag, -np.abs(lag) / 4.0]
    if kinds == "noise":
        scores = [np.random.default_rng([seed, 5, batch, n]).normal(size=lag.shape) for n in range(4)]
    strengths = rng.uniform(2.0, 4.0, size=n_layers * N_HEADS)
    order = rng.permutation(n_layers * N_HEADS)
    found = []
    for head in order:
        score = np.where(lag >= 0, strengths[head] * scores[head % 4], -np.inf)
        weight = np.exp(score - score.max(axis=1, keepdims=True))
        found.append(weight / weight.sum(axis=1, keepdims=True))
    return np.stack(found, axis=2)


def written(folder, tensors, *, n_layers=N_LAYERS, model="made up", weights=None, words=None, content=None):
    """Run with these tensors, one per batch; words label the tokens."""
    n_tokens, _, n_heads = tensors[0].shape
    stream = StreamPlan(
        name="self", n_layers=n_layers, n_heads=n_heads // n_layers, n_queries=n_tokens, n_keys=n_tokens
    )
    settings = {
        **({} if weights is None else {"weights": weights}),
        **({} if content is None else {"data_content": content}),
    }
    plan = RunPlan(
        model=model,
        streams=(stream,),
        n_batches=len(tensors),
        labels="none" if words is None else "tokens",
        settings=settings,
    )
    with create_run(folder, plan) as writer:
        for index, tensor in enumerate(tensors):
            with writer.batch(index) as batch:
                batch.write_mask("self", np.tril(np.ones((n_tokens, n_tokens), dtype=bool)))
                if words is not None:
                    labels = tuple(f"{words}{index}.{place}" for place in range(n_tokens))
                    batch.write_labels("self", labels, labels)
                for layer in range(n_layers):
                    per_layer = n_heads // n_layers
                    heads = tensor[:, :, layer * per_layer : (layer + 1) * per_layer].transpose(2, 0, 1)
                    batch.write_layer("self", layer, {"probabilities": heads.astype(np.float32)})
    return open_run(folder)

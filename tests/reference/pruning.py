"""Slow transcriptions of what pruning computes in closed form; loops, and nothing shared with the package."""

import numpy as np


def greedy_leftovers(xs, weights, head_width, ridge):
    """Order in which heads go, by fitting every candidate anew with numpy's least squares.

    xs : one (n_tokens, width) array a layer, centred; weights : one (n_outputs, width) array a layer.
    """
    kept = [list(range(x.shape[1] // head_width)) for x in xs]

    def leftover(layer, heads):
        x, weight = xs[layer], weights[layer]
        width = x.shape[1]
        strength = ridge * np.mean(np.mean(x**2, axis=0))
        columns = [channel for head in heads for channel in range(head * head_width, (head + 1) * head_width)]
        target = x @ weight.T / np.sqrt(len(x))
        design = x[:, columns] / np.sqrt(len(x))
        # The ridge of the elimination pulls the heads' outputs themselves apart: noise of its
        # strength on every channel, of those kept and of those gone.
        noise = np.sqrt(strength) * np.eye(width)
        target = np.vstack([target, noise @ weight.T])
        design = np.vstack([design, noise[:, columns]])
        if not columns:
            return float(np.sum(target**2))
        solution = np.linalg.lstsq(design, target, rcond=None)[0]
        return float(np.sum((target - design @ solution) ** 2))

    order, increases = [], []
    n_left = sum(map(len, kept))
    while n_left:
        offers = []
        for layer, heads in enumerate(kept):
            for head in heads:
                rest = [other for other in heads if other != head]
                offers.append((len(heads) == 1, leftover(layer, rest) - leftover(layer, heads), layer, head))
        _, increase, layer, head = min(offers)
        kept[layer].remove(head)
        order.append((layer, head))
        increases.append(increase)
        n_left -= 1
    return order, increases


def redundancy_order(distances, sizes):
    """Heads in the order in which they go, each closest (times its size) to one that stays."""
    left = list(range(len(sizes)))
    order = []
    while len(left) > 1:
        best = min(left, key=lambda i: (min(distances[i][j] for j in left if j != i) * sizes[i], i))
        left.remove(best)
        order.append(best)
    return [*order, *left]

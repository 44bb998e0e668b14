"""Losses of every choice of heads there is: measured of small networks, or made up."""

from functools import cache
from itertools import combinations

import numpy as np
import torch

from haarbor.pruning import Metric, answer_distance, compensate, compensated, exchange_search, model_batches
from haarbor.pruning._budgets import head_groups
from haarbor.pruning._metrics import measure
from tests.pruning.builders import linear_heads, measurable


def apart(n):
    """Outputs of so many heads, of mean 0 and variance 1, that do not tell of each other."""
    return np.sqrt(n) * np.vstack([np.eye(n), -np.eye(n)])


def squares(weights):
    """A layer by hand: without some of its heads, the mean square error is the sum of their squares."""
    x = apart(len(weights))
    model, heads, moments, error = linear_heads([weights], x)
    data = model_batches({"x": x, "labels": torch.arange(len(x))})
    return model, heads, moments, data, error


def gone_from(network, n_heads):
    """Heads of layers of so many each that a network runs without: their weights are zero."""
    with torch.no_grad():
        weights = network(torch.eye(n_heads, dtype=torch.float64)).T.flatten()
    return frozenset((weights == 0).nonzero().flatten().tolist())


def gone_in(found):
    return frozenset(np.flatnonzero(found.removed).tolist())


def allowed(heads, n_removed, start=None, within="network"):
    """All choices of so many heads that leave every layer one, and are as many in each group."""
    groups = head_groups(heads, within)
    n_groups = int(groups.max()) + 1
    for chosen in combinations(range(heads.n_heads), n_removed):
        mask = heads.mask(list(chosen))
        stays = np.bincount(heads.layer_of_head[~mask], minlength=len(heads))
        counts = [np.bincount(groups[each], minlength=n_groups) for each in (mask, start) if each is not None]
        if stays.min() > 0 and (counts[0] == counts[-1]).all():
            yield frozenset(chosen)


@cache
def all_losses(name, n_removed, by_distance):
    """What a search of a small network is given, and the loss of every choice on every batch.

    Choices are refitted one by one.
    """
    model, heads, moments, data, loss = measurable(name)
    metric = answer_distance(model, data, loss) if by_distance else loss
    found = {}
    for chosen in allowed(heads, n_removed):
        fits = compensate(model, heads, list(chosen), None, moments=moments)
        with compensated(model, heads, fits):
            found[chosen] = measure(model, data, metric).each
    return (model, heads, moments, data, metric), found


class MadeUpLoss:
    """A loss, or its sum and count, of the heads that are gone and the batch; it notes what it is asked."""

    def __init__(self, loss_of, n_batches=4, *, sizes=(4, 4), group=1, higher=False):
        n_heads = sizes[0]
        weights = [[1.0 + head for head in range(n_heads)]] * len(sizes)
        self.loss_of, self.asked, self.n_gradients = loss_of, [], 0
        self.model, self.heads, self.moments, _ = linear_heads(weights, apart(n_heads), group=group)
        places = [{"x": np.full((1, n_heads), float(place))} for place in range(n_batches)]
        self.batches = model_batches(places)
        self.metric = Metric("made up", self._function, higher_is_better=higher)

    def _function(self, network, batch):
        gone, place = gone_from(network, self.heads.layers[0].n_heads), int(batch.inputs["x"][0, 0])
        if torch.is_grad_enabled():
            self.n_gradients += 1
        else:
            self.asked.append((gone, place))
        told = self.loss_of(gone, place)
        total, count = told if isinstance(told, tuple) else (told, 1.0)
        # No factor changes it: exchanges are foretold by what was measured alone.
        return 0.0 * network(batch.inputs["x"]).sum() + total, count

    def search(self, starts, **given):
        starts = starts if isinstance(starts, dict) else {"only": starts}
        return exchange_search(
            self.model, self.heads, self.moments, self.batches, self.metric, starts, **given
        )

    @property
    def measured(self):
        """Choices in the order in which they were measured, and on which batches."""
        found = {}
        for gone, place in self.asked:
            found.setdefault(gone, []).append(place)
        return found

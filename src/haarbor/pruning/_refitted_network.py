"""A network that runs without any choice of its heads, its layers refitted, as often as is asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch.nn import functional

from haarbor.array_types import BoolArray
from haarbor.pruning._head_gates import factors_by_row
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._layer_refits import LayerRefits
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = ["RefittedNetwork"]

_N_KEPT = 4
"""Projections of a layer that are kept: exchanges change a few layers, and often the same."""


class RefittedNetwork:
    """Runs a network without some heads, refitted side by side; quick where choices follow each other.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode; its weights stay as they are.
    heads : NetworkHeads
    moments : sequence of LayerMoments
    """

    def __init__(self, model: torch.nn.Module, heads: NetworkHeads, moments: Sequence[LayerMoments]) -> None:
        self.model, self.heads = model, heads
        self._refits = [LayerRefits(own, layer) for own, layer in zip(moments, heads.layers, strict=True)]
        self._means = [own.mean for own in moments]
        self._known: list[OrderedDict[frozenset[int], tuple[torch.Tensor, torch.Tensor]]] = [
            OrderedDict() for _ in heads.layers
        ]

    @contextmanager
    def without(self, removed: BoolArray) -> Iterator[None]:
        """The network without these heads, shape (n_heads,), while the block runs."""
        projections = [self._projection(number, gone) for number, gone in enumerate(self._by_layer(removed))]

        def refit(number: int, x: torch.Tensor, _output: torch.Tensor) -> torch.Tensor | None:
            projection = projections[number]
            # Zero where heads are gone: what they give need not be taken out.
            return None if projection is None else functional.linear(x, *(part.to(x) for part in projection))

        with projection_hooks(self.model, self.heads, change_output=refit):
            yield

    @contextmanager
    def gated(self, removed: BoolArray, factors: Sequence[torch.Tensor]) -> Iterator[None]:
        """The same, with a factor in front of what each single head would change.

        Parameters
        ----------
        removed : ndarray of bool, shape (n_heads,)
        factors : sequence of tensor, one (n_heads,) or (n_rows, n_heads) per layer
            At 1 nothing is changed; one more than that puts what a head that is removed would give to the
            output, and one less takes away what a head that stays gives alone, the others refitted either
            way.
        """
        like = next(self.model.parameters())
        gone = self._by_layer(removed)
        projections = [self._projection(number, own) for number, own in enumerate(gone)]
        singles = [
            tuple(torch.tensor(part).to(like) for part in refits.single_heads(own))
            for refits, own in zip(self._refits, gone, strict=True)
        ]
        means = [torch.tensor(mean).to(like) for mean in self._means]
        widths = [layer.head_width for layer in self.heads.layers]

        def change(number: int, x: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
            projection = projections[number]
            if projection is not None:
                output = functional.linear(x, *(part.to(x) for part in projection))
            left, right = singles[number]
            # At 1 nothing is added, so that the way through x back to the layers below adds nothing either.
            alone = functional.linear(x.detach() - means[number], right)
            by_channel = (factors[number] - 1).to(x).repeat_interleave(widths[number], dim=-1)
            return output + functional.linear(alone * factors_by_row(by_channel, alone), left)

        with projection_hooks(self.model, self.heads, change_output=change):
            yield

    def _by_layer(self, removed: BoolArray) -> list[frozenset[int]]:
        return [frozenset(gone.tolist()) for gone in self.heads.by_layer(removed)]

    def _projection(self, number: int, gone: frozenset[int]) -> tuple[torch.Tensor, torch.Tensor] | None:
        if not gone:
            return None
        known = self._known[number]
        if gone not in known:
            like = next(self.model.parameters())
            weight, bias = self._refits[number].projection(gone)
            known[gone] = (torch.tensor(weight).to(like), torch.tensor(bias).to(like))
            if len(known) > _N_KEPT:
                known.popitem(last=False)
        known.move_to_end(gone)
        return known[gone]

"""How nearly the tokens of a network become the same with depth, with and without its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.capturing import is_huggingface
from haarbor.collapse._collapse_rate import CollapseRate, collapse_rate
from haarbor.collapse._network_blocks import network_blocks
from haarbor.collapse._switched_off import VARIANTS, switched_off
from haarbor.collapse._token_cosine import token_cosine
from haarbor.collapse._token_matrix import token_matrix
from haarbor.collapse._token_ranks import ranks_of_spectrum
from haarbor.collapse._token_residual import token_residual
from haarbor.errors import CollapseError, DataError, SettingError
from haarbor.on_progress import OnProgress
from haarbor.options import is_row, require_choice, require_function
from haarbor.pruning import ModelBatch, forward, model_batches
from haarbor.stored_result import stored_result

__all__ = ["FIGURES", "RankCollapse", "rank_collapse", "without_scores"]

FIGURES = ("composite", "composite_least", "frobenius", "stable_rank", "effective_rank", "cosine")
"""What is measured of the tokens at every depth."""


@stored_result("RankCollapse")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RankCollapse:
    """Measures of the tokens at every depth of a network, for every variant and sample."""

    variants: tuple[str, ...]
    figures: Mapping[str, FloatArray]
    """By name: arrays of shape (n_variants, n_layers + 1, n_samples). "composite" and "frobenius" are the
    relative residuals, "composite_least" a bound below which the former cannot be for any vector in
    common. NaN where the tokens were no longer finite, or had all become zero."""
    n_tokens: IntArray
    """Tokens of each sample, padding left out, shape (n_samples,)."""
    floor: float
    """Residuals below this are rounding: 8 times the precision of the network's numbers."""

    @property
    def n_layers(self) -> int:
        """Layers of the network; there is one depth more."""
        return int(self.figures["composite"].shape[1]) - 1

    def middle(self, figure: str, variant: str) -> FloatArray:
        """Median over the samples at every depth, shape (n_layers + 1,); NaN where no sample has a number.

        Raises
        ------
        SettingError
            If there is no such figure or variant.
        """
        require_choice("figure", figure, FIGURES)
        require_choice("variant", variant, self.variants)
        values = self.figures[figure][self.variants.index(variant)]
        there = np.isfinite(values).any(axis=1)
        found = np.full(values.shape[0], np.nan)
        found[there] = np.nanmedian(values[there], axis=1)
        return found

    def lost(self, variant: str) -> int | None:
        """First depth at which the tokens of some sample overflow or vanish; None if they never do."""
        require_choice("variant", variant, self.variants)
        values = self.figures["composite"][self.variants.index(variant)]
        places = np.flatnonzero(~np.isfinite(values).all(axis=1))
        return int(places[0]) if places.size else None

    def rate(self, variant: str) -> CollapseRate | None:
        """How the residual of a variant falls down to the floor; None if it has fewer than three depths."""
        try:
            return collapse_rate(self.middle("composite", variant), floor=self.floor)
        except DataError:
            return None

    def __repr__(self) -> str:
        last = ", ".join(f"{name} {self.middle('composite', name)[-1]:.2g}" for name in self.variants)
        return f"RankCollapse({self.n_layers} layers, {self.n_tokens.size} samples: {last})"


def rank_collapse(
    model: torch.nn.Module,
    batches: Any,
    *,
    variants: Sequence[str] | None = None,
    like: torch.nn.Module | None = None,
    on_progress: OnProgress | None = None,
) -> RankCollapse:
    """Residual, ranks and cosine of the tokens at every depth, with parts of the network switched off.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode: a Hugging Face decoder or encoder, a timm Vision Transformer, a network of the zoo, or
        any other whose layers are built likewise. Its weights are not changed.
    batches : iterable
        Samples, dictionaries of model inputs, or tensors for the first argument.
    variants : sequence of str, optional
        Names in :data:`haarbor.collapse.VARIANTS`; all of them if not given.
    like : torch.nn.Module, optional
        A network that is built alike, by which the parts of the layers are found: the trained one for an
        untrained one, whose attention may add nothing yet.
    on_progress : function of (step, done, total), optional

    Returns
    -------
    RankCollapse

    Raises
    ------
    CollapseError
        If the layers are built in a way that is not known, or the tokens are not (batch, token, width).
    DataError
        If there are no batches, the model does not run on them, or a sample has a single token.
    SettingError
        If a variant is not offered.

    Notes
    -----
    Residuals of float32 networks mean nothing below about 1e-6: see `RankCollapse.floor`.
    """
    chosen = tuple(VARIANTS) if variants is None else _checked_variants(variants)
    require_function("on_progress", on_progress)
    given = model_batches(batches)
    if not all(len(batch) for batch in given):
        raise DataError("every batch must have a sample; found one with none. Leave it out.")
    network = without_scores(model)
    example = network if like is None else without_scores(like)
    blocks = network_blocks(example, next(given[0].rows()))
    n_depths = len(blocks) + 1
    n_samples = sum(len(batch) for batch in given)
    figures = {name: np.full((len(chosen), n_depths, n_samples), np.nan) for name in FIGURES}
    n_tokens = np.zeros(n_samples, dtype=np.int64)
    for number, variant in enumerate(chosen):
        first = 0
        for place, batch in enumerate(given):
            if on_progress is not None:
                on_progress("rank collapse", number * len(given) + place, len(chosen) * len(given))

            def measure(
                depth: int,
                x: torch.Tensor,
                number: int = number,
                first: int = first,
                batch: ModelBatch = batch,
            ) -> None:
                for row, tokens in enumerate(_tokens(x, batch)):
                    n_tokens[first + row] = tokens.shape[0]
                    for name, value in _measured(tokens).items():
                        figures[name][number, depth, first + row] = value

            with switched_off(network, blocks, variant, on_state=measure), torch.no_grad():
                forward(network, batch)
            first += len(batch)
    if on_progress is not None:
        on_progress("rank collapse", len(chosen) * len(given), len(chosen) * len(given))
    precision = torch.finfo(next(network.parameters()).dtype).eps
    return RankCollapse(
        variants=chosen,
        figures={name: frozen(values) for name, values in figures.items()},
        n_tokens=frozen(n_tokens),
        floor=8 * float(precision),
    )


def without_scores(model: torch.nn.Module) -> torch.nn.Module:
    """The layers alone: the scores of a vocabulary cost as much as many layers, and are not looked at."""
    inner = getattr(model, "base_model", None) if is_huggingface(model) else None
    return inner if isinstance(inner, torch.nn.Module) else model


def _checked_variants(variants: Sequence[str]) -> tuple[str, ...]:
    if not is_row(variants) or not len(variants):
        raise SettingError(
            f"variants must be a list of names; found {variants!r:.80}. Pass some of {', '.join(VARIANTS)}."
        )
    for name in variants:
        require_choice("a variant", name, tuple(VARIANTS))
    return tuple(dict.fromkeys(variants))


def _tokens(x: torch.Tensor, batch: ModelBatch) -> list[FloatArray]:
    """Tokens of each sample, without padding."""
    if x.dim() != 3 or x.shape[0] != len(batch):
        raise CollapseError(
            f"the layers must take tokens as (batch, token, width); found {tuple(x.shape)} for a batch of "
            f"{len(batch)}. Choose a model with the batch in front."
        )
    rows: list[FloatArray] = []
    valid = batch.valid
    for row in range(x.shape[0]):
        tokens = x[row].detach().double().cpu().numpy()
        if valid is not None and valid.shape[1] == tokens.shape[0]:
            tokens = tokens[valid[row].cpu().numpy()]
        if tokens.shape[0] < 2:
            raise DataError("a sample must have two tokens or more; found one. Pass longer texts.")
        rows.append(tokens)
    return rows


def _spectrum(x: FloatArray) -> FloatArray:
    """Singular values, on one thread: several wait for each other, and take many times as long."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        values: FloatArray = np.linalg.svd(x, compute_uv=False)
    return values


def _measured(tokens: FloatArray) -> dict[str, float]:
    try:
        x, _ = token_matrix(tokens)
    except DataError:
        # Without norms a network overflows or vanishes; that is a finding, and the result says where.
        return {}
    residual = token_residual(x)
    stable, effective = ranks_of_spectrum(_spectrum(x))
    found = {
        "composite": residual.relative,
        "composite_least": residual.least,
        "frobenius": token_residual(x, norm="frobenius").relative,
        "stable_rank": stable,
        "effective_rank": effective,
    }
    if np.abs(x).max(axis=1).all():
        found["cosine"] = token_cosine(x)
    return found

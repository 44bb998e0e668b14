"""How nearly the tokens of a network become the same with depth, with and without its parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.capturing import is_huggingface
from haarbor.collapse._collapse_result import FIGURES, RankCollapse
from haarbor.collapse._composite_norm import composite_norm
from haarbor.collapse._network_blocks import network_blocks
from haarbor.collapse._network_threads import network_threads
from haarbor.collapse._switched_off import switched_off
from haarbor.collapse._token_cosine import token_cosine
from haarbor.collapse._token_matrix import token_matrix
from haarbor.collapse._token_ranks import ranks_of_spectrum
from haarbor.collapse._token_residual import token_residual
from haarbor.collapse._variants import VARIANTS
from haarbor.engines import Workers, usable_cores
from haarbor.errors import CollapseError, DataError, SettingError
from haarbor.on_progress import OnProgress
from haarbor.options import is_row, require_choice, require_function
from haarbor.pruning import ModelBatch, forward, model_batches

__all__ = ["rank_collapse", "without_scores"]

_WAITING = 4
"""Token matrices that wait to be measured, per thread."""


def rank_collapse(
    model: torch.nn.Module,
    batches: Any,
    *,
    variants: Sequence[str] | None = None,
    like: torch.nn.Module | None = None,
    on_progress: OnProgress | None = None,
) -> RankCollapse:
    r"""Residual, ranks and cosine of the tokens at every depth, with parts of the network switched off.

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

    See Also
    --------
    haarbor.collapse.token_residual : Distance from being all the same.
    haarbor.collapse.network_bound : The bound for a network.
    haarbor.collapse.network_paths : Paths of a network.
    haarbor.plots.collapse_figure : Draws the collapse.

    Notes
    -----
    The residual of tokens :math:`X` is :math:`\min_x \|X - 1 x^\top\| / \|X\|`; see
    :func:`haarbor.collapse.token_residual`.

    Residuals of float32 networks mean nothing below about 1e-6: see `RankCollapse.floor`.
    """
    chosen = tuple(VARIANTS) if variants is None else _checked_variants(variants)
    require_function("on_progress", on_progress)
    given = model_batches(batches)
    if not all(len(batch) for batch in given):
        raise DataError("every batch must have a sample; found one with none. Leave it out.")
    network = without_scores(model)
    example = network if like is None else without_scores(like)
    cores = usable_cores()
    with network_threads(cores // 2):
        blocks = network_blocks(example, next(given[0].rows()))
    n_depths = len(blocks) + 1
    n_samples = sum(len(batch) for batch in given)
    figures = {name: np.full((len(chosen), n_depths, n_samples), np.nan) for name in FIGURES}
    n_tokens = np.zeros(n_samples, dtype=np.int64)
    with network_threads(cores // 2), _measuring(figures, max(1, cores - cores // 2)) as measuring:
        for number, variant in enumerate(chosen):
            first = 0
            for place, batch in enumerate(given):
                if on_progress is not None:
                    on_progress("rank collapse", number * len(given) + place, len(chosen) * len(given))
                states = _States(measuring, batch, number, first, n_tokens)
                off = switched_off(network, blocks, variant, on_state=states)
                with off, torch.no_grad(), suppress(_NothingLeft):
                    forward(network, batch)
                first += len(batch)
    for values in figures.values():
        # The tokens that enter the first layer are the same whatever is off behind it.
        values[1:, 0] = values[0, 0]
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


class _NothingLeft(Exception):
    """No sample has a number left at this depth, so that none deeper will have any."""


class _Measuring:
    """Threads that measure token matrices while the network goes on, a few of them waiting."""

    def __init__(self, figures: dict[str, FloatArray], threads: int) -> None:
        self._figures = figures
        self._workers = Workers(threads, "haarbor-collapse")
        self._most = _WAITING * threads
        self._waiting: deque[tuple[tuple[int, int, int], Future[dict[str, float]]]] = deque()

    def add(self, place: tuple[int, int, int], tokens: FloatArray) -> None:
        """Measure the tokens of (variant, depth, sample) as soon as there is a thread for them."""
        if len(self._waiting) >= self._most:
            self._take()
        self._waiting.append((place, self._workers.submit(_measured, tokens)))

    def finish(self) -> None:
        """Wait for all that was added."""
        while self._waiting:
            self._take()

    def close(self) -> None:
        """Let the threads end; what has not begun is not done."""
        for _, future in self._waiting:
            future.cancel()
        self._workers.close()

    def _take(self) -> None:
        place, future = self._waiting.popleft()
        for name, value in future.result().items():
            self._figures[name][place] = value


@contextmanager
def _measuring(figures: dict[str, FloatArray], threads: int) -> Iterator[_Measuring]:
    from threadpoolctl import threadpool_limits

    measuring = _Measuring(figures, threads)
    try:
        # Every matrix has a thread of its own; more of them inside would only wait for one another.
        with threadpool_limits(limits=1, user_api="blas"):
            yield measuring
            measuring.finish()
    finally:
        measuring.close()


class _States:
    """Hands the tokens of a batch at every depth on to be measured."""

    def __init__(
        self, measuring: _Measuring, batch: ModelBatch, variant: int, first: int, n_tokens: IntArray
    ) -> None:
        self._measuring, self._batch, self._variant, self._first = measuring, batch, variant, first
        self._n_tokens = n_tokens

    def __call__(self, depth: int, x: torch.Tensor) -> None:
        rows = _tokens(x, self._batch)
        if self._variant == 0 and depth == 0:
            for row, tokens in enumerate(rows):
                self._n_tokens[self._first + row] = tokens.shape[0]
        if depth > 0 or self._variant == 0:
            for row, tokens in enumerate(rows):
                self._measuring.add((self._variant, depth, self._first + row), tokens)
        # What is no number once stays so through attention, MLPs and sums.
        if all(np.isnan(tokens).any() for tokens in rows):
            raise _NothingLeft


def _tokens(x: torch.Tensor, batch: ModelBatch) -> list[FloatArray]:
    """Tokens of each sample, without padding, in arrays of their own."""
    if x.dim() != 3 or x.shape[0] != len(batch):
        raise CollapseError(
            f"the layers must take tokens as (batch, token, width); found {tuple(x.shape)} for a batch of "
            f"{len(batch)}. Choose a model with the batch in front."
        )
    rows: list[FloatArray] = []
    valid = batch.valid
    for row in range(x.shape[0]):
        tokens = x[row].detach().to("cpu", torch.float64, copy=True).numpy()
        if valid is not None and valid.shape[1] == tokens.shape[0]:
            tokens = tokens[valid[row].cpu().numpy()]
        if tokens.shape[0] < 2:
            raise DataError("a sample must have two tokens or more; found one. Pass longer texts.")
        rows.append(tokens)
    return rows


def _measured(tokens: FloatArray) -> dict[str, float]:
    try:
        x, exponent = token_matrix(tokens)
    except DataError:
        # Without norms a network overflows or vanishes; that is a finding, and the result says where.
        return {}
    residual = token_residual(x)
    stable, effective = ranks_of_spectrum(np.linalg.svd(x, compute_uv=False))
    found = {
        "composite": residual.relative,
        "composite_least": residual.least,
        "frobenius": token_residual(x, norm="frobenius").relative,
        "stable_rank": stable,
        "effective_rank": effective,
        "log10_size": float(np.log10(composite_norm(x)) + exponent * np.log10(2.0)),
    }
    if np.abs(x).max(axis=1).all():
        found["cosine"] = token_cosine(x)
    return found

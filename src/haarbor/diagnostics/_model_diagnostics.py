"""What each head does, measured on the network itself: repeated tokens, weights, outputs, token states."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from haarbor.array_types import FloatArray, IntArray, frozen, plain_array
from haarbor.engines import usable_cores
from haarbor.errors import DataError, PruningError, SettingError
from haarbor.on_progress import OnProgress
from haarbor.options import require_function, require_seed, require_whole_number
from haarbor.stored_result import stored_result

if TYPE_CHECKING:
    import torch

    from haarbor.pruning import ModelBatch, NetworkHeads

__all__ = ["MODEL_FIGURES", "ModelDiagnostics", "head_diagnostics"]

MODEL_FIGURES = (
    "previous_repeated",
    "duplicate_token",
    "induction",
    "qk_effective_rank",
    "qk_positive",
    "ov_effective_rank",
    "ov_positive",
    "relative_output",
)
_PERIOD = 48
_N_REPEATED = 8
_MOST_TOKENS = 8192
"""Of repeated tokens, where a model has places for any number."""


@stored_result("ModelDiagnostics")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ModelDiagnostics:
    """Figures of all heads of a network, and of its tokens at every depth.

    See Also
    --------
    haarbor.head_diagnostics : Figures that need the network.
    """

    figures: Mapping[str, FloatArray]
    """By name, those of `MODEL_FIGURES`: arrays of shape (n_heads,), NaN where a figure cannot be had."""
    composition: Mapping[str, FloatArray]
    """By "query", "key" and "value": how strongly a head (row) reads what an earlier one (column) writes,
    shape (n_heads, n_heads); NaN where it cannot be had."""
    states: Mapping[str, FloatArray]
    """By "largest", "median", "token", "channel" and "cosine": figures of the tokens, shape
    (n_layers + 1, n_samples). Empty where the layers of the network were not found."""
    layers: IntArray
    """Layer of each head, shape (n_heads,)."""
    period: int
    """Of the repeated tokens; 0 if the network takes no tokens."""
    seed: int

    @property
    def n_heads(self) -> int:
        """Heads of all layers."""
        return int(self.layers.size)

    @property
    def repeated(self) -> dict[str, FloatArray]:
        """Figures on repeated tokens by which heads get their type; {} if there are none."""
        names = ("induction", "duplicate_token")
        return {name: self.figures[name] for name in names} if self.period else {}

    def massive_layers(self, *, size: float = 100.0, ratio: float = 1000.0) -> IntArray:
        """Depths at which every sample has an entry above `size` and `ratio` times the median one.

        The thresholds are those of Sun et al. 2024.
        """
        if not self.states:
            return np.array([], dtype=np.int64)
        largest, median = self.states["largest"], self.states["median"]
        there = (largest > size) & (largest > ratio * median)
        return np.flatnonzero(there.all(axis=1))

    def __repr__(self) -> str:
        return f"ModelDiagnostics({self.n_heads} heads, period {self.period})"


def head_diagnostics(
    model: torch.nn.Module,
    batches: Any,
    *,
    vocabulary: Any = None,
    period: int | None = None,
    n_repeated: int = _N_REPEATED,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> ModelDiagnostics:
    """Diagnostics of heads that need the network: what it makes of repeated tokens, weights, outputs.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode. Its weights are not changed.
    batches : iterable
        Samples, dictionaries of model inputs, or tensors for the first argument.
    vocabulary : sequence of int, optional
        Ids of the random tokens; if not given, those of a Hugging Face model that are not special, and of
        another model those that occur in `batches`.
    period : int, optional
        After how many tokens they repeat; 48 if not given, or half of what the model has places for.
    n_repeated : int, default 8
        Number of rows of random tokens.
    seed : int, default 0
    on_progress : function of (step, done, total), optional

    Returns
    -------
    ModelDiagnostics

    Raises
    ------
    PruningError
        If the heads of the model cannot be found.
    DataError
        If there are no batches, or the model does not run on them.
    SettingError
        If an option is out of its range.

    See Also
    --------
    haarbor.attention_diagnostics : Figures from attention alone.
    haarbor.diagnostics.keep_model_diagnostics : Keep them in a run.
    haarbor.diagnostics.circuit_figures : Figures of the weights of heads.
    """
    require_function("on_progress", on_progress)
    require_seed(seed)
    require_whole_number("n_repeated", n_repeated, 1)
    if period is not None:
        require_whole_number("period", period, 2)
    from threadpoolctl import threadpool_limits

    from haarbor.collapse import network_threads

    # Matrices as small as those of a head, and layers as short as those of a small network, take many times
    # as long on several threads that wait for each other than on one.
    with threadpool_limits(limits=1, user_api="blas"), network_threads(usable_cores() // 2):
        return _measured(model, batches, vocabulary, period, n_repeated, seed, on_progress)


def _measured(
    model: torch.nn.Module,
    batches: Any,
    vocabulary: Any,
    period: int | None,
    n_repeated: int,
    seed: int,
    on_progress: OnProgress | None,
) -> ModelDiagnostics:
    from haarbor.diagnostics._circuit_figures import circuit_figures, composition_scores
    from haarbor.diagnostics._head_circuits import head_circuits
    from haarbor.diagnostics._repeated_tokens import repeated_batches
    from haarbor.diagnostics._token_states import token_states
    from haarbor.pruning import layer_moments, model_batches, network_heads, relative_output_norms

    told = on_progress or (lambda _step, _done, _total: None)
    given = model_batches(batches)
    rows = [row for batch in given for row in batch.rows()]
    if not rows:
        raise DataError("the batches must have a sample; found none in all. Pass some texts or images.")
    heads = network_heads(model, rows[0])
    n_heads = heads.n_heads
    figures = {name: np.full(n_heads, np.nan) for name in MODEL_FIGURES}
    told("head diagnostics", 0, 4)
    samples = rows
    length = 0
    if rows[0].tokens is not None:
        ids, longest = _vocabulary(model, rows, vocabulary)
        if period is not None and period > longest // 2:
            raise SettingError(
                f"period must be at most half of the {longest} tokens that the model has places for; found "
                f"{period}. Pass a smaller one, or leave it out."
            )
        length = period or min(_PERIOD, longest // 2)
        samples = list(repeated_batches(rows[0], ids, length, n_repeated, seed))
        figures |= _on_repeated(model, heads, samples, length, told)
    told("head diagnostics", 1, 4)
    circuits = head_circuits(model, heads, samples[:_N_REPEATED])
    figures |= circuit_figures(circuits)
    composition = composition_scores(circuits, heads.layer_of_head, on_progress=on_progress)
    told("head diagnostics", 2, 4)
    # Without a residual stream there is nothing that the output could be relative to.
    with contextlib.suppress(PruningError):
        figures["relative_output"] = relative_output_norms(layer_moments(model, heads, rows), heads)
    told("head diagnostics", 3, 4)
    states = token_states(model, heads, rows)
    told("head diagnostics", 4, 4)
    return ModelDiagnostics(
        figures={name: frozen(values) for name, values in figures.items()},
        composition={name: frozen(values) for name, values in composition.items()},
        states={name: frozen(values) for name, values in states.items()},
        layers=frozen(heads.layer_of_head),
        period=length,
        seed=seed,
    )


def _vocabulary(model: torch.nn.Module, rows: list[ModelBatch], given: Any) -> tuple[IntArray, int]:
    """Ids to draw from, and how many tokens the model has places for."""
    from haarbor.capturing import is_huggingface
    from haarbor.capturing.inputs import TokenInputs, model_inputs

    seen = np.unique(np.concatenate([np.asarray(row.tokens).ravel() for row in rows]))
    longest = max(int(np.asarray(row.tokens).shape[1]) for row in rows)
    takes = model_inputs(model) if is_huggingface(model) else None
    if isinstance(takes, TokenInputs):
        ids = np.setdiff1d(np.arange(takes.vocab_size), np.array(sorted(takes.reserved_ids), dtype=np.int64))
        longest = takes.max_tokens or _MOST_TOKENS
    else:
        ids = seen
    if given is not None:
        ids = np.unique(plain_array(given, "vocabulary"))
        if not ids.size or not np.issubdtype(ids.dtype, np.integer) or ids.min() < 0:
            raise SettingError(
                "vocabulary must be ids of tokens, whole numbers from 0 on; found "
                f"{ids.dtype} of {ids.size}. Pass a list of ids, or leave it out."
            )
    if longest < 4:
        raise DataError(f"repeated tokens need 4 places; the texts have {longest}. Pass longer texts.")
    return ids, longest


def _on_repeated(
    model: torch.nn.Module, heads: NetworkHeads, samples: list[ModelBatch], period: int, told: OnProgress
) -> dict[str, FloatArray]:
    """Means of the figures over the samples."""
    import torch

    from haarbor.capturing import recorded_calls
    from haarbor.diagnostics._repeated_tokens import repeated_figures
    from haarbor.pruning import forward

    sums: dict[str, FloatArray] = {}
    for done, sample in enumerate(samples):
        told("repeated tokens", done, len(samples))
        layers: list[dict[str, FloatArray]] = []

        def on_call(
            name: str, _module: Any, call: Any, weights: Any, layers: list[dict[str, FloatArray]] = layers
        ) -> None:
            if (call.n_groups, call.n_queries, call.n_keys) != (1, 2 * period, 2 * period):
                raise DataError(
                    f"every token must see the whole text; layer {name} has {call.n_queries} queries and "
                    f"{call.n_keys} keys in {call.n_groups} groups for {2 * period} tokens. Choose a shorter "
                    "period."
                )
            whole = slice(0, call.n_heads)
            found = call.probabilities(call.logits(whole), whole) if weights is None else weights
            valid = call.valid()[0]
            is_causal = not bool(torch.triu(valid, 1).any())
            attention = found[0].detach().double().cpu().numpy()
            layers.append(repeated_figures(attention, period, is_causal=is_causal))

        with recorded_calls(model, on_call), torch.no_grad():
            forward(model, sample)
        if len(layers) != len(heads):
            raise DataError(
                f"every layer must attend on repeated tokens; found {len(layers)} of {len(heads)}. Choose a "
                "model whose layers all read the text."
            )
        for name in layers[0]:
            values = np.concatenate([layer[name] for layer in layers])
            sums[name] = sums.get(name, 0.0) + values / len(samples)
    told("repeated tokens", len(samples), len(samples))
    return sums

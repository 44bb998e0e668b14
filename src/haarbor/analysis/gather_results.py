"""From a run to what the paper's figures and tables need of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from haarbor.analysis.coherence_controls import CoherenceControls, coherence_controls
from haarbor.analysis.organize_run import RunAnalysis, organize_run
from haarbor.analysis.paper_results import PAPER_BATCHES, PaperResults, SoftmaxExample
from haarbor.analysis.telling_heads import organisation_gain, telling_heads
from haarbor.analysis.valid_tokens import ValidTokens, valid_tokens
from haarbor.array_types import BoolArray, FloatArray, IntArray, frozen
from haarbor.errors import SettingError
from haarbor.questionnaire import Organization, organize
from haarbor.spectral import diffusion_map
from haarbor.store import Run
from haarbor.wavelets import sorted_coefficients

__all__ = ["ORGANIZE_OPTIONS", "paper_results"]

ORGANIZE_OPTIONS: Mapping[str, Any] = {"n_iterations": 3, "refine": "latest", "initial": "cosine"}
"""What a run is organised with that was not organised before, as by ``haarbor organize``."""

_AXES = ("query", "key", "head")
Progress = Callable[[str, int, int], None]


def paper_results(
    run: Run,
    *,
    name: str | None = None,
    content: str | None = None,
    stream: str | None = None,
    batch: int | None = None,
    heads: Sequence[str | int] | None = None,
    options: Mapping[str, Any] | None = None,
    control_seeds: int = 5,
    control_batches: int = 1,
    on_progress: Progress | None = None,
) -> PaperResults:
    """Everything the paper's figures and tables show of a run; organises it where that is missing.

    Parameters
    ----------
    run : Run
    name : str, optional
        What the network is called in the figures; the model's name if not given.
    content : {"probabilities", "logits"}, optional
        Probabilities if the run holds them, else logits.
    stream : str, optional
        The first one if not given.
    batch : int, optional
        The batch that is shown where one is; the first complete one if not given.
    heads : sequence of str or int, optional
        Heads whose matrices are shown, as "layer.head" or by index; if not given, those that gain
        most by being organised, one from each third of the depth.
    options : mapping, optional
        Options of :func:`haarbor.organize`; if not given, those the run was organised with, or
        `ORGANIZE_OPTIONS` if it was not.
    control_seeds : int, default 5
        How often each random control is made; 0 for none.
    control_batches : int, default 1
        On how many batches, the shown one first.
    on_progress : function of (what is done, steps done, steps in all), optional

    Returns
    -------
    PaperResults

    Raises
    ------
    SettingError
        If the run has no such content, stream, batch or head.
    DataError
        If the run has no complete batch.
    """
    if name is not None and not name.strip():
        raise SettingError("a network's name must have letters; found none.")
    if control_seeds < 0 or control_batches < 1:
        raise SettingError(
            "control_seeds must be at least 0 and control_batches at least 1; "
            f"found {control_seeds} and {control_batches}."
        )
    chosen = {
        "content": content or ("probabilities" if "probabilities" in run.contents else run.contents[0]),
        "stream": stream or run.streams[0],
    }
    if chosen["content"] not in run.contents:
        raise SettingError(
            f"content must be one that the run holds, {' or '.join(run.contents)}; found {content!r}."
        )
    told = on_progress or (lambda _what, _done, _total: None)
    gathering = _Gathering(run, chosen, told)
    shown = gathering.checked_batch(batch)
    picked = None if heads is None else gathering.checked_heads(heads)
    found = organize_run(
        run,
        options=options if options is not None else gathering.options_before(),
        on_progress=lambda done, total: told("organising", done, total),
        content=chosen["content"],
        stream=chosen["stream"],
    )
    return gathering.results(
        found, shown, picked, name=name, control_seeds=control_seeds, control_batches=control_batches
    )


class _Gathering:
    """One run, one content and one stream of it."""

    def __init__(self, run: Run, chosen: Mapping[str, str], told: Progress) -> None:
        if chosen["stream"] not in run.streams:
            raise SettingError(f"stream must be one of {run.streams}; found {chosen['stream']!r}.")
        self.run, self.chosen, self.told = run, dict(chosen), told
        sizes = run.plan.stream(chosen["stream"])
        self.head_layers: IntArray = frozen(np.repeat(np.arange(sizes.n_layers), sizes.n_heads))
        self.names = [f"{layer}.{head}" for layer in range(sizes.n_layers) for head in range(sizes.n_heads)]

    def checked_batch(self, batch: int | None) -> int:
        there = self.run.batches
        if batch is None:
            return there[0] if there else 0
        if batch not in there:
            raise SettingError(
                f"batch must be a complete one, {', '.join(map(str, there)) or 'of which there is none'}; "
                f"found {batch}."
            )
        return int(batch)

    def checked_heads(self, heads: Sequence[str | int]) -> tuple[int, ...]:
        found = []
        for head in heads:
            if isinstance(head, str) and head in self.names:
                found.append(self.names.index(head))
            elif not isinstance(head, str | bool) and 0 <= head < len(self.names):
                found.append(int(head))
            else:
                raise SettingError(
                    f"heads must be written layer.head, from {self.names[0]} to {self.names[-1]}; "
                    f"found {head!r}."
                )
        if not found or len(set(found)) < len(found):
            raise SettingError(f"heads must be different ones, at least one; found {list(heads)}.")
        return tuple(found)

    def options_before(self) -> Mapping[str, Any]:
        first = self.checked_batch(None)
        if not self.run.has_result("asked", batch=first, **self.chosen):
            return ORGANIZE_OPTIONS
        options: Mapping[str, Any] = self.run.load_result("asked", batch=first, **self.chosen)["options"]
        return options

    def results(
        self,
        found: RunAnalysis,
        batch: int,
        heads: tuple[int, ...] | None,
        *,
        name: str | None,
        control_seeds: int,
        control_batches: int,
    ) -> PaperResults:
        org: Organization = self.run.load_result("organization", batch=batch, **self.chosen)
        tokens = self._tokens(batch)
        tensor = tokens.filled(self.chosen["content"])
        shown = heads or telling_heads(organisation_gain(tensor, org.trees))
        raw = found.head_entropies[found.batches.index(batch)].raw
        expanded = (int(np.argmax(raw)), int(np.argmin(raw)))[: min(2, raw.size)]
        trees = {axis: org.trees[axis] for axis in _AXES}
        two = {axis: trees[axis] for axis in ("query", "key")}
        coefficients = sorted_coefficients(tensor[:, :, list(expanded)], two, axes=_AXES)
        return PaperResults(
            name=name or self.run.model,
            head_layers=self.head_layers,
            batches=found.batches,
            batch=batch,
            trees=trees,
            orders={axis: frozen(org.order(axis).astype(np.int32)) for axis in _AXES},
            head_affinity=frozen(org.affinities["head"].astype(np.float32)),
            head_map=diffusion_map(org.affinities["head"]),
            shown_heads=shown,
            matrices=_small(np.moveaxis(tokens.tensor[:, :, list(shown)], -1, 0), tokens.mask),
            mask=frozen(tokens.mask.copy()),
            expanded_heads=expanded,
            head_coefficients=frozen(coefficients.reshape(-1, len(expanded)).T.astype(np.float32)),
            head_entropies=found.head_entropies,
            network_entropies=found.network_entropies,
            network_coefficients=self._network_coefficients(),
            controls=self._controls(batch, control_seeds, control_batches),
            softmax_examples=self._softmax_examples(batch, shown),
            settings=org.settings,
            model=self.run.model,
            run_settings=dict(self.run.plan.settings),
            haarbor_version=_haarbor_version(),
            **self.chosen,
        )

    def _tokens(self, batch: int, content: str | None = None) -> ValidTokens:
        tensor = self.run.tensor(batch, content or self.chosen["content"], self.chosen["stream"])
        return valid_tokens(tensor, self.run.mask(batch, self.chosen["stream"]))

    def _network_coefficients(self) -> tuple[FloatArray, ...]:
        batches = self.run.batches[: PAPER_BATCHES["figure6"]]
        found = []
        for done, batch in enumerate(batches):
            org: Organization = self.run.load_result("organization", batch=batch, **self.chosen)
            tensor = self._tokens(batch).filled(self.chosen["content"])
            found.append(frozen(sorted_coefficients(tensor, org.trees, 100, axes=_AXES).astype(np.float32)))
            self.told("expanding", done + 1, len(batches))
        return tuple(found)

    def _controls(self, shown: int, n_seeds: int, n_batches: int) -> dict[str, CoherenceControls]:
        others = [batch for batch in self.run.batches if batch != shown]
        batches = [shown, *others][:n_batches] if n_seeds else []
        found = {}
        for place, batch in enumerate(batches):
            tokens = self._tokens(batch)
            masked = not tokens.mask.all()

            def advance(done: int, total: int, before: int = place * n_seeds) -> None:
                self.told("controls", before + done, len(batches) * total)

            found[str(batch)] = coherence_controls(
                tokens.tensor,
                self.run.load_result("organization", batch=batch, **self.chosen),
                mask=tokens.mask if masked else None,
                content=self.chosen["content"],  # type: ignore[arg-type]
                n_seeds=n_seeds,
                on_progress=advance,
            )
        return found

    def _softmax_examples(self, batch: int, shown: tuple[int, ...]) -> tuple[SoftmaxExample, ...]:
        """The first shown head's logits, organised by themselves with the settings the paper gives."""
        if "logits" not in self.run.contents:
            return ()
        tokens = self._tokens(batch, "logits")
        if min(tokens.tensor.shape[:2]) < 2:
            return ()
        logits = tokens.tensor[:, :, shown[0]]
        mask = None if tokens.mask.all() else tokens.mask
        org = organize(
            logits, ("query", "key"), alpha=1.0, beta=0.0, n_iterations=10, mask=mask, content="logits"
        )
        return (SoftmaxExample(head=shown[0], logits=_small(logits, tokens.mask), trees=dict(org.trees)),)


def _small(values: FloatArray, mask: BoolArray) -> FloatArray:
    """Valid `values`, 0 elsewhere: as float16 where that loses nothing, else as float32."""
    valid = np.where(mask, values, np.zeros((), dtype=values.dtype))
    with np.errstate(over="ignore"):
        half = valid.astype(np.float16)
    exact = np.array_equal(half.astype(valid.dtype), valid)
    return frozen(half if exact else valid.astype(np.float32))


def _haarbor_version() -> str:
    try:
        return version("haarbor")
    except PackageNotFoundError:
        return "unknown"

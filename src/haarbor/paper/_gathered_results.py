"""Collect everything the paper's figures and tables need from a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from haarbor.analysis import (
    CoherenceControls,
    RunAnalysis,
    ValidTokens,
    asked_part,
    checked_batch,
    coherence_controls,
    example_heads,
    organization_gain,
    organize_run,
    question_before,
    valid_tokens,
)
from haarbor.array_types import BoolArray, FloatArray, IntArray, frozen
from haarbor.errors import DataError, SettingError
from haarbor.head_labels import head_labels
from haarbor.on_progress import OnProgress
from haarbor.options import found_text, is_whole_number, require_function, require_whole_number
from haarbor.paper._paper_results import PAPER_BATCHES, PaperResults, SoftmaxExample
from haarbor.questionnaire import Organization, organize
from haarbor.spectral import diffusion_map
from haarbor.store import Run, RunPart
from haarbor.version import __version__
from haarbor.wavelets import sorted_coefficients

__all__ = ["paper_results"]

_AXES = ("query", "key", "head")


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
    on_progress: OnProgress | None = None,
) -> PaperResults:
    """Everything the paper's figures and tables show of a run, which is organised first if need be.

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
        The batch shown in figures of a single batch; the first complete one if not given.
    heads : sequence of str or int, optional
        Heads whose matrices are shown, as "layer.head" or by index; if not given, those that gain
        most by being organised, one from each third of the depth.
    options : mapping, optional
        Options of :func:`haarbor.organize`; if not given, those the run was organised with, or the
        usual ones if it was not.
    control_seeds : int, default 5
        How often each random control is made; 0 for none.
    control_batches : int, default 1
        On how many batches the controls are made, the shown batch first.
    on_progress : function of (step, done, total), optional

    Returns
    -------
    PaperResults

    Raises
    ------
    SettingError
        If the run has no such content, stream, batch or head.
    DataError
        If the run has no complete batch.

    See Also
    --------
    haarbor.paper.paper_tables : The tables.
    haarbor.paper.write_paper_figures : Figures and tables as files.
    """
    part = asked_part(run, content, stream)
    if name is not None and (not isinstance(name, str) or not name.strip()):
        raise SettingError(
            f"a network's name must be a text with letters; found {found_text(name)}. "
            "Give it one, or leave it out."
        )
    require_whole_number("control_seeds", control_seeds)
    require_whole_number("control_batches", control_batches, 1)
    require_function("on_progress", on_progress)
    told = on_progress or (lambda _what, _done, _total: None)
    gathering = _Gathering(part, told)
    if not run.batches:
        raise DataError("the run must have at least one complete batch; it has none. Capture again.")
    shown = run.batches[0] if batch is None else checked_batch(run, batch)
    picked = None if heads is None else gathering.checked_heads(heads)
    asked: Any = question_before(part).to_result() if options is None else {"options": options}
    found = organize_run(part, **asked, on_progress=told)
    return gathering.results(
        found, shown, picked, name=name, control_seeds=control_seeds, control_batches=control_batches
    )


class _Gathering:
    """Collects the results of one part of a run."""

    def __init__(self, part: RunPart, told: OnProgress) -> None:
        self.part, self.run, self.told = part, part.run, told
        sizes = part.sizes
        self.head_layers: IntArray = frozen(np.repeat(np.arange(sizes.n_layers), sizes.n_heads))
        self.names = head_labels(sizes.n_layers, sizes.n_heads)

    def checked_heads(self, heads: Sequence[str | int]) -> tuple[int, ...]:
        if isinstance(heads, str) or not isinstance(heads, Sequence | np.ndarray):
            raise SettingError(
                f"heads must be a list of heads; found {found_text(heads)}. "
                f'Write them as ["{self.names[0]}"].'
            )
        found = []
        for head in heads:
            if isinstance(head, str) and head in self.names:
                found.append(self.names.index(head))
            elif is_whole_number(head) and 0 <= int(head) < len(self.names):
                found.append(int(head))
            else:
                raise SettingError(
                    f"heads must be written layer.head, from {self.names[0]} to {self.names[-1]}; "
                    f"found {found_text(head)}. Choose among these."
                )
        if not found or len(set(found)) < len(found):
            raise SettingError(
                f"heads must be different ones, at least one; found {found_text(list(heads))}. "
                "Name each once."
            )
        return tuple(found)

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
        org: Organization = self.part.load_result("organization", batch=batch)
        tokens = self._tokens(batch)
        tensor = tokens.filled(self.part.content)
        shown = heads or example_heads(organization_gain(tensor, org.trees))
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
            haarbor_version=__version__,
            content=self.part.content,
            stream=self.part.stream,
        )

    def _tokens(self, batch: int, part: RunPart | None = None) -> ValidTokens:
        part = part or self.part
        return valid_tokens(part.tensor(batch), part.mask(batch))

    def _network_coefficients(self) -> tuple[FloatArray, ...]:
        batches = self.run.batches[: PAPER_BATCHES["figure6"]]
        found = []
        for done, batch in enumerate(batches):
            org: Organization = self.part.load_result("organization", batch=batch)
            tensor = self._tokens(batch).filled(self.part.content)
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

            def advance(step: str, done: int, _total: int | None, before: int = place * n_seeds) -> None:
                self.told(step, before + done, len(batches) * n_seeds)

            found[str(batch)] = coherence_controls(
                tokens.tensor,
                self.part.load_result("organization", batch=batch),
                mask=tokens.mask if masked else None,
                content=self.part.content,
                n_seeds=n_seeds,
                on_progress=advance,
            )
        return found

    def _softmax_examples(self, batch: int, shown: tuple[int, ...]) -> tuple[SoftmaxExample, ...]:
        """The logits of the first shown head, organised alone with the settings that the paper gives."""
        if "logits" not in self.run.contents:
            return ()
        tokens = self._tokens(batch, self.run.part("logits", self.part.stream))
        if min(tokens.tensor.shape[:2]) < 2:
            return ()
        logits = tokens.tensor[:, :, shown[0]]
        mask = None if tokens.mask.all() else tokens.mask
        org = organize(
            logits, ("query", "key"), alpha=1.0, beta=0.0, n_iterations=10, mask=mask, content="logits"
        )
        return (SoftmaxExample(head=shown[0], logits=_small(logits, tokens.mask), trees=dict(org.trees)),)


def _small(values: FloatArray, mask: BoolArray) -> FloatArray:
    """`values` with 0 where they are masked, as float16 if that loses nothing, else as float32."""
    valid = np.where(mask, values, np.zeros((), dtype=values.dtype))
    with np.errstate(over="ignore"):
        half = valid.astype(np.float16)
    exact = np.array_equal(half.astype(valid.dtype), valid)
    return frozen(half if exact else valid.astype(np.float32))

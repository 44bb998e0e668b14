"""The files of haarbor prune: their places are checked before the work, and the model is read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from haarbor.errors import HaarborError, PruningError, SettingError, StoreError

if TYPE_CHECKING:
    import torch

    from haarbor.capturing import LoadedModel
    from haarbor.pruning import PruningData, PruningStudy

__all__ = ["PrunedFiles"]

_MASK, _RESULTS, _FIGURE, _MODEL = "mask.json", "results.json", "damage.png", "model"
_TOLERANCE = 1e-4


class PrunedFiles:
    """The folder for the results of a pruning study.

    Parameters
    ----------
    out : str
        Made if missing.

    Raises
    ------
    SettingError
        If `out` is no path.
    StoreError
        If it, or a file that would be written in it, is something else already or may not be written.
    """

    def __init__(self, out: str) -> None:
        from haarbor.pruning import folder_place
        from haarbor.whole_file import file_place

        if not out or "\0" in out:
            raise SettingError(
                f"--out must be the path of a folder; found {out!r}. Leave it out, or name one."
            )
        self.folder = Path(out)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"--out must be a folder to write to; {out}: {error.strerror or error}. Choose another place."
            ) from error
        for name in (_MASK, _RESULTS, _FIGURE):
            # A link in the folder could lead out of it, to a file that is not ours.
            if (self.folder / name).is_symlink():
                raise StoreError(
                    f"{name} must be a file of its own; {self.folder / name} is a link. Remove it."
                )
            file_place(self.folder / name, name)
        folder_place(self.folder / _MODEL)
        self.written: dict[str, str] = {}
        self.failures: list[HaarborError] = []

    def write(
        self,
        study: PruningStudy,
        loaded: LoadedModel,
        data: PruningData,
        summary: dict[str, Any],
        uniform: bool,
    ) -> None:
        """Write the results, the mask, the figure and the network, and read the network back.

        Errors are collected in `failures`, and the rest is written all the same: no result is lost because
        another file could not be written.
        """
        # The results are written twice: first of all, and again with what was written and read back.
        self._step("results", lambda: self._write_results(summary))
        self._step("mask", lambda: self._write_mask(study, summary))
        self._step("figure", lambda: self._write_figure(study, loaded))
        pruned = study.pruned
        if pruned is None:
            self.failures.append(PruningError(study.refusal))
        else:
            self._step("model", lambda: self._write_model(study, pruned, loaded, data, summary, uniform))
        summary["written"] = self.written
        self._step("results", lambda: self._write_results(summary))

    def _step(self, what: str, write: Callable[[], None]) -> None:
        try:
            write()
        except HaarborError as error:
            self.failures.append(error)
        except OSError as error:
            self.failures.append(
                StoreError(
                    f"the {what} must be writable; {self.folder}: {error.strerror or error}. Free some space."
                )
            )

    def _write_results(self, summary: dict[str, Any]) -> None:
        from haarbor.whole_file import whole_file

        with whole_file(self.folder / _RESULTS, _RESULTS) as unfinished:
            unfinished.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        self.written["results"] = _RESULTS

    def _write_mask(self, study: PruningStudy, summary: dict[str, Any]) -> None:
        from haarbor.pruning import write_mask

        write_mask(self.folder / _MASK, study.heads, study.removed, origin=summary["origin"])
        self.written["mask"] = _MASK

    def _write_figure(self, study: PruningStudy, loaded: LoadedModel) -> None:
        try:
            from haarbor.plots import damage_figure, save_figure
        except SettingError as error:
            # Without matplotlib the figure is left out, and all other files are written.
            typer.echo(str(error), err=True)
            return
        best = study.recommendation
        title = f"{loaded.name}: {best.n_removed} of {best.n_heads} heads removed ({100 * best.share:.3g} %)"
        figure = damage_figure(study.curves, share=best.share, score=best.score, title=title)
        save_figure(figure, self.folder / _FIGURE)
        self.written["figure"] = _FIGURE

    def _write_model(
        self,
        study: PruningStudy,
        pruned: torch.nn.Module,
        loaded: LoadedModel,
        data: PruningData,
        summary: dict[str, Any],
        uniform: bool,
    ) -> None:
        from haarbor.capturing import is_huggingface
        from haarbor.pruning import save_pruned, standard_model, whole_folder

        target = self.folder / _MODEL
        plain: Any = None
        left = {
            layer.n_heads - gone.size
            for layer, gone in zip(study.heads.layers, study.heads.by_layer(study.removed), strict=True)
        }
        if study.smaller is not None and (uniform or (len(left) > 1 and is_huggingface(study.smaller))):
            try:
                plain = standard_model(study.smaller, study.heads, study.removed, study.batch)
            except PruningError as error:
                # Layers with different numbers of heads are written so where the model reads that: few do.
                if uniform:
                    typer.echo(str(error), err=True)
        if plain is None:
            save_pruned(
                target,
                pruned,
                study.heads,
                study.removed,
                origin=summary["origin"],
                tokenizer=loaded.tokenizer,
            )
        else:
            with whole_folder(target) as unfinished:
                plain.save_pretrained(unfinished)
                if loaded.tokenizer is not None:
                    loaded.tokenizer.save_pretrained(unfinished)
        self.written["pruned_model" if plain is None else "standard_model"] = _MODEL
        summary["pruned"] |= self._read_back(type(pruned), loaded, data, plain is not None)
        # The written network must reach the numbers that are printed.
        found, expected = summary["pruned"]["read_back"], study.value
        if not abs(found - expected) <= _TOLERANCE * max(1.0, abs(expected)):
            raise PruningError(
                f"the network in {target} must give the {data.metric.name} that was measured, "
                f"{expected:.6g}; read back it gives {found:.6g}. Do not use it: its settings cannot be kept "
                "in a file."
            )

    def _read_back(self, kind: Any, loaded: LoadedModel, data: PruningData, standard: bool) -> dict[str, Any]:
        """The metric of the network as it was written, and the line that loads it."""
        from haarbor.capturing import load_model
        from haarbor.pruning import load_pruned, measure

        target = self.folder / _MODEL
        if standard:
            network: Any = load_model(target, dtype="float32").model
            line = f"transformers.{kind.__name__}.from_pretrained({str(target)!r})"
        else:
            description = json.loads((target / "pruned.json").read_text(encoding="utf-8"))
            own = description["network"]["library"] == "own"
            network = load_pruned(target, *([loaded.model] if own else []))
            line = f"haarbor.load_pruned({str(target)!r}{', model' if own else ''})"
        network.to(next(loaded.model.parameters()).device)
        return {"read_back": measure(network, data.evaluation, data.metric).value, "load": line}

"""Runs of the networks inside the package, on the samples that come with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from haarbor.cli._capture_line import capture_line
from haarbor.cli._capture_words import CAPTURE_WORDS
from haarbor.cli._libraries import require_library
from haarbor.on_progress import OnProgress
from haarbor.store import Run, RunPlan

__all__ = ["embedded_run"]


def embedded_run(
    name: str,
    location: Path,
    *,
    n_batches: int,
    n_tokens: int,
    on_progress: OnProgress,
) -> Run:
    """Capture the probabilities and logits of every head of a network inside the package.

    Parameters
    ----------
    name : {"transformer-xl", "vision-transformer"}
    location : Path
        Place of the run; a run that is complete is used as it is.
    n_batches, n_tokens : int
    on_progress : function of (step, done, total)

    Returns
    -------
    Run

    Raises
    ------
    SettingError
        If PyTorch or transformers are not installed.
    """
    # Importing torch and transformers takes seconds, so progress is shown before it.
    on_progress("loading", 0, 1)
    for library in ("torch", "transformers"):
        require_library(library, user="the demo runs two networks and", extra="models")
    from haarbor.capturing import begun_run, capture, continued_plan, load_model
    from haarbor.capturing.inputs import named_samples

    loaded = load_model(f"zoo:{name}")
    takes: Any = loaded.takes
    samples = named_samples(
        "zoo", takes=takes, tokenizer=loaded.tokenizer, n_tokens=n_tokens, n_samples=n_batches
    )

    on_progress("loading", 1, 1)

    def on_plan(plan: RunPlan) -> None:
        begun = begun_run(location)
        if begun is not None:
            continued_plan(begun.plan, plan, str(location), CAPTURE_WORDS)

    return capture(
        loaded.model,
        samples,
        location,
        content=("probabilities", "logits"),
        dtype="float16",
        name=loaded.name,
        settings={
            "data": samples.description,
            "command": capture_line(
                loaded.name,
                "zoo",
                str(location),
                {"--tokens": n_tokens, "--batches": n_batches, "--logits": True, "--dtype": "float16"},
            ),
        },
        on_progress=on_progress,
        on_plan=on_plan,
    )

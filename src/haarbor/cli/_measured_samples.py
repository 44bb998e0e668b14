"""Samples on which a command measures a network: those of the user, or what comes with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from haarbor.capturing import LoadedModel
    from haarbor.capturing.inputs import Samples

__all__ = ["measured_samples"]


def measured_samples(
    loaded: LoadedModel,
    data: str | None,
    *,
    n_tokens: int | None,
    usual_tokens: int,
    n_samples: int,
    lines: bool,
    function: str,
) -> Samples:
    """Samples that the model takes.

    Parameters
    ----------
    loaded : LoadedModel
    data : str, optional
        As the user named it; if not given, the text or the images in the package, or random ones.
    n_tokens : int, optional
        As many as the user asked for.
    usual_tokens : int
        As many as there are else, if the model has places for them.
    n_samples : int
    lines : bool
        Whether every line is a text.
    function : str
        Name of the function to call from Python where the command line makes no such inputs.

    Raises
    ------
    CaptureError
        If the model takes inputs that the command line does not make.
    """
    from haarbor.capturing.inputs import TokenInputs, named_samples
    from haarbor.errors import CaptureError

    takes: Any = loaded.takes
    if takes is None:
        raise CaptureError(
            f"the model must take text, token ids or images; {loaded.name} takes others, which the command "
            f"line does not make. Call haarbor.{function} from Python."
        )
    reads = isinstance(takes, TokenInputs) and loaded.tokenizer is not None
    usual = "zoo" if reads or loaded.images is not None else "random"
    most = getattr(takes, "max_tokens", None)
    return named_samples(
        data or usual,
        takes=takes,
        tokenizer=loaded.tokenizer,
        n_tokens=n_tokens or min(usual_tokens, most or usual_tokens),
        n_samples=n_samples,
        split="lines" if lines else "whole",
    )

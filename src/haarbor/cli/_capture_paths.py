"""Checks of the paths that haarbor capture reads and writes, before anything slow begins."""

from __future__ import annotations

import os
from pathlib import Path

from haarbor.cli._model_argument import ZOO_MODELS
from haarbor.errors import CaptureError
from haarbor.named_path import named_path, require_run_place

__all__ = ["require_data", "require_model", "require_place"]

_ELSEWHERE = ("zoo:", "timm:")


def require_model(model: str) -> None:
    """Refuse a path at which there is no model; names on a hub are not looked up.

    Parameters
    ----------
    model : str
        As given on the command line.

    Raises
    ------
    CaptureError
        If there is no such folder or file, it may not be read, or holds no model.
    """
    if model.startswith("zoo:") and model not in ZOO_MODELS:
        raise CaptureError(
            f"a model in the package must be {' or '.join(ZOO_MODELS)}; found {model}. Choose one of them."
        )
    if model.startswith(_ELSEWHERE):
        return
    path = named_path(model, "a model")
    if path.is_file():
        if path.suffix != ".gguf":
            raise CaptureError(
                f"a model must be a folder, a .gguf file or a name on the hub; {path.name} is another kind "
                "of file. Give the folder that holds it and its config.json."
            )
        _require_readable(path)
    elif path.is_dir():
        _require_readable(path)
        if not (path / "config.json").is_file() and not any(path.glob("*.gguf")):
            raise CaptureError(
                f"{model} must be the folder of a model; it holds neither config.json nor a .gguf file. "
                "Check the path."
            )
    elif model.startswith((".", "/", "~")) or model.count("/") > 1 or model.endswith(".gguf"):
        raise CaptureError(f"there is no model at {model}. Check the path.")


def require_data(data: str, option: str = "--data") -> None:
    """Refuse a path at which there are no data that may be read.

    Parameters
    ----------
    data, option : str
        As given on the command line.

    Raises
    ------
    CaptureError
        If there is no such file or folder, or it may not be read.
    """
    if data in ("random", "zoo") or data.startswith("hub:"):
        return
    path = named_path(data, option)
    if not path.exists():
        raise CaptureError(
            f"{option} must be a path, hub:NAME, zoo or random; there is no {data}. Check the path, or write "
            f"hub:{data} for a data set of the Hugging Face hub."
        )
    _require_readable(path)


def require_place(out: str) -> None:
    """Refuse a place that no run can be written to, or that holds something else.

    Parameters
    ----------
    out : str
        As given on the command line; URLs are not looked up.

    Raises
    ------
    StoreError
        If it is a file, a folder of other things, or may not be written to.
    """
    require_run_place(out)
    path = Path(out)
    if "://" not in out and path.exists():
        from haarbor.store import is_passing, open_run

        if not all(is_passing(file.name) for file in path.iterdir()):
            open_run(out)


def _require_readable(path: Path) -> None:
    needed = os.R_OK | os.X_OK if path.is_dir() else os.R_OK
    if not os.access(path, needed):
        raise CaptureError(
            f"{path} must be readable; this user has no permission. Change it, for example with chmod u+r."
        )

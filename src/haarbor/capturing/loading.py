"""Models from a folder, a GGUF file, the Hugging Face hub or timm; no code and no pickles are taken in."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from haarbor.capturing.inputs import ImageSettings, ModelInputs, model_inputs
from haarbor.capturing.inputs.image_settings import timm_settings
from haarbor.capturing.loaded_model import LoadedModel
from haarbor.capturing.model_identity import config_digest
from haarbor.capturing.zoo_models import ZOO, is_zoo_folder, zoo_model
from haarbor.errors import CaptureError, SettingError

__all__ = ["load_model"]

_TIMM = "timm:"
_DTYPES = ("bfloat16", "float16", "float32", "float64")
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_PICKLES = (".bin", ".ckpt", ".pkl", ".pt", ".pth")
_TOKENIZER_FILES = (
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
    "spm.model",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
)
_FROM_HUB = (
    *_WEIGHTS,
    *_TOKENIZER_FILES,
    "model-*-of-*.safetensors",
    "added_tokens.json",
    "config.json",
    "generation_config.json",
    "preprocessor_config.json",
    "processor_config.json",
    "special_tokens_map.json",
)
# Parts above the attention layers, which a checkpoint of another task may lack.
_HEADS = ("classifier", "cls", "head", "lm_head", "pooler", "qa_outputs", "score")


def load_model(
    name_or_path: str | Path,
    *,
    gguf_file: str | None = None,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device = "cpu",
) -> LoadedModel:
    """Model in eval mode, with its tokenizer or image settings.

    Parameters
    ----------
    name_or_path : str or Path
        A folder with ``config.json`` and safetensors weights, a ``.gguf`` file, the name of a model on
        the Hugging Face hub, ``timm:NAME``, ``zoo:transformer-xl`` or ``zoo:vision-transformer``. The
        folder may be of a network that :mod:`haarbor.zoo` saved.
    gguf_file : str, optional
        Name of a GGUF file in the folder or on the hub, to load instead of safetensors.
    dtype : {"float32", "float16", "bfloat16", "float64"} or torch.dtype, optional
        The checkpoint's own if None.
    device : str or torch.device, default "cpu"

    Returns
    -------
    LoadedModel

    Raises
    ------
    CaptureError
        If there is no such model, the hub cannot be reached, a file is missing or damaged, the weights
        are pickled, or the model would run code from its checkpoint.
    SettingError
        If `dtype` is not offered.

    Notes
    -----
    The class is the one that the configuration names, if transformers has it, else the bare model
    without a task. Code that a checkpoint brings is never run, and of a hub only JSON, tokenizers and
    safetensors, or the GGUF file asked for, are downloaded.
    """
    wanted = _dtype(dtype)
    target = _device(device)
    name = str(name_or_path)
    if name.startswith(_TIMM):
        return _timm_model(name.removeprefix(_TIMM), wanted, target)
    if name.startswith(ZOO) or is_zoo_folder(Path(name).expanduser()):
        return zoo_model(name, dtype=wanted, device=target)
    folder, short, gguf_file = _located(name, gguf_file)
    config = _configuration(folder, short, gguf_file)
    notes: list[str] = []
    architecture = _architecture(config, short, gguf_file, notes)
    model = _weights(architecture, folder, short, gguf_file, wanted)
    try:
        model.to(target)
    except RuntimeError as error:
        raise CaptureError(f"{short} could not be moved to {device}: {_line(error)}") from error
    model.eval()
    takes: ModelInputs | None = None
    try:
        takes = model_inputs(model, _preprocessor(folder))
    except CaptureError as error:
        notes.append(str(error))
    if isinstance(takes, ImageSettings) and takes.source.startswith("no "):
        notes.append(f"images are normalised with mean and deviation 0.5: {takes.source.split(':')[0]}.")
    tokenizer = None
    if not isinstance(takes, ImageSettings):
        tokenizer = _tokenizer(folder, gguf_file, notes)
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        takes=takes,
        name=short,
        config_digest=config_digest(model),
        notes=tuple(notes),
    )


def _dtype(dtype: str | torch.dtype | None) -> torch.dtype | None:
    name = str(dtype).removeprefix("torch.")
    if dtype is None:
        return None
    if name not in _DTYPES:
        raise SettingError(f"dtype must be one of {', '.join(_DTYPES)}; found {name}.")
    found: torch.dtype = getattr(torch, name)
    return found


def _device(device: str | torch.device) -> torch.device:
    try:
        found = torch.device(device)
        # Allocation tells whether the device is there.
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError) as error:
        raise CaptureError(f"the device {device} cannot be used here: {_line(error)}") from error
    return found


def _located(name: str, gguf_file: str | None) -> tuple[Path, str, str | None]:
    """Folder of a model, its short name, and its GGUF file if it is one."""
    path = Path(name).expanduser()
    if path.is_dir():
        short = path.resolve().name or "model"
        if gguf_file is not None:
            if not (path / gguf_file).is_file():
                raise CaptureError(f"there is no {gguf_file} in {path}. {_gguf_there(path)}")
            short = Path(gguf_file).stem
        return path, short, gguf_file
    if path.is_file():
        if path.suffix != ".gguf":
            raise CaptureError(
                f"a model must be a folder, a .gguf file or a name on the hub; {path.name} is another kind "
                "of file. Give the folder that holds it and its config.json."
            )
        return path.parent, path.stem, path.name
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name) or name.startswith(".") or name.endswith(".gguf"):
        raise CaptureError(f"there is no model at {name}. Check the path.")
    return _hub_folder(name, gguf_file), name, gguf_file


def _gguf_there(folder: Path) -> str:
    files = sorted(file.name for file in folder.glob("*.gguf"))
    return f"It has {', '.join(files)}." if files else "It has no .gguf file."


def _hub_folder(name: str, gguf_file: str | None) -> Path:
    try:
        from huggingface_hub import errors, snapshot_download
    except ImportError as error:
        raise _missing_transformers() from error
    patterns = [*_FROM_HUB] if gguf_file is None else ["config.json", gguf_file]
    try:
        return Path(snapshot_download(name, allow_patterns=patterns))
    except errors.GatedRepoError as error:
        raise CaptureError(
            f"{name} is on the hub, and its owners have not given you access. Accept its terms there and "
            "log in with huggingface-cli."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise CaptureError(
            f"there is no folder {name} here, and no such model on the hub. Check the name."
        ) from error
    # Offline, timeouts and refused connections come as errors of whichever library noticed.
    except Exception as error:
        raise CaptureError(
            f"there is no folder {name} here, and the hub cannot be reached ({type(error).__name__}). "
            "Check the path or the connection."
        ) from error


def _configuration(folder: Path, short: str, gguf_file: str | None) -> Any:
    try:
        from transformers import CONFIG_MAPPING, AutoConfig
    except ImportError as error:
        raise _missing_transformers() from error
    if gguf_file is not None:
        _require_gguf_packages(short)
        try:
            return AutoConfig.from_pretrained(folder, gguf_file=gguf_file, local_files_only=True)
        # A damaged GGUF file fails in whichever line of the reader it meets first.
        except Exception as error:
            raise CaptureError(
                f"{gguf_file} must be a GGUF file of an architecture that transformers reads: {_line(error)}"
            ) from error
    if not (folder / "config.json").is_file():
        raise CaptureError(f"{short} must have a config.json; there is none. {_gguf_there(folder)}")
    raw = _json(folder / "config.json")
    kind = raw.get("model_type")
    if kind not in CONFIG_MAPPING:
        if raw.get("auto_map"):
            raise _needs_code(short, str(kind))
        raise CaptureError(
            f"config.json of {short} must name a model_type that transformers has; found {kind!r}. Update "
            "transformers, or check that this is a Hugging Face model."
        )
    try:
        return AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    # Values that transformers does not take fail in its own checks, or in the arithmetic on them.
    except Exception as error:
        raise CaptureError(f"config.json of {short} could not be read: {_line(error)}") from error


def _architecture(config: Any, short: str, gguf_file: str | None, notes: list[str]) -> Any:
    import transformers

    named = getattr(config, "architectures", None) or []
    if named:
        try:
            found = getattr(transformers, str(named[0]), None)
        except ImportError:
            found = None
        if isinstance(found, type) and issubclass(found, transformers.PreTrainedModel):
            return found
        if getattr(config, "auto_map", None):
            raise _needs_code(short, str(named[0]))
        notes.append(f"transformers has no {named[0]}; the model was loaded without its task.")
    return transformers.AutoModel if gguf_file is None else transformers.AutoModelForCausalLM


def _needs_code(short: str, what: str) -> CaptureError:
    return CaptureError(
        f"{short} needs code of its own ({what} in auto_map), which Haarbor does not run. Use a model that "
        "transformers has, or load it yourself and pass the model to haarbor.capturing."
    )


def _weights(
    architecture: Any, folder: Path, short: str, gguf_file: str | None, dtype: torch.dtype | None
) -> Any:
    if gguf_file is None:
        _require_safetensors(folder, short)
    options: dict[str, Any] = {"gguf_file": gguf_file} if gguf_file else {"use_safetensors": True}
    try:
        with _without_progress_bars():
            model, report = architecture.from_pretrained(
                folder, dtype=dtype or "auto", output_loading_info=True, local_files_only=True, **options
            )
    # Damaged files, foreign shapes and missing packages fail in as many ways.
    except Exception as error:
        raise CaptureError(f"the weights of {short} could not be loaded: {_line(error)}") from error
    missing = sorted(key for key in report["missing_keys"] if not set(key.split(".")) & set(_HEADS))
    if missing:
        raise CaptureError(
            f"the weights of {short} must fill {type(model).__name__}; {len(missing)} are missing, such as "
            f"{missing[0]}. Check that config.json belongs to the weights."
        )
    return model


def _require_safetensors(folder: Path, short: str) -> None:
    if any((folder / name).is_file() for name in _WEIGHTS):
        return
    pickled = sorted(file.name for file in folder.iterdir() if file.suffix in _PICKLES)
    if pickled:
        raise CaptureError(
            f"the weights of {short} must be safetensors; found only {pickled[0]}, a pickle, which can run "
            "code. Load it with transformers where you trust it, and save it with save_pretrained."
        )
    raise CaptureError(f"{short} must have {_WEIGHTS[0]}; there is none. {_gguf_there(folder)}")


def _require_gguf_packages(short: str) -> None:
    missing = [name for name in ("gguf", "accelerate") if importlib.util.find_spec(name) is None]
    if missing:
        raise CaptureError(
            f"{short} is a GGUF file, which needs {' and '.join(missing)}: pip install {' '.join(missing)}."
        )


def _tokenizer(folder: Path, gguf_file: str | None, notes: list[str]) -> Any:
    from transformers import AutoTokenizer

    # Without any file, transformers would make an empty tokenizer of the model's type.
    if gguf_file is None and not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        return None
    options: dict[str, Any] = {"gguf_file": gguf_file} if gguf_file else {}
    try:
        return AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True, **options
        )
    # A tokenizer is not needed for token ids; what is wrong with it is told, and not fatal.
    except Exception as error:
        notes.append(f"the tokenizer could not be loaded: {_line(error)}")
        return None


def _preprocessor(folder: Path) -> Mapping[str, Any] | None:
    if (folder / "preprocessor_config.json").is_file():
        return _json(folder / "preprocessor_config.json")
    if (folder / "processor_config.json").is_file():
        found = _json(folder / "processor_config.json").get("image_processor")
        return found if isinstance(found, Mapping) else None
    return None


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CaptureError(f"{path.name} must be JSON; it could not be read: {_line(error)}") from error
    if not isinstance(found, dict):
        raise CaptureError(f"{path.name} must be a JSON object; found {type(found).__name__}.")
    return found


def _timm_model(name: str, dtype: torch.dtype | None, device: torch.device) -> LoadedModel:
    try:
        timm: Any = importlib.import_module("timm")
    except ImportError as error:
        raise CaptureError(
            f"timm:{name} needs timm, which cannot be imported here ({_line(error).rstrip('.')}): "
            "pip install timm torchvision."
        ) from error
    if not timm.is_model(name):
        raise CaptureError(f"timm has no model {name}. List them with timm.list_models().")
    try:
        model = timm.create_model(name, pretrained=True)
    # timm downloads with several libraries, each with errors of its own.
    except Exception as error:
        raise CaptureError(
            f"timm:{name} could not be loaded: {_line(error).rstrip('.')}. Check the connection."
        ) from error
    model.to(device, dtype or torch.float32).eval()
    return LoadedModel(
        model=model,
        tokenizer=None,
        takes=timm_settings(model, name),
        name=_TIMM + name,
        config_digest=config_digest(model),
        notes=(),
    )


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    from transformers.utils import logging as untyped_logging

    logging: Any = untyped_logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _missing_transformers() -> CaptureError:
    return CaptureError("models need transformers, which is not installed: pip install 'haarbor[models]'.")


def _line(error: BaseException) -> str:
    """First line of what an error says."""
    lines = str(error).strip().splitlines()
    return f"{(lines[0] if lines else type(error).__name__).rstrip(':. ')}."

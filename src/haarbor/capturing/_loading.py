"""Models from a folder, a GGUF file, the Hugging Face hub or timm; no code is run and no pickle read."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from haarbor.capturing._checkpoint_config import checkpoint_config, model_class
from haarbor.capturing._first_line import first_line
from haarbor.capturing._loaded_model import LoadedModel
from haarbor.capturing._offline_hub import offline_hub
from haarbor.capturing._split_words import split_words
from haarbor.capturing._zoo_models import ZOO, is_zoo_folder, zoo_model
from haarbor.capturing.inputs import ImageSettings, ModelInputs, model_inputs
from haarbor.capturing.inputs._image_settings import timm_settings
from haarbor.errors import CaptureError, SettingError
from haarbor.named_path import named_path
from haarbor.needed_packages import needed_package
from haarbor.options import found_text
from haarbor.printable import printable
from haarbor.zoo import json_object

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
# Parts that come after the attention layers; a checkpoint for another task may lack them.
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

    See Also
    --------
    haarbor.capture : Record the attention of a model.
    haarbor.zoo.embedded_network : A network of the package.
    haarbor.load_pruned : A pruned network from its folder.

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
    if name.startswith(ZOO):
        return zoo_model(name, dtype=wanted, device=target)
    path = named_path(name_or_path, "a model")
    if is_zoo_folder(path):
        return zoo_model(name, dtype=wanted, device=target)
    folder, short, gguf_file = _located(path, name, gguf_file)
    needed_package("transformers", "a model")
    notes: list[str] = []
    with offline_hub(), _quiet_transformers():
        if gguf_file is not None:
            _require_gguf_packages(short)
        elif not (folder / "config.json").is_file():
            raise CaptureError(f"{short} must have a config.json; there is none. {_gguf_there(folder)}")
        config = checkpoint_config(folder, short, gguf_file, notes)
        architecture, config = model_class(config, folder, short, gguf_file, notes)
        model = _weights(architecture, config, folder, short, gguf_file, wanted, notes)
        try:
            model.to(target)
        except RuntimeError as error:
            raise CaptureError(
                f"{short} could not be moved to {device}: {first_line(error)}. Take another, such as cpu."
            ) from error
        model.eval()
        takes = _takes(model, folder, notes)
        tokenizer = None
        if not isinstance(takes, ImageSettings):
            tokenizer = _tokenizer(folder, gguf_file, notes)
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        takes=takes,
        name=short,
        notes=tuple(notes),
    )


def _dtype(dtype: str | torch.dtype | None) -> torch.dtype | None:
    name = str(dtype).removeprefix("torch.")
    if dtype is None:
        return None
    if name not in _DTYPES:
        raise SettingError(
            f"dtype must be one of {', '.join(_DTYPES)}; found {found_text(dtype)}. Pick one, or None."
        )
    found: torch.dtype = getattr(torch, name)
    return found


def _device(device: str | torch.device) -> torch.device:
    try:
        # PyTorch takes bytes, too.
        if not isinstance(device, str | torch.device):
            raise TypeError("it is neither a text nor a torch.device")
        found = torch.device(device)
        # Allocation tells whether the device is there.
        torch.empty(0, device=found)
        if found.type == "meta":
            raise RuntimeError("it holds no values")
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        raise CaptureError(
            f"the device {device!s:.60} cannot be used here: {first_line(error)}. Take another, such as cpu."
        ) from error
    return found


def _located(path: Path, name: str, gguf_file: str | None) -> tuple[Path, str, str | None]:
    """Folder of a model, its short name, and its GGUF file if it is one."""
    if gguf_file is not None and (not isinstance(gguf_file, str) or not gguf_file.endswith(".gguf")):
        raise SettingError(
            f"gguf_file must be the name of a .gguf file; found {gguf_file!r:.60}. Leave it out for "
            "safetensors."
        )
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
    needed_package("huggingface_hub", "a model of the hub")
    from huggingface_hub import errors, snapshot_download

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


def _weights(
    architecture: Any,
    config: Any,
    folder: Path,
    short: str,
    gguf_file: str | None,
    dtype: torch.dtype | None,
    notes: list[str],
) -> Any:
    if gguf_file is None:
        _require_safetensors(folder, short)
    options: dict[str, Any] = {"gguf_file": gguf_file} if gguf_file else {"use_safetensors": True}
    try:
        model, report = architecture.from_pretrained(
            folder,
            config=config,
            dtype=dtype or "auto",
            output_loading_info=True,
            local_files_only=True,
            trust_remote_code=False,
            **options,
        )
    # Damaged files, wrong shapes, missing packages and too little memory raise all kinds of errors.
    except Exception as error:
        if "ignore_mismatched_sizes" in str(error):
            raise CaptureError(
                f"the weights of {short} could not be loaded: they have other sizes than its configuration. "
                "Check that config.json belongs to the weights."
            ) from error
        raise CaptureError(
            f"the weights of {short} could not be loaded: {first_line(error)}. Get its files anew, or check "
            "that they belong together."
        ) from error
    missing = sorted(key for key in report["missing_keys"] if not set(key.split(".")) & set(_HEADS))
    if missing:
        raise CaptureError(
            f"the weights of {short} must fill {type(model).__name__}; {len(missing)} are missing, such as "
            f"{missing[0]}. Check that config.json belongs to the weights."
        )
    if report["missing_keys"]:
        notes.append(
            f"the checkpoint of {short} has no {min(report['missing_keys'])}: what {type(model).__name__} "
            "makes of the last layer is random. Its attention is not."
        )
    return model


def _takes(model: Any, folder: Path, notes: list[str]) -> ModelInputs | None:
    try:
        takes = model_inputs(model, _preprocessor(folder))
    except CaptureError as error:
        notes.append(str(error))
        return None
    # Entries of another kind than they should be fail where they are first used.
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CaptureError(
            f"the configuration of {folder.name} must say what the model takes; it could not be used: "
            f"{first_line(error)}. Check config.json and preprocessor_config.json."
        ) from error
    if isinstance(takes, ImageSettings) and takes.source.startswith("no "):
        notes.append(f"images are normalised with mean and deviation 0.5: {takes.source.split(':')[0]}.")
    return takes


def _require_safetensors(folder: Path, short: str) -> None:
    if (folder / _WEIGHTS[0]).is_file():
        return
    if (folder / _WEIGHTS[1]).is_file():
        parts = json_object(folder / _WEIGHTS[1]).get("weight_map")
        names = set(parts.values()) if isinstance(parts, dict) and parts else {None}
        for name in names:
            # A name with folders in it would lead out of the model's own.
            plain = isinstance(name, str) and Path(name).name == name and name.endswith(".safetensors")
            if not plain or not (folder / str(name)).is_file():
                raise CaptureError(
                    f"{_WEIGHTS[1]} of {short} must name safetensors files beside it; found {name!r:.80}, "
                    "which is none. Download the model again."
                )
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
        tokenizer = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True, **options
        )
    # Token ids need no tokenizer, so a damaged one is mentioned in the notes and is not an error.
    except Exception as error:
        notes.append(f"the tokenizer could not be loaded: {first_line(error)}.")
        return None
    # Of a GGUF file the rules that put tokens together are made up by its reader, and that can go wrong.
    if gguf_file is not None and (split := split_words(tokenizer)).too_many:
        notes.append(
            f"the tokenizer of {printable(gguf_file)} must give the words of its vocabulary as one token "
            f"each; it cuts {split.n_split} of {split.n_tried} into pieces ({printable(split.example)}), "
            f"so it is left out. transformers {importlib.metadata.version('transformers')} reads it wrong: "
            "install another version, or pass token ids."
        )
        return None
    return tokenizer


def _preprocessor(folder: Path) -> Mapping[str, Any] | None:
    if (folder / "preprocessor_config.json").is_file():
        return json_object(folder / "preprocessor_config.json")
    if (folder / "processor_config.json").is_file():
        found = json_object(folder / "processor_config.json").get("image_processor")
        return found if isinstance(found, Mapping) else None
    return None


def _timm_model(name: str, dtype: torch.dtype | None, device: torch.device) -> LoadedModel:
    try:
        timm: Any = importlib.import_module("timm")
    except ImportError as error:
        raise CaptureError(
            f"timm:{name} needs timm, which cannot be imported here ({first_line(error)}). "
            "Run pip install 'haarbor[timm]'."
        ) from error
    if not timm.is_model(name):
        raise CaptureError(f"timm has no model {name}. List them with timm.list_models().")
    try:
        model = timm.create_model(name, pretrained=True)
    # timm downloads with several libraries, each with errors of its own.
    except Exception as error:
        raise CaptureError(
            f"timm:{name} could not be loaded: {first_line(error)}. Check the connection."
        ) from error
    model.to(device, dtype or torch.float32).eval()
    return LoadedModel(
        model=model,
        tokenizer=None,
        takes=timm_settings(model, name),
        name=_TIMM + name,
        notes=(),
    )


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Silence the progress bars and tables of transformers; what the user should know is in the notes."""
    from transformers.utils import logging as untyped_logging

    logging: Any = untyped_logging
    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()

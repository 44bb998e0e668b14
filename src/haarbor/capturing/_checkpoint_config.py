"""The configuration of a Hugging Face checkpoint; nothing that it names is run or fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from haarbor.capturing._first_line import first_line
from haarbor.errors import CaptureError
from haarbor.needed_packages import needed_package
from haarbor.zoo import json_object

__all__ = ["checkpoint_config", "model_class"]

# The ways to compute attention and experts for which transformers has to fetch nothing.
_OWN: dict[str, tuple[str | None, ...]] = {
    "attn_implementation": (None, "eager", "sdpa"),
    "experts_implementation": (None, "eager", "grouped_mm"),
}
_MOST_LAYERS = 10_000
_MOST_LABELS = 1_000_000
_MOST_POSITIONS = 100_000_000
_MOST_WITHOUT_WEIGHTS = 1 << 31
_COUNTS = re.compile(r"layer|block|depth|expert|stage|group")
_SIZES = re.compile(
    r"hidden|embed|embd|dim|d_model|d_ff|d_kv|ffn|inner|intermediate|vocab|width|head|size|channels|rank"
)


def checkpoint_config(folder: Path, short: str, gguf_file: str | None, notes: list[str]) -> Any:
    """Configuration of the checkpoint in a folder, without entries that would fetch files or run code.

    Parameters
    ----------
    folder : Path
    short : str
        Name of the model, for messages.
    gguf_file : str or None
        Name of a GGUF file in the folder, to read instead of ``config.json``.
    notes : list of str
        Gets one line about each thing that was left out.

    Returns
    -------
    transformers.PreTrainedConfig

    Raises
    ------
    CaptureError
        If there is none, it cannot be read, its sizes cannot be those of the weights, or it needs code.
    """
    transformers: Any = needed_package("transformers", "a model")
    if gguf_file is not None:
        n_bytes = (folder / gguf_file).stat().st_size
        try:
            config = transformers.AutoConfig.from_pretrained(
                folder, gguf_file=gguf_file, trust_remote_code=False, local_files_only=True
            )
        # A damaged GGUF file fails in whichever line of the reader it meets first.
        except Exception as error:
            raise CaptureError(
                f"{gguf_file} must be a GGUF file of an architecture that transformers reads; it could not "
                f"be read: {first_line(error)}. Get it anew, or update transformers."
            ) from error
        _require_plausible_sizes(config.to_dict(), n_bytes, gguf_file)
        return _without_instructions(config)
    raw = json_object(folder / "config.json")
    n_bytes = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    _require_plausible_sizes(raw, n_bytes, f"config.json of {short}")
    kind = raw.get("model_type")
    if not isinstance(kind, str) or kind not in transformers.CONFIG_MAPPING:
        if raw.get("auto_map"):
            raise _needs_code(short, str(kind))
        raise CaptureError(
            f"config.json of {short} must name a model_type that transformers has; found {kind!r:.60}. "
            "Update transformers, or check that this is a Hugging Face model."
        )
    foreign = sorted(set(_foreign_names(raw)))
    if foreign:
        notes.append(
            f"config.json of {short} names {', '.join(foreign):.200}; that is left out, and the model runs "
            "with PyTorch's own operations."
        )
    return _without_instructions(_configuration(transformers.AutoConfig, folder, short))


def model_class(config: Any, folder: Path, short: str, gguf_file: str | None, notes: list[str]) -> Any:
    """Class of transformers that a configuration names, and the configuration in the form it takes.

    Parameters
    ----------
    config : transformers.PreTrainedConfig
    folder, short, gguf_file, notes
        See `checkpoint_config`.

    Returns
    -------
    (type, transformers.PreTrainedConfig)

    Raises
    ------
    CaptureError
        If the class is not in transformers and would be taken from the checkpoint.
    """
    import transformers

    named = getattr(config, "architectures", None) or []
    first = str(named[0]) if isinstance(named, list) and named else ""
    if first:
        try:
            found = getattr(transformers, first, None)
        except ImportError:
            found = None
        if isinstance(found, type) and issubclass(found, transformers.PreTrainedModel):
            own: Any = getattr(found, "config_class", None)
            # Instantiating the bare base class would change settings that all models in this process share.
            if own is None:
                raise CaptureError(
                    f"config.json of {short} must name the class of a model; {first:.80} is only the base "
                    "of others. Get its files anew."
                )
            if not isinstance(config, own) and gguf_file is None:
                config = _without_instructions(_configuration(own, folder, short))
            return found, config
        if getattr(config, "auto_map", None):
            raise _needs_code(short, first)
        notes.append(f"transformers has no {first:.80}; the model was loaded without its task.")
    return (transformers.AutoModel if gguf_file is None else transformers.AutoModelForCausalLM), config


def _configuration(config_class: Any, folder: Path, short: str) -> Any:
    try:
        return config_class.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    # Values that transformers does not take fail in its own checks, or in the arithmetic on them.
    except Exception as error:
        raise CaptureError(
            f"config.json of {short} must hold what transformers takes; it could not be read: "
            f"{first_line(error)}. Get its files anew."
        ) from error


def _without_instructions(config: Any) -> Any:
    """The configuration without the names of kernels and files that transformers would go after."""
    for part in _with_nested(config):
        for name, own in _OWN.items():
            if getattr(part, f"_{name}_internal", None) not in own:
                setattr(part, f"_{name}_internal", None)
        if getattr(part, "transformers_weights", None) is not None:
            part.transformers_weights = None
    return config


def _foreign_names(raw: Any) -> Iterator[str]:
    """Kernels and files that some part of a configuration names."""
    for part in _dictionaries(raw):
        for name, value in part.items():
            own = _OWN.get(name.removeprefix("_"), (None,) if name == "transformers_weights" else None)
            if own is None:
                continue
            wanted = value.values() if isinstance(value, dict) else [value]
            yield from (str(entry) for entry in wanted if entry not in own)


def _dictionaries(raw: Any) -> Iterator[dict[str, Any]]:
    waiting = [raw]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _with_nested(config: Any) -> Iterator[Any]:
    from transformers import PreTrainedConfig

    waiting, seen = [config], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or not isinstance(part, PreTrainedConfig):
            continue
        seen.add(id(part))
        yield part
        for value in vars(part).values():
            if isinstance(value, dict | list):
                waiting += value.values() if isinstance(value, dict) else value
            else:
                waiting.append(value)


def _needs_code(short: str, what: str) -> CaptureError:
    return CaptureError(
        f"{short} needs code of its own ({what:.80} in auto_map), which Haarbor does not run. Use a model "
        "that transformers has, or load it yourself and pass the model to haarbor.capturing."
    )


def _require_plausible_sizes(raw: Any, n_bytes: int, where: str) -> None:
    """Refuse sizes that no weights of `n_bytes` can have, before anything is made of that size."""
    for part in _dictionaries(raw):
        for name, value in part.items():
            if isinstance(value, bool) or not isinstance(value, int):
                continue
            limit = _limit(name, n_bytes)
            if limit is not None and value > limit:
                shown = str(value) if value < 10**15 else f"{str(value)[:12]}..."
                raise CaptureError(
                    f"{where} must give sizes that its weights can have; {name:.60} is {shown}, and the "
                    f"weights are {n_bytes} bytes. Check that it belongs to the weights."
                )


def _limit(name: str, n_bytes: int) -> int | None:
    """Largest value that an entry may have; None for entries that are not the size of anything."""
    if "position" in name or name in ("n_ctx", "max_length"):
        return _MOST_POSITIONS
    if name == "num_labels":
        return _MOST_LABELS
    if _COUNTS.search(name) and not re.search("size|dim", name):
        return _MOST_LAYERS
    if _SIZES.search(name):
        # No size exceeds the number of weights. Quantised weights may take an eighth of a byte each.
        return max(8 * n_bytes, 1 << 16) if n_bytes else _MOST_WITHOUT_WEIGHTS
    return None

"""Descriptions of networks as JSON values, and networks built from them: from closed lists, without code."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any

import torch
from torch.nn.modules import module as torch_module

from haarbor.capturing import first_line, is_huggingface
from haarbor.errors import PruningError
from haarbor.printable import printable
from haarbor.zoo import TransformerXL, TransformerXLConfig, VisionTransformer, VisionTransformerConfig

__all__ = ["OWN", "SizeLimits", "described_network", "outlined_network", "rebuilt_network"]

OWN = "own"
"""In place of a library's name: a network that the user must pass."""

_ZOO: dict[str, tuple[type[Any], type[Any]]] = {
    "TransformerXL": (TransformerXL, TransformerXLConfig),
    "VisionTransformer": (VisionTransformer, VisionTransformerConfig),
}
# Types of models whose classes are made of sizes and names of functions alone: none of their settings is a
# file, a name on the hub or another model.
_HUGGINGFACE = frozenset(
    (
        "albert", "bart", "bert", "camembert", "clip_vision_model", "deit", "dinov2", "distilbert", "electra",
        "gemma", "gemma2", "gemma3_text", "gpt2", "gpt_neox", "granite", "llama", "mbart", "mistral", "mt5",
        "olmo", "olmo2", "opt", "phi", "phi3", "qwen2", "qwen3", "roberta", "smollm3", "starcoder2", "t5",
        "vit", "whisper", "xlm-roberta",
    )
)  # fmt: skip
# Settings that name code, a file, a precision or a way of computing: never read from a description.
_NEVER = frozenset(
    (
        "architectures", "attn_implementation", "auto_map", "custom_pipelines", "dtype",
        "experts_implementation", "model_type", "name_or_path", "output_attentions", "per_layer_config",
        "quantization_config", "torch_dtype", "transformers_version", "use_kernels",
    )
)  # fmt: skip
# Settings that some models read though their configuration does not list them.
_READ_ANYWAY = frozenset(("decoder_start_token_id", "head_dim"))
_ATTENTION = ("eager", "sdpa")
_MOST_LAYERS = 10_000


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _is_image_size(value: Any) -> bool:
    return _is_size(value) or (isinstance(value, list) and len(value) == 2 and all(map(_is_size, value)))


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_pool(value: Any) -> bool:
    return value in ("", "avg", "avgmax", "map", "max", "token")


# What may be set of a vision transformer of timm, and to what.
_TIMM: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("depth", "embed_dim", "in_chans", "num_classes", "num_heads", "reg_tokens"), _is_size),
    **dict.fromkeys(("img_size", "patch_size"), _is_image_size),
    **dict.fromkeys(
        ("class_token", "dynamic_img_size", "no_embed_class", "pre_norm", "qk_norm", "qkv_bias"), _is_flag
    ),
    **dict.fromkeys(("init_values", "mlp_ratio"), _is_number),
    "global_pool": _is_pool,
}


def described_network(model: torch.nn.Module, timm_options: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is needed to build a network of the same class and sizes, as JSON values.

    Parameters
    ----------
    model : torch.nn.Module
        Whole or pruned; its configuration is that of the whole one.
    timm_options : mapping, optional
        With which ``timm.create_model`` made the whole network, where they are not the usual ones.

    Returns
    -------
    dict
        Its library is "own" where Haarbor cannot build such a network.

    """
    name = type(model).__name__
    config: Any = getattr(model, "config", None)
    if name in _ZOO and isinstance(model, _ZOO[name][0]):
        return {"library": "haarbor.zoo", "architecture": name, "config": asdict(config)}
    if is_huggingface(model) and _is_known_huggingface(model):
        kept = _config_names(type(config))
        values = json.loads(config.to_json_string(use_diff=False))
        found = {
            "library": "transformers",
            "architecture": name,
            "model_type": config.model_type,
            "config": {key: value for key, value in sorted(values.items()) if key in kept},
        }
        attention = getattr(config, "_attn_implementation", None)
        return {**found, "attention": attention if attention in _ATTENTION else None}
    settings: Any = getattr(model, "pretrained_cfg", None)
    if type(model).__module__.startswith("timm.") and settings:
        options = {"num_classes": int(getattr(model, "num_classes", 0)), **_listed(timm_options or {})}
        if all(key in _TIMM and _TIMM[key](value) for key, value in options.items()):
            return {"library": "timm", "architecture": str(settings["architecture"]), "config": options}
    return {"library": OWN, "architecture": name, "config": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeLimits:
    """How large a network may become that is built of a description, by the weights that belong to it."""

    n_tensors: int
    n_elements: int
    most_heads: int
    """Heads of the largest layer: no whole network is many more times larger than its pruned one."""


def rebuilt_network(network: Mapping[str, Any], limits: SizeLimits) -> torch.nn.Module:
    """The network before its heads were removed, with any weights.

    Parameters
    ----------
    network : mapping
        From :func:`described_network`, perhaps by way of somebody else's disk.
    limits : SizeLimits

    Returns
    -------
    torch.nn.Module

    Raises
    ------
    PruningError
        If the description asks for anything but a network of the lists above, or for one that is out of
        proportion to the weights.
    """
    outlined_network(network, limits)
    return _built(_builder(network), network)


def outlined_network(network: Mapping[str, Any], limits: SizeLimits) -> torch.nn.Module:
    """The same network without values, on the meta device, to find out its sizes without using memory."""
    build = _builder(network)
    n_elements = (limits.most_heads + 4) * limits.n_elements + 2**20
    with _limited(n_tensors=8 * limits.n_tensors + 1000, n_elements=n_elements), torch.device("meta"):
        return _built(build, network)


def _built(build: Callable[[], torch.nn.Module], network: Mapping[str, Any]) -> torch.nn.Module:
    try:
        return build()
    except PruningError:
        raise
    # Values that a library does not take fail in its checks, or in the arithmetic on them.
    except Exception as error:
        line = (str(error).strip().splitlines() or [""])[-1].strip()
        raise PruningError(
            f"the description must give sizes that {network['architecture']} can have; building it failed "
            f"with {type(error).__name__}: {line[:200].rstrip('.')}. Prune the network again."
        ) from error


def _builder(network: Mapping[str, Any]) -> Callable[[], torch.nn.Module]:
    library, architecture, config = network["library"], network["architecture"], network["config"]
    if library == "haarbor.zoo":
        return _zoo_builder(architecture, config)
    if library == "timm":
        return _timm_builder(architecture, config)
    if library == "transformers":
        return _huggingface_builder(network)
    raise PruningError(
        f"the description must be of a network of transformers, timm or haarbor.zoo; found {library!r}. Do "
        "not load folders from where you do not trust."
    )


def _zoo_builder(architecture: str, config: Mapping[str, Any]) -> Callable[[], torch.nn.Module]:
    if architecture not in _ZOO:
        raise _unknown(architecture, "haarbor.zoo", f"It has {', '.join(_ZOO)}.")
    cls, sizes = _ZOO[architecture]
    types = {
        field.name: _is_number if field.type in (float, "float") else _is_size for field in fields(sizes)
    }
    _require_options(config, types, architecture)
    return lambda: cls(sizes(**config))


def _timm_builder(architecture: str, config: Mapping[str, Any]) -> Callable[[], torch.nn.Module]:
    _require_options(config, _TIMM, "timm.create_model")
    # A prefix or a path would have timm look on the hub or on the disk.
    if not re.fullmatch(r"[a-z0-9_]+", architecture):
        raise _unknown(architecture, "timm", "A name of its registry has neither a prefix nor a path.")
    try:
        timm: Any = importlib.import_module("timm")
    except ImportError as error:
        raise _needs("timm", error) from error
    if not timm.is_model(architecture):
        raise _unknown(architecture, "timm", "Update timm, or prune the network again.")
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in config.items()}
    return lambda: timm.create_model(architecture, pretrained=False, **options)


def _listed(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}


def _huggingface_builder(network: Mapping[str, Any]) -> Callable[[], torch.nn.Module]:
    architecture, config = network["architecture"], network["config"]
    kind, attention = network.get("model_type"), network.get("attention")
    if not isinstance(kind, str) or kind not in _HUGGINGFACE:
        raise _unknown(str(kind), "transformers", f"Networks of these types are built: {_types()}.")
    if attention is not None and attention not in _ATTENTION:
        raise PruningError(
            f"the attention of the network must be one of {', '.join(_ATTENTION)}; found {attention!r}. "
            "Prune the network again."
        )
    try:
        transformers: Any = importlib.import_module("transformers")
    except ImportError as error:
        raise _needs("transformers", error) from error
    config_class = transformers.CONFIG_MAPPING[kind]
    plain = re.fullmatch(r"[A-Za-z0-9]+", architecture) is not None
    found: Any = getattr(transformers, architecture, None) if plain else None
    if not (isinstance(found, type) and issubclass(found, transformers.PreTrainedModel)):
        raise _unknown(architecture, "transformers", "It is no model of transformers.")
    cls: Any = found
    if cls.config_class is not config_class:
        raise _unknown(architecture, "transformers", f"It is no model of the type {kind!r}.")
    unknown = sorted(set(config) - _config_names(config_class))
    if unknown:
        raise PruningError(
            f"the settings of {architecture} must be those of its configuration; found {unknown[0]!r}. Prune "
            "the network again with this version of transformers."
        )
    for name, value in config.items():
        if not _is_ordinary(value, _MOST_LAYERS if "layer" in name else 2**31):
            raise PruningError(
                f"the setting {name!r} of {architecture} has no such value: {printable(repr(value))[:80]}."
                " The file is damaged or not Haarbor's."
            )

    def build() -> torch.nn.Module:
        made = config_class(**config)
        if attention is not None:
            made._attn_implementation = attention
        network_of_it: torch.nn.Module = cls(made)
        return network_of_it

    return build


def _is_ordinary(value: Any, most: int, depth: int = 0) -> bool:
    """Whether a setting is a number, a text, or few of these, none of a size that takes long to try out."""
    if isinstance(value, list | dict):
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        return depth < 4 and all(_is_ordinary(part, most, depth + 1) for part in parts)
    if isinstance(value, str):
        return len(value) <= 1000
    return not isinstance(value, int) or abs(value) <= most


def _is_known_huggingface(model: torch.nn.Module) -> bool:
    """Whether a model is of the class that transformers itself has under its name."""
    transformers: Any = importlib.import_module("transformers")
    config: Any = model.config
    kind = getattr(config, "model_type", None)
    return (
        kind in _HUGGINGFACE
        and transformers.CONFIG_MAPPING[kind] is type(config)
        and getattr(transformers, type(model).__name__, None) is type(model)
    )


def _config_names(config_class: Any) -> frozenset[str]:
    """Settings that a configuration lists, less those that are never read from a description."""
    listed = {name for name in config_class().to_dict() if not name.startswith("_")}
    if is_dataclass(config_class):
        listed |= {field.name for field in fields(config_class)}
    return frozenset(listed | _READ_ANYWAY) - _NEVER


def _require_options(
    options: Mapping[str, Any], allowed: Mapping[str, Callable[[Any], bool]], owner: str
) -> None:
    for key, value in options.items():
        if key not in allowed:
            raise PruningError(
                f"an option of {owner} must be one of {', '.join(sorted(allowed))}; found {str(key)[:80]!r}. "
                "Do not load folders from where you do not trust."
            )
        if not allowed[key](value):
            raise PruningError(
                f"the option {key!r} of {owner} has no such value: {str(value)[:80]!r}."
                " The file is damaged or not Haarbor's."
            )


def _unknown(architecture: str, library: str, advice: str) -> PruningError:
    return PruningError(
        f"the network must be one that {library} has; found {printable(repr(architecture[:80]))}. {advice}"
    )


def _needs(library: str, error: ImportError) -> PruningError:
    return PruningError(
        f"the network needs {library}, which cannot be imported here ({first_line(error)}). Install "
        "it: pip install 'haarbor[models]'."
    )


def _types() -> str:
    return ", ".join(sorted(_HUGGINGFACE))


@contextmanager
def _limited(*, n_tensors: int, n_elements: int) -> Iterator[None]:
    """Stop the building of modules that register more, or larger, tensors than there are weights for."""
    left = {"tensors": n_tensors, "elements": n_elements, "buffers": n_elements + 2**28}

    def count(kind: str) -> Callable[..., None]:
        def seen(_module: torch.nn.Module, _name: str, tensor: torch.Tensor | None) -> None:
            if tensor is None:
                return
            left["tensors"] -= 1
            left[kind] -= tensor.numel()
            if min(left.values()) < 0:
                raise PruningError(
                    "the sizes in the description must be those of the weights beside it; the network would "
                    "be far larger. Prune the network again."
                )

        return seen

    parameters = torch_module.register_module_parameter_registration_hook(count("elements"))
    buffers = torch_module.register_module_buffer_registration_hook(count("buffers"))
    try:
        yield
    finally:
        parameters.remove()
        buffers.remove()

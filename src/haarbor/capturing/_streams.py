"""Which stream of attention each call belongs to, named after the parts of the model."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

__all__ = ["LayerCall", "is_cross_attention", "reads_tokens", "stream_names"]

_CROSS = re.compile("cross|encdec|encoder_attn|encoder_attention|encoder_decoder_att")


_OTHER_THAN_TEXT = re.compile(
    "vision|visual|image|(^|[._-])vit|pixel|audio|speech|video|qformer|perceiver|resampler"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCall:
    """One call of an attention layer, as far as it decides on its stream."""

    name: str
    """Qualified name of the layer."""
    shape: tuple[int, int, int]
    """Heads, queries and keys."""
    is_cross: bool
    """Whether its keys are of another part of the model than its queries."""


def is_cross_attention(name: str, module: torch.nn.Module, model: torch.nn.Module) -> bool:
    """Whether a layer attends from one part of a model to another.

    Parameters
    ----------
    name : str
        Qualified name of the layer.
    module, model : torch.nn.Module

    Returns
    -------
    bool
    """
    if bool(getattr(module, "is_cross_attention", False)):
        return True
    parts = name.lower().split(".")
    place = next((place for place, part in enumerate(parts) if part.isdigit()), None)
    # The outer parts name towers; only the parts within a layer tell what it attends to.
    own = parts[place:] if place is not None else [part for part in parts if "att" in part]
    if any(_CROSS.search(part) for part in own):
        return True
    # The second attention of nn.TransformerDecoderLayer, beside its self_attn.
    if parts[-1] != "multihead_attn":
        return False
    parent = model.get_submodule(name.rpartition(".")[0])
    return hasattr(parent, "self_attn")


def reads_tokens(stream: str) -> bool:
    """Whether a stream is, by its name, not that of a part that reads pictures or sound."""
    return not _OTHER_THAN_TEXT.search(stream.lower())


def stream_names(calls: Sequence[LayerCall]) -> list[str]:
    """Name of the stream of each call.

    A model whose attention is all of one kind has the stream "self". Otherwise streams are named after the
    parts of the model in which they differ: "encoder" and "decoder", "vision_tower" and "language_model".
    Attention from one part to another is "cross". Where a layer has several kinds of attention, or the
    layers of one part differ in shape, as between the stages of a pyramid, each is a stream of its own; so
    is each call of a module that a layer calls several times.

    Parameters
    ----------
    calls : sequence of LayerCall
        In the order in which they ran.

    Returns
    -------
    list of str
        As long as `calls`.

    Examples
    --------
    >>> def call(name, tokens, is_cross=False):
    ...     return LayerCall(name=name, shape=(4, tokens, tokens), is_cross=is_cross)
    >>> stream_names([call("model.layers.0.attn", 7), call("model.layers.1.attn", 7)])
    ['self', 'self']
    >>> stream_names([call("model.vision.blocks.0.attn", 9), call("model.text.layers.0.attn", 9)])
    ['vision', 'text']
    >>> stream_names([call("layers.0.attn", 7), call("layers.0.cross_attn", 7, is_cross=True)])
    ['self', 'cross']
    >>> stream_names([call("stages.0.attn", 16), call("stages.1.attn", 4)])
    ['self.0', 'self.1']
    """
    towers = [_tower(call.name) for call in calls]
    tower_names = _branches(sorted(set(towers)))
    crossing = {tower for tower, call in zip(towers, calls, strict=True) if call.is_cross}
    kinds = _kinds(calls, towers)
    turns = _turns(calls, towers)
    names = []
    for call, tower, kind, turn in zip(calls, towers, kinds, turns, strict=True):
        part = tower_names[tower]
        base = part or "self"
        if call.is_cross:
            base = "cross" if len(crossing) == 1 else f"{part}.cross"
        names.append(".".join(part for part in (base, kind, turn) if part))
    return _by_shape(calls, [_plain(name) for name in names])


def _turns(calls: Sequence[LayerCall], towers: Sequence[tuple[str, ...]]) -> list[str]:
    """Which of several calls in one layer each is; empty where a layer calls its attention once.

    A module that runs more often than another in the same layer runs several times each time the layer
    does, perhaps from one part to another and back, as that of LXMERT. Layers that are used again, as those
    of ALBERT, run all their modules equally often.
    """
    counts = Counter(call.name for call in calls)
    least: dict[tuple[object, ...], int] = {}
    for call, tower in zip(calls, towers, strict=True):
        key = (tower, _numbers(call.name))
        least[key] = min(counts[call.name], least.get(key, counts[call.name]))
    seen: Counter[str] = Counter()
    found = []
    for call, tower in zip(calls, towers, strict=True):
        each = counts[call.name] // least[(tower, _numbers(call.name))]
        found.append(str(seen[call.name] % each) if each > 1 else "")
        seen[call.name] += 1
    return found


def _tower(name: str) -> tuple[str, ...]:
    """The part of a model in which a layer is: its name up to the number of the layer."""
    parts = name.split(".")
    for place, part in enumerate(parts):
        if part.isdigit():
            return tuple(parts[:place])
    return tuple(parts)


def _inner(name: str) -> str:
    """What a layer calls its attention: its name after the number of the layer, without numbers."""
    parts = name.split(".")
    place = next((place for place, part in enumerate(parts) if part.isdigit()), len(parts))
    return ".".join(part for part in parts[place:] if not part.isdigit())


def _branches(towers: list[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Of each path the parts at which it leaves another one, joined by dots; empty where there is one."""
    found = {}
    for tower in towers:
        parts = []
        for place, part in enumerate(tower):
            others = {other[place : place + 1] for other in towers if other[:place] == tower[:place]}
            if len(others) > 1:
                parts.append(part)
        found[tower] = ".".join(parts)
    return found


def _kinds(calls: Sequence[LayerCall], towers: Sequence[tuple[str, ...]]) -> list[str]:
    """What tells a call from others in the same layer; empty where a layer has one attention of its sort."""
    in_layer: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for call, tower in zip(calls, towers, strict=True):
        in_layer[(tower, call.is_cross, _numbers(call.name))].add(_inner(call.name))
    several = {
        (tower, is_cross) for (tower, is_cross, _), inner in in_layer.items() if len(inner) > 1
    }  # fmt: skip
    inner_of: dict[tuple[object, ...], set[tuple[str, ...]]] = defaultdict(set)
    for call, tower in zip(calls, towers, strict=True):
        if (tower, call.is_cross) in several:
            inner_of[(tower, call.is_cross)].add(tuple(_inner(call.name).split(".")))
    told = {key: _branches(sorted(inner)) for key, inner in inner_of.items()}
    return [
        told[(tower, call.is_cross)][tuple(_inner(call.name).split("."))]
        if (tower, call.is_cross) in several
        else ""
        for call, tower in zip(calls, towers, strict=True)
    ]


def _numbers(name: str) -> tuple[str, ...]:
    return tuple(part for part in name.split(".") if part.isdigit())


def _by_shape(calls: Sequence[LayerCall], names: list[str]) -> list[str]:
    """Names with what tells shapes apart added, where one name stands for several."""
    shapes: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for call, name in zip(calls, names, strict=True):
        if call.shape not in shapes[name]:
            shapes[name].append(call.shape)
    found = list(names)
    for name, several in shapes.items():
        if len(several) == 1:
            continue
        members = [place for place, own in enumerate(names) if own == name]
        numbers = {
            shape: sorted({_number(calls[place].name) for place in members if calls[place].shape == shape})
            for shape in several
        }
        follow = all(own == list(range(own[0], own[-1] + 1)) and own[0] >= 0 for own in numbers.values())
        apart = len({number for own in numbers.values() for number in own}) == sum(map(len, numbers.values()))
        for place in members:
            shape = calls[place].shape
            # The numbers of the layers of one shape, where they follow each other; otherwise the shape.
            ending = _span(numbers[shape]) if follow and apart else "x".join(map(str, shape))
            found[place] = f"{name}.{ending}"
    return found


def _span(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"


def _number(name: str) -> int:
    """Number of the layer; -1 where it has none."""
    return next((int(part) for part in name.split(".") if part.isdigit()), -1)


def _plain(name: str) -> str:
    """The name with characters that a store takes."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)

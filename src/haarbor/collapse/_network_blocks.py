"""Where the skip connections, MLPs and normalisations of a network are, found by running it once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal

import torch

from haarbor.collapse._hidden_input import first_tensor, hidden_input
from haarbor.errors import CollapseError
from haarbor.pruning import ModelBatch, forward, network_heads

__all__ = ["BlockParts", "NetworkBlocks", "network_blocks"]

BlockKind = Literal["norm first", "norm last", "parallel"]

_KNOWN = "x + attention(norm(x)) then an MLP likewise, norm(x + attention(x)) likewise, or both in parallel"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockParts:
    """The parts of one layer, by the qualified names of their modules."""

    block: str
    """The whole layer: tokens in, tokens out."""
    kind: BlockKind
    attention: str
    """Its output is what attention adds to the tokens."""
    mlp: str
    """Its output is what the MLP adds to the tokens."""
    first_norm: str
    """Normalisation before the attention, or after its sum where the kind is "norm last"."""
    second_norm: str
    """Normalisation before the MLP, or after its sum where the kind is "norm last"."""
    norms: tuple[str, ...]
    """All normalisations of tokens in the layer; those of queries and keys belong to the attention."""
    mlp_alone: bool = False
    """Whether the MLP gives its tokens and nothing else, so that it need not run to be switched off."""


@dataclass(frozen=True, slots=True)
class NetworkBlocks:
    """The layers of a network in the order in which they run."""

    blocks: tuple[BlockParts, ...]

    def __len__(self) -> int:
        """Number of layers."""
        return len(self.blocks)

    def __repr__(self) -> str:
        return f"NetworkBlocks({len(self.blocks)} layers, {self.blocks[0].kind})"


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    name: str
    is_norm: bool
    given: torch.Tensor
    answer: torch.Tensor
    is_alone: bool


def network_blocks(model: torch.nn.Module, batch: ModelBatch) -> NetworkBlocks:
    """Parts of every layer of a model.

    Nothing is assumed about names. The model runs once, and the modules are sought whose outputs, added to
    the tokens, are what the next normalisation reads, or what the layer gives: equations that hold to the
    last digits or not at all.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    batch : ModelBatch
        Any input of the model.

    Returns
    -------
    NetworkBlocks

    Raises
    ------
    CollapseError
        If a layer is built in another way.
    PruningError
        If the attention of the model cannot be found.

    See Also
    --------
    haarbor.collapse.switched_off : Run without some parts.
    """
    heads = network_heads(model, batch)
    if heads.shares_weights:
        raise CollapseError(
            "every layer must be a module of its own; one module serves several layers of "
            f"{type(model).__name__}. Choose a model that does not share weights between layers."
        )
    names = _block_names(model, [layer.projection for layer in heads.layers])
    calls: dict[str, list[_Call]] = {name: [] for name in names}
    with ExitStack() as hooks, torch.no_grad():
        for name in names:
            for inner, module in model.get_submodule(name).named_modules():
                full = f"{name}.{inner}" if inner else name
                hook = module.register_forward_hook(_recorder(full, calls[name]), with_kwargs=True)
                hooks.callback(hook.remove)
        forward(model, batch)
    parts = [
        _parts(type(model).__name__, name, layer.projection, calls[name])
        for name, layer in zip(names, heads.layers, strict=True)
    ]
    return NetworkBlocks(tuple(parts))


def _recorder(name: str, calls: list[_Call]) -> Callable[..., None]:
    def record(module: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        given, answer = hidden_input(args, kwargs), first_tensor(output)
        if given is not None and answer is not None:
            is_norm = "norm" in type(module).__name__.lower()
            is_alone = isinstance(output, torch.Tensor)
            calls.append(_Call(name, is_norm, given.detach().clone(), answer.detach().clone(), is_alone))

    return record


def _block_names(model: torch.nn.Module, projections: Sequence[str]) -> list[str]:
    """The entries of a list of modules that hold one attention each."""
    first = projections[0].split(".")
    for length in range(1, len(first)):
        container = ".".join(first[:length])
        if not isinstance(model.get_submodule(container), torch.nn.ModuleList | torch.nn.Sequential):
            continue
        places = [
            projection.removeprefix(f"{container}.").split(".")[0]
            for projection in projections
            if projection.startswith(f"{container}.")
        ]
        if len(places) == len(projections) and len(set(places)) == len(places):
            return [f"{container}.{place}" for place in places]
    raise CollapseError(
        f"the layers must stand in one list of modules with one attention each; those of "
        f"{type(model).__name__} do not ({len(projections)} attentions, the first at {projections[0]}). "
        "Choose a model with an encoder or a decoder alone."
    )


def _parts(model: str, block: str, projection: str, calls: list[_Call]) -> BlockParts:
    whole = next((call for call in calls if call.name == block), None)
    if whole is None or whole.given.shape != whole.answer.shape:
        raise _unknown(model, block)
    x, out = whole.given, whole.answer
    # A dropout that serves attention and MLP both cannot be hooked for one of them.
    names = [call.name for call in calls]
    inner = [call for call in calls if call.answer.shape == x.shape and names.count(call.name) == 1]
    inner = [call for call in inner if call.name != block]
    norms = [call for call in inner if call.is_norm and call.given.shape == x.shape]
    norms = [call for call in norms if not _of_queries_or_keys(call.name)]
    around = [call for call in inner if projection == call.name or projection.startswith(f"{call.name}.")]
    if not around:
        raise _unknown(model, block)
    # The last that begins before the sum: dropout and scales of a branch come after its maps.
    start = inner.index(around[0])
    found = (
        _norm_first(x, out, inner, norms, start)
        or _norm_last(x, out, inner, norms, start)
        or _parallel(x, out, inner, norms, around)
    )
    if found is None:
        raise _unknown(model, block)
    kind, attention, mlp, first, second = found
    return BlockParts(
        block=block,
        kind=kind,
        attention=attention.name,
        mlp=mlp.name,
        first_norm=first.name,
        second_norm=second.name,
        norms=tuple(dict.fromkeys(call.name for call in norms)),
        mlp_alone=mlp.is_alone,
    )


_Found = tuple[BlockKind, _Call, _Call, _Call, _Call]


def _norm_first(
    x: torch.Tensor, out: torch.Tensor, inner: list[_Call], norms: list[_Call], start: int
) -> _Found | None:
    for second in norms:
        place = inner.index(second)
        attention = _summand(x, second.given, inner[start:place])
        mlp = _summand(second.given, out, inner[place + 1 :])
        first = next((norm for norm in norms[: norms.index(second)] if _same(norm.given, x)), None)
        if attention is not None and mlp is not None and first is not None:
            return "norm first", attention, mlp, first, second
    return None


def _norm_last(
    x: torch.Tensor, out: torch.Tensor, inner: list[_Call], norms: list[_Call], start: int
) -> _Found | None:
    for number, first in enumerate(norms):
        attention = _summand(x, first.given, inner[start : inner.index(first)])
        if attention is None:
            continue
        for second in norms[number + 1 :]:
            between = inner[inner.index(first) + 1 : inner.index(second)]
            mlp = _summand(first.answer, second.given, between)
            if mlp is not None and _same(second.answer, out):
                return "norm last", attention, mlp, first, second
    return None


def _parallel(
    x: torch.Tensor, out: torch.Tensor, inner: list[_Call], norms: list[_Call], around: list[_Call]
) -> _Found | None:
    reading = [norm for norm in norms if _same(norm.given, x)]
    for attention in reversed(around):
        mlp = _summand(x + attention.answer, out, [call for call in inner if call not in around])
        if mlp is not None and reading:
            return "parallel", attention, mlp, reading[0], reading[-1]
    return None


def _summand(start: torch.Tensor, total: torch.Tensor, calls: list[_Call]) -> _Call | None:
    """The last call whose output, added to `start`, gives `total`; none that adds nothing."""
    for call in reversed(calls):
        if bool(call.answer.any()) and _same(start + call.answer, total, start.abs() + call.answer.abs()):
            return call
    return None


def _same(one: torch.Tensor, two: torch.Tensor, size: torch.Tensor | None = None) -> bool:
    slack = 8 * torch.finfo(one.dtype).eps * (one.abs() if size is None else size)
    return bool(((one - two).abs() <= slack).all())


def _of_queries_or_keys(name: str) -> bool:
    last = name.split(".")[-1].lower()
    return last.startswith(("q_", "k_", "query", "key")) or last in ("q", "k")


def _unknown(model: str, block: str) -> CollapseError:
    return CollapseError(
        f"a layer must be built as {_KNOWN}; {block} of {model} is built in another way, so its parts "
        "cannot be switched off. Choose another model."
    )

"""Where the heads of a network are: at the inputs of output projections, found by running it once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from haarbor.array_types import BoolArray, IntArray
from haarbor.capturing import AttentionCall, recorded_calls
from haarbor.errors import PruningError, SettingError
from haarbor.head_labels import head_label
from haarbor.printable import printable
from haarbor.pruning._model_batches import ModelBatch, forward, require_network

__all__ = [
    "HeadChoice",
    "LayerHeads",
    "NetworkHeads",
    "is_projection",
    "n_inputs",
    "network_heads",
    "residual_input",
]

HeadChoice = Iterable[tuple[int, int]] | Iterable[int] | BoolArray
"""Pairs (layer, head), numbers of heads counted through the network, or a bool array of all heads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerHeads:
    """Heads of one layer, side by side in the input of their output projection."""

    projection: str
    """Qualified name of the output projection."""
    attention: str
    """Qualified name of the module that attends."""
    call: int
    """Which call of the projection within one forward; above 0 only where layers share weights."""
    n_heads: int
    head_width: int
    """Channels a head has in the input of the projection."""
    head_group: int
    """Neighbouring query heads that share a key-value head."""
    block: str | None
    """Qualified name of the module whose input is the residual stream; None if there is none such."""
    norm: str | None = None
    """Qualified name of the normalisation that the output of the projection goes through before it is added
    to the residual stream, as in Gemma 3; None where it is added as it is."""

    @property
    def width(self) -> int:
        """Channels of all heads together."""
        return self.n_heads * self.head_width

    def channels(self, head: int) -> slice:
        """Channels of a head in the input of the projection."""
        return slice(head * self.head_width, (head + 1) * self.head_width)


@dataclass(frozen=True, slots=True)
class NetworkHeads:
    """The layers of a network in the order in which they run, and how their heads are counted."""

    layers: tuple[LayerHeads, ...]

    def __len__(self) -> int:
        """Number of layers."""
        return len(self.layers)

    def __repr__(self) -> str:
        return f"NetworkHeads({len(self.layers)} layers, {self.n_heads} heads)"

    @property
    def n_heads(self) -> int:
        """Heads of all layers together."""
        return sum(layer.n_heads for layer in self.layers)

    @property
    def layer_of_head(self) -> IntArray:
        """Layer of each head, shape (n_heads,)."""
        return np.repeat(np.arange(len(self.layers)), [layer.n_heads for layer in self.layers])

    @property
    def head_in_layer(self) -> IntArray:
        """Number of each head within its layer, shape (n_heads,)."""
        return np.concatenate([np.arange(layer.n_heads) for layer in self.layers])

    @property
    def shares_weights(self) -> bool:
        """Whether one projection serves several layers."""
        return any(layer.call > 0 for layer in self.layers)

    def label(self, head: int) -> str:
        """``layer.head`` of a head counted through the network."""
        return head_label(int(self.layer_of_head[head]), int(self.head_in_layer[head]))

    def mask(self, heads: HeadChoice) -> BoolArray:
        """True at the heads named.

        Parameters
        ----------
        heads : pairs (layer, head), numbers of heads, or bool array
            The array may have shape (n_heads,) or, where all layers are alike, (n_layers, heads per layer).

        Returns
        -------
        ndarray of bool, shape (n_heads,)

        Raises
        ------
        SettingError
            If there is no such head.

        Examples
        --------
        >>> layer = LayerHeads(projection="o", attention="a", call=0, n_heads=2, head_width=4,
        ...                 head_group=1, block=None)
        >>> NetworkHeads((layer, layer)).mask([(1, 0)]).tolist()
        [False, False, True, False]
        """
        n_heads = self.n_heads
        wanted = "heads must be pairs (layer, head), numbers of heads, or one True or False per head"
        if isinstance(heads, str | bytes) or not isinstance(heads, Iterable):
            raise SettingError(f"{wanted}; found {printable(repr(heads))[:80]}. Pass a list.")
        try:
            array = np.asarray(heads if isinstance(heads, np.ndarray) else list(heads))
        except ValueError as error:
            raise SettingError(f"{wanted}; found a list of both. Pass one kind of them.") from error
        if array.dtype == np.bool_ and array.size == n_heads:
            return array.reshape(-1).copy()
        chosen: BoolArray = np.zeros(n_heads, dtype=np.bool_)
        if array.size == 0:
            return chosen
        numbers = array
        if array.ndim == 2 and array.shape[1] == 2 and np.issubdtype(array.dtype, np.integer):
            numbers = self._numbers(array)
        if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
            raise SettingError(
                f"{wanted}; found {array.dtype} of shape {array.shape} for {n_heads} heads. Pass a list."
            )
        if numbers.min() < 0 or numbers.max() >= n_heads:
            raise SettingError(
                f"heads must be numbers from 0 to {n_heads - 1}; found {numbers.tolist()}."
                " Heads are counted through all layers, from 0."
            )
        chosen[numbers] = True
        return chosen

    def by_layer(self, removed: BoolArray) -> list[IntArray]:
        """Numbers, within their layer, of the heads where `removed` is True; one array per layer."""
        ends = np.cumsum([layer.n_heads for layer in self.layers])[:-1]
        return [np.flatnonzero(part) for part in np.split(np.asarray(removed), ends)]

    def _numbers(self, pairs: IntArray) -> IntArray:
        starts = np.concatenate([[0], np.cumsum([layer.n_heads for layer in self.layers])])
        for layer, head in pairs.tolist():
            if not 0 <= layer < len(self.layers) or not 0 <= head < self.layers[layer].n_heads:
                raise SettingError(
                    f"there is no head {head} in a layer {layer}; the network has {len(self.layers)} layers "
                    f"of {self.layers[0].n_heads} heads, both counted from 0."
                    " Name one of these."
                )
        found: IntArray = starts[pairs[:, 0]] + pairs[:, 1]
        return found


def network_heads(model: torch.nn.Module, batch: ModelBatch) -> NetworkHeads:
    """Output projections of all attention layers of a model, in the order in which they run.

    Nothing is assumed about the architecture. The model runs once, and the first linear map after each
    attention call whose input is as wide as all its heads together is taken as the output projection. This
    works for any Hugging Face model whose attention goes through the attention interface
    and any model that calls ``nn.MultiheadAttention`` or ``scaled_dot_product_attention``.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    batch : ModelBatch
        Any input of the model.

    Returns
    -------
    NetworkHeads

    Raises
    ------
    PruningError
        If the heads cannot be told apart at the input of a linear map; the message names the layer.

    See Also
    --------
    haarbor.pruning.prune_heads : A smaller copy of a model.
    haarbor.ablate : Switch heads off and measure.
    """
    require_network(model)
    if model.training:
        raise PruningError("the model must be in eval mode, or dropout is measured. Call model.eval() first.")
    search = _Search(model)
    with search.watching(), torch.no_grad():
        forward(model, batch)
    return search.found()


def is_projection(module: torch.nn.Module) -> bool:
    """Whether a module is a linear map with a weight matrix: nn.Linear, or the Conv1D of GPT-2."""
    return isinstance(module, torch.nn.Linear) or (
        type(module).__name__ == "Conv1D" and type(module).__module__.startswith("transformers")
    )


def n_inputs(module: torch.nn.Module) -> int:
    """Width of the input of a linear map."""
    weight: Any = module.weight
    return int(weight.shape[1] if isinstance(module, torch.nn.Linear) else weight.shape[0])


def n_outputs(module: torch.nn.Module) -> int:
    """Width of the output of a linear map."""
    weight: Any = module.weight
    return int(weight.shape[0] if isinstance(module, torch.nn.Linear) else weight.shape[1])


class _Search:
    """Watches one forward pass and notes which linear map follows each attention call."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self.modules = dict(model.named_modules())
        self.pending: tuple[str, AttentionCall] | None = None
        self.found_layers: list[LayerHeads] = []
        self.calls: dict[str, int] = {}
        self.failure: PruningError | None = None
        """The first problem that was found; raised after the forward pass, as hooks must not raise."""
        self.widths: dict[str, set[int]] = {}
        """Last axis of the tensors that each possible block was given."""
        self.projected: torch.Tensor | None = None
        """What the projection found last has given."""

    def watching(self) -> ExitStack:
        hooks = ExitStack()
        for name, module in self.modules.items():
            if is_projection(module):
                hooks.callback(module.register_forward_pre_hook(self._on_projection(name)).remove)
                hooks.callback(module.register_forward_hook(self._after_projection(name)).remove)
            if type(module).__name__.endswith("Norm"):
                hooks.callback(module.register_forward_pre_hook(self._on_norm(name)).remove)
            if self._is_item(name):
                handle = module.register_forward_pre_hook(self._on_block(name), with_kwargs=True)
                hooks.callback(handle.remove)
        hooks.enter_context(recorded_calls(self.model, self._on_call))
        return hooks

    def _on_call(
        self, name: str, module: torch.nn.Module, call: AttentionCall, _weights: torch.Tensor | None
    ) -> None:
        self._require_settled()
        self.pending = (name, call)
        if isinstance(module, torch.nn.MultiheadAttention):
            self._add(f"{name}.out_proj", module.embed_dim)

    def _on_projection(self, name: str) -> Callable[..., None]:
        def seen(module: torch.nn.Module, args: tuple[Any, ...]) -> None:
            if self.pending is None or not args or not isinstance(args[0], torch.Tensor):
                return
            attention, call = self.pending
            width = n_inputs(module)
            tokens = call.n_groups * call.n_queries
            if width % call.n_heads or args[0].numel() != tokens * width:
                self._refuse(
                    f"the heads of layer {attention} must come together in the input of the linear map after "
                    f"it; {name} takes {width} channels of {args[0].numel() // width} tokens, and the layer "
                    f"has {call.n_heads} heads at {tokens} tokens. Such a network cannot be ablated by head."
                )
                return
            self._add(name, width)

        return seen

    def _after_projection(self, name: str) -> Callable[..., None]:
        def seen(_module: torch.nn.Module, _args: tuple[Any, ...], output: Any) -> None:
            found = bool(self.found_layers) and self.found_layers[-1].projection == name
            self.projected = output if found and self.pending is None else None

        return seen

    def _on_norm(self, name: str) -> Callable[..., None]:
        def seen(_module: torch.nn.Module, args: tuple[Any, ...]) -> None:
            # A norm of the sum with the residual stream is given another tensor.
            if self.projected is not None and args and args[0] is self.projected:
                self.found_layers[-1] = replace(self.found_layers[-1], norm=name)
            self.projected = None

        return seen

    def _on_block(self, name: str) -> Callable[..., None]:
        def seen(_module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
            found = residual_input(args, kwargs)
            if found is not None:
                self.widths.setdefault(name, set()).add(int(found.shape[-1]))

        return seen

    def _add(self, projection: str, width: int) -> None:
        if self.pending is None:
            return
        attention, call = self.pending
        self.pending = None
        number = self.calls.get(projection, 0)
        self.calls[projection] = number + 1
        self.found_layers.append(
            LayerHeads(
                projection=projection,
                attention=attention,
                call=number,
                n_heads=call.n_heads,
                head_width=width // call.n_heads,
                head_group=call.head_group,
                block=self._block(projection),
            )
        )

    def _block(self, projection: str) -> str | None:
        """Name of the innermost layer around the projection whose input is as wide as its output.

        That input is the residual stream, to which the output is added. A layer is an item of an
        ``nn.ModuleList`` or ``nn.Sequential``; None if there is no such layer.
        """
        parts = projection.split(".")
        wanted = n_outputs(self.modules[projection])
        for length in range(len(parts) - 1, 0, -1):
            name = ".".join(parts[:length])
            if self.widths.get(name) == {wanted}:
                return name
        return None

    def _is_item(self, name: str) -> bool:
        parent = self.modules.get(name.rpartition(".")[0]) if name else None
        return isinstance(parent, torch.nn.ModuleList | torch.nn.Sequential)

    def _refuse(self, message: str) -> None:
        self.pending = None
        self.failure = self.failure or PruningError(message)

    def _require_settled(self) -> None:
        if self.pending is not None:
            self._refuse(
                f"the heads of layer {self.pending[0]} must go through a linear map of their own; none is "
                "called before the next attention. Such a network cannot be ablated by head."
            )

    def found(self) -> NetworkHeads:
        self._require_settled()
        if self.failure is not None:
            raise self.failure
        if not self.found_layers:
            raise PruningError(
                f"the heads of {type(self.model).__name__} cannot be found: no layer calls "
                "the attention interface of transformers, nn.MultiheadAttention or "
                "scaled_dot_product_attention."
                " Call torch.nn.functional.scaled_dot_product_attention in its attention."
            )
        return NetworkHeads(tuple(self.found_layers))


def residual_input(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> torch.Tensor | None:
    """The residual stream that a block is given: its first argument of floats with a token axis, if any."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.dim() == 3:
            return value
    return None

"""Networks without their skip connections, MLPs or normalisation, while a block of code runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from haarbor.collapse._hidden_input import (
    first_tensor,
    hidden_input,
    with_first_tensor,
    with_hidden_input,
)
from haarbor.collapse._network_blocks import BlockParts, NetworkBlocks
from haarbor.collapse._variants import VARIANTS
from haarbor.errors import CollapseError
from haarbor.options import require_choice

__all__ = ["OnState", "switched_off"]

OnState = Callable[[int, torch.Tensor], None]
"""Function of a depth and the tokens there, shape (batch, token, width): depth 0 enters the first layer."""


@contextmanager
def switched_off(
    model: torch.nn.Module, blocks: NetworkBlocks, variant: str, *, on_state: OnState | None = None
) -> Iterator[None]:
    """Run a model without some of its parts while the block runs.

    No weight is changed, and the hooks are gone when the block ends, even after an exception. Nothing is
    subtracted again: a layer whose skips are off is given zeros as its tokens, and its normalisation reads
    the true ones; so what is off is off to the last digit. Each layer is checked as it runs.

    Parameters
    ----------
    model : torch.nn.Module
    blocks : NetworkBlocks
        Of this model, or of one that is built alike.
    variant : str
        One of `VARIANTS`.
    on_state : function of (depth, tokens), optional

    Raises
    ------
    CollapseError
        If a part could not be switched off.

    See Also
    --------
    haarbor.rank_collapse : The measures at every depth.
    haarbor.collapse.network_blocks : Where the parts of layers are.

    Notes
    -----
    Without skips a layer is MLP(norm(attention(norm(x)))), or norm(MLP(norm(attention(x)))) where the norm
    comes last, or attention(norm(x)) + MLP(norm(x)) where both run in parallel. Without MLPs, too, the
    tokens pass the place of the MLP unchanged: attention(norm(x)), norm(norm(attention(x))) and
    attention(norm(x)). With skips and without MLPs, the MLP adds zero. Without normalisation, the norms of
    the layers give what they get; a norm of the embeddings or after the last layer stays.
    """
    require_choice("variant", variant, tuple(VARIANTS))
    off = VARIANTS[variant]
    with ExitStack() as hooks:
        for depth, parts in enumerate(blocks.blocks):
            layer = _Layer(parts, off, depth, on_state)
            for handle in layer.hooks(model):
                hooks.callback(handle.remove)
            if "mlps" in off and parts.mlp_alone:
                # What it would give is not looked at, and most of the time of a pass would go there.
                hooks.enter_context(layer.idle_mlp(model))
        yield


@dataclass(slots=True, eq=False)
class _Layer:
    """Hooks of one layer, and what they hand to each other."""

    parts: BlockParts
    off: frozenset[str]
    depth: int
    on_state: OnState | None
    kept: dict[str, torch.Tensor] = field(default_factory=dict)

    def hooks(self, model: torch.nn.Module) -> Iterator[Any]:
        parts = self.parts
        module = model.get_submodule
        yield module(parts.block).register_forward_pre_hook(self._enter, with_kwargs=True)
        if parts.kind == "norm last":
            yield module(parts.first_norm).register_forward_pre_hook(self._sum_one, with_kwargs=True)
            yield module(parts.second_norm).register_forward_pre_hook(self._sum_two, with_kwargs=True)
        elif parts.kind == "norm first":
            yield module(parts.first_norm).register_forward_pre_hook(self._read("x"), with_kwargs=True)
            yield module(parts.second_norm).register_forward_pre_hook(self._read("a"), with_kwargs=True)
        else:
            for name in {parts.first_norm, parts.second_norm}:
                yield module(name).register_forward_pre_hook(self._read("x"), with_kwargs=True)
        if "norms" in self.off:
            for name in parts.norms:
                yield module(name).register_forward_hook(self._unchanged, with_kwargs=True)
        # After the hook above, so that it sees what the norm gives without normalising.
        yield module(parts.first_norm).register_forward_hook(self._between)
        yield module(parts.attention).register_forward_hook(self._attended)
        yield module(parts.mlp).register_forward_hook(self._mapped)
        yield module(parts.block).register_forward_hook(self._leave)

    @contextmanager
    def idle_mlp(self, model: torch.nn.Module) -> Iterator[None]:
        """Let the MLP give zeros, without computing anything."""
        module = model.get_submodule(self.parts.mlp)

        def zeros(*_args: Any, **_kwargs: Any) -> torch.Tensor:
            if "x" not in self.kept:
                raise self._failure()
            return torch.zeros_like(self.kept["x"])

        own = module.__dict__.get("forward")
        module.__dict__["forward"] = zeros
        try:
            yield
        finally:
            if own is None:
                del module.__dict__["forward"]
            else:
                module.__dict__["forward"] = own

    @property
    def _without_skips(self) -> bool:
        return "skips" in self.off

    def _enter(self, _module: Any, args: Any, kwargs: Any) -> Any:
        x = hidden_input(args, kwargs)
        if x is None:
            raise self._failure()
        self.kept.clear()
        self.kept["x"] = x
        if self.depth == 0 and self.on_state is not None:
            self.on_state(0, x)
        if self._without_skips and self.parts.kind != "norm last":
            return with_hidden_input(args, kwargs, torch.zeros_like(x))
        return None

    def _read(self, name: str) -> Callable[..., Any]:
        """Give a norm the tokens that the layer itself no longer sees."""

        def read(_module: Any, args: Any, kwargs: Any) -> Any:
            given = hidden_input(args, kwargs)
            if not self._without_skips or given is None:
                return None
            tokens = self.kept.get(name)
            if tokens is None:
                raise self._failure()
            self.kept[f"{name} read"] = tokens
            return with_hidden_input(args, kwargs, tokens) if given.shape == tokens.shape else None

        return read

    def _attended(self, _module: Any, _args: Any, output: Any) -> Any:
        answer = first_tensor(output)
        if answer is None:
            raise self._failure()
        self.kept["a"] = answer
        if self._without_skips and self.parts.kind == "norm first":
            return with_first_tensor(output, torch.zeros_like(answer))
        return None

    def _mapped(self, _module: Any, _args: Any, output: Any) -> Any:
        answer = first_tensor(output)
        if answer is None:
            raise self._failure()
        if "mlps" not in self.off:
            self.kept["m"] = answer
            return None
        passes = self._without_skips and self.parts.kind == "norm first"
        self.kept["m"] = self.kept["a"] if passes else torch.zeros_like(answer)
        return with_first_tensor(output, self.kept["m"])

    def _sum_one(self, _module: Any, args: Any, kwargs: Any) -> Any:
        return with_hidden_input(args, kwargs, self.kept["a"]) if self._without_skips else None

    def _between(self, _module: Any, _args: Any, output: Any) -> None:
        self.kept["between"] = output

    def _sum_two(self, _module: Any, args: Any, kwargs: Any) -> Any:
        if "mlps" in self.off:
            return with_hidden_input(args, kwargs, self.kept["between"])
        return with_hidden_input(args, kwargs, self.kept["m"]) if self._without_skips else None

    def _unchanged(self, _module: Any, args: Any, kwargs: Any, _output: Any) -> Any:
        return hidden_input(args, kwargs)

    def _leave(self, _module: Any, _args: Any, output: Any) -> None:
        out = first_tensor(output)
        if out is None or not {"a", "m", "between"} <= set(self.kept):
            raise self._failure()
        if self._without_skips and self.parts.kind != "norm last":
            expected = self.kept["m"]
            if self.parts.kind == "parallel":
                expected = expected + self.kept["a"]
            if not torch.equal(out.nan_to_num(), expected.nan_to_num()):
                raise self._failure()
        if self.on_state is not None:
            self.on_state(self.depth + 1, out)
        self.kept.clear()

    def _failure(self) -> CollapseError:
        return CollapseError(
            f"{self.parts.block} must run as it did when its parts were found; it did not, so they cannot be "
            "switched off. Pass inputs of the same kind."
        )

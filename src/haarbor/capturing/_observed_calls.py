"""The attention of one sample, looked at before anything is written: its streams, layers and gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from fnmatch import fnmatchcase

import torch

from haarbor.capturing._attention_call import AttentionCall
from haarbor.capturing._softmax_call import SoftmaxCall
from haarbor.capturing._streams import LayerCall, is_cross_attention, stream_names
from haarbor.errors import CaptureError
from haarbor.store import StreamPlan

__all__ = ["ObservedCalls"]


class ObservedCalls:
    """Collects the calls of a forward pass, and tells to which layer of which stream each belongs.

    Parameters
    ----------
    model : torch.nn.Module
    leave_out : collection of str
        Patterns of names of layers that are not recorded, as of the shell.
    blocks : bool, default False
        Whether groups of tokens that attend apart from each other are recorded as blocks of one matrix.
    """

    def __init__(
        self, model: torch.nn.Module, leave_out: Collection[str] = (), *, blocks: bool = False
    ) -> None:
        self._model, self._leave_out, self._blocks = model, tuple(leave_out), blocks
        self._calls: list[LayerCall] = []
        self._groups: list[int] = []
        self.missed: dict[str, str] = {}
        """Names of layers whose attention cannot be recorded, and why."""
        self.from_softmax: set[str] = set()
        """Names of layers whose scores are taken from their softmax."""
        self._places: dict[tuple[str, int], tuple[str, int]] = {}
        self.streams: tuple[StreamPlan, ...] = ()
        """What the run will hold; after :meth:`settle`."""

    def is_left_out(self, name: str) -> bool:
        """Whether the user said that a layer may be left out."""
        return any(fnmatchcase(name, pattern) for pattern in self._leave_out)

    def on_call(
        self, name: str, module: torch.nn.Module, call: AttentionCall, _weights: torch.Tensor | None
    ) -> None:
        """Take note of a call."""
        if self.is_left_out(name):
            return
        if call.n_groups != 1 and not self._blocks:
            self.on_missed(
                name,
                f"it attends within {call.n_groups} groups of tokens at once, such as windows, tiles or "
                "frames",
            )
            return
        if isinstance(call, SoftmaxCall):
            self.from_softmax.add(name)
        groups = call.n_groups
        shape = (call.n_heads, groups * call.n_queries, groups * call.n_keys)
        is_cross = is_cross_attention(name, module, self._model)
        self._calls.append(LayerCall(name=name, shape=shape, is_cross=is_cross))
        self._groups.append(call.head_group)

    def on_missed(self, name: str, why: str) -> None:
        """Take note of attention that cannot be recorded."""
        if not self.is_left_out(name):
            self.missed.setdefault(name, why)

    def settle(self, n_tokens: int | None = None) -> None:
        """Give every call its stream and layer.

        Parameters
        ----------
        n_tokens : int, optional
            Tokens of text in the sample. Where a model has several parts beside each other, the one that
            reads the text comes first.

        Raises
        ------
        CaptureError
            If there is attention that cannot be recorded.
        """
        self._require_complete()
        names = stream_names(self._calls)
        seen: Counter[str] = Counter()
        layers: Counter[str] = Counter()
        for call, stream in zip(self._calls, names, strict=True):
            self._places[(call.name, seen[call.name])] = (stream, layers[stream])
            seen[call.name] += 1
            layers[stream] += 1
        plans = [self._plan(stream, names) for stream in layers]
        if n_tokens is not None and not any(name in ("encoder", "decoder") for name in layers):
            plans.sort(key=lambda plan: plan.n_queries != n_tokens)
        self.streams = tuple(plans)

    def place(self, name: str, occurrence: int) -> tuple[str, int] | None:
        """Stream and layer of a call; None where there was no such call.

        Parameters
        ----------
        name : str
        occurrence : int
            How often the layer has been called before in the same pass.
        """
        return self._places.get((name, occurrence))

    def __len__(self) -> int:
        """Number of calls."""
        return len(self._calls)

    def _plan(self, stream: str, names: list[str]) -> StreamPlan:
        own = [place for place, name in enumerate(names) if name == stream]
        n_heads, n_queries, n_keys = self._calls[own[0]].shape
        layers = tuple(tuple(head // self._groups[place] for head in range(n_heads)) for place in own)
        shared = any(self._groups[place] > 1 for place in own)
        return StreamPlan(
            name=stream,
            n_layers=len(own),
            n_heads=n_heads,
            n_queries=n_queries,
            n_keys=n_keys,
            head_groups=layers if shared else None,
        )

    def _require_complete(self) -> None:
        if not self.missed:
            return
        listed = sorted(self.missed.items())
        name, why = listed[0]
        more = f" and {len(listed) - 1} more layers" if len(listed) > 1 else ""
        example = _pattern(name)
        raise CaptureError(
            f"all attention of {type(self._model).__name__} must be recorded, or be left out on purpose; layer "
            f"{name}{more} cannot: {why}. "
            + (
                "To record such groups as blocks of one matrix, pass groups='blocks' (--groups blocks). "
                if "groups of tokens" in why
                else ""
            )
            + f"To capture the rest, pass leave_out=[{example!r}] (--leave-out {example!r})."
        )


def _pattern(name: str) -> str:
    return ".".join("*" if part.isdigit() else part for part in name.split("."))

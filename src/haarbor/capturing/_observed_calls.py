"""The attention of one sample, looked at before anything is written: its streams, layers and gaps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from fnmatch import fnmatchcase

import torch

from haarbor.capturing._attention_call import AttentionCall
from haarbor.capturing._softmax_call import SoftmaxCall
from haarbor.capturing._streams import LayerCall, is_cross_attention, reads_tokens, stream_names
from haarbor.errors import CaptureError
from haarbor.store import StreamPlan

__all__ = ["ObservedCalls"]

# Layers larger than that in float32 are written in chunks of rows, and never held whole.
_MOST_CHUNK_BYTES = 32 << 20


class ObservedCalls:
    """Collects the calls of a forward pass, and tells to which layer of which stream each belongs.

    Parameters
    ----------
    model : torch.nn.Module
    leave_out : collection of str
        Patterns of names of layers that are not recorded, as of the shell.
    groups_as_heads : bool, default False
        Whether the heads of groups of tokens that attend apart from each other are heads of their own.
    pool : int, default 1
        Tokens along each side of the blocks whose means the run will hold.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        leave_out: Collection[str] = (),
        *,
        groups_as_heads: bool = False,
        pool: int = 1,
    ) -> None:
        self._model, self._leave_out, self._groups_as_heads = model, tuple(leave_out), groups_as_heads
        self._pool = pool
        self._calls: list[LayerCall] = []
        self._key_value_heads: list[tuple[int, ...]] = []
        self._seen: set[str] = set()
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
        self._seen.add(name)
        if self.is_left_out(name):
            return
        if call.n_groups != 1 and not self._groups_as_heads:
            self.on_missed(
                name,
                f"it attends within {call.n_groups} groups of tokens at once, such as windows, tiles or "
                "frames",
            )
            return
        if isinstance(call, SoftmaxCall):
            self.from_softmax.add(name)
        is_cross = is_cross_attention(name, module, self._model)
        self._calls.append(LayerCall(name=name, shape=call.layer_shape, is_cross=is_cross))
        self._key_value_heads.append(
            tuple(
                (group * call.n_heads + head) // call.head_group
                for group in range(call.n_groups)
                for head in range(call.n_heads)
            )
        )

    def on_missed(self, name: str, why: str) -> None:
        """Take note of attention that cannot be recorded."""
        self._seen.add(name)
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
            If there is attention that cannot be recorded, or what may be left out is not there or is all.
        """
        self._require_left_out()
        self._require_complete()
        names = stream_names(self._calls)
        seen: Counter[str] = Counter()
        layers: Counter[str] = Counter()
        for call, stream in zip(self._calls, names, strict=True):
            self._places[(call.name, seen[call.name])] = (stream, layers[stream])
            seen[call.name] += 1
            layers[stream] += 1
        plans = [self._plan(stream, names) for stream in layers]
        if n_tokens is not None and "decoder" not in layers:
            plans.sort(key=lambda plan: plan.n_queries != n_tokens or not reads_tokens(plan.name))
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
        layers = tuple(self._key_value_heads[place] for place in own)
        shared = any(len(set(layer)) < n_heads for layer in layers)
        blocks = [math.ceil(side / self._pool) for side in (n_queries, n_keys)]
        row_bytes = 4 * n_heads * blocks[1]
        return StreamPlan(
            name=stream,
            n_layers=len(own),
            n_heads=n_heads,
            n_queries=blocks[0],
            n_keys=blocks[1],
            head_groups=layers if shared else None,
            rows_per_chunk=min(blocks[0], max(1, _MOST_CHUNK_BYTES // row_bytes)),
            pool=self._pool,
            pooled_from=None if self._pool == 1 else (n_queries, n_keys),
        )

    @property
    def computes_attention(self) -> bool:
        """Whether any was seen, recorded or not."""
        return bool(self._seen)

    def _require_left_out(self) -> None:
        """Refuse patterns that name no layer, which are misspelt, and those that name every one."""
        unused = [
            pattern
            for pattern in self._leave_out
            if not any(fnmatchcase(name, pattern) for name in self._seen)
        ]
        if unused:
            known = sorted({self._opened(name) for name in self._seen})
            raise CaptureError(
                f"leave_out must name layers that compute attention; {unused[0]!r} names none. There are "
                f"{', '.join(known[:6])}{' and others' if len(known) > 6 else ''}."
                " Write one of these, or leave it out."
            )
        if not self._calls and not self.missed:
            raise CaptureError(
                f"some attention must be left to record; leave_out names all layers of "
                f"{type(self._model).__name__}. Name fewer."
            )

    def _require_complete(self) -> None:
        if not self.missed:
            return
        listed = sorted(self.missed.items())
        name, why = listed[0]
        more = f" and {len(listed) - 1} more" if len(listed) > 1 else ""
        what = f"all attention of {type(self._model).__name__} must be recorded, or be left out on purpose"
        advice = []
        if "groups of tokens" in why:
            advice.append("to record the heads of each group, pass groups='heads' (--groups heads)")
        if self._calls:
            patterns = sorted({self._pattern(name) for name in self.missed})
            words = " ".join(f"--leave-out {pattern!r}" for pattern in patterns)
            advice.append(f"to capture the rest, pass leave_out={patterns!r} ({words})")
        if not advice:
            advice.append(
                "give weights that you computed to haarbor.import_arrays(weights, location, axes=('head', "
                "'query', 'key'))"
            )
        text = "; ".join(advice)
        raise CaptureError(f"{what}; layer {name}{more} cannot be: {why}. {text[0].upper()}{text[1:]}.")

    def _pattern(self, name: str) -> str:
        """The name with the numbers of layers left open, unless that names layers that can be recorded."""
        pattern = self._opened(name)
        return name if any(fnmatchcase(call.name, pattern) for call in self._calls) else pattern

    @staticmethod
    def _opened(name: str) -> str:
        return ".".join("*" if part.isdigit() else part for part in name.split("."))

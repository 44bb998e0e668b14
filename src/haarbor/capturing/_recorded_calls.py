"""The attention calls of any model, reported while it runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from haarbor.capturing._attention_call import AttentionCall, OnCall
from haarbor.capturing._attention_interface import Mode, watched_interface
from haarbor.capturing._call_checks import gives_output, gives_weights
from haarbor.capturing._huggingface import has_huggingface, is_huggingface
from haarbor.capturing._interface_call import interface_call
from haarbor.capturing._multihead_call import multihead_call
from haarbor.capturing._running_modules import RunningModules
from haarbor.capturing._sdpa_call import sdpa_call
from haarbor.capturing._seen_functions import SeenFunctions
from haarbor.capturing._softmax_call import SoftmaxCall, softmax_call
from haarbor.errors import CaptureError

__all__ = ["OnMissed", "recorded_calls"]

OnMissed = Callable[[str, str], None]
"""Function of (name of the module, why), called for every attention that cannot be recorded."""

_ARGUMENTS = ("query", "key", "value", "attention_mask")


@contextmanager
def recorded_calls(
    model: torch.nn.Module,
    on_call: OnCall,
    *,
    mode: Mode = "faithful",
    on_missed: OnMissed | None = None,
    checked: bool = False,
    from_softmax: Collection[str] = (),
) -> Iterator[None]:
    """Report every attention call of a model while the block runs.

    Three ways cover the models people write. Models of transformers ask for their attention function, and
    that is watched; ``nn.MultiheadAttention`` (and so ``nn.TransformerEncoder``) is hooked; and every
    softmax and every ``scaled_dot_product_attention`` in an attention module is seen, which covers timm,
    models that compute their attention by themselves, and most that are written by hand. Hooks are gone
    when the block ends, even after an exception.

    Parameters
    ----------
    model : torch.nn.Module
    on_call : OnCall
        Called in the order in which the layers run.
    mode : {"faithful", "transparent"}, default "faithful"
        For Hugging Face models: whether they compute their attention with their own eager function or with
        SDPA (``scaled_dot_product_attention``). Other models run as they are.
    on_missed : OnMissed, optional
        Told of attention that is computed and cannot be reported.
    checked : bool, default False
        Whether every call is compared with what the layer returns, at the cost of computing it again.
        Layers whose scores are not those of the conventions are reported as a `SoftmaxCall`.
    from_softmax : collection of str
        Names of the layers that a checked pass reported in that way.

    See Also
    --------
    haarbor.capture : Record the attention of a model.

    Notes
    -----
    PyTorch switches off the fused fast path of ``nn.TransformerEncoderLayer`` when a module has
    hooks; its output then agrees with the fast path to rounding, not to the bit.
    """
    recording = _Recording(model, on_call, mode, on_missed or _ignored, checked, frozenset(from_softmax))
    with recording.watching():
        yield


def _ignored(_name: str, _why: str) -> None:
    pass


class _Inside:
    """What was computed inside an attention function; nothing of it while that is reported.

    Reports compute a softmax for every chunk of rows, and to keep them all would be to keep the layer.
    """

    def __init__(self, *, is_report: bool) -> None:
        self.is_report = is_report
        self.softmax: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.sdpa: list[tuple[tuple[Any, ...], dict[str, Any]]] = []


class _Recording:
    def __init__(
        self,
        model: torch.nn.Module,
        on_call: OnCall,
        mode: Mode,
        on_missed: OnMissed,
        checked: bool,
        from_softmax: frozenset[str],
    ) -> None:
        self._model, self._on_call, self._mode, self._on_missed = model, on_call, mode, on_missed
        self._checked, self._from_softmax = checked, from_softmax
        self._names = {id(module): name for name, module in model.named_modules()}
        self._running = RunningModules(model)
        # Set while an attention function runs, and while it is reported, which computes softmaxes, too.
        self._inside: _Inside | None = None

    def watching(self) -> ExitStack:
        hooks = ExitStack()
        hooks.enter_context(self._running.watching())
        for name, module in self._model.named_modules():
            if isinstance(module, torch.nn.MultiheadAttention):
                record = self._after_multihead(name)
                hooks.callback(module.register_forward_hook(record, with_kwargs=True).remove)
        if has_huggingface(self._model):
            hooks.enter_context(watched_interface(self._model, self._mode, self._on_interface))
        hooks.enter_context(SeenFunctions(self._on_softmax, self._on_sdpa, self._on_multihead))
        return hooks

    # Functions of PyTorch.

    def _on_softmax(self, args: tuple[Any, ...], kwargs: dict[str, Any], weights: torch.Tensor) -> None:
        scores = args[0] if args else kwargs["input"]
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        if weights.dim() < 3 or dim not in (-1, weights.dim() - 1):
            return
        if self._inside is not None:
            if not self._inside.is_report:
                self._inside.softmax.append((scores, weights))
            return
        found = self._running.attention()
        if found is None:
            return
        name, module = found
        call = softmax_call(module, scores, weights)
        if call is None:
            self._on_missed(
                name, f"its softmax of shape {tuple(weights.shape)} is not one of (head, query, key)"
            )
            return
        self._on_call(name, module, call, call.weights)

    def _on_sdpa(self, args: tuple[Any, ...], kwargs: dict[str, Any], output: torch.Tensor) -> None:
        if self._inside is not None:
            if not self._inside.is_report:
                self._inside.sdpa.append((args, kwargs))
            return
        name, module = self._running.attention() or self._running.innermost()
        if output.dim() > 4:
            self._on_missed(name, f"it calls SDPA with {output.dim()} axes")
            return
        call = sdpa_call(*args, **kwargs)
        self._on_call(name, module, call, None)

    def _on_multihead(self, _args: tuple[Any, ...], _kwargs: dict[str, Any], _output: Any) -> None:
        if self._running.inside(is_huggingface):
            name, _ = self._running.innermost()
            self._on_missed(name, "it is an nn.MultiheadAttention within a model of transformers")

    def _after_multihead(self, name: str) -> Callable[..., None]:
        def record(
            module: torch.nn.MultiheadAttention, args: tuple[Any, ...], kwargs: dict[str, Any], _output: Any
        ) -> None:
            if not self._running.inside(is_huggingface):
                with self._within(is_report=True):
                    self._on_call(name, module, multihead_call(module, args, kwargs), None)

        return record

    # Attention functions of transformers.

    def _on_interface(
        self,
        implementation: str,
        module: torch.nn.Module,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        name = self._names.get(id(module), type(module).__name__)
        if self._mode == "transparent" and implementation == "eager":
            raise CaptureError(
                f"layer {name} must support SDPA to be captured with mode='transparent'; "
                f"{type(self._model).__name__} does not. Capture with mode='faithful'."
            )
        given = {**dict(zip(_ARGUMENTS, args, strict=False)), **options}
        with self._within() as inside:
            output = function(module, *args, **options)
        with self._within(is_report=True):
            self._report(name, module, given, inside, output)
        return output

    def _report(
        self, name: str, module: torch.nn.Module, given: dict[str, Any], inside: _Inside, output: Any
    ) -> None:
        weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if self._mode == "transparent":
            call = self._fused_call(name, module, given, inside, output)
        else:
            if weights is None and len(inside.softmax) == 1:
                weights = inside.softmax[0][1]
            call = self._eager_call(name, module, given, inside, weights)
        if call is not None:
            self._on_call(name, module, call, weights)

    @contextmanager
    def _within(self, *, is_report: bool = False) -> Iterator[_Inside]:
        before, inside = self._inside, _Inside(is_report=is_report)
        self._inside = inside
        try:
            yield inside
        finally:
            self._inside = before

    def _eager_call(
        self,
        name: str,
        module: torch.nn.Module,
        given: dict[str, Any],
        inside: _Inside,
        weights: torch.Tensor | None,
    ) -> AttentionCall | None:
        call: AttentionCall = interface_call(module, given, self._mode)
        if name not in self._from_softmax and (
            not self._checked or (weights is not None and gives_weights(call, weights))
        ):
            return call
        seen = _single_softmax(module, inside, call)
        if seen is not None and (not self._checked or (weights is not None and gives_weights(seen, weights))):
            return seen
        self._on_missed(name, "what it returns as attention is not the softmax of scores that can be seen")
        return None

    def _fused_call(
        self, name: str, module: torch.nn.Module, given: dict[str, Any], inside: _Inside, output: Any
    ) -> AttentionCall | None:
        call = interface_call(module, given, self._mode)
        if len(inside.sdpa) == 1:
            fused = sdpa_call(*inside.sdpa[0][0], **inside.sdpa[0][1])
            if fused.n_keys != call.n_keys:
                # The function gave SDPA fewer keys than it was given, those that a causal mask lets it see.
                call, given = fused, {**given, "value": _value_of(*inside.sdpa[0])}
        if not self._checked:
            return call
        first = output[0] if isinstance(output, tuple) else output
        if gives_output(call, given["value"], first.transpose(1, 2)):
            return call
        self._on_missed(name, "what SDPA returns is not the softmax of its scores times its values")
        return None


def _single_softmax(module: torch.nn.Module, inside: _Inside, call: AttentionCall) -> SoftmaxCall | None:
    """The one softmax inside an attention function; a last column that is no key, a sink, is left out."""
    if len(inside.softmax) != 1:
        return None
    scores, weights = inside.softmax[0]
    if weights.dim() != 4:
        return softmax_call(module, scores, weights, call.n_groups)
    if weights.shape[-1] == call.n_keys + 1:
        scores, weights = scores[..., :-1], weights[..., :-1]
    return SoftmaxCall(scores=scores, weights=weights, shared_by=call.head_group)


def _value_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[2] if len(args) > 2 else kwargs["value"]

"""How a language model goes on from a prompt, always with the token that it finds likeliest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from haarbor.capturing._compilation import without_compilation
from haarbor.capturing._first_line import first_line
from haarbor.capturing._model_forward import model_forward, placed_inputs
from haarbor.errors import CaptureError
from haarbor.zoo import TransformerXL

__all__ = ["GreedyAnswer", "greedy_answer", "require_generates"]

# What a checkpoint recommends for sampling, beams and variety is put aside: an answer is what the model
# itself finds likeliest, and the same every time.
_GREEDY = {
    "do_sample": False, "num_beams": 1, "num_return_sequences": 1, "temperature": None, "top_p": None,
    "top_k": None, "min_p": None, "typical_p": None, "repetition_penalty": None, "no_repeat_ngram_size": 0,
    "min_length": 0, "min_new_tokens": None, "length_penalty": None, "early_stopping": None,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GreedyAnswer:
    """An answer token by token."""

    start: tuple[int, ...]
    """Ids that the decoder of an encoder-decoder began with; empty for other models."""
    ids: tuple[int, ...]
    """As many as were asked for, or fewer where the model ended its text; the end is among them."""
    logits: torch.Tensor
    """Shape (token, vocabulary): scores that the model gave while it wrote each token."""
    pad_id: int
    """Id that fills the place after an answer that ended early."""


def require_generates(model: torch.nn.Module) -> None:
    """Refuse a model that cannot go on from a text.

    Parameters
    ----------
    model : torch.nn.Module

    Raises
    ------
    CaptureError
    """
    can = getattr(model, "can_generate", None)
    has = callable(getattr(model, "generate", None)) and (not callable(can) or bool(can()))
    if not has and not isinstance(model, TransformerXL):
        raise CaptureError(
            f"a model must write text to generate an answer; {type(model).__name__} cannot. Load a language "
            "model, such as transformers.AutoModelForCausalLM gives, or capture the text without an answer."
        )


def greedy_answer(model: torch.nn.Module, prompt: Mapping[str, Any], n_tokens: int) -> GreedyAnswer:
    """The answer of a model to a prompt.

    Parameters
    ----------
    model : torch.nn.Module
        Of Hugging Face, with ``generate``; or a TransformerXL of haarbor.zoo.
    prompt : mapping of str to tensor
        A batch of one, without padding except in front of an encoder.
    n_tokens : int
        Most tokens of the answer.

    Returns
    -------
    GreedyAnswer

    Raises
    ------
    CaptureError
        If the model fails while it writes.
    """
    try:
        with torch.no_grad():
            if isinstance(model, TransformerXL):
                return _next_tokens(model, prompt, n_tokens)
            return _generated(model, prompt, n_tokens)
    except CaptureError:
        raise
    # With the wrong inputs, or too little memory, a model may fail at any line and with any error.
    except Exception as error:
        raise CaptureError(
            f"the model must go on from its prompt; {type(model).__name__} fails with "
            f"{type(error).__name__}: {first_line(error)}. Check that its generate takes these inputs."
        ) from error


def _generated(model: Any, prompt: Mapping[str, Any], n_tokens: int) -> GreedyAnswer:
    inputs = placed_inputs(model, prompt)
    settings = getattr(model, "generation_config", None)
    pad_id = getattr(settings, "pad_token_id", None)
    ends = getattr(settings, "eos_token_id", None)
    end = ends[0] if isinstance(ends, list) and ends else ends
    fill = pad_id if isinstance(pad_id, int) else end if isinstance(end, int) else 0
    with without_compilation(model):
        found = model.generate(
            **inputs,
            **_GREEDY,
            max_new_tokens=n_tokens,
            pad_token_id=fill,
            return_dict_in_generate=True,
            output_logits=True,
        )
    row = [int(token) for token in found.sequences[0].tolist()]
    n_new = len(found.logits)
    decodes = bool(getattr(model.config, "is_encoder_decoder", False))
    return GreedyAnswer(
        start=tuple(row[: len(row) - n_new]) if decodes else (),
        ids=tuple(row[len(row) - n_new :]),
        logits=torch.cat(found.logits).float().cpu(),
        pad_id=fill,
    )


def _next_tokens(model: TransformerXL, prompt: Mapping[str, Any], n_tokens: int) -> GreedyAnswer:
    ids, scores = prompt["input_ids"], []
    n_prompt = ids.shape[1]
    for _ in range(n_tokens):
        scores.append(model_forward(model, {"input_ids": ids}).logits[:, -1].float().cpu())
        ids = torch.cat([ids, scores[-1].argmax(dim=-1, keepdim=True).to(ids)], dim=1)
    answer = tuple(int(token) for token in ids[0, n_prompt:].tolist())
    return GreedyAnswer(start=(), ids=answer, logits=torch.cat(scores), pad_id=0)

"""Prompts with the answers that a model gives to them, to be captured in one pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from haarbor.array_types import frozen
from haarbor.capturing._compilation import uncompiled
from haarbor.capturing._huggingface import is_huggingface
from haarbor.capturing._model_forward import model_forward
from haarbor.capturing.inputs._greedy_answer import GreedyAnswer, greedy_answer, require_generates
from haarbor.capturing.inputs._model_inputs import model_inputs
from haarbor.capturing.inputs._samples import Sample, Samples, checked_count, digest_of_bytes
from haarbor.capturing.inputs._token_inputs import TokenInputs, token_texts
from haarbor.capturing.inputs._token_kinds import TokenKinds
from haarbor.errors import CaptureError

__all__ = ["generated_samples"]

# Inputs with one number per token, and what an answer has there: the last number of the prompt, or zero.
_PER_TOKEN = {"token_type_ids": "last", "mm_token_type_ids": "zero"}
_UNKNOWN_FOR_AN_ANSWER = ("position_ids", "inputs_embeds", "decoder_inputs_embeds", "past_key_values")
# Rounding, even of half precision, changes scores by far less than this share of their spread.
_MOST_DIFFERENCE = 0.1


def generated_samples(
    samples: Sequence[Sample], model: torch.nn.Module, *, n_tokens: int, tokenizer: Any = None
) -> Samples:
    """Prompts, each with the answer that the model gives to it.

    The model goes on from each prompt, always with the likeliest token. Prompt and answer are one sample
    then, so that one pass over both records the attention with which the answer was written. Their tokens
    are of the kinds "prompt" and "answer". With an encoder-decoder the encoder reads the prompt, and the
    answer is what the decoder reads, after its start token.

    Parameters
    ----------
    samples : Samples or sequence of Sample
        Prompts of token ids, with padding at their end if any; a picture may come with the text.
    model : torch.nn.Module
        In eval mode: a Hugging Face model with ``generate``, or a TransformerXL of :mod:`haarbor.zoo`.
    n_tokens : int
        Tokens of an answer. Where the model ends its text before, the rest is padding, which is masked;
        the padding of a prompt comes after its answer.
    tokenizer : transformers.PreTrainedTokenizerBase, optional
        For the labels of answers; without one they are ids.

    Returns
    -------
    Samples
        Made when they are asked for, and the same every time.

    Raises
    ------
    CaptureError
        If the model cannot write text, reads no token ids, has too few positions, or computes another
        attention when it reads an answer back than when it wrote it.
    SettingError
        If `n_tokens` is no whole number, or less than one.

    See Also
    --------
    haarbor.capturing.inputs.text_samples : Samples of a text.
    haarbor.capturing.inputs.targeted_samples : Samples for an encoder and a decoder.
    """
    n_tokens = checked_count(n_tokens, "the number of tokens to generate")
    model = uncompiled(model)
    if not isinstance(model, torch.nn.Module):
        raise CaptureError(
            f"the model must be a torch.nn.Module; found {type(model).__name__}. Load one with "
            "haarbor.capturing.load_model(name).model."
        )
    if not isinstance(samples, Sequence) or not len(samples) or not isinstance(samples[0], Sample):
        raise CaptureError(
            f"prompts must be samples, at least one; found {type(samples).__name__}. Make them with "
            "haarbor.capturing.inputs.text_samples, or pass a list of haarbor.capturing.Sample."
        )
    require_generates(model)
    if model.training:
        raise CaptureError("the model must be in eval mode to generate text. Call model.eval() first.")
    _require_room(model, _ids(samples[0]).shape[1], n_tokens)
    return _Generated(samples, model, n_tokens, tokenizer)


class _Generated(Samples):
    def __init__(
        self, samples: Sequence[Sample], model: torch.nn.Module, n_tokens: int, tokenizer: Any
    ) -> None:
        self._samples, self._model, self._n_tokens, self._tokenizer = samples, model, n_tokens, tokenizer
        self._kinds = TokenKinds(model)
        self._decodes = bool(getattr(model.config, "is_encoder_decoder", False))

    @property
    def description(self) -> str:
        prompts = self._samples.description if isinstance(self._samples, Samples) else "prompts"
        return f"{prompts}; each with the model's answer of up to {self._n_tokens} tokens"

    @property
    def content_digest(self) -> str:
        inner = self._samples.content_digest if isinstance(self._samples, Samples) else ""
        return digest_of_bytes([inner.encode(), str(self._n_tokens).encode()]) if inner else ""

    @property
    def settings(self) -> Mapping[str, Any]:
        inner = self._samples.settings if isinstance(self._samples, Samples) else {}
        return {**inner, "generate": self._n_tokens}

    def __len__(self) -> int:
        return len(self._samples)

    def sample(self, index: int) -> Sample:
        """Prompt at an index with its answer."""
        prompt = self._kinds.described(self._samples[index])
        n_prompt = _n_valid(prompt, index)
        inputs = {name: value for name, value in prompt.inputs.items() if not name.startswith("decoder_")}
        unknown = next((name for name in _UNKNOWN_FOR_AN_ANSWER if prompt.inputs.get(name) is not None), None)
        if unknown is not None:
            raise CaptureError(
                f"a prompt must be token ids, whose answer the model can read with them; sample {index} has "
                f"{unknown}, too. Leave it out."
            )
        if not self._decodes:
            inputs = _cut(inputs, n_prompt)
            inputs["attention_mask"] = torch.ones_like(_ids(prompt)[:, :n_prompt])
        answer = greedy_answer(self._model, inputs, self._n_tokens)
        found = self._decoded(prompt, inputs, answer) if self._decodes else self._joined(prompt, answer)
        self._require_read_back(found, n_prompt, answer, index)
        return found

    def _joined(self, prompt: Sample, answer: GreedyAnswer) -> Sample:
        """Prompt, answer and padding in one row."""
        ids = _ids(prompt)
        n_prompt, n_unused = _n_valid(prompt, 0), self._n_tokens - len(answer.ids)
        padding = [answer.pad_id] * n_unused
        row, new = ids[0].tolist(), [*answer.ids, *padding]
        inputs = dict(prompt.inputs)
        inputs["input_ids"] = torch.tensor([[*row[:n_prompt], *new, *row[n_prompt:]]])
        for name, rule in _PER_TOKEN.items():
            if name in inputs:
                beside = _row(inputs[name])
                filled = [beside[n_prompt - 1] if rule == "last" else 0] * len(new)
                inputs[name] = torch.tensor([[*beside[:n_prompt], *filled, *beside[n_prompt:]]])
        valid = np.arange(len(row) + len(new)) < n_prompt + len(answer.ids)
        inputs["attention_mask"] = torch.from_numpy(valid.astype(np.int64))[None]
        labels = prompt.labels if len(prompt.labels) == len(row) else self._texts(row)
        kinds = self._prompt_kinds(prompt, row)
        return dataclasses.replace(
            prompt,
            inputs=inputs,
            labels=(*labels[:n_prompt], *self._texts(new), *labels[n_prompt:]),
            kinds=(
                *kinds[:n_prompt],
                *["answer"] * len(answer.ids),
                *["special"] * n_unused,
                *["special"] * (len(row) - n_prompt),
            ),
            valid=frozen(valid),
        )

    def _decoded(self, prompt: Sample, inputs: Mapping[str, Any], answer: GreedyAnswer) -> Sample:
        """The prompt for the encoder; start, answer and padding for the decoder."""
        row = _ids(prompt)[0].tolist()
        n_unused = self._n_tokens - len(answer.ids)
        ids = [*answer.start, *answer.ids, *[answer.pad_id] * n_unused]
        valid = np.arange(len(ids)) < len(ids) - n_unused
        return dataclasses.replace(
            prompt,
            inputs={
                **inputs,
                "decoder_input_ids": torch.tensor([ids]),
                "decoder_attention_mask": torch.from_numpy(valid.astype(np.int64))[None],
            },
            labels=prompt.labels or self._texts(row),
            kinds=self._prompt_kinds(prompt, row),
            decoder_labels=self._texts(ids),
            decoder_kinds=(
                *["special"] * len(answer.start), *["answer"] * len(answer.ids), *["special"] * n_unused
            ),
            decoder_valid=frozen(valid),
        )  # fmt: skip

    def _require_read_back(self, found: Sample, n_prompt: int, answer: GreedyAnswer, index: int) -> None:
        """Refuse a model that computes something else when it reads the answer than when it wrote it."""
        with torch.no_grad():
            output = model_forward(self._model, found.inputs)
        begin = (len(answer.start) if self._decodes else n_prompt) - 1
        logits = output.logits[0, begin : begin + len(answer.ids)].float().cpu()
        difference = float("inf")
        if logits.shape == answer.logits.shape:
            spread = answer.logits.std(dim=-1)
            difference = float(((logits - answer.logits).abs().mean(dim=-1) / spread).max())
        if difference > _MOST_DIFFERENCE:
            raise CaptureError(
                "one pass over prompt and answer must compute what the model computed while it wrote; with "
                f"sample {index} the scores of {type(self._model).__name__} are others. Its tokens may look "
                "at later ones: capture the text without an answer."
            )

    def _prompt_kinds(self, prompt: Sample, row: Sequence[int]) -> tuple[str, ...]:
        special = set(getattr(self._tokenizer, "all_special_ids", None) or ())
        found = prompt.kinds or (
            "special" if token in special else kind
            for token, kind in zip(row, self._kinds.of_ids(row), strict=True)
        )
        return tuple("prompt" if kind == "text" else kind for kind in found)

    def _texts(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(map(str, ids)) if self._tokenizer is None else token_texts(self._tokenizer, ids)


def _ids(sample: Sample) -> torch.Tensor:
    ids = sample.inputs.get("input_ids")
    ids = torch.as_tensor(ids) if isinstance(ids, np.ndarray) else ids
    if not isinstance(ids, torch.Tensor) or ids.dim() != 2 or ids.shape[0] != 1 or ids.shape[1] == 0:
        raise CaptureError(
            "a prompt must be token ids, input_ids of shape (1, n_tokens); found "
            f"{', '.join(name or 'a tensor' for name in sample.inputs) or 'nothing'}. Give text to a "
            "language model, or capture without an answer."
        )
    return ids


def _row(values: Any) -> list[Any]:
    return list(torch.as_tensor(values)[0].tolist())


def _n_valid(sample: Sample, index: int) -> int:
    """Tokens before the padding, which stands at the end."""
    n_tokens = _ids(sample).shape[1]
    mask = sample.inputs.get("attention_mask")
    valid = sample.valid if mask is None else np.array(_row(mask), dtype=bool)
    if valid is None:
        return n_tokens
    n_valid = int(valid.sum())
    if n_valid == 0 or valid.size != n_tokens or not valid[:n_valid].all():
        raise CaptureError(
            f"padding must stand after the text of a prompt; sample {index} has some before it, or no text. "
            "Pad on the right: tokenizer.padding_side = 'right'."
        )
    return n_valid


def _cut(inputs: Mapping[str, Any], n_prompt: int) -> dict[str, Any]:
    """Inputs without the padding at the end of the prompt."""
    per_token = ("input_ids", *_PER_TOKEN)
    return {
        name: torch.as_tensor(value)[:, :n_prompt] if name in per_token else value
        for name, value in inputs.items()
    }


def _require_room(model: torch.nn.Module, n_prompt: int, n_tokens: int) -> None:
    if not is_huggingface(model) or getattr(model, "main_input_name", "") != "input_ids":
        return
    takes = model_inputs(model)
    if not isinstance(takes, TokenInputs):
        return
    total, most = n_prompt + n_tokens, takes.max_tokens
    if takes.decoder is not None:
        total, most = 1 + n_tokens, takes.decoder.max_tokens
    if most is not None and total > most:
        raise CaptureError(
            f"prompt and answer must fit the {most} positions of the model; prompts of {n_prompt} and "
            f"answers of {n_tokens} tokens were asked for. Ask for fewer tokens of either."
        )

"""One small untrained model of each architecture, built from its configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import transformers as tf

from haarbor.capturing.inputs import model_inputs, token_id_samples

_TEXT = {
    "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
    "num_attention_heads": 4, "max_position_embeddings": 64,
}  # fmt: skip
_GROUPED = {**_TEXT, "num_key_value_heads": 2}
_IMAGE = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
    "image_size": 16, "patch_size": 4,
}  # fmt: skip
_SEQ2SEQ = {
    "vocab_size": 97, "d_model": 32, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "encoder_layers": 3,
    "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
}  # fmt: skip
_ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


@dataclass(frozen=True)
class SmallModel:
    """A model class, the settings of its configuration, and the kind of input it takes."""

    model: str
    config: str
    settings: dict[str, Any]
    inputs: str
    sdpa: bool = True
    """Whether un-instrumented SDPA computes the same attention as eager."""
    extra: dict[str, Any] = field(default_factory=dict)

    def build(self, attention: str) -> torch.nn.Module:
        """The model with random weights, the same for every call."""
        torch.manual_seed(1)
        config = getattr(tf, self.config)(**{**self.settings, **self.extra})
        config._attn_implementation = attention
        return getattr(tf, self.model)(config).eval()

    def batch(self) -> dict[str, torch.Tensor]:
        """One sample of input, the same for every call."""
        generator = torch.Generator().manual_seed(3)
        ids = torch.randint(3, 97, (1, 14), generator=generator)
        padding = torch.tensor([[1] * 11 + [0] * 3])
        if self.inputs == "tokens":
            return {"input_ids": ids}
        if self.inputs == "padded":
            return {"input_ids": ids, "attention_mask": padding}
        if self.inputs == "image":
            return {"pixel_values": torch.randn(1, 3, 16, 16, generator=generator)}
        if self.inputs == "audio":
            return {
                "input_features": torch.randn(1, 8, 40, generator=generator),
                "decoder_input_ids": ids[:, :9],
            }
        return {"input_ids": ids, "attention_mask": padding, "decoder_input_ids": ids[:, :9]}


SMALL_MODELS = {
    "gpt2": SmallModel(
        "GPT2LMHeadModel", "GPT2Config",
        {"vocab_size": 97, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64},
        "tokens", extra=_ENDS),
    "gpt_neox": SmallModel("GPTNeoXForCausalLM", "GPTNeoXConfig", _TEXT, "tokens", extra=_ENDS),
    "llama": SmallModel("LlamaForCausalLM", "LlamaConfig", _GROUPED, "tokens", extra=_ENDS),
    "mistral": SmallModel(
        "MistralForCausalLM", "MistralConfig", {**_GROUPED, "sliding_window": 5}, "tokens", extra=_ENDS),
    "qwen3": SmallModel(
        "Qwen3ForCausalLM", "Qwen3Config", {**_GROUPED, "head_dim": 8}, "tokens", extra=_ENDS),
    "gemma3": SmallModel(
        "Gemma3ForCausalLM", "Gemma3TextConfig", {**_GROUPED, "head_dim": 8, "sliding_window": 5}, "tokens",
        extra=_ENDS),
    "gemma2": SmallModel(
        "Gemma2ForCausalLM", "Gemma2Config", {**_GROUPED, "head_dim": 8, "sliding_window": 5}, "tokens",
        sdpa=False, extra=_ENDS),
    "smollm3": SmallModel("SmolLM3ForCausalLM", "SmolLM3Config", _GROUPED, "tokens", extra=_ENDS),
    "phi": SmallModel("PhiForCausalLM", "PhiConfig", _TEXT, "tokens", extra=_ENDS),
    "gpt_oss": SmallModel(
        "GptOssForCausalLM", "GptOssConfig",
        {**_GROUPED, "head_dim": 8, "sliding_window": 5, "num_local_experts": 2, "num_experts_per_tok": 1,
         "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
        "tokens", sdpa=False, extra=_ENDS),
    "opt": SmallModel(
        "OPTForCausalLM", "OPTConfig",
        {"vocab_size": 97, "hidden_size": 32, "ffn_dim": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
         "max_position_embeddings": 64, "word_embed_proj_dim": 32}, "tokens", extra=_ENDS),
    "bert": SmallModel("BertForMaskedLM", "BertConfig", _TEXT, "padded"),
    "roberta": SmallModel("RobertaForMaskedLM", "RobertaConfig", _TEXT, "padded"),
    "albert": SmallModel("AlbertForMaskedLM", "AlbertConfig", {**_TEXT, "embedding_size": 16}, "padded"),
    "distilbert": SmallModel(
        "DistilBertForMaskedLM", "DistilBertConfig",
        {"vocab_size": 97, "dim": 32, "hidden_dim": 48, "n_layers": 3, "n_heads": 4}, "padded"),
    "electra": SmallModel("ElectraForMaskedLM", "ElectraConfig", {**_TEXT, "embedding_size": 16}, "padded"),
    "vit": SmallModel("ViTForImageClassification", "ViTConfig", _IMAGE, "image"),
    "deit": SmallModel("DeiTForImageClassification", "DeiTConfig", _IMAGE, "image"),
    "clip": SmallModel("CLIPVisionModel", "CLIPVisionConfig", _IMAGE, "image"),
    "dinov2": SmallModel(
        "Dinov2Model", "Dinov2Config",
        {key: value for key, value in _IMAGE.items() if key != "intermediate_size"}, "image"),
    "t5": SmallModel(
        "T5ForConditionalGeneration", "T5Config",
        {"vocab_size": 97, "d_model": 32, "d_ff": 48, "d_kv": 8, "num_layers": 3, "num_heads": 4,
         "decoder_start_token_id": 0}, "pair"),
    "bart": SmallModel(
        "BartForConditionalGeneration", "BartConfig", {**_SEQ2SEQ, "max_position_embeddings": 64}, "pair"),
    "whisper": SmallModel(
        "WhisperForConditionalGeneration", "WhisperConfig",
        {**_SEQ2SEQ, "max_source_positions": 20, "max_target_positions": 64, "num_mel_bins": 8,
         "decoder_start_token_id": 1}, "audio", extra=_ENDS),
}  # fmt: skip

NEVER_CALL_THE_INTERFACE = {
    "deberta": SmallModel("DebertaV2ForMaskedLM", "DebertaV2Config", _TEXT, "padded"),
    "bloom": SmallModel(
        "BloomForCausalLM", "BloomConfig", {"vocab_size": 97, "hidden_size": 32, "n_layer": 3, "n_head": 4},
        "tokens", extra=_ENDS),
}  # fmt: skip


def gpt2():
    """A GPT-2 that computes its attention with the eager function."""
    return SMALL_MODELS["gpt2"].build("eager")


IDS = torch.randint(3, 97, (3, 8), generator=torch.Generator().manual_seed(0))
IMAGES = torch.randn(3, 3, 16, 16, generator=torch.Generator().manual_seed(1))


def token_rows(model):
    """Six samples of five tokens."""
    ids = np.random.default_rng(0).integers(3, 97, (6, 5))
    return token_id_samples(ids, takes=model_inputs(model))


IMAGE_TOKEN = 90


def llava():
    """A LLaVA that computes its attention with the eager function; its pictures become 4 x 4 tokens."""
    config = tf.LlavaConfig(
        vision_config=tf.CLIPVisionConfig(**_IMAGE),
        text_config=tf.LlamaConfig(**_GROUPED, **_ENDS),
        image_token_index=IMAGE_TOKEN,
        # Without the class token that comes first, the last layer has one token for each patch.
        vision_feature_layer=-1,
    )
    for part in (config, config.vision_config, config.text_config):
        part._attn_implementation = "eager"
    torch.manual_seed(1)
    return tf.LlavaForConditionalGeneration(config).eval()


def llava_inputs():
    """A prompt of a start, a word, an image, two words and an end, and the picture."""
    image = [IMAGE_TOKEN] * 16
    return {"input_ids": torch.tensor([[1, 7, *image, 5, 6, 2]]), "pixel_values": IMAGES[:1].clone()}

"""Models with several towers beside each other, or one inside another."""

from __future__ import annotations

from tests.coverage.inputs import IMAGE_TOKEN
from tests.coverage.model_type import ModelType, Stream

__all__ = ["MODELS_OF_SEVERAL_PARTS"]

_ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
_TEXT = {
    "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 64, **_ENDS,
}  # fmt: skip
_IMAGE = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
    "image_size": 16, "patch_size": 4,
}  # fmt: skip
_BOTH = {"text_config": _TEXT, "vision_config": _IMAGE, "projection_dim": 16}
_TEXT_AND_VISION = {"text_model": Stream(2, "text_model.*"), "vision_model": Stream(3, "vision_model.*")}
_POOLING = "its picture is pooled by an nn.MultiheadAttention within transformers"

MODELS_OF_SEVERAL_PARTS = (
    ModelType(type="clip", model="CLIPModel", config="CLIPConfig", settings=_BOTH, inputs="image and text",
              streams=_TEXT_AND_VISION,
              essential=True),
    ModelType(type="siglip", model="SiglipModel", config="SiglipConfig", settings=_BOTH,
              inputs="image and text", refused="layer vision_model.head.attention cannot be", why=_POOLING,
              leave_out=("*.head.attention",), streams=_TEXT_AND_VISION,
              essential=True),
    ModelType(
        type="llava", model="LlavaForConditionalGeneration", config="LlavaConfig", inputs="image in text",
        settings={"text_config": {**_TEXT, "model_type": "llama", "num_key_value_heads": 2},
                  "vision_config": {**_IMAGE, "model_type": "clip_vision_model"},
                  "image_token_index": IMAGE_TOKEN, "vision_feature_layer": -1},
        streams={"language_model": Stream(2, "*language_model.*"),
                 "vision_tower": Stream(3, "*vision_tower.*")},
        essential=True),
    ModelType(
        type="owlvit", model="OwlViTModel", config="OwlViTConfig", inputs="image and text",
        settings={"text_config": _TEXT, "vision_config": _IMAGE}, streams=_TEXT_AND_VISION),
    ModelType(
        type="lxmert", model="LxmertModel", config="LxmertConfig", inputs="regions and text",
        settings={**_TEXT, "l_layers": 2, "x_layers": 1, "r_layers": 1, "visual_feat_dim": 16},
        streams={"layer": Stream(2, "encoder.layer.*"),
                 "x_layers.lang_self_att": Stream(1, "*.lang_self_att.*"),
                 "r_layers": Stream(1, "encoder.r_layers.*"),
                 "x_layers.visual_attention.0": Stream(1, "*.visual_attention.*", (4, 12, 7)),
                 "x_layers.visual_attention.1": Stream(1, "*.visual_attention.*", (4, 7, 12)),
                 "x_layers.visn_self_att": Stream(1, "*.visn_self_att.*")}),
    ModelType(
        type="mllama", model="MllamaForConditionalGeneration", config="MllamaConfig",
        inputs="tiles and text",
        settings={"text_config": {**_TEXT, "num_key_value_heads": 2, "cross_attention_layers": [1],
                                  "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
                  "vision_config": {"hidden_size": 32, "attention_heads": 4, "intermediate_size": 48,
                                    "num_hidden_layers": 2, "num_global_layers": 1, "image_size": 16,
                                    "patch_size": 4, "vision_output_dim": 64, "max_num_tiles": 1,
                                    "intermediate_layers_indices": [0], "supported_aspect_ratios": [[1, 1]]}},
        streams={"language_model": Stream(1, "*language_model.*.self_attn"),
                 "cross": Stream(1, "*language_model.*.cross_attn"),
                 "vision_model.transformer": Stream(2, "*vision_model.transformer.*"),
                 "vision_model.global_transformer": Stream(1, "*vision_model.global_transformer.*")}),
    ModelType(
        type="perceiver", model="PerceiverModel", config="PerceiverConfig", inputs="vectors",
        settings={"d_model": 16, "d_latents": 32, "num_latents": 6, "num_blocks": 1,
                  "num_self_attends_per_block": 2, "num_self_attention_heads": 4,
                  "num_cross_attention_heads": 4},
        streams={"cross": Stream(1, "encoder.cross_attention.*"),
                 "self_attends": Stream(2, "encoder.self_attends.*")}),
    ModelType(
        type="blip", model="BlipForConditionalGeneration", config="BlipConfig", settings=_BOTH,
        inputs="image and text",
        streams={"text_decoder": Stream(2, "text_decoder.*.attention.self"),
                 "cross": Stream(2, "text_decoder.*.crossattention.self"),
                 "vision_model": Stream(3, "vision_model.*")}),
    ModelType(
        type="blip-2", model="Blip2ForConditionalGeneration", config="Blip2Config", inputs="image in text",
        settings={"vision_config": _IMAGE,
                  "text_config": {**_TEXT, "model_type": "opt", "ffn_dim": 48, "word_embed_proj_dim": 32},
                  "qformer_config": {**_TEXT, "cross_attention_frequency": 2, "encoder_hidden_size": 32},
                  "num_query_tokens": 16, "image_token_index": IMAGE_TOKEN},
        streams={"language_model": Stream(2, "language_model.*"), "vision_model": Stream(3, "vision_model.*"),
                 "qformer": Stream(2, "qformer.*.attention.attention"),
                 "cross": Stream(1, "qformer.*.crossattention.attention")}),
    ModelType(
        type="git", model="GitForCausalLM", config="GitConfig", inputs="image and text",
        settings={**_TEXT, "vision_config": _IMAGE}, transparent="must support SDPA",
        streams={"image_encoder": Stream(3, "git.image_encoder.*"), "encoder": Stream(2, "git.encoder.*")}),
    ModelType(
        type="altclip", model="AltCLIPModel", config="AltCLIPConfig", inputs="image and text",
        settings={**_BOTH, "text_config": {**_TEXT, "project_dim": 32, "pad_token_id": 1}},
        streams=_TEXT_AND_VISION),
    ModelType(
        type="paligemma", model="PaliGemmaForConditionalGeneration", config="PaliGemmaConfig",
        inputs="image in text", refused="layer model.vision_tower.head.attention cannot be",
        why=_POOLING, leave_out=("*.head.attention",),
        settings={"vision_config": {**_IMAGE, "model_type": "siglip_vision_model"},
                  "text_config": {**_TEXT, "model_type": "gemma", "num_key_value_heads": 2, "head_dim": 8},
                  "image_token_index": IMAGE_TOKEN, "projection_dim": 32, "hidden_size": 32},
        streams={"language_model": Stream(2, "*language_model.*"),
                 "vision_tower": Stream(3, "*vision_tower.*")}),
    ModelType(
        type="qwen2_vl", model="Qwen2VLForConditionalGeneration", config="Qwen2VLConfig",
        inputs="patches in text",
        settings={"text_config": {**_TEXT, "num_key_value_heads": 2,
                                  "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0,
                                                      "mrope_section": [2, 1, 1]}},
                  "vision_config": {"depth": 3, "embed_dim": 32, "hidden_size": 32, "num_heads": 4,
                                    "mlp_ratio": 2, "patch_size": 4},
                  "image_token_id": IMAGE_TOKEN, "vision_start_token_id": 94, "vision_end_token_id": 93,
                  "video_token_id": 92},
        streams={"language_model": Stream(2, "*language_model.*"), "visual": Stream(3, "*visual.*")}),
    ModelType(
        type="vision-encoder-decoder", model="VisionEncoderDecoderModel",
        config="VisionEncoderDecoderConfig", inputs="image and target",
        settings={"encoder": {**_IMAGE, "model_type": "vit"},
                  "decoder": {"model_type": "gpt2", "vocab_size": 97, "n_embd": 32, "n_layer": 2, "n_head": 4,
                              "n_positions": 64, "add_cross_attention": True, "is_decoder": True, **_ENDS}},
        streams={"encoder": Stream(3, "encoder.*"), "decoder": Stream(2, "decoder.*.attn"),
                 "cross": Stream(2, "decoder.*.crossattention")}),
)  # fmt: skip

"""Models with an encoder and a decoder."""

from __future__ import annotations

from typing import Any

from tests.coverage.model_type import ModelType, Stream

__all__ = ["ENCODER_DECODERS"]

_ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "decoder_start_token_id": 1}
_LAYERS = {
    "vocab_size": 97, "d_model": 32, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "encoder_layers": 3,
    "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, **_ENDS,
}  # fmt: skip
_TEXT = {**_LAYERS, "max_position_embeddings": 64}
_STREAMS = {
    "encoder": Stream(3, "*encoder.*.self_attn*"),
    "decoder": Stream(2, "*decoder.*.self_attn*"),
    "cross": Stream(2, "*decoder.*.encoder_attn*"),
}
_T5 = {
    "vocab_size": 97, "d_model": 32, "d_ff": 48, "d_kv": 8, "num_layers": 3, "num_decoder_layers": 2,
    "num_heads": 4, **_ENDS,
}  # fmt: skip
_T5_STREAMS = {
    "encoder": Stream(3, "encoder.*SelfAttention"),
    "decoder": Stream(2, "decoder.*.SelfAttention"),
    "cross": Stream(2, "decoder.*.EncDecAttention"),
}


def _pair(kind: str, model: str, config: str, **more: Any) -> ModelType:
    settings = {**_TEXT, **more.pop("settings", {})}
    given = {"inputs": "pair", "streams": _STREAMS, **more}
    return ModelType(type=kind, model=model, config=config, settings=settings, **given)


ENCODER_DECODERS = (
    ModelType(type="t5", model="T5ForConditionalGeneration", config="T5Config", settings=_T5, inputs="pair",
              streams=_T5_STREAMS, essential=True),
    ModelType(type="mt5", model="MT5ForConditionalGeneration", config="MT5Config", settings=_T5,
              inputs="pair", streams=_T5_STREAMS),
    ModelType(type="umt5", model="UMT5ForConditionalGeneration", config="UMT5Config", settings=_T5,
              inputs="pair", streams=_T5_STREAMS),
    ModelType(type="longt5", model="LongT5ForConditionalGeneration", config="LongT5Config",
              settings={**_T5, "local_radius": 3, "encoder_attention_type": "local"},
              inputs="pair without padding",
              streams={**_T5_STREAMS, "encoder": Stream(3, "encoder.*.LocalSelfAttention")},
              why="its encoder attends block by block; the heads of each block are heads of their own",
              transparent="must support SDPA"),
    ModelType(type="switch_transformers", model="SwitchTransformersForConditionalGeneration",
              config="SwitchTransformersConfig", settings={**_T5, "num_experts": 2}, inputs="pair",
              streams=_T5_STREAMS, not_attention=("*.router",), transparent="must support SDPA"),
    _pair("bart", "BartForConditionalGeneration", "BartConfig", essential=True),
    _pair("mbart", "MBartForConditionalGeneration", "MBartConfig"),
    _pair("marian", "MarianMTModel", "MarianConfig"),
    _pair("m2m_100", "M2M100ForConditionalGeneration", "M2M100Config"),
    _pair("pegasus", "PegasusForConditionalGeneration", "PegasusConfig"),
    _pair("blenderbot", "BlenderbotForConditionalGeneration", "BlenderbotConfig"),
    _pair("nllb-moe", "NllbMoeForConditionalGeneration", "NllbMoeConfig",
          settings={"num_experts": 2, "encoder_sparse_step": 2, "decoder_sparse_step": 2},
          transparent="must support SDPA",
          streams={**_STREAMS, "cross": Stream(2, "*decoder.*.cross_attention")}),
    _pair("led", "LEDForConditionalGeneration", "LEDConfig", inputs="pair without padding",
          settings={"attention_window": 4, "max_encoder_position_embeddings": 64,
                    "max_decoder_position_embeddings": 64},
          refused="longformer_self_attn and 2 more cannot be: its softmax", gives_attentions=False,
          why="the queries of its encoder see keys of a window that moves with them",
          leave_out=("*.longformer_self_attn",),
          streams={"self": Stream(2, "*decoder.*.self_attn"), "cross": Stream(2, "*decoder.*.encoder_attn")}),
    _pair("fsmt", "FSMTForConditionalGeneration", "FSMTConfig",
          settings={"src_vocab_size": 97, "tgt_vocab_size": 97, "langs": ["en", "de"]}),
    ModelType(
        type="prophetnet", model="ProphetNetForConditionalGeneration", config="ProphetNetConfig",
        inputs="pair", gives_attentions=False,
        streams={"encoder": Stream(3, "*encoder.*"),
                 "decoder.0": Stream(2, "*decoder.*.self_attn", (4, 9, 9)),
                 "decoder.1": Stream(2, "*decoder.*.self_attn", (8, 9, 18)),
                 "cross": Stream(2, "*decoder.*.cross_attn")},
        why="its decoder has a main stream and, as heads of another, those that predict further ahead",
        settings={"vocab_size": 97, "hidden_size": 32, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
                  "num_encoder_layers": 3, "num_decoder_layers": 2, "num_encoder_attention_heads": 4,
                  "num_decoder_attention_heads": 4, "max_position_embeddings": 64, "num_buckets": 8,
                  "relative_max_distance": 16, **_ENDS}),
    _pair("whisper", "WhisperForConditionalGeneration", "WhisperConfig", inputs="spectrum and text",
          settings={"max_source_positions": 20, "max_target_positions": 64, "num_mel_bins": 8},
          essential=True),
    _pair("speech_to_text", "Speech2TextForConditionalGeneration", "Speech2TextConfig",
          inputs="frames and text",
          settings={"max_source_positions": 64, "max_target_positions": 64, "input_feat_per_channel": 8,
                    "conv_channels": 16}, transparent="must support SDPA"),
    ModelType(
        type="moonshine", model="MoonshineForConditionalGeneration", config="MoonshineConfig",
        inputs="long waveform and text", streams=_STREAMS, essential=True,
        settings={"vocab_size": 97, "hidden_size": 32, "intermediate_size": 48,
                  "encoder_num_hidden_layers": 3,
                  "decoder_num_hidden_layers": 2, "encoder_num_attention_heads": 4,
                  "decoder_num_attention_heads": 4, "encoder_num_key_value_heads": 4,
                  "decoder_num_key_value_heads": 4, "max_position_embeddings": 64, **_ENDS}),
)  # fmt: skip

"""Models that hear sound, without a decoder of text."""

from __future__ import annotations

from typing import Any

from tests.coverage.model_type import ModelType

__all__ = ["SPEECH_MODELS"]

_SOUND = {
    "vocab_size": 32, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "conv_dim": [16, 16], "conv_kernel": [10, 3], "conv_stride": [5, 2],
    "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2,
}  # fmt: skip


def _sound(kind: str, model: str, config: str, **more: Any) -> ModelType:
    settings = {**_SOUND, **more.pop("settings", {})}
    return ModelType(type=kind, model=model, config=config, settings=settings, inputs="waveform", **more)


SPEECH_MODELS = (
    _sound("wav2vec2", "Wav2Vec2Model", "Wav2Vec2Config", essential=True),
    _sound("hubert", "HubertModel", "HubertConfig"),
    _sound("wavlm", "WavLMModel", "WavLMConfig", streams={}, essential=True,
           refused="layer encoder.layers.0.attention and 1 more cannot be: it is an nn.MultiheadAttention",
           why="it hands its weights to nn.MultiheadAttention within transformers"),
    _sound("unispeech", "UniSpeechModel", "UniSpeechConfig"),
    _sound("sew", "SEWModel", "SEWConfig", settings={"squeeze_factor": 2}),
    _sound("data2vec-audio", "Data2VecAudioModel", "Data2VecAudioConfig",
           settings={"conv_pos_kernel_size": 3}),
    _sound("wav2vec2-conformer", "Wav2Vec2ConformerModel", "Wav2Vec2ConformerConfig"),
    ModelType(
        type="parakeet_encoder", model="ParakeetEncoder", config="ParakeetEncoderConfig", inputs="spectrum",
        settings={"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                  "intermediate_size": 48, "num_mel_bins": 8, "subsampling_conv_channels": 16,
                  "subsampling_factor": 2, "max_position_embeddings": 64, "num_key_value_heads": 4}),
    ModelType(
        type="audio-spectrogram-transformer", model="ASTModel", config="ASTConfig", inputs="spectrogram",
        settings={"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
                  "num_attention_heads": 4, "patch_size": 4,
                  "frequency_stride": 4, "time_stride": 4, "max_length": 16,
                  "num_mel_bins": 8}),
)  # fmt: skip

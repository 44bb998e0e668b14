"""Models that read text from both sides."""

from __future__ import annotations

from typing import Any

from tests.coverage.model_type import ModelType, Stream

__all__ = ["ENCODERS"]

_TEXT = {
    "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 64, "pad_token_id": 1,
}  # fmt: skip
_DISENTANGLED = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False,
                 "max_relative_positions": 16}  # fmt: skip


def _encoder(kind: str, model: str, config: str, **more: Any) -> ModelType:
    settings = {**_TEXT, **more.pop("settings", {})}
    return ModelType(type=kind, model=model, config=config, settings=settings, inputs="padded", **more)


ENCODERS = (
    _encoder("bert", "BertForMaskedLM", "BertConfig", essential=True),
    _encoder("roberta", "RobertaForMaskedLM", "RobertaConfig"),
    _encoder("xlm-roberta", "XLMRobertaForMaskedLM", "XLMRobertaConfig"),
    _encoder("camembert", "CamembertForMaskedLM", "CamembertConfig"),
    _encoder("electra", "ElectraForMaskedLM", "ElectraConfig", settings={"embedding_size": 16}),
    _encoder("albert", "AlbertForMaskedLM", "AlbertConfig", settings={"embedding_size": 16}, essential=True),
    ModelType(
        type="distilbert", model="DistilBertForMaskedLM", config="DistilBertConfig", inputs="padded",
        settings={"vocab_size": 97, "dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4}),
    _encoder("deberta", "DebertaForMaskedLM", "DebertaConfig", settings=_DISENTANGLED),
    _encoder("deberta-v2", "DebertaV2ForMaskedLM", "DebertaV2Config", settings=_DISENTANGLED, essential=True),
    _encoder("mpnet", "MPNetForMaskedLM", "MPNetConfig"),
    ModelType(
        type="xlnet", model="XLNetLMHeadModel", config="XLNetConfig",
        settings={"vocab_size": 97, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48}),
    _encoder("modernbert", "ModernBertForMaskedLM", "ModernBertConfig",
             settings={"local_attention": 6, "global_attn_every_n_layers": 2}, essential=True),
    _encoder("splinter", "SplinterModel", "SplinterConfig", transparent="must support SDPA"),
    _encoder("esm", "EsmForMaskedLM", "EsmConfig", settings={"position_embedding_type": "rotary"}),
    _encoder("roformer", "RoFormerForMaskedLM", "RoFormerConfig"),
    _encoder("squeezebert", "SqueezeBertForMaskedLM", "SqueezeBertConfig", settings={"embedding_size": 32},
             gives_attentions=False),
    _encoder("convbert", "ConvBertForMaskedLM", "ConvBertConfig", settings={"embedding_size": 32}),
    _encoder("ibert", "IBertForMaskedLM", "IBertConfig"),
    _encoder("longformer", "LongformerForMaskedLM", "LongformerConfig", settings={"attention_window": 4},
             streams={},
             refused="layer longformer.encoder.layer.0.attention.self and 1 more cannot be: its softmax",
             why="its queries see keys of a window that moves with them"),
    _encoder("big_bird", "BigBirdForMaskedLM", "BigBirdConfig", settings={"attention_type": "original_full"},
             why="with `attention_type=\"original_full\"`"),
    _encoder("layoutlmv3", "LayoutLMv3Model", "LayoutLMv3Config",
             settings={"coordinate_size": 6, "shape_size": 4, "visual_embed": False, "rel_2d_pos_bins": 8,
                       "rel_pos_bins": 8}),
    _encoder("tapas", "TapasModel", "TapasConfig"),
    ModelType(
        type="xlm", model="XLMWithLMHeadModel", config="XLMConfig", inputs="padded",
        settings={"vocab_size": 97, "emb_dim": 32, "n_layers": 2, "n_heads": 4,
                  "max_position_embeddings": 64, "pad_index": 2}),
    ModelType(
        type="funnel", model="FunnelModel", config="FunnelConfig", inputs="text",
        settings={"vocab_size": 97, "block_sizes": [1, 2], "num_decoder_layers": 1, "d_model": 32,
                  "n_head": 4, "d_head": 8, "d_inner": 48},
        streams={"encoder.4x12x12": Stream(1, "encoder.blocks.0.0.*"),
                 "encoder.4x6x12": Stream(1, "encoder.blocks.1.0.*"),
                 "encoder.4x6x6": Stream(1, "encoder.blocks.1.1.*"), "decoder": Stream(1, "decoder.*")}),
    ModelType(
        type="reformer", model="ReformerModel", config="ReformerConfig", inputs="long text", streams={},
        refused="layer encoder.layers.0.attention calls no softmax",
        why="it divides by the sum of its exponentials by itself",
        settings={"vocab_size": 97, "attn_layers": ["local", "lsh"], "hidden_size": 32,
                  "num_attention_heads": 4, "attention_head_size": 8, "axial_pos_shape": [8, 8],
                  "axial_pos_embds_dim": [16, 16], "local_attn_chunk_length": 8, "lsh_attn_chunk_length": 8,
                  "num_hashes": 1, "num_buckets": 8, "feed_forward_size": 48, "hash_seed": 1}),
    _encoder("fnet", "FNetForMaskedLM", "FNetConfig", streams={}, refused="FNetForMaskedLM has none",
             why="its tokens are mixed by a Fourier transform"),
)  # fmt: skip

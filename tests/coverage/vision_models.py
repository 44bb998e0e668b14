"""Models that see pictures."""

from __future__ import annotations

from typing import Any

from tests.coverage.model_type import ModelType, Stream

__all__ = ["VISION_MODELS"]

_IMAGE = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "image_size": 16, "patch_size": 4,
}  # fmt: skip
_SWIN = {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2, 1], "num_heads": [2, 4],
         "window_size": 4}  # fmt: skip
_PYRAMID = {"num_encoder_blocks": 2, "depths": [1, 2], "sr_ratios": [2, 1], "hidden_sizes": [16, 32],
            "num_attention_heads": [2, 4]}  # fmt: skip

_WINDOWS = "it attends within windows, which stand where other models keep samples"


def _vision(kind: str, model: str, config: str, **more: Any) -> ModelType:
    settings = {**_IMAGE, **more.pop("settings", {})}
    given = {"inputs": "image", **more}
    return ModelType(type=kind, model=model, config=config, settings=settings, **given)


VISION_MODELS = (
    _vision("vit", "ViTForImageClassification", "ViTConfig", essential=True),
    _vision("deit", "DeiTForImageClassification", "DeiTConfig"),
    _vision("dinov2", "Dinov2Model", "Dinov2Config"),
    _vision("dinov3_vit", "DINOv3ViTModel", "DINOv3ViTConfig"),
    _vision("beit", "BeitForImageClassification", "BeitConfig",
            settings={"use_relative_position_bias": True, "out_indices": [1, 2]}),
    _vision("data2vec-vision", "Data2VecVisionModel", "Data2VecVisionConfig",
            settings={"use_shared_relative_position_bias": True, "out_indices": [1, 2]}, fixed=True),
    _vision("vit_msn", "ViTMSNModel", "ViTMSNConfig"),
    _vision("yolos", "YolosModel", "YolosConfig",
            settings={"image_size": [16, 16], "num_detection_tokens": 3}),
    _vision("clip_vision_model", "CLIPVisionModel", "CLIPVisionConfig"),
    _vision("ijepa", "IJepaModel", "IJepaConfig"),
    _vision("videomae", "VideoMAEForVideoClassification", "VideoMAEConfig", inputs="video",
            settings={"num_frames": 4, "tubelet_size": 2}),
    _vision("vivit", "VivitModel", "VivitConfig", inputs="video",
            settings={"num_frames": 4, "tubelet_size": [2, 4, 4]}),
    _vision("timesformer", "TimesformerModel", "TimesformerConfig", inputs="video",
            settings={"num_frames": 4}, refused="and 3 more cannot be: it attends within 4 groups",
            groups="heads", why="it attends within each frame, and over time at each place",
            streams={"self.temporal_attention": Stream(2, "*.temporal_attention.*"),
                     "self.attention": Stream(2, "encoder.layer.?.attention.*")}),
    ModelType(
        type="cvt", model="CvtForImageClassification", config="CvtConfig", inputs="large image",
        settings={"embed_dim": [16, 32], "num_heads": [1, 2], "depth": [1, 2], "patch_sizes": [7, 3],
                  "patch_stride": [4, 2], "patch_padding": [2, 1], "mlp_ratio": [2.0, 2.0],
                  "attention_drop_rate": [0.0, 0.0], "drop_rate": [0.0, 0.0], "drop_path_rate": [0.0, 0.0],
                  "qkv_bias": [True, True], "cls_token": [False, True],
                  "qkv_projection_method": ["dw_bn", "dw_bn"], "kernel_qkv": [3, 3], "padding_kv": [1, 1],
                  "stride_kv": [2, 2], "padding_q": [1, 1], "stride_q": [1, 1]},
        gives_attentions=False,
        streams={"self.0": Stream(1, "*stages.0.*"), "self.1": Stream(2, "*stages.1.*")}),
    ModelType(type="swin", model="SwinForImageClassification", config="SwinConfig", settings=_SWIN,
              inputs="large image", refused="attention and 1 more cannot be: it attends within 4 groups",
              groups="heads", essential=True,
              streams={"self.0": Stream(2, "*layers.0.*"), "self.1": Stream(1, "*layers.1.*")}, why=_WINDOWS),
    ModelType(type="swinv2", model="Swinv2ForImageClassification", config="Swinv2Config", settings=_SWIN,
              inputs="large image", refused="attention.self and 1 more cannot be: it attends within 4 groups",
              groups="heads",
              streams={"self.0": Stream(2, "*layers.0.*"), "self.1": Stream(1, "*layers.1.*")}, why=_WINDOWS),
    ModelType(
        type="pvt", model="PvtForImageClassification", config="PvtConfig", inputs="large image",
        settings={**_PYRAMID, "image_size": 32, "sequence_reduction_ratios": [2, 1], "patch_sizes": [4, 2],
                  "strides": [4, 2], "mlp_ratios": [2, 2]},
        streams={"self.0": Stream(1, "*block.0.*"), "self.1": Stream(2, "*block.1.*")}),
    ModelType(
        type="segformer", model="SegformerForImageClassification", config="SegformerConfig",
        inputs="large image", essential=True,
        settings={**_PYRAMID, "patch_sizes": [7, 3], "strides": [4, 2], "mlp_ratios": [2, 2]},
        streams={"self.0": Stream(1, "*stages.0.*"), "self.1": Stream(2, "*stages.1.*")}),
)  # fmt: skip

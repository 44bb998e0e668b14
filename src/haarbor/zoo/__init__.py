"""A Transformer-XL and a Vision Transformer whose code is easy to read, and a trained one of each."""

from haarbor.needed_packages import needed_package as _needed_package

# Imported here first, so that a missing package gives one clear line and not a traceback.
for _name in ("torch", "safetensors"):
    _needed_package(_name, "a model")

from haarbor.zoo._checkpoint import ZooNetwork, load_checkpoint, n_parameters, save_checkpoint
from haarbor.zoo._embedded import (
    EMBEDDED_NAMES,
    LabelledImages,
    embedded_folder,
    embedded_network,
    embedded_training,
    sample_images,
    sample_images_path,
    sample_text_path,
)
from haarbor.zoo._json_file import json_object
from haarbor.zoo._relative_attention import RelativeAttention, relative_shift, sinusoids
from haarbor.zoo._transformer_xl import TransformerXL, TransformerXLConfig, TransformerXLOutput
from haarbor.zoo._vision_transformer import VisionTransformer, VisionTransformerConfig

__all__ = [
    "EMBEDDED_NAMES",
    "LabelledImages",
    "RelativeAttention",
    "TransformerXL",
    "TransformerXLConfig",
    "TransformerXLOutput",
    "VisionTransformer",
    "VisionTransformerConfig",
    "ZooNetwork",
    "embedded_folder",
    "embedded_network",
    "embedded_training",
    "json_object",
    "load_checkpoint",
    "n_parameters",
    "relative_shift",
    "sample_images",
    "sample_images_path",
    "sample_text_path",
    "save_checkpoint",
    "sinusoids",
]

"""Inputs of models: text, token ids, images, data sets of the hub, noise."""

from haarbor.capturing.inputs._arrays import archived_array
from haarbor.capturing.inputs._generated import generated_samples
from haarbor.capturing.inputs._hub_datasets import dataset_samples
from haarbor.capturing.inputs._image_settings import ImageSettings
from haarbor.capturing.inputs._images import image_samples
from haarbor.capturing.inputs._memory_windows import memory_window_samples, windows_to_fill
from haarbor.capturing.inputs._model_inputs import AudioInputs, ModelInputs, model_inputs
from haarbor.capturing.inputs._named_data import named_samples
from haarbor.capturing.inputs._random_batches import random_samples
from haarbor.capturing.inputs._samples import Sample, Samples
from haarbor.capturing.inputs._targets import TARGET, target_tokenizer, targeted_samples
from haarbor.capturing.inputs._text import text_samples
from haarbor.capturing.inputs._token_ids import token_id_samples
from haarbor.capturing.inputs._token_inputs import DecoderInputs, TokenInputs
from haarbor.capturing.inputs._token_kinds import TokenKinds

__all__ = [
    "TARGET",
    "AudioInputs",
    "DecoderInputs",
    "ImageSettings",
    "ModelInputs",
    "Sample",
    "Samples",
    "TokenInputs",
    "TokenKinds",
    "archived_array",
    "dataset_samples",
    "generated_samples",
    "image_samples",
    "memory_window_samples",
    "model_inputs",
    "named_samples",
    "random_samples",
    "target_tokenizer",
    "targeted_samples",
    "text_samples",
    "token_id_samples",
    "windows_to_fill",
]

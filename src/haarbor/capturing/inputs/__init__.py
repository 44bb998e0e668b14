"""Inputs of models: text, token ids, images, data sets of the hub, noise."""

from haarbor.capturing.inputs.hub_datasets import dataset_samples
from haarbor.capturing.inputs.image_settings import ImageSettings
from haarbor.capturing.inputs.images import image_samples
from haarbor.capturing.inputs.model_inputs import AudioInputs, ModelInputs, model_inputs
from haarbor.capturing.inputs.named_data import named_samples
from haarbor.capturing.inputs.random_batches import random_samples
from haarbor.capturing.inputs.remembered import remembered_samples, windows_to_fill
from haarbor.capturing.inputs.samples import Sample, Samples
from haarbor.capturing.inputs.text import text_samples
from haarbor.capturing.inputs.token_ids import token_id_samples
from haarbor.capturing.inputs.token_inputs import DecoderInputs, TokenInputs

__all__ = [
    "AudioInputs",
    "DecoderInputs",
    "ImageSettings",
    "ModelInputs",
    "Sample",
    "Samples",
    "TokenInputs",
    "dataset_samples",
    "image_samples",
    "model_inputs",
    "named_samples",
    "random_samples",
    "remembered_samples",
    "text_samples",
    "token_id_samples",
    "windows_to_fill",
]

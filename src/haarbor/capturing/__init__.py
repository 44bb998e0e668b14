"""Running a model on data and recording its attention in a run; one file per family of models."""

from haarbor.needed_packages import needed_package as _needed_package

# The modules below import torch at their top: without this, a missing torch would end in a traceback.
_needed_package("torch", "a model")

from haarbor.capturing._attention_call import AttentionCall, OnCall
from haarbor.capturing._capture import capture
from haarbor.capturing._compilation import compiled_part
from haarbor.capturing._continued_run import begun_run, continued_plan
from haarbor.capturing._dense_tensors import require_dense
from haarbor.capturing._first_line import first_line
from haarbor.capturing._huggingface import is_huggingface
from haarbor.capturing._loaded_model import LoadedModel
from haarbor.capturing._loading import load_model
from haarbor.capturing._model_forward import model_forward
from haarbor.capturing._recorded_calls import recorded_calls
from haarbor.capturing._weights_digest import weights_digest
from haarbor.capturing.inputs import Sample

__all__ = [
    "AttentionCall",
    "LoadedModel",
    "OnCall",
    "Sample",
    "begun_run",
    "capture",
    "compiled_part",
    "continued_plan",
    "first_line",
    "is_huggingface",
    "load_model",
    "model_forward",
    "recorded_calls",
    "require_dense",
    "weights_digest",
]

"""Models in, attention out: one file a family of models."""

from haarbor.needed_packages import needed_package as _needed_package

# Before the modules that import it at their top, whose failure would be a traceback.
_needed_package("torch", "a model")

from haarbor.capturing.capture import capture
from haarbor.capturing.inputs import Sample
from haarbor.capturing.loaded_model import LoadedModel
from haarbor.capturing.loading import load_model

__all__ = ["LoadedModel", "Sample", "capture", "load_model"]

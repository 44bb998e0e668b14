"""Models in, attention out: one file a family of models."""

from haarbor.capturing.capture import capture
from haarbor.capturing.inputs import Sample
from haarbor.capturing.loading import LoadedModel, load_model

__all__ = ["LoadedModel", "Sample", "capture", "load_model"]

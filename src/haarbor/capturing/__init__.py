"""Models in, attention out: one file a family of models."""

import haarbor.zoo as _zoo  # noqa: F401, I001  first: it says in one line which package is missing

from haarbor.capturing.capture import capture
from haarbor.capturing.inputs import Sample
from haarbor.capturing.loaded_model import LoadedModel
from haarbor.capturing.loading import load_model

__all__ = ["LoadedModel", "Sample", "capture", "load_model"]

"""Every model type of the table, by kind."""

from __future__ import annotations

from tests.coverage.causal_models import CAUSAL_MODELS
from tests.coverage.encoder_decoders import ENCODER_DECODERS
from tests.coverage.encoders import ENCODERS
from tests.coverage.model_type import ModelType
from tests.coverage.models_of_several_parts import MODELS_OF_SEVERAL_PARTS
from tests.coverage.speech_models import SPEECH_MODELS
from tests.coverage.vision_models import VISION_MODELS

__all__ = ["KINDS", "MODEL_TYPES"]

KINDS: dict[str, tuple[ModelType, ...]] = {
    "Text from left to right": CAUSAL_MODELS,
    "Text from both sides": ENCODERS,
    "Encoders and decoders": ENCODER_DECODERS,
    "Pictures": VISION_MODELS,
    "Sound": SPEECH_MODELS,
    "Several parts": MODELS_OF_SEVERAL_PARTS,
}

MODEL_TYPES = {kind.type: kind for kinds in KINDS.values() for kind in kinds}

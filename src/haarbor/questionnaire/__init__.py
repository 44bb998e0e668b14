"""The questionnaire: trees on all axes of a tensor, each refined by the others."""

from haarbor.questionnaire._consensus import Consensus, OwnDistances, consensus, distances_on_own_trees
from haarbor.questionnaire._divided_tensor import DividedTensor, TensorFacts
from haarbor.questionnaire._held_tensor import HeldTensor
from haarbor.questionnaire._masked_entries import Content, neutral_tensor
from haarbor.questionnaire._memory_plan import MemoryPlan, memory_plan
from haarbor.questionnaire._organization import Convergence, Organization
from haarbor.questionnaire._organize import organize
from haarbor.questionnaire._settings import BUILDERS, QuestionnaireSettings
from haarbor.questionnaire._streamed_tensor import StreamedTensor

__all__ = [
    "BUILDERS",
    "Consensus",
    "Content",
    "Convergence",
    "DividedTensor",
    "HeldTensor",
    "MemoryPlan",
    "Organization",
    "OwnDistances",
    "QuestionnaireSettings",
    "StreamedTensor",
    "TensorFacts",
    "consensus",
    "distances_on_own_trees",
    "memory_plan",
    "neutral_tensor",
    "organize",
]

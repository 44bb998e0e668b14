"""The questionnaire: trees on all axes of a tensor, each refined by the others."""

from haarbor.questionnaire.consensus import Consensus, consensus
from haarbor.questionnaire.organization import Convergence, Organization
from haarbor.questionnaire.organize import organize
from haarbor.questionnaire.settings import QuestionnaireSettings

__all__ = ["Consensus", "Convergence", "Organization", "QuestionnaireSettings", "consensus", "organize"]

"""The questionnaire: trees on all axes of a tensor, each refined by the others."""

from haarbor.questionnaire.organization import Convergence, Organization
from haarbor.questionnaire.organize import organize
from haarbor.questionnaire.settings import QuestionnaireSettings

__all__ = ["Convergence", "Organization", "QuestionnaireSettings", "organize"]

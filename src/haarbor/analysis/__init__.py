"""What is done with a whole run: every batch organised and scored, and all of them together."""

from haarbor.analysis.coherence_controls import CoherenceControls, coherence_controls
from haarbor.analysis.gather_results import paper_results
from haarbor.analysis.head_score import HeadScore
from haarbor.analysis.head_scores import head_scores
from haarbor.analysis.head_trees import head_trees
from haarbor.analysis.organize_run import RunAnalysis, organize_run
from haarbor.analysis.paper_results import PaperResults, SoftmaxExample
from haarbor.analysis.paper_tables import paper_tables
from haarbor.analysis.result_table import ResultTable
from haarbor.analysis.run_invariance import run_invariance
from haarbor.analysis.run_regularity import run_regularity
from haarbor.paraproducts.run_invariance import RunInvariance
from haarbor.questionnaire.head_trees import HeadTrees
from haarbor.wavelets.run_regularity import RunRegularity

__all__ = [
    "CoherenceControls",
    "HeadScore",
    "HeadTrees",
    "PaperResults",
    "ResultTable",
    "RunAnalysis",
    "RunInvariance",
    "RunRegularity",
    "SoftmaxExample",
    "coherence_controls",
    "head_scores",
    "head_trees",
    "organize_run",
    "paper_results",
    "paper_tables",
    "run_invariance",
    "run_regularity",
]

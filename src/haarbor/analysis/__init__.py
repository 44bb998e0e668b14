"""Analysis of a whole run: every batch is organised and scored, then all batches together."""

from haarbor.analysis._analyze import analyze
from haarbor.analysis._asked_part import asked_part, checked_batch, require_run
from haarbor.analysis._builder_results import builder_results
from haarbor.analysis._classical_trees import CLASSICAL, classical_trees
from haarbor.analysis._coherence_controls import CONTROLS, CoherenceControls, Control, coherence_controls
from haarbor.analysis._compare_builders import compare_builders
from haarbor.analysis._damaged_results import damaged_name, readable_result
from haarbor.analysis._example_heads import example_heads, organization_gain
from haarbor.analysis._head_geometry import HeadGeometry, head_geometry
from haarbor.analysis._head_groups import alike_groups, outlying_heads
from haarbor.analysis._head_score import HeadScore
from haarbor.analysis._head_scores import head_scores
from haarbor.analysis._head_trees import HeadTrees, head_trees
from haarbor.analysis._held_out_coherence import METHODS, HeldOutCoherence, held_out_coherence
from haarbor.analysis._kept_pruning import PRUNING, keep_pruning, kept_pruning
from haarbor.analysis._organize_run import RunAnalysis, organize_run
from haarbor.analysis._organized_heads import require_logits
from haarbor.analysis._pruning_results import PruningResults
from haarbor.analysis._question import Question, question_before
from haarbor.analysis._rank_correlation import rank_correlation
from haarbor.analysis._result_table import Cell, ResultTable, escaped
from haarbor.analysis._run_invariance import RunInvariance, run_invariance
from haarbor.analysis._run_regularity import RunRegularity, run_regularity
from haarbor.analysis._same_network import require_same_network
from haarbor.analysis._softmax_scores import measured
from haarbor.analysis._valid_tokens import ValidTokens, valid_tokens

__all__ = [
    "CLASSICAL",
    "CONTROLS",
    "METHODS",
    "PRUNING",
    "Cell",
    "CoherenceControls",
    "Control",
    "HeadGeometry",
    "HeadScore",
    "HeadTrees",
    "HeldOutCoherence",
    "PruningResults",
    "Question",
    "ResultTable",
    "RunAnalysis",
    "RunInvariance",
    "RunRegularity",
    "ValidTokens",
    "alike_groups",
    "analyze",
    "asked_part",
    "builder_results",
    "checked_batch",
    "classical_trees",
    "coherence_controls",
    "compare_builders",
    "damaged_name",
    "escaped",
    "example_heads",
    "head_geometry",
    "head_scores",
    "head_trees",
    "held_out_coherence",
    "keep_pruning",
    "kept_pruning",
    "measured",
    "organization_gain",
    "organize_run",
    "outlying_heads",
    "question_before",
    "rank_correlation",
    "readable_result",
    "require_logits",
    "require_run",
    "require_same_network",
    "run_invariance",
    "run_regularity",
    "valid_tokens",
]

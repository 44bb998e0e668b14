"""Which heads can go: ablation, scores, compensation without training, and smaller networks."""

from haarbor.needed_packages import needed_package as _needed_package

# Before the modules that import them at their top, whose failure would be a traceback.
for _name in ("torch", "safetensors"):
    _needed_package(_name, "a model")

from haarbor.pruning.ablation import Ablation, HeadDamage, ablate, head_damage
from haarbor.pruning.attention_statistics import AttentionStatistics
from haarbor.pruning.budgets import possible_counts, removal, removal_count
from haarbor.pruning.calibration_pass import CalibrationPass, calibration_pass
from haarbor.pruning.compensation import Compensation, LayerFit, compensate, compensated
from haarbor.pruning.controls import ScoreControls, score_controls
from haarbor.pruning.damage_curves import DamageCurves, ScoreCurve, damage_curves
from haarbor.pruning.footprint import Footprint, footprints
from haarbor.pruning.head_gates import gated_heads, removed_heads
from haarbor.pruning.head_responses import HeadResponses, head_responses
from haarbor.pruning.head_sites import HeadSite, HeadSites, head_sites
from haarbor.pruning.layer_moments import LayerMoments, layer_moments
from haarbor.pruning.leftover import Elimination, leftover_elimination
from haarbor.pruning.mask_file import read_mask, write_mask
from haarbor.pruning.masked_network import mask_heads
from haarbor.pruning.metrics import Metric, masked_token_loss
from haarbor.pruning.model_batches import ModelBatch, model_batches, require_disjoint
from haarbor.pruning.prune_heads import n_parameters, prune_heads
from haarbor.pruning.pruned_checkpoint import load_pruned, save_pruned
from haarbor.pruning.pruning_data import PruningData, pruning_data
from haarbor.pruning.pruning_study import PruningStudy, pruning_study, score_names
from haarbor.pruning.recommendation import Recommendation, recommendation
from haarbor.pruning.scores import Score, pruning_scores, register_score
from haarbor.pruning.standard_checkpoint import standard_model

__all__ = [
    "Ablation",
    "AttentionStatistics",
    "CalibrationPass",
    "Compensation",
    "DamageCurves",
    "Elimination",
    "Footprint",
    "HeadDamage",
    "HeadResponses",
    "HeadSite",
    "HeadSites",
    "LayerFit",
    "LayerMoments",
    "Metric",
    "ModelBatch",
    "PruningData",
    "PruningStudy",
    "Recommendation",
    "Score",
    "ScoreControls",
    "ScoreCurve",
    "ablate",
    "calibration_pass",
    "compensate",
    "compensated",
    "damage_curves",
    "footprints",
    "gated_heads",
    "head_damage",
    "head_responses",
    "head_sites",
    "layer_moments",
    "leftover_elimination",
    "load_pruned",
    "mask_heads",
    "masked_token_loss",
    "model_batches",
    "n_parameters",
    "possible_counts",
    "prune_heads",
    "pruning_data",
    "pruning_scores",
    "pruning_study",
    "read_mask",
    "recommendation",
    "register_score",
    "removal",
    "removal_count",
    "removed_heads",
    "require_disjoint",
    "save_pruned",
    "score_controls",
    "score_names",
    "standard_model",
    "write_mask",
]

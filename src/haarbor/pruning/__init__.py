"""Which heads can be removed: ablation, scores, compensation without training, and smaller networks."""

from haarbor.needed_packages import needed_package as _needed_package

# The modules below import these at their top: without this, a missing one would end in a traceback.
for _name in ("torch", "safetensors"):
    _needed_package(_name, "a model")

from haarbor.pruning._ablation import Ablation, HeadDamage, ablate, head_damage
from haarbor.pruning._answer_distance import answer_distance
from haarbor.pruning._answer_scale import AnswerScale, answer_scale
from haarbor.pruning._attention_statistics import AttentionStatistics
from haarbor.pruning._backward_elimination import Elimination, backward_elimination
from haarbor.pruning._budgets import possible_counts, removal, removal_count
from haarbor.pruning._calibration_pass import CalibrationPass, calibration_pass
from haarbor.pruning._compensation import Compensation, LayerFit, compensate, compensated
from haarbor.pruning._controls import ScoreControls, score_controls
from haarbor.pruning._damage_curves import DamageCurves, ScoreCurve, damage_curves
from haarbor.pruning._exchange_search import ExchangeSearch, exchange_search
from haarbor.pruning._footprint import Footprint, footprints
from haarbor.pruning._head_gates import gated_heads, removed_heads
from haarbor.pruning._head_responses import HeadResponses, head_responses
from haarbor.pruning._heal import Healing, heal
from haarbor.pruning._layer_moments import LayerMoments, layer_moments, projection_weight
from haarbor.pruning._mask_file import read_mask, write_mask
from haarbor.pruning._masked_network import mask_heads
from haarbor.pruning._metrics import Metric, masked_token_loss, measure
from haarbor.pruning._model_batches import ModelBatch, forward, model_batches, require_disjoint
from haarbor.pruning._network_heads import (
    LayerHeads,
    NetworkHeads,
    is_projection,
    network_heads,
    residual_input,
)
from haarbor.pruning._output_norms import relative_output_norms
from haarbor.pruning._prune_heads import prune_heads
from haarbor.pruning._pruned_checkpoint import load_pruned, save_pruned
from haarbor.pruning._pruned_model import image_statistics, is_pruned_folder, pruned_model
from haarbor.pruning._pruning_data import PruningData, pruning_data
from haarbor.pruning._pruning_study import PruningStudy, pruning_study
from haarbor.pruning._recommendation import Recommendation, recommendation
from haarbor.pruning._score_names import score_names
from haarbor.pruning._scores import Score, pruning_scores, register_score
from haarbor.pruning._sequential_compensation import sequential_compensation
from haarbor.pruning._standard_checkpoint import standard_model
from haarbor.pruning._whole_folder import folder_place, whole_folder
from haarbor.zoo import n_parameters

__all__ = [
    "Ablation",
    "AnswerScale",
    "AttentionStatistics",
    "CalibrationPass",
    "Compensation",
    "DamageCurves",
    "Elimination",
    "ExchangeSearch",
    "Footprint",
    "HeadDamage",
    "HeadResponses",
    "Healing",
    "LayerFit",
    "LayerHeads",
    "LayerMoments",
    "Metric",
    "ModelBatch",
    "NetworkHeads",
    "PruningData",
    "PruningStudy",
    "Recommendation",
    "Score",
    "ScoreControls",
    "ScoreCurve",
    "ablate",
    "answer_distance",
    "answer_scale",
    "backward_elimination",
    "calibration_pass",
    "compensate",
    "compensated",
    "damage_curves",
    "exchange_search",
    "folder_place",
    "footprints",
    "forward",
    "gated_heads",
    "head_damage",
    "head_responses",
    "heal",
    "image_statistics",
    "is_projection",
    "is_pruned_folder",
    "layer_moments",
    "load_pruned",
    "mask_heads",
    "masked_token_loss",
    "measure",
    "model_batches",
    "n_parameters",
    "network_heads",
    "possible_counts",
    "projection_weight",
    "prune_heads",
    "pruned_model",
    "pruning_data",
    "pruning_scores",
    "pruning_study",
    "read_mask",
    "recommendation",
    "register_score",
    "relative_output_norms",
    "removal",
    "removal_count",
    "removed_heads",
    "require_disjoint",
    "residual_input",
    "save_pruned",
    "score_controls",
    "score_names",
    "sequential_compensation",
    "standard_model",
    "whole_folder",
    "write_mask",
]

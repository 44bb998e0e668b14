"""Comparison of networks, checkpoints and inputs: matched heads, trees, entropies, alignment."""

from haarbor.compare._compare_runs import COMPARISON, Comparison, Matching, compare_runs
from haarbor.compare._cross_distances import cross_distances
from haarbor.compare._gromov_wasserstein import GromovWasserstein, gromov_wasserstein
from haarbor.compare._head_matching import head_matching
from haarbor.compare._head_tree_agreement import (
    HeadTreeAgreement,
    cophenetic_correlation,
    head_tree_agreement,
)
from haarbor.compare._linear_cka import linear_cka, unbiased_hsic
from haarbor.compare._matching_test import MatchingTest, matching_test
from haarbor.compare._run_comparison import RunComparison
from haarbor.compare._shared_tokens import SharedTokens, shared_tokens
from haarbor.compare._training_film import FILM, SINK_SHARE, TrainingFilm, training_film
from haarbor.compare._verdict import verdict

__all__ = [
    "COMPARISON",
    "FILM",
    "SINK_SHARE",
    "Comparison",
    "GromovWasserstein",
    "HeadTreeAgreement",
    "Matching",
    "MatchingTest",
    "RunComparison",
    "SharedTokens",
    "TrainingFilm",
    "compare_runs",
    "cophenetic_correlation",
    "cross_distances",
    "gromov_wasserstein",
    "head_matching",
    "head_tree_agreement",
    "linear_cka",
    "matching_test",
    "shared_tokens",
    "training_film",
    "unbiased_hsic",
    "verdict",
]

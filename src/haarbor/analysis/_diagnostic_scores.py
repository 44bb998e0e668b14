"""Scores of heads from the head diagnostics that a run holds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from haarbor.analysis._damaged_results import readable_result
from haarbor.analysis._head_score import HeadScore, ScoreWords
from haarbor.analysis._softmax_scores import mean_of_known
from haarbor.store import RunPart

__all__ = ["diagnostic_scores"]

_LOOKS = "Where it looks"
_SPREAD = "How widely it looks"
_FIGURES: Mapping[str, ScoreWords] = {
    "attention_entropy": ScoreWords(
        "attention-entropy",
        "Attention entropy",
        "Over how many tokens a query spreads its attention.",
        "Entropy of the attention of a query in nats, mean over the queries.",
        "queries look at many tokens",
        "queries look at few tokens",
        group=_SPREAD,
        compares=False,
    ),
    "attention_entropy_normalised": ScoreWords(
        "attention-entropy-normalised",
        "Attention entropy, normalised",
        "How near a query is to looking at all tokens alike.",
        "Entropy of the attention of a query over the logarithm of how many keys it sees; mean over queries.",
        "all tokens about alike",
        "one token for each query",
        group=_SPREAD,
    ),
    "confidence": ScoreWords(
        "confidence",
        "Confidence",
        "How much a query gives to the one token that it looks at most.",
        "Largest attention of a query, mean over the queries.",
        "one token for each query",
        "no token stands out",
        group=_SPREAD,
    ),
    "effective_rank": ScoreWords(
        "attention-effective-rank",
        "Effective rank of the attention",
        "How many different ways of looking the queries have between them.",
        "Exponential of the entropy of the singular values of the attention matrix as shares of their sum.",
        "every query looks elsewhere",
        "all queries look at the same",
        group=_SPREAD,
        compares=False,
    ),
    "stable_rank": ScoreWords(
        "attention-stable-rank",
        "Stable rank of the attention",
        "How many different ways of looking carry most of the matrix.",
        "Sum of the squared singular values of the attention matrix over the largest of them.",
        "every query looks elsewhere",
        "all queries look at the same",
        group=_SPREAD,
        compares=False,
    ),
    "spectral_gap": ScoreWords(
        "spectral-gap",
        "Second singular value over the first",
        "How much there is beside the one pattern that all queries share.",
        "Second singular value of the attention matrix over the first.",
        "several patterns of equal strength",
        "one pattern for all queries",
        group=_SPREAD,
    ),
    "mean_distance": ScoreWords(
        "mean-distance",
        "Mean distance",
        "How far away the tokens are that it looks at.",
        "Distance of query and key in tokens, weighted by the attention, mean over the queries.",
        "far tokens",
        "near tokens",
        group=_LOOKS,
        compares=False,
    ),
    "near": ScoreWords(
        "near-tokens",
        "Attention to near tokens",
        "How much goes to tokens close by.",
        "Share of the attention that goes to tokens at most three places away, the query's own included.",
        "near tokens",
        "far tokens",
        group=_LOOKS,
    ),
    "diagonal": ScoreWords(
        "diagonal",
        "Attention to itself",
        "How much a token looks at itself.",
        "Mean of the diagonal of the attention matrix.",
        "tokens look at themselves",
        "tokens look at others",
        group=_LOOKS,
    ),
    "previous_token": ScoreWords(
        "previous-token",
        "Attention to the previous token",
        "How much a token looks at the one before it.",
        "Mean of the diagonal below the main one.",
        "a head of the previous token",
        "other tokens",
        group=_LOOKS,
    ),
    "next_token": ScoreWords(
        "next-token",
        "Attention to the next token",
        "How much a token looks at the one behind it.",
        "Mean of the diagonal above the main one.",
        "a head of the next token",
        "other tokens",
        group=_LOOKS,
    ),
    "first_token": ScoreWords(
        "first-token",
        "Attention to the first token",
        "How much goes to the first token, or to the class token in its place.",
        "Mean of the first column, over the queries that see it.",
        "an attention sink, or a head of the class token",
        "other tokens",
        group=_LOOKS,
    ),
    "sink": ScoreWords(
        "sink-rate",
        "Sink rate",
        "On how many inputs the first token gets a great deal of the attention.",
        "Share of the batches in which the first token gets more than 0.3 on average.",
        "an attention sink on every input",
        "never a sink",
        group=_LOOKS,
    ),
    "last_token": ScoreWords(
        "last-token",
        "Attention to the last token",
        "How much goes to the last token, which often ends the text.",
        "Mean of the last column, over the queries that see it.",
        "a head of the last token",
        "other tokens",
        group=_LOOKS,
    ),
    "strongest_token": ScoreWords(
        "strongest-token",
        "Attention to one token",
        "How much goes to the token that gets the most from all queries together.",
        "Largest mean of a column, over the queries that see it, among the keys that half of them see.",
        "one token gets much of the attention",
        "no token stands out",
        group=_LOOKS,
    ),
    "same_token": ScoreWords(
        "same-token",
        "Attention to the same token elsewhere",
        "How much a token looks at other tokens with the same text.",
        "Share of the attention that goes to other tokens of the query's text, where there are any.",
        "looks for the same token",
        "the text of a token does not matter so",
        group=_LOOKS,
    ),
    "after_same_token": ScoreWords(
        "after-same-token",
        "Attention behind the same token",
        "How much a token looks at what came after an earlier token with the same text.",
        "Share of the attention that goes to tokens right behind an earlier token of the query's text.",
        "looks for what followed before, as induction heads do",
        "looks elsewhere",
        group=_LOOKS,
    ),
    "nearest_similarity": ScoreWords(
        "similarity-to-nearest",
        "Similarity to the nearest head",
        "How nearly another head does the same.",
        "Largest cosine of its attention matrix with that of another head.",
        "another head does nearly the same",
        "unlike every other head",
        group="Among the heads",
    ),
}
_NETWORK = "In the network"
_MODEL_FIGURES: Mapping[str, ScoreWords] = {
    "induction": ScoreWords(
        "induction",
        "Induction",
        "How much it looks for what came after the last time the same token was seen.",
        "On random tokens that repeat after T: mean of the diagonal 1 - T, behind the last occurrence.",
        "an induction head",
        "no induction",
        group=_LOOKS,
    ),
    "duplicate_token": ScoreWords(
        "duplicate-token",
        "Duplicate token",
        "How much it looks at the last occurrence of the same token.",
        "On random tokens that repeat after T: mean of the diagonal -T.",
        "a head of duplicate tokens",
        "no such head",
        group=_LOOKS,
    ),
    "relative_output": ScoreWords(
        "relative-output",
        "Relative output",
        "How much the head changes the tokens.",
        "Size of what the head writes over the size of the token it writes into, root mean square.",
        "changes the tokens much",
        "hardly changes the tokens",
        group=_NETWORK,
    ),
    "qk_positive": ScoreWords(
        "qk-positive",
        "Positive share of QK",
        "Whether the head looks for tokens like the one that asks.",
        "Sum of the real parts of the eigenvalues of its query-key matrix over the sum of their sizes.",
        "looks for alike tokens",
        "looks for unlike tokens",
        group=_NETWORK,
    ),
    "ov_positive": ScoreWords(
        "ov-positive",
        "Positive share of OV",
        "Whether the head copies what it looks at, or writes its opposite.",
        "Sum of the real parts of the eigenvalues of its output-value matrix over the sum of their sizes.",
        "copies",
        "writes the opposite",
        group=_NETWORK,
    ),
    "qk_effective_rank": ScoreWords(
        "qk-effective-rank",
        "Effective rank of QK",
        "By how many features the head compares tokens.",
        "Effective rank of its query-key matrix.",
        "many features",
        "few features",
        group=_NETWORK,
        compares=False,
    ),
    "ov_effective_rank": ScoreWords(
        "ov-effective-rank",
        "Effective rank of OV",
        "How many features the head moves between tokens.",
        "Effective rank of its output-value matrix.",
        "many features",
        "few features",
        group=_NETWORK,
        compares=False,
    ),
}


def diagnostic_scores(part: RunPart, batch: int | None) -> list[HeadScore]:
    """Scores from results ``head-diagnostics``: of one batch, or means over all batches.

    A figure that no head has, such as the next token under a causal mask, is left out.
    """
    content = "probabilities" if "probabilities" in part.run.contents else "logits"
    source = part.run.part(content, part.stream)
    batches = source.batches if batch is None else (batch,)
    each = [readable_result(source, "head-diagnostics", batch=index) for index in batches]
    if not each or any(found is None for found in each):
        return []
    scores = [
        words.score(mean_of_known([found.figures[name] for found in each]))
        for name, words in _FIGURES.items()
    ]
    # What was measured on the network itself is of no batch.
    measured = readable_result(source, "model-diagnostics") if batch is None else None
    if measured is not None:
        scores += [words.score(measured.figures[name]) for name, words in _MODEL_FIGURES.items()]
    return [score for score in scores if np.isfinite(score.values).any()]

"""What stands out in a run, in sentences that are linked to the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from haarbor.analysis import HeadGeometry, HeadScore, alike_groups, outlying_heads
from haarbor.array_types import IntArray
from haarbor.store import RunPart
from haarbor.wavelets import RankingStability

__all__ = ["overview_sentences"]

_N_NAMED = 5
_N_GROUPS = 4

Part = str | dict[str, int]
"""A piece of text, or a head by its number."""


def overview_sentences(
    part: RunPart,
    scores: Sequence[HeadScore],
    geometry: HeadGeometry,
    stability: RankingStability,
) -> list[dict[str, Any]]:
    """Sentences for the top of the page.

    Parameters
    ----------
    part : RunPart
    scores : sequence of HeadScore
    geometry : HeadGeometry
    stability : RankingStability

    Returns
    -------
    list of dict
        One per sentence. ``parts``: its texts and heads; ``view``: the picture that shows what it says;
        ``score``: the score by which heads are coloured there, or None; ``heads``: the heads to mark.
    """
    sentences = [_network(part)]
    by_name = {score.name: score for score in scores}
    if "entropy" in by_name:
        sentences += _extremes(by_name["entropy"])
    if geometry.distances.shape[0] > 2:
        sentences.append(_groups(geometry))
        sentences.append(_outliers(geometry))
    if stability.n_batches > 1:
        sentences.append(_stability(stability))
    if "softmax-invariance" in by_name:
        sentences += _invariance(by_name["softmax-invariance"])
    return sentences


def _sentence(
    parts: Sequence[Part], view: str, heads: Sequence[int] = (), score: str | None = None
) -> dict[str, Any]:
    return {"parts": list(parts), "view": view, "heads": [int(head) for head in heads], "score": score}


def _network(part: RunPart) -> dict[str, Any]:
    run, sizes = part.run, part.sizes
    kind = {"tokens": "tokens", "patches": "image patches", "none": "positions"}[run.plan.labels]
    of_what = f"{sizes.n_keys} {kind}"
    if sizes.pool > 1:
        of_what = (
            f"{sizes.n_tokens[1]} tokens, as means over {sizes.n_queries} x {sizes.n_keys} blocks of "
            f"{sizes.pool} x {sizes.pool} neighbouring tokens"
        )
    stream = f", stream {part.stream}" if len(run.streams) > 1 else ""
    what = "attention probabilities" if part.content == "probabilities" else "attention logits"
    text = (
        f"{run.model} has {sizes.n_layers * sizes.n_heads} attention heads, {sizes.n_heads} in each of "
        f"{_count(sizes.n_layers, 'layer')}. Here are their {what}{stream} on "
        f"{_count(run.n_batches, 'batch')} of {of_what}."
    )
    return _sentence([text], "head-map")


def _extremes(score: HeadScore) -> list[dict[str, Any]]:
    order = np.argsort(-score.values, kind="stable")
    n_named = min(_N_NAMED, max(1, order.size // 4))
    if order.size < 2 or np.ptp(score.values) == 0:
        return []
    high, low = order[:n_named], order[::-1][:n_named]
    return [
        _sentence(
            [
                "The most coarse structure, by Haar entropy, is in ",
                *_named(high),
                f" ({score.values[high[0]]:.3g} at most); the least in ",
                *_named(low),
                f" ({score.values[low[0]]:.3g} at least).",
            ],
            "head-map",
            [*high, *low],
            score.name,
        )
    ]


def _groups(geometry: HeadGeometry) -> dict[str, Any]:
    groups = alike_groups(geometry.tree, geometry.distances)
    if not groups:
        n_heads = geometry.distances.shape[0]
        rows, columns = np.triu_indices(n_heads, 1)
        nearest = int(np.argmin(geometry.distances[rows, columns]))
        pair = [int(rows[nearest]), int(columns[nearest])]
        parts: list[Part] = ["No heads do nearly the same; the most alike are ", *_named(pair), "."]
        return _sentence(parts, "head-tree", pair)
    n_alike = sum(group.size for group in groups)
    parts = [
        f"{_count(len(groups), 'group')} of heads, {n_alike} heads in all, "
        f"{'does' if len(groups) == 1 else 'do'} nearly the same: "
    ]
    for number, group in enumerate(groups[:_N_GROUPS]):
        parts += ["; " if number else "", *_named(group)]
    more = len(groups) - _N_GROUPS
    parts.append(f"; and {_count(more, 'smaller or looser group')}." if more > 0 else ".")
    return _sentence(parts, "head-tree", np.concatenate(groups).tolist())


def _outliers(geometry: HeadGeometry) -> dict[str, Any]:
    far = outlying_heads(geometry.distances)
    if not far.size:
        return _sentence(
            ["No head stands apart from all others."], "diffusion-map", (), "distance-to-nearest"
        )
    parts: list[Part] = [
        "One head stands apart from all others: "
        if far.size == 1
        else f"{far.size} heads stand apart from all others: ",
        *_named(far),
    ]
    return _sentence([*parts, "."], "diffusion-map", far.tolist(), "distance-to-nearest")


def _stability(stability: RankingStability) -> dict[str, Any]:
    tau = stability.mean_kendall_tau
    if not np.isfinite(tau):
        return _sentence(["All heads score alike, so there is no ranking to compare."], "stability")
    word = next(
        word
        for least, word in (
            (0.8, "nearly the same"),
            (0.6, "similar"),
            (0.3, "loosely alike"),
            (-1.1, "unlike"),
        )
        if tau >= least
    )
    always = np.flatnonzero(stability.top_counts == stability.n_batches)
    parts: list[Part] = [
        f"The rankings of the heads on the {stability.n_batches} batches are {word} "
        f"(Kendall's tau {tau:.2f} on average; the top tenths share {100 * stability.mean_top_jaccard:.0f} %)"
    ]
    if always.size:
        parts += ["; always in the top tenth: ", *_named(always)]
    return _sentence([*parts, "."], "stability", always.tolist(), "batches-in-top")


def _invariance(score: HeadScore) -> list[dict[str, Any]]:
    known = np.flatnonzero(np.isfinite(score.values))
    if known.size < 2:
        return []
    order = known[np.argsort(-score.values[known], kind="stable")]
    n_named = min(3, order.size // 2)
    parts: list[Part] = [
        f"Softmax invariance explains {100 * float(np.median(score.values[known])):.0f} % of the softmax of "
        "the median head; most in ",
        *_named(order[:n_named]),
        f" ({100 * score.values[order[0]]:.0f} %), least in ",
        *_named(order[::-1][:n_named]),
        f" ({100 * score.values[order[-1]]:.0f} %).",
    ]
    return [_sentence(parts, "invariance", [*order[:n_named], *order[::-1][:n_named]], score.name)]


def _named(heads: Sequence[int] | IntArray) -> list[Part]:
    """The first heads with commas between them and "and" before the last; how many more there are."""
    named, n_more = list(heads[:_N_NAMED]), len(heads) - _N_NAMED
    parts: list[Part] = []
    for number, head in enumerate(named):
        if number:
            parts.append(" and " if number == len(named) - 1 and n_more <= 0 else ", ")
        parts.append({"head": int(head)})
    if n_more > 0:
        parts.append(f" and {n_more} more")
    return parts


def _count(number: int, thing: str) -> str:
    if number == 1:
        return f"one {thing}"
    return f"{number} {thing}es" if thing.endswith(("ch", "s")) else f"{number} {thing}s"

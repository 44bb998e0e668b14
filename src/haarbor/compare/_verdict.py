"""What a comparison means, in sentences."""

from __future__ import annotations

import math

from haarbor.compare._run_comparison import RunComparison

__all__ = ["verdict"]

_LIKELY = 0.05
# What is removed of the distance by chance, below which likeness is real and slight.
_SLIGHT = 0.05


def verdict(found: RunComparison) -> tuple[str, ...]:
    """Sentences that say what the comparison of two runs found, the most important one first.

    Parameters
    ----------
    found : RunComparison

    Returns
    -------
    tuple of str

    See Also
    --------
    haarbor.compare_runs : Runs compared.
    """
    sentences = [_alike(found), *_weights(found), *_places(found), *_trees(found)]
    return tuple([*sentences, *_entropies(found), *_coherence(found), *_alignment(found)])


def _alike(found: RunComparison) -> str:
    one, two = found.names
    n_pairs, n_heads = found.pairs.shape[0], found.layers[0] * found.heads_per_layer[0]
    if found.method == "place":
        return (
            f"{one} and {two} are the same network on different tokens: its head trees are "
            f"{found.trees.distance:.3f} apart, of at most 1{_tree_test(found)}."
        )
    if found.geometry is not None:
        distance, chance, p = found.geometry
        word = "more" if p < _LIKELY else "no more"
        return (
            f"On different tokens, the heads of {one} and {two} are laid out {word} alike than distances in "
            f"random order: Gromov-Wasserstein distance {distance:.3f}, against {chance:.3f} ({_p(p)}). Any "
            "two networks whose heads come in groups are; it does not say that matched heads do the same."
        )
    if found.distance == 0:
        if n_pairs == n_heads and found.same_sizes:
            moved = n_pairs - found.n_in_place
            place = "at its own place" if not moved else f"but {moved} of {n_heads} at other places"
            return f"{one} and {two} have the same heads: each has its exact counterpart, {place}."
        return f"All {n_pairs} matched heads of {one} and {two} are exactly the same."
    if found.test is None:
        return (
            f"Matched heads of {one} and {two} are at {_percent(found.relative_distance)} of the distance by "
            "chance; there are too few tokens to test that."
        )
    if found.test.p_value < _LIKELY:
        much = "more" if found.test.alikeness >= _SLIGHT else "hardly more"
        return (
            f"{one} and {two} are {much} alike than chance: on tokens that the matching has not seen, it "
            f"removes {_percent(found.test.alikeness)} of the distance between heads paired at random "
            f"({_p(found.test.p_value)})."
        )
    return (
        f"{one} and {two} are not more alike than chance: on tokens that the matching has not seen, matched "
        f"heads are at {_percent(1 - found.test.alikeness)} of the distance of random pairs "
        f"({_p(found.test.p_value)})."
    )


def _weights(found: RunComparison) -> list[str]:
    if not found.same_weights or found.method == "place":
        return []
    if found.names[0] == found.names[1]:
        return ["Both runs are of the same weights."]
    return ["Both have the same weights, although their names differ."]


def _places(found: RunComparison) -> list[str]:
    n_pairs = found.pairs.shape[0]
    if found.method == "place" or found.distance == 0:
        return []
    if found.same_sizes:
        return [
            f"{found.n_in_place} of {n_pairs} heads are matched with the head at their own place (by chance "
            f"1), {found.n_in_depth} with one of their own layer (by chance {found.heads_per_layer[0]})."
        ]
    return [
        f"{n_pairs} heads have a counterpart, {found.n_in_depth} of them at the same depth (by chance "
        f"{n_pairs / min(found.layers):.0f})."
    ]


def _trees(found: RunComparison) -> list[str]:
    if found.method == "place" or math.isnan(found.trees.cophenetic):
        return []
    told = (
        f"The head trees correlate by {found.trees.cophenetic:.2f} (distance {found.trees.distance:.3f}) on "
        "matched heads"
    )
    place = found.trees_in_place
    if place is not None and not math.isnan(place.cophenetic):
        told += f", and by {place.cophenetic:.2f} with every head taken by its place ({_p(place.p_value)})"
    return [told + "."]


def _tree_test(found: RunComparison) -> str:
    if math.isnan(found.trees.cophenetic):
        return ""
    return f", and correlate by {found.trees.cophenetic:.2f} ({_p(found.trees.p_value)})"


def _entropies(found: RunComparison) -> list[str]:
    told = []
    if not math.isnan(found.entropy_correlation):
        told.append(f"Haar entropies of matched heads correlate by {found.entropy_correlation:.2f} in rank.")
    first, second = (float(values.mean()) for values in found.network_entropies)
    content = "the same" if found.tokens != "different" else "its own"
    told.append(
        f"The network's entropy on {content} content is {first:.4g} for {found.names[0]} and {second:.4g} "
        f"for {found.names[1]}."
    )
    return told


def _coherence(found: RunComparison) -> list[str]:
    if found.coherence is None or any(math.isnan(value) for value in found.coherence):
        return []
    one, two = found.names
    first, second = map(_percent, found.coherence)
    return [
        f"The token trees of {two} suit {one} by {first} (100 % as well as its own, 0 % as random ones), and "
        f"those of {one} suit {two} by {second}."
    ]


def _alignment(found: RunComparison) -> list[str]:
    if found.cka is None:
        return []
    best = found.cka.max(axis=1)
    if not math.isfinite(float(best.mean())):
        return []
    told = f"Linear CKA of each layer with the layer most like it is {float(best.mean()):.2f} on average"
    if found.cka_other_tokens is not None and math.isfinite(float(found.cka_other_tokens.max(axis=1).mean())):
        told += f", and {float(found.cka_other_tokens.max(axis=1).mean()):.2f} on other tokens"
    return [told + "."]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _p(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.0095 else f"p = {value:.4f}"

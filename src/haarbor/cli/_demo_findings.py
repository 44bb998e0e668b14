"""What the demo found, in three sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["findings"]


def findings(networks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Three sentences: on the networks' structure, on their heads, and on the softmax.

    Parameters
    ----------
    networks : sequence of mapping
        Summaries as :meth:`haarbor.paper.PaperResults.summary` gives them, each with the medians over
        the heads of "invariance" and "exact" (see :func:`haarbor.softmax_invariance`) under "softmax".

    Returns
    -------
    list of str
    """
    return [_structure(networks), _heads(networks), _softmax(networks)]


def _structure(networks: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for network in networks:
        ratio = network["coherence_of_controls_over_organised"]["shuffled_entries"]
        parts.append(f"{100 * (1 - 1 / ratio):.0f} % for the {network['network']}")
    return (
        "Attention has structure that the trees find: organised, its Haar expansion is shorter than that "
        f"of the same numbers shuffled and organised again, by {' and '.join(parts)}."
    )


def _heads(networks: Sequence[Mapping[str, Any]]) -> str:
    parts, kept = [], []
    for network in networks:
        most, least = network["highest_entropy"][0]["head"], network["lowest_entropy"][0]["head"]
        parts.append(f"{most} and {least} in the {network['network']}")
        if network["mean_kendall_tau"] is not None:
            always = network["always_in_top"] + network["always_in_bottom"]
            tau = f"Kendall tau {network['mean_kendall_tau']:.2f}"
            kept.append(f"{always} of {2 * network['heads_in_a_tenth']} ({tau})")
    told = f"The heads (layer.head) with the most and the least coarse structure are {', '.join(parts)}"
    if len(kept) < len(networks):
        return f"{told}; one batch does not tell how stable that is, so ask for more."
    return (
        f"{told}; but the ranking depends on the input, and of the heads in the top and bottom tenth only "
        f"{' and '.join(kept)} are there in all {len(networks[0]['batches'])} batches."
    )


def _softmax(networks: Sequence[Mapping[str, Any]]) -> str:
    nearly, exactly = (
        " and ".join(f"{100 * network['softmax'][name]:.0f} %" for network in networks)
        for name in ("invariance", "exact")
    )
    return (
        "Softmax is not nearly linear: the form that the paper calls invariant explains "
        f"{nearly} of it in the median head, the corrected decomposition {exactly}."
    )

"""Captions of the figures of the paper."""

from __future__ import annotations

from collections.abc import Sequence

from haarbor.paper._paper_results import PAPER_BATCHES, PaperResults
from haarbor.paper._paper_tables import batches_note

__all__ = ["paper_captions"]


def paper_captions(results: Sequence[PaperResults]) -> dict[str, str]:
    """Caption of every figure, by the name of its file.

    Parameters
    ----------
    results : sequence of PaperResults

    Returns
    -------
    dict of str to str
    """
    ks = sorted({entropy.k for found in results for entropy in found.head_entropies})
    k = " or ".join(map(str, ks))
    network_ks = sorted({entropy.k for found in results for entropy in found.network_entropies})
    rows = "one block per network" if len(results) > 1 else "one network"
    masked = any(not found.mask.all() for found in results)
    logits = any(found.content == "logits" for found in results)
    return {
        "figure1": (
            f"Heads before and after organisation, {rows}. Above, queries and keys in their original order; "
            "below, the same numbers with both in the order of the trees found for the whole network (one "
            "order for all its heads)."
            + (" Logarithmic colours for probabilities." if any(f.content == "probabilities" for f in results)
               else "")
            + (" Grey entries are masked, or zero where the legend says so." if masked else "")
            + (" Heads are written layer.head.")
        ),
        "figure2": (
            "Softmax of the first head of figure 1, and what paraproducts make of it, on trees found for the "
            "logits of that head alone: (a) logits, (b) softmax as a density that is 1 where it is uniform, "
            "(c) the form the paper gives, (d) the corrected form with its marginals, (e) what (d) leaves. "
            "Above the forms stand their correlation with the softmax and the share of it they explain."
        ),
        "figure3": (
            f"Structure among the heads, {rows}: (a) diffusion map, the coordinates of the largest "
            "non-trivial eigenvalues, grey shadows on the floor; (b) affinity of every two heads, in the "
            "order of the tree; (c) tree of the heads, root on top. Colours are layers; a folder has a "
            "layer's colour where all its heads are of that layer."
        ),
        "figure4": (
            f"Haar expansion, {rows}: (a), (b) coefficients of the {k} product functions of queries and keys "
            "with the largest support, largest first, for the heads of highest and of lowest entropy; the "
            "coefficient of the constant is written and not drawn; the lowest panel is the share of the "
            "matrix each function covers, dashed lines where it falls below a half, a quarter and so on. "
            "(c) Haar functions of the tree of heads, one per row, each divided by its largest absolute "
            "value."
        ),
        "figure5": (
            f"Haar entropy of every head, the l1 norm of its {k} coefficients of largest support, on up to "
            f"{PAPER_BATCHES['figure5']} batches. Orange and blue are the highest and the lowest tenth of "
            "each batch: see whether they are the same heads. Upright lines are what another order of "
            "functions of the same support could give." + batches_note(results, "figure5")
        ),
        "figure6": (
            f"Tri-Haar coefficients of the whole network, the {' or '.join(map(str, network_ks))} product "
            "functions of queries, keys and heads with the largest support, largest first. Every batch has "
            "trees of its own, so that the same place is not the same function. The coefficient of the "
            "constant is written and not drawn." + batches_note(results, "figure6")
        ),
        "tables": (
            "Masked logits count as the mean of the valid entries of their row." if logits and masked else ""
        ),
    }  # fmt: skip

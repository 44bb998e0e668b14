"""The three sentences with which the demo ends."""

from haarbor.cli._demo_findings import findings


def summary(name, tau):
    return {
        "network": name,
        "coherence_of_controls_over_organised": {"shuffled_entries": 2.0},
        "highest_entropy": [{"head": "1.0", "entropy": 5.0}],
        "lowest_entropy": [{"head": "0.1", "entropy": 2.0}],
        "mean_kendall_tau": tau,
        "always_in_top": 1,
        "always_in_bottom": 2,
        "heads_in_a_tenth": 4,
        "batches": [0, 1, 2],
        "softmax": {"invariance": 0.25, "exact": 0.9},
    }


def test_findings_say_what_the_figures_say():
    structure, heads, softmax = findings([summary("A", 0.5), summary("B", 0.25)])
    assert "by 50 % for the A and 50 % for the B" in structure
    assert "most and the least coarse structure are 1.0 and 0.1 in the A, 1.0 and 0.1 in the B" in heads
    assert "only 3 of 8 (Kendall tau 0.50) and 3 of 8 (Kendall tau 0.25) are there in all 3 batches" in heads
    assert "explains 25 % and 25 % of it in the median head, the corrected decomposition 90 %" in softmax


def test_findings_claim_no_stability_from_one_batch():
    assert "ask for more" in findings([summary("A", None)])[1]

import pytest

from haarbor.paper._captions import paper_captions


@pytest.mark.slow
def test_captions_speak_of_what_is_shown(results_of):
    causal, opened = results_of("causal"), results_of("open")
    one, two = paper_captions([causal]), paper_captions([causal, opened])
    assert "one network" in one["figure1"]
    assert "one block per network" in two["figure3"]
    assert f"the {causal.head_entropies[0].k} product functions" in one["figure4"]
    assert "The paper shows 3 batches; causal has 2 batches." in one["figure5"]
    assert "The paper shows" not in paper_captions([opened])["figure6"]


def test_masked_entries_and_logits_are_explained_only_where_there_are_any(results_of):
    causal, opened, logits = (paper_captions([results_of(kind)]) for kind in ("causal", "open", "logits"))
    assert "Grey entries are masked" in causal["figure1"]
    assert "Grey entries" not in opened["figure1"]
    assert "Logarithmic colours" in opened["figure1"]
    assert "Logarithmic colours" not in logits["figure1"]
    assert (causal["tables"], opened["tables"]) == ("", "")
    assert logits["tables"] == "Masked logits count as the mean of the valid entries of their row."

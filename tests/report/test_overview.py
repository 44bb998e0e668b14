import numpy as np

from haarbor.analysis import HeadScore, head_scores
from haarbor.analysis._head_geometry import head_geometry
from haarbor.report._overview import overview_sentences


def sentences_of(run, **changes):
    part = run.part()
    parts = {
        "scores": head_scores(part),
        "geometry": head_geometry(part.load_result("consensus")),
        "stability": part.load_result("ranking-stability"),
        **changes,
    }
    return overview_sentences(part, parts["scores"], parts["geometry"], parts["stability"])


def words(sentence, names=str):
    return "".join(part if isinstance(part, str) else names(part["head"]) for part in sentence["parts"])


def test_the_first_sentence_says_what_was_looked_at(text, pictures):
    assert words(sentences_of(text)[0]) == (
        "made up has 12 attention heads, 4 in each of 3 layers. Here are their attention probabilities on "
        "3 batches of 24 tokens."
    )
    assert "2 batches of 17 image patches" in words(sentences_of(pictures)[0])


def test_extremes_are_the_heads_with_the_largest_and_smallest_mean_entropy(text):
    mean = np.mean([text.load_result("head-entropy", batch=b).raw for b in text.batches], axis=0)
    sentence = sentences_of(text)[1]
    order = np.argsort(-mean)
    assert sentence["heads"] == [*order[:3].tolist(), *order[::-1][:3].tolist()]
    assert f"in {order[0]}, {order[1]} and {order[2]} ({mean[order[0]]:.3g} at most)" in words(sentence)
    assert (sentence["view"], sentence["score"]) == ("head-map", "entropy")


def test_every_sentence_leads_to_a_picture_of_the_page(text):
    views = {sentence["view"] for sentence in sentences_of(text)}
    assert views <= {"head-map", "head-tree", "diffusion-map", "stability", "invariance"}
    assert "stability" in views


def test_stability_is_told_in_words_that_fit_the_figure(text):
    stability = text.load_result("ranking-stability")
    sentence = next(s for s in sentences_of(text) if s["view"] == "stability")
    assert f"Kendall's tau {stability.mean_kendall_tau:.2f}" in words(sentence)
    word = "nearly the same" if stability.mean_kendall_tau >= 0.8 else "similar"
    assert f"are {word} (" in words(sentence)


def test_invariance_is_told_where_it_was_measured(text):
    score = HeadScore(
        name="softmax-invariance", label="x", meaning="x", high_means="x", low_means="x",
        values=np.array([0.5, np.nan, 0.9, *[0.2] * 8, 0.1]), better_high=None,
    )  # fmt: skip
    [sentence] = [s for s in sentences_of(text, scores=[score]) if s["view"] == "invariance"]
    assert sentence["heads"][:2] == [2, 0]
    assert sentence["heads"][3] == 11
    assert "explains 20 % of the softmax of the median head" in words(sentence)
    assert "(90 %), least in" in words(sentence)

"""Heads and streams in words."""

from haarbor.cli._heads_text import heads_text, other_streams_text
from haarbor.store import RunPlan, StreamPlan


def plan(**layers):
    streams = tuple(
        StreamPlan(name=name, n_layers=n, n_heads=4, n_queries=5, n_keys=5) for name, n in layers.items()
    )
    return RunPlan(model="m", streams=streams, n_batches=1)


def test_one_stream_is_layers_times_heads():
    assert heads_text(plan(self=6)) == "6 layers x 4 heads"
    assert other_streams_text(plan(self=6), "self") is None


def test_all_streams_are_counted_and_named():
    whole = plan(encoder=3, decoder=3, cross=3)
    assert heads_text(whole) == (
        "36 heads in 3 streams (encoder 3 layers x 4 heads, decoder 3 layers x 4 heads, "
        "cross 3 layers x 4 heads)"
    )
    assert other_streams_text(whole, "decoder") == (
        "This is stream decoder; the run has encoder (12 heads) and cross (12 heads), too: add "
        "--stream encoder."
    )


def test_two_streams_need_no_list():
    assert other_streams_text(plan(vision=2, text=1), "vision") == (
        "This is stream vision; the run has text (4 heads), too: add --stream text."
    )

from dataclasses import replace

from haarbor.paper._network_heading import network_heading


def test_a_heading_names_network_stream_content_and_batch(results_of):
    found = results_of("causal")
    assert network_heading(found) == "causal (probabilities, batch 0)"
    assert network_heading(found, batch=False) == "causal (probabilities)"
    crossed = replace(found, stream="cross")
    assert network_heading(crossed, content="logits") == "causal, cross (logits, batch 0)"
    assert network_heading(found.named("x" * 41), batch=False) == f"{'x' * 39}… (probabilities)"
    assert network_heading(found.named("x" * 40), batch=False) == f"{'x' * 40} (probabilities)"

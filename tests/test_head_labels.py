"""Heads by name."""

from hypothesis import given
from hypothesis import strategies as st

from haarbor.head_labels import head_label, head_labels


def test_layers_and_heads_count_from_zero():
    assert head_label(10, 5) == "10.5"
    assert head_labels(2, 2) == ("0.0", "0.1", "1.0", "1.1")


@given(st.integers(1, 20), st.integers(1, 20))
def test_entry_i_names_head_i_of_a_tensor(n_layers, heads_per_layer):
    names = head_labels(n_layers, heads_per_layer)
    assert len(set(names)) == n_layers * heads_per_layer
    assert all(name == head_label(*divmod(i, heads_per_layer)) for i, name in enumerate(names))

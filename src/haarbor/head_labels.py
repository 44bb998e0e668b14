"""Heads by name: layer.head, both counted from 0."""

__all__ = ["head_label", "head_labels"]


def head_label(layer: int, head: int) -> str:
    """Name of a head in its layer.

    Examples
    --------
    >>> head_label(10, 5)
    '10.5'
    """
    return f"{layer}.{head}"


def head_labels(n_layers: int, heads_per_layer: int) -> tuple[str, ...]:
    """Names of all heads, layer by layer: entry ``i`` is the name of head ``i`` of a tensor.

    Examples
    --------
    >>> head_labels(2, 3)
    ('0.0', '0.1', '0.2', '1.0', '1.1', '1.2')
    """
    return tuple(head_label(layer, head) for layer in range(n_layers) for head in range(heads_per_layer))

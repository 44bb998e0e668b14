"""How much errors of each layer's output cost, by direction, from gradients of the loss."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from haarbor.array_types import FloatArray, frozen
from haarbor.errors import PruningError
from haarbor.pruning._layer_moments import added_output, residual_hooks
from haarbor.pruning._metrics import Metric
from haarbor.pruning._model_batches import ModelBatch
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = ["output_sensitivities"]


def output_sensitivities(
    model: torch.nn.Module, heads: NetworkHeads, batches: Sequence[ModelBatch], metric: Metric
) -> tuple[FloatArray, ...]:
    r"""Fisher information of the output of each layer's attention, relative to the residual stream.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    heads : NetworkHeads
    batches : sequence of ModelBatch
        As they are given, with labels where the metric needs them.
    metric : Metric
        Its gradient is taken.

    Returns
    -------
    tuple of ndarray, one (n_outputs, n_outputs) per layer

    Raises
    ------
    PruningError
        If the metric has no gradient, or a residual stream was not found.

    Notes
    -----
    With :math:`g_t` the gradient of the loss by the output of the projection at token :math:`t`, and
    :math:`r_t` as in :class:`haarbor.pruning.LayerMoments`, the matrix is the sum of
    :math:`\|r_t\|^2 g_t g_t^\top` over the answers that count. An error that is :math:`\|r_t\|` times
    :math:`d_t` then changes the loss, to second order, by about :math:`d_t^\top G d_t / 2` on average, if
    sizes of errors and of gradients are independent beyond :math:`r_t`: the Kronecker factor for outputs of
    K-FAC, with labels as they are. One forward and one backward pass, as for gradient importance.
    """
    sums = [torch.zeros(()) for _ in heads.layers]
    n_answers = 0.0
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        for batch in batches:
            n_answers += _add(model, heads, batch, metric, sums)
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)
    return tuple(frozen((total / n_answers).cpu().numpy()) for total in sums)


def _add(
    model: torch.nn.Module,
    heads: NetworkHeads,
    batch: ModelBatch,
    metric: Metric,
    sums: list[torch.Tensor],
) -> float:
    """Add one batch to the sums; how many answers it has."""
    residuals: dict[str, torch.Tensor] = {}
    probes: list[torch.Tensor | None] = [None] * len(heads)
    sizes: list[torch.Tensor | None] = [None] * len(heads)

    def probe(number: int, _x: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        layer = heads.layers[number]
        residual = residuals.get(layer.block or "")
        if residual is None or residual.shape != output.shape:
            raise PruningError(
                f"the residual stream of layer {number} was not found, so that errors cannot be taken "
                "relative to it. Take another score."
            )
        with torch.no_grad():
            added, factor = added_output(model, layer, output)
            sizes[number] = torch.linalg.vector_norm(residual + added, dim=-1, keepdim=True) / factor
        probes[number] = torch.zeros_like(output, requires_grad=True)
        return output + probes[number]

    with (
        torch.enable_grad(),
        residual_hooks(model, heads, residuals),
        projection_hooks(model, heads, change_output=probe),
    ):
        total, count = metric.graded_total(model, batch)
        if not total.requires_grad:
            raise PruningError(
                f"the metric {metric.name!r} has no gradient. Take scores that need none, or give a loss."
            )
        gradients = torch.autograd.grad(total, [part for part in probes if part is not None])
    for number, (gradient, size) in enumerate(zip(gradients, sizes, strict=True)):
        if size is not None:
            rows = (gradient * size).reshape(-1, gradient.shape[-1]).double()
            sums[number] = sums[number].to(rows.device) + rows.T @ rows
    return float(count)

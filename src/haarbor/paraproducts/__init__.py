"""Paraproducts on trees, also of the softmax, and how close attention is to its logits."""

from haarbor.paraproducts._decomposition import paraproduct, paraproduct_forms
from haarbor.paraproducts._forms import Form, Paraproduct
from haarbor.paraproducts._invariance import InvarianceFigures, SoftmaxInvariance, softmax_invariance
from haarbor.paraproducts._nonlinearities import Nonlinearity, pointwise_nonlinearity
from haarbor.paraproducts._regularity import DecaySlopes, RegularityGain, regularity_gain
from haarbor.paraproducts._softmax_pieces import row_softmax
from haarbor.paraproducts._telescoping import Telescoping, telescoping
from haarbor.paraproducts._tensor_paraproduct import tensor_paraproduct

__all__ = [
    "DecaySlopes",
    "Form",
    "InvarianceFigures",
    "Nonlinearity",
    "Paraproduct",
    "RegularityGain",
    "SoftmaxInvariance",
    "Telescoping",
    "paraproduct",
    "paraproduct_forms",
    "pointwise_nonlinearity",
    "regularity_gain",
    "row_softmax",
    "softmax_invariance",
    "telescoping",
    "tensor_paraproduct",
]

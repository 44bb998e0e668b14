"""Paraproducts on trees, the softmax among them, and how nearly a softmax is linear."""

from haarbor.paraproducts.decomposition import paraproduct, paraproduct_forms
from haarbor.paraproducts.forms import Form, Paraproduct
from haarbor.paraproducts.invariance import InvarianceFigures, SoftmaxInvariance, softmax_invariance
from haarbor.paraproducts.nonlinearities import Nonlinearity, pointwise_nonlinearity
from haarbor.paraproducts.regularity import DecaySlopes, RegularityGain, regularity_gain
from haarbor.paraproducts.softmax_pieces import row_softmax
from haarbor.paraproducts.telescoping import Telescoping, telescoping
from haarbor.paraproducts.tensor_paraproduct import tensor_paraproduct

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

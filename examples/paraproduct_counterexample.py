"""A function on which the published paraproduct gains nothing, and the corrected one doubles the rate.

f(x, x') = h(x) psi(x'), psi the coarsest Haar function of the columns and h a random Haar series of
exponent 0.3. Along the rows the coefficients of f fall like (folder size)^0.3. The paper's theorem
asks (folder size)^0.6 of the residual; the printed slopes are what the forms give.

    python examples/paraproduct_counterexample.py [--rows 4096]
"""

import argparse

import numpy as np

import haarbor as hb
from haarbor.paraproducts import paraproduct_forms

ALPHA = 0.3


def halved_tree(n_items):
    """Every folder cut into halves; n_items is a power of two."""
    depth = n_items.bit_length() - 1
    return hb.PartitionTree(np.stack([np.arange(n_items) >> (depth - level) for level in range(depth + 1)]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=4096, help="a power of two")
    rows = halved_tree(parser.parse_args().rows)
    columns = halved_tree(4)
    h = hb.datasets.haar_series(rows, columns, ALPHA, amplitude=0.3, coefficients="signs")[:, :1]
    f = h * np.array([1.0, 1.0, -1.0, -1.0])
    forms = paraproduct_forms(f, rows, columns, "exp")
    function = forms["corrected"].regularity().function
    print(f"{rows.n_items} x 4, A = exp; decay along rows where the column function is the coarsest")
    print(f"  the function: {function.row_edge:.2f}")
    for form in ("paper+boundary", "corrected"):
        slope = forms[form].regularity().residual.row_edge
        gained = "gains nothing" if slope < 1.5 * function.row_edge else "at least doubled"
        print(f"  residual of {form}: {slope:.2f} ({gained})")


if __name__ == "__main__":
    main()

"""Rank collapse by loops and linear programmes; shares no code with haarbor.collapse."""

import math

import mpmath
import numpy as np
from scipy.optimize import linprog


def composite(rows):
    """Root of the largest column sum times the largest row sum of absolute values."""
    columns = max(sum(abs(row[j]) for row in rows) for j in range(len(rows[0])))
    return math.sqrt(columns * max(sum(abs(value) for value in row) for row in rows))


def least_composite_residual(x, steps=81):
    """Minimum over all vectors in common of the composite norm of the residual.

    The root of f g is the least (t f + g / t) / 2 over t, and for each t that is a linear programme.
    """
    x = np.asarray(x, dtype=float)
    n, d = x.shape
    # Unknowns: the vector (d), bounds of the absolute values (n d), the column sum f, the row sum g.
    size = d + n * d + 2
    rows, right = [], []
    for i in range(n):
        for j in range(d):
            for sign in (1, -1):
                row = np.zeros(size)
                row[j], row[d + i * d + j] = -sign, -1
                rows.append(row)
                right.append(-sign * x[i, j])
    for j in range(d):
        row = np.zeros(size)
        row[[d + i * d + j for i in range(n)]] = 1
        row[-2] = -1
        rows.append(row)
        right.append(0.0)
    for i in range(n):
        row = np.zeros(size)
        row[[d + i * d + j for j in range(d)]] = 1
        row[-1] = -1
        rows.append(row)
        right.append(0.0)
    best = np.inf
    for t in np.geomspace(0.1, 10, steps):
        price = np.zeros(size)
        price[-2], price[-1] = t / 2, 1 / (2 * t)
        bounds = [(None, None)] * d + [(0, None)] * (n * d + 2)
        found = linprog(price, A_ub=np.array(rows), b_ub=right, bounds=bounds)
        assert found.status == 0
        best = min(best, composite((x - found.x[:d]).tolist()))
    return best


def stack_states(query, key, value_output, x, *, skips, digits):
    """States of a stack of attention with as many decimal digits as asked for, as lists of lists."""
    with mpmath.workdps(digits):
        x = mpmath.matrix(x.tolist())
        states = [x]
        for layer in range(query.shape[0]):
            total = x if skips else mpmath.zeros(x.rows, x.cols)
            for head in range(query.shape[1]):
                q = x * mpmath.matrix(query[layer, head].tolist())
                k = x * mpmath.matrix(key[layer, head].tolist())
                scores = q * k.T / mpmath.sqrt(query.shape[3])
                weights = mpmath.zeros(x.rows, x.rows)
                for i in range(x.rows):
                    row = [mpmath.exp(scores[i, j]) for j in range(x.rows)]
                    for j in range(x.rows):
                        weights[i, j] = row[j] / mpmath.fsum(row)
                total = total + weights * x * mpmath.matrix(value_output[layer, head].tolist())
            x = total
            states.append(x)
        return states


def frobenius_log_residuals(states, digits):
    """Natural logarithms of the relative residuals in the Frobenius norm."""
    logs = []
    with mpmath.workdps(digits):
        for x in states:
            means = [mpmath.fsum(x[i, j] for i in range(x.rows)) / x.rows for j in range(x.cols)]
            left = mpmath.fsum((x[i, j] - means[j]) ** 2 for i in range(x.rows) for j in range(x.cols))
            whole = mpmath.fsum(x[i, j] ** 2 for i in range(x.rows) for j in range(x.cols))
            logs.append(float(mpmath.log(left / whole) / 2))
    return logs

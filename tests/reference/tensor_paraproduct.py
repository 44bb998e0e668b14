"""The corrected form on three axes written out: full-size averages, linearised by finite differences.

The mixed first derivative along a set of axes is taken of t -> A(sum over corners), by polynomial
interpolation where A is a polynomial: the derivative is then exact, and no chain rule is shared with
the package.
"""

import itertools

import numpy as np

from tests.reference.folders import folders_of_level


def average(f, levels, places):
    """Means over products of folders, axis by axis; `places` is a level for each axis."""
    result = np.asarray(f, dtype=float)
    for axis, (rows, level) in enumerate(zip(levels, places, strict=True)):
        result = np.moveaxis(result, axis, 0).copy()
        for folder in folders_of_level(rows[level]):
            result[folder] = result[folder].mean(axis=0)
        result = np.moveaxis(result, 0, axis)
    return result


def mixed_derivative(function, n, degree):
    """Coefficient of t_1 ... t_n in a polynomial of the given degree in each t, by interpolation."""
    nodes = np.linspace(-1, 1, degree + 1)
    inverse = np.linalg.inv(np.vander(nodes, increasing=True))
    total = 0.0
    for chosen in itertools.product(range(degree + 1), repeat=n):
        weight = np.prod([inverse[1, place] for place in chosen])
        total = total + weight * function([nodes[place] for place in chosen])
    return total


def linearised(f, levels, power, moving):
    """Sum over all scales of the moving axes of the mixed first derivative of f ** power."""
    finest = [len(rows) - 1 for rows in levels]
    total = np.zeros(np.shape(f))
    for scales in itertools.product(*(range(finest[axis]) for axis in moving)):
        corners = {}
        for steps in itertools.product((0, 1), repeat=len(moving)):
            places = list(finest)
            for axis, scale, step in zip(moving, scales, steps, strict=True):
                places[axis] = scale + step
            corners[steps] = average(f, levels, places)

        def interpolated(t, corners=corners):
            value = 0.0
            for steps, corner in corners.items():
                weight = np.prod([a if step else 1 - a for a, step in zip(t, steps, strict=True)])
                value = value + weight * corner
            return value**power

        total += mixed_derivative(interpolated, len(moving), power)
    return total


def corrected(f, levels, power):
    """Inclusion and exclusion of linearisations over all sets of axes."""
    n = np.ndim(f)
    total = average(f, levels, [0] * n) ** power
    for size in range(1, n + 1):
        for moving in itertools.combinations(range(n), size):
            total = total + (-1) ** (size + 1) * linearised(f, levels, power, moving)
    return total


def remainder(f, levels, power):
    """What the corrected form with exact marginals leaves: the top differences less what stands for them."""
    n = np.ndim(f)
    left = np.zeros(np.shape(f))
    finest = [len(rows) - 1 for rows in levels]
    for scales in itertools.product(*(range(last) for last in finest)):
        corners = {
            steps: average(f, levels, [s + d for s, d in zip(scales, steps, strict=True)])
            for steps in itertools.product((0, 1), repeat=n)
        }

        def value(t, corners=corners):
            total = 0.0
            for steps, corner in corners.items():
                total = total + np.prod([a if d else 1 - a for a, d in zip(t, steps, strict=True)]) * corner
            return total**power

        # Along each axis g(1) - g(0) - g'(0), one axis after another.
        def taylor(fixed, value=value):
            if len(fixed) == n:
                return value(fixed)

            def along(a):
                return taylor([*fixed, a])

            return along(1.0) - along(0.0) - mixed_derivative(lambda t: along(t[0]), 1, power)

        left += taylor([])
    return left

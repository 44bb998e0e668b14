"""Who waits is told, once, that kernels are being compiled."""

import numpy as np
from numba import njit

from haarbor.compilation_notice import compilation_notice, notify_compilation
from haarbor.compiled import compiled


def test_everybody_who_waits_is_told_once():
    told = []
    with compilation_notice(lambda: told.append("outer")):
        with compilation_notice(lambda: told.append("inner")):
            notify_compilation()
            notify_compilation()
        assert sorted(told) == ["inner", "outer"]
    notify_compilation()
    assert sorted(told) == ["inner", "outer"]


def test_nobody_is_told_after_the_block_or_without_a_compilation():
    told = []
    with compilation_notice(lambda: told.append("in vain")):
        pass
    notify_compilation()
    assert told == []


def test_a_kernel_that_is_compiled_is_told_of_and_one_that_is_not_ours_is_not():
    def double(values):
        return values + values

    told = []
    with compilation_notice(lambda: told.append("compiling")):
        njit(double)(np.ones(2))
        assert told == []
        kernel = compiled(inner=True)(double)
        # Such a kernel has no entrance from Python, so it is compiled by hand.
        kernel.compile("(float64[::1],)")
    assert told == ["compiling"]

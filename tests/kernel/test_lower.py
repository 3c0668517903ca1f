"""What kernels do most, written with few instructions: the same numbers as in Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from dovetail.kernel.bounds import CHECKED
from dovetail.kernel.kernel import jit_enabled, kernel

pytestmark = pytest.mark.skipif(not jit_enabled, reason="nothing is compiled")


def elements(A, B, marks, at, out):
    """Elements and rows, by positive and negative numbers, constants, tuples; of arrays by rows and with strides."""
    place = (at, -1)
    A[place] += 1
    row, plane = A[-2], B[at]
    out[0], out[1], out[2], out[3] = A[at, -2], A[0, 1], A[place], row[-1]
    out[4], out[5], out[6] = plane[1, -1], B[-1, 0, at], B[1][-1][0]
    out[7], out[8] = len(row) * 10 + plane.shape[1], B.shape[0]
    marks[-1] = marks[0] and not marks[at]
    out[9] = 2 if marks[-1] else at
    row[0] = 7
    plane[-1, 1] = True
    B[0, at] = 0.5
    out[-1] = at // 2 - 3


def loops(n, first, last, out):
    """Ranges that are empty, kept, cut short and backward; loops over tuples."""
    count, i = 0, -5
    for i in range(n):  # noqa: B007
        count += 1
    out[0], out[1] = count, i
    again = range(first, last)
    if n > 3:
        again = range(first)
    total = 0
    for a in again:
        for b in range(a, last):
            if b == 4:
                continue
            if b > 6:
                break
            total += 10 * a + b
        else:
            total += 1000
    out[2] = total
    both = range(first, last)
    for a in both:
        for b in both:
            out[3] += a - 2 * b
    for a in range(last, first, -2):
        out[4] += a
    corner = (n, first)
    for a in corner:
        out[5] += out[a] + len(corner)
    while n > 0:
        for a in range(n):
            out[6] += a
        n -= 1


def comparisons(x, y, k, out):
    out[0] = (x < y) + 2 * (x <= y) + 4 * (x > y) + 8 * (x >= y) + 16 * (x == y) + 32 * (x != y)
    out[1] = (k < 2) + 2 * (k <= 2) + 4 * (k > 2) + 8 * (k >= 2) + 16 * (k == 2) + 32 * (k != 2)
    out[2] = (x + y) * (x - y) / y + k * k - k
    out[3] = -x + k


from_the_end = pytest.mark.skipif(CHECKED, reason="where bounds are checked, no index is counted from the end")


@pytest.mark.parametrize("at", [0, 1, pytest.param(-1, marks=from_the_end)])
@pytest.mark.parametrize("stride", [1, 2])
def test_elements(at, stride):
    rng = np.random.default_rng(3)
    A, B = rng.random((3, 4)), rng.random((3, 2, 3))
    results = []
    for function in (elements, kernel(elements)):
        given = A.repeat(stride, 1)[:, ::stride], B.repeat(stride, 1)[:, ::stride], np.array([True, False, True, True])
        assert given[0].flags.c_contiguous == (stride == 1)
        out = np.zeros(11)
        function(*given, at, out)
        results.append([*given, out])
    for wanted, found in zip(*results, strict=True):
        assert np.array_equal(wanted, found)


@pytest.mark.parametrize(
    "n, first, last", [(3, 1, 6), (0, 4, 2), pytest.param(-2, 0, 9, marks=from_the_end), (5, 3, 8)]
)
def test_loops(n, first, last):
    wanted, found = np.zeros(8), np.zeros(8)
    loops(n, first, last, wanted)
    kernel(loops)(n, first, last, found)
    assert np.array_equal(wanted, found)


@pytest.mark.parametrize("x, y, k", [(1.5, 2.0, 1), (2.0, 2.0, 2), (math.nan, 1.0, 3), (3.0, -math.inf, -7)])
def test_comparisons(x, y, k):
    wanted, found = np.zeros(4), np.zeros(4)
    comparisons(x, y, k, wanted)
    kernel(comparisons)(x, y, k, found)
    assert np.array_equal(wanted, found, equal_nan=True)


def test_nothing_is_counted_where_nothing_is_made():
    out, compiled = np.zeros(4), kernel(comparisons)
    compiled(1.0, 2.0, 3, out)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        compiled(1.0, 2.0, 3, out)
        assert rtsys.get_allocation_stats() == before
    finally:
        _nrt_python.memsys_disable_stats()

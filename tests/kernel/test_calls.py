"""Builtins that are written at once: the same numbers as in Python, and Numba compiles nothing of its own for them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba.core.compiler import CompilerBase

from dovetail.kernel.kernel import jit_enabled, kernel

pytestmark = pytest.mark.skipif(not jit_enabled, reason="nothing is compiled")


def numbers(x, y, i, j, out):
    out[0], out[1], out[2] = max(x, y), min(x, y), max(x, y, 0.5)
    out[3], out[4], out[5] = max(i, j), min(i, j, 3), int(x) if abs(x) < 10.0 else 0
    out[6] = max(i, x)  # of two kinds: Numba's


def arrays(n, out):
    a, b, c = np.zeros(n), np.zeros((n, 2), np.int64), np.empty((2, n))
    c[1, n - 1], b[0, 1] = 2.5, n
    a[0] = c[1, n - 1]
    out[0], out[1], out[2] = a.sum() + c[1, n - 1], b.sum(), c.shape[0] * 100 + b.size


def test_numbers_are_those_of_python():
    """Also which of two is taken if one is not a number, and that no sign of a zero gets lost."""
    compiled = kernel(numbers)
    for x, y in ((1.5, -2.5), (-0.0, 0.0), (0.0, -0.0), (math.nan, 1.0), (1.0, math.nan), (math.inf, 3.0), (-7.9, 2.0)):
        for i, j in ((4, -5), (-1, 2)):
            wanted, found = np.zeros(7), np.zeros(7)
            numbers(x, y, i, j, wanted)
            compiled(x, y, i, j, found)
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def test_arrays_are_made_and_freed_without_functions_of_numba(monkeypatch):
    def refuse(compiler):
        raise AssertionError(f"{compiler.state.func_id.func_qualname} goes through all stages")

    def lean_sum(n, out):
        a, b = np.zeros(n), np.empty((n, 2), np.int64)
        b[0, 0] = int(max(a[0], 1.0))
        out[0] = min(b[0, 0], n)

    monkeypatch.setattr(CompilerBase, "_compile_core", refuse)
    out = np.zeros(1)
    kernel(lean_sum)(3, out)
    assert out[0] == 1
    monkeypatch.undo()
    wanted, found = np.zeros(3), np.zeros(3)
    arrays(3, wanted)
    kernel(arrays)(3, found)
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match="negative dimensions"):
        kernel(arrays)(-1, found)

"""Asking for lines of the cache changes nothing, wherever the row lies."""

from __future__ import annotations

import numpy as np

from dovetail.kernel.ahead import write_soon
from dovetail.kernel.kernel import kernel


@kernel
def _fill(values, numbers):
    for k in range(len(values)):
        write_soon(values, k + 16)
        write_soon(numbers, k + 1000)
        values[k, 0], numbers[k] = 2.0 * k, k


def test_arrays_have_what_was_written_and_nothing_else():
    values, numbers = np.full((40, 3), -1.0), np.full(40, -1)
    _fill(values, numbers)
    np.testing.assert_array_equal(values[:, 0], 2.0 * np.arange(40))
    assert (values[:, 1:] == -1.0).all() and (numbers == np.arange(40)).all()

"""Buffers and pools: memory that is used again, but never while someone has it."""

from __future__ import annotations

import numpy as np

from dovetail.kernel.buffers import Pool


def place(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_a_pool_gives_memory_again_once_nobody_has_any_of_it():
    pool = Pool()
    first = pool.rows(100_000, 5, np.float64)
    assert first.shape == (100_000, 5) and first.dtype == np.float64
    at, part = place(first), first[10:20, 1]
    del first
    part[:] = 7.0
    second = pool.rows(100_000, 5, np.float64)
    second[:] = 1.0
    assert place(second) != at and (part == 7.0).all()  # a part of it is had still
    del part
    third = pool.rows(90_000, 5, np.int64)  # of any type that is as wide, and a little smaller
    assert place(third) == at and third.dtype == np.int64
    assert place(pool.rows(100_000, 2, np.float64)) not in (at, place(second))


def test_a_small_array_costs_a_pool_no_large_one():
    pool = Pool()
    large = pool.rows(2_000_000, 8, np.int64)
    at = place(large)
    del large
    small = pool.rows(20_000, 8, np.int64)
    assert place(small) != at and place(pool.rows(2_000_000, 8, np.int64)) == at


def test_a_pool_keeps_neither_what_is_far_too_large_nor_many_arrays():
    pool = Pool()
    large = pool.rows(1_000_000, 8, np.int64)
    del large
    had = [pool.rows(20_000, 8, np.int64) for _ in range(20)]
    assert len({place(array) for array in had}) == 20
    assert len(pool._kept[8]) <= 8 and max(len(array) for array in pool._kept[8]) < 1_000_000

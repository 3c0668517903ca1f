"""Buffers and pools: memory that is used again, but never while someone has it."""

from __future__ import annotations

import numpy as np

from dovetail.kernel.buffers import Pool


def place(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def rows(pool: Pool, size: int, columns: int = 8, kind: type = np.int64) -> np.ndarray:
    (found,) = pool.rows(size, (columns, kind))
    return found


def test_a_pool_gives_memory_again_once_nobody_has_any_of_it():
    pool = Pool()
    first = rows(pool, 100_000, 5, np.float64)
    assert first.shape == (100_000, 5) and first.dtype == np.float64
    at, part = place(first), first[10:20, 1]
    del first
    part[:] = 7.0
    second = rows(pool, 100_000, 5, np.float64)
    second[:] = 1.0
    assert place(second) != at and (part == 7.0).all()  # a part of it is had still
    del part
    third = rows(pool, 60_000, 8)  # of any shape and kind that takes no more room
    assert place(third) == at and third.dtype == np.int64
    assert place(rows(pool, 100_000, 5)) not in (at, place(second))


def test_arrays_of_one_list_share_a_room_and_no_number():
    pool = Pool()
    pairs, numbers = pool.rows(100_000, (8, np.int64), (2, np.float64))
    pairs[:], numbers[:] = 1, 2.0
    assert (pairs == 1).all() and pairs.shape == (100_000, 8)
    assert (numbers == 2.0).all() and numbers.shape == (100_000, 2) and numbers.flags.c_contiguous
    at = place(pairs)
    del pairs
    other = rows(pool, 100_000)
    assert place(other) != at  # a part of the list is had still
    del numbers
    assert place(rows(pool, 100_000)) == at


def test_a_small_array_costs_a_pool_no_large_one():
    pool = Pool()
    large = rows(pool, 2_000_000)
    at = place(large)
    del large
    small = rows(pool, 20_000)
    assert place(small) != at and place(rows(pool, 2_000_000)) == at


def test_a_pool_keeps_neither_what_is_far_too_large_nor_many_rooms():
    pool = Pool()
    had = [rows(pool, 1_000_000), *(rows(pool, 20_000) for _ in range(20))]
    assert len({place(array) for array in had}) == 21
    del had
    rows(pool, 20_000)
    assert len(pool._free) <= 6 and max(len(room) for room in pool._free) < 1_000_000

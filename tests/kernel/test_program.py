"""Kernels that kernels call by address."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.kernel.bounds import CHECKED
from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.kernel.program import RESULT, Program, call, has_failed
from dovetail.kernel.record import Record, f8, integer

pytestmark = pytest.mark.skipif(not jit_enabled, reason="programs are for compiled kernels")


class Pair(Record):
    weight: object = f8(1)
    shift: int = integer()


@kernel
def weigh(pair, none, values, both, scale, count, wanted):
    """Arguments of every kind: values (n, 2) ← …, and a number from all of them."""
    total = 0.0
    for i in range(len(values)):
        for k in range(2):
            values[i, k] = scale * pair.weight[i] + both[k][i]
            total += values[i, k]
    if none is not None:
        total += 1e6
    return int(total) + count + pair.shift if wanted else -1


@kernel
def twice(words, place):
    """Call it two times; the sum of its results."""
    status = call(words, place)
    first = words[place + RESULT]
    status += call(words, place)
    return status, first + words[place + RESULT]


@kernel
def refuse(values):
    if values[0] > 0.0:
        raise ValueError("no")


def arguments():
    pair = Pair(weight=np.array([1.0, 2.0, 3.0]), shift=7)
    both = np.array([10.0, 20.0, 30.0]), np.array([100.0, 200.0, 300.0])
    return pair, None, np.zeros((3, 2)), both, 0.5, 4, True


def test_a_call_by_address_is_the_call():
    args = arguments()
    expected = weigh(*args)
    values = args[2].copy()
    program, other = Program(), arguments()
    program.add(weigh, *arguments())
    place = program.add(weigh, *other)
    assert place > 0
    status, total = twice(program.words(), place)
    assert (status, total) == (0, 2 * expected)
    np.testing.assert_array_equal(other[2], values)


def test_words_of_an_argument_can_be_put_in_place_of_others():
    program, args = Program(), arguments()
    place = program.add(weigh, *args)
    words = program.words()
    heavier = Pair(weight=np.array([3.0, 4.0, 5.0]), shift=1000)
    words[program.argument(place, 0)] = heavier._pointer
    words[program.argument(place, 5)] = 40
    _, total = twice(words, place)
    assert total == 2 * weigh(heavier, *arguments()[1:5], 40, True)


@pytest.mark.skipif(CHECKED, reason="where bounds are checked, a kernel that fails is an error at once")
def test_a_call_that_fails_is_not_forgotten():
    program, values = Program(), np.ones(1)
    place = program.add(refuse, values)
    words = program.words()
    assert twice(words, place)[0] != 0
    values[0] = -1.0
    assert twice(words, place)[0] == 0
    assert has_failed(words)
    twice(words, place)
    assert not has_failed(words)

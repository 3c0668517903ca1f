"""Kernels that leave their arrays on purpose, and what each is told: to be run with DOVETAIL_BOUNDS=1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.kernel.emit import emitted
from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.program import Program, call
from dovetail.kernel.record import Record, f8
from dovetail.kernel.spin import store
from dovetail.kernel.threads import Spans, map_chunks, map_phases, using
from dovetail.solver.linear.block12 import subtract_times
from dovetail.solver.natural import natural


class Pair(Record):
    values: np.ndarray = f8(2)


@kernel
def put(A, k):
    A[k] = 1.0


@kernel
def put_within(A, k):
    put(A, k)


@kernel
def put_entry(pair, k):
    pair.values[0, k] = 1.0


@kernel
def row(A, k):
    return A[k][0]


@kernel
def slices(A, k):
    A[k, 1:] = 1.0


@kernel
def last(A):
    return A[-1]


@kernel
def promise(A, k):
    return A[natural(k)]


@mapped
def chunk(A, span):
    for k in range(span[1], span[2] + 1):
        A[k] += 1.0


@kernel
def by_address(words, place):
    call(words, place)
    call(words, place)


@emitted("A, k")
def lanes(e):
    e.lanes(0, e.index(1)).put(0, e.lanes(0, e.integer(0)).at(0))


@kernel
def in_lanes(A, k):
    lanes(A, k)


@kernel
def blocks(Y, a, U, b):
    subtract_times(Y, a, U, b, Y, a)


@kernel
def say(words, k):
    store(words, k, 7)


def tell(name: str, function: Callable[[], object]) -> None:
    try:
        function()
    except IndexError as error:
        print(f"{name}: {error}")
    else:
        print(f"{name}: fine")


def main() -> None:
    one, two, eight = np.zeros(3), np.zeros((3, 2)), np.zeros(24)
    tell("last entry", lambda: (put(one, 2), last(one), in_lanes(eight, 16), promise(one, 2)))
    tell("beyond", lambda: put(one, 3))
    tell("below", lambda: put(one, -1))
    tell("inner", lambda: put_within(one, 3))
    tell("record", lambda: put_entry(Pair(values=two), 2))
    tell("row", lambda: row(two, 3))
    tell("slices", lambda: slices(two, 3))
    tell("natural", lambda: promise(one, -1))
    program = Program()
    place = program.add(put, one, 3)
    words = program.words()
    tell("by address", lambda: by_address(words, place))
    tell("no call", lambda: by_address(words, len(words)))
    tell("lanes", lambda: in_lanes(eight, 17))
    tell("blocks", lambda: blocks(np.zeros((2, 12)), 1, np.zeros((1, 12, 12)), 1))
    tell("words", lambda: say(np.zeros(2, np.int64), 2))
    with using(2):
        tell("chunks", lambda: map_chunks(chunk, Spans(100, 4, 1e6), np.zeros(100)))
        tell("phases", lambda: map_phases(chunk, ((Spans(100, 4, 1e6), 1),), np.zeros(100)))


if __name__ == "__main__":
    main()

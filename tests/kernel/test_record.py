"""Records: what a kernel sees of them is what Python does."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, b1, f8, i8, integer, nested, real
from dovetail.typing import Array, Flags, Indices


class _Inner(Record):
    weight: Array = f8(1)
    share: float = real()


class _Outer(Record):
    first: int = integer()
    matrix: Array = f8(3)
    chosen: Indices = i8(1)
    flags: Flags = b1(1)
    inner: _Inner = nested(_Inner)


@kernel
def _sum(r: _Outer) -> float:
    total = 0.0
    for k in range(r.first, len(r.chosen)):
        if r.flags[k]:
            total += r.inner.share * r.matrix[r.chosen[k], 1, 2] * r.inner.weight[k]
    return total


@kernel
def _fill(r: _Outer, value: float) -> None:
    for k in range(r.matrix.shape[0]):
        r.matrix[k, 0, 1] = value


def _made() -> _Outer:
    inner = _Inner(weight=np.array([1.0, 2.0, 4.0]), share=0.5)
    matrix = np.arange(24.0).reshape(4, 2, 3)
    return _Outer(first=1, matrix=matrix, chosen=np.array([3, 0, 2]), flags=np.array([True, True, True]), inner=inner)


def test_a_kernel_reads_arrays_and_numbers_of_records_in_records():
    assert _sum(_made()) == 0.5 * (5.0 * 2.0 + 17.0 * 4.0)


def test_what_a_kernel_writes_is_in_the_array():
    record = _made()
    _fill(record, 7.0)
    assert (record.matrix[:, 0, 1] == 7.0).all()


def test_a_kernel_sees_what_is_set_afterwards():
    record = _made()
    record.first = 2
    record.inner.share = 1.0
    record.inner.weight = np.array([0.0, 0.0, 10.0, 1.0])
    record.matrix = np.ones((5, 2, 3))
    assert _sum(record) == 10.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("matrix", np.zeros((2, 3))),
        ("matrix", np.zeros((2, 3, 4), np.float32)),
        ("matrix", np.zeros((4, 3, 2)).T),
        ("chosen", [1, 2]),
        ("inner", 5),
    ],
)
def test_what_kernels_could_not_read_is_refused(name, value):
    with pytest.raises(TypeError, match=name):
        setattr(_made(), name, value)


def test_all_attributes_must_be_given():
    with pytest.raises(TypeError, match="_Inner takes weight, share"):
        _Inner(weight=np.zeros(1))

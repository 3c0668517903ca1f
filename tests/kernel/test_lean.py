"""Numba's stages made cheaper: the same answers, and nothing of it remains."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numba import njit
from numba.core import ir
from numba.core.compiler import Flags, run_frontend
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys
from numba.core.runtime.context import NRTContext

from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.kernel.lean import lean

pytestmark = pytest.mark.skipif(not jit_enabled, reason="nothing is compiled")


def largest(pair, values):
    found = max(pair)
    for k in range(len(values)):
        found = max(found, values[k] + pair[0])
    return found


def test_variables_and_options_are_the_same():
    def variables():
        return [[v.name for v in line.list_vars()] for b in code.blocks.values() for line in b.body]

    code = run_frontend(largest)
    usual = variables()
    plain, same, other = Flags(), Flags(), Flags()
    same.nrt, other.nrt = plain.nrt, not plain.nrt
    assert not same.is_set("fastmath") and same.is_set("nrt") and not plain.is_set("nrt")
    assert plain == same != other
    with lean():
        assert variables() == usual and any(usual)
        assert plain == same != other and hash(plain) == hash(same) and plain != 0


def test_nothing_remains():
    def replaced():
        return (
            Flags.__eq__,
            Flags.__hash__,
            NRTContext.get_meminfos,
            ir.Inst._rec_list_vars,
            context.resolve_function_type,
        )

    context = type(cpu_target.typing_context)
    usual = replaced()
    with pytest.raises(ZeroDivisionError), lean(), lean():
        assert all(a is not b for a, b in zip(replaced(), usual, strict=True)) and not gc.isenabled()
        raise ZeroDivisionError
    assert replaced() == usual and gc.isenabled()


def test_builtins_keep_the_options_of_their_caller():
    made = kernel(largest)
    assert made((1.0, 2.0), np.ones(3)) == 2.0
    exact = njit(largest)
    assert exact((1.0, 2.0), np.ones(3)) == 2.0
    assert "reassoc" not in "".join(exact.inspect_llvm().values()), "a user's function got the kernels' fast arithmetic"


@kernel
def _halves(a):
    return a[::2].copy(), a[1::2]


@kernel
def _shuffle(a, times):
    b = np.zeros(len(a))
    for _ in range(times):
        even, odd = _halves(a)
        b[: len(even)], b[len(even) :] = even, odd
        a = b.copy()
    return a


def test_all_owners_are_counted():
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        found = _shuffle(np.arange(8.0), 3)
        assert found.tolist() == list(range(8))  # three perfect shuffles of eight
        del found
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc > before.alloc and after.alloc - after.free == before.alloc - before.free

"""The 12×12 block operations that kernels call: SIMD when compiled, plain loops when JIT is off."""

from __future__ import annotations

from dovetail.kernel.kernel import jit_enabled

if jit_enabled:
    from dovetail.solver.linear import block12_simd as _implementation
else:
    from dovetail.solver.linear import block12_plain as _implementation  # type: ignore[no-redef]

__all__ = [
    "add_gram",
    "cholesky",
    "signed_cholesky",
    "subtract_gram",
    "subtract_product",
    "subtract_times",
    "subtract_transposed_times",
    "upper_solve",
    "upper_transposed_solve",
    "upper_transposed_solve_block",
]

add_gram = _implementation.add_gram
cholesky = _implementation.cholesky
signed_cholesky = _implementation.signed_cholesky
subtract_gram = _implementation.subtract_gram
subtract_product = _implementation.subtract_product
subtract_times = _implementation.subtract_times
subtract_transposed_times = _implementation.subtract_transposed_times
upper_solve = _implementation.upper_solve
upper_transposed_solve = _implementation.upper_transposed_solve
upper_transposed_solve_block = _implementation.upper_transposed_solve_block

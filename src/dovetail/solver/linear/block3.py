"""The 3×3 block operations that kernels call: SIMD when compiled, plain loops when JIT is off."""

from __future__ import annotations

from dovetail.kernel.kernel import jit_enabled

if jit_enabled:
    from dovetail.solver.linear import block3_simd as _implementation
else:
    from dovetail.solver.linear import block3_plain as _implementation  # type: ignore[no-redef]

__all__ = ["product", "subtract_product"]

product = _implementation.product
subtract_product = _implementation.subtract_product

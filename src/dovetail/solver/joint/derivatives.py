"""Registered functions put to the test: do they stay within their arrays, and are their derivatives right?

The compiled function is called as the kernels call it, through bare pointers, with its arrays between guards.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dovetail.checked import shown
from dovetail.errors import ConstitutionError
from dovetail.kernel.kernel import jit_enabled
from dovetail.solver.joint.function import Coordinate, EnergyFunction, Law
from dovetail.typing import Array, ArrayLike

__all__ = ["Function", "check_derivatives", "complaint", "refuse_stray_indices"]

Function: TypeAlias = EnergyFunction | Coordinate | Law

# Differences of fourth order, f′ ≈ Σ wₖ f(x + kδ)/δ: the truncation δ⁴ and the round-off 1e-16/δ both stay near 1e-12.
_STEP = 1e-3
_ROUNDING = 1e-12  # of what is differenced: 1e-16 each for some values, divided by the step
_WEIGHTS = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))


def complaint(function: Any, problem: str) -> ConstitutionError:
    """An error about a function that says where it is defined."""
    code = function.__code__
    return ConstitutionError(
        f"{function.__name__}: the function in line {code.co_firstlineno} of {code.co_filename} {problem}."
    )


# ---- calling ----------------------------------------------------------------------------------------------


def _size(made: Function) -> int:
    return 1 if isinstance(made, Law) else 3 * made.rows


def _parameters(made: Function) -> tuple[str, ...]:
    return () if isinstance(made, Coordinate) else made.parameters


def _call(made: Function, F: Array, p: Array, exact: float, guard: float = np.nan) -> tuple[float, Array, Array]:
    """Value, first (n,) and second (n, n) derivatives at F (n,); a guard that has changed is an error."""
    n = len(F)
    sizes = (n, len(p), 3) if isinstance(made, Law) else (n, len(p), n, n * n)
    margin = max(64, *sizes) if jit_enabled else 0
    buffers = [np.full(size + 2 * margin, guard) for size in sizes]
    arrays = [buffer[margin : margin + size] for buffer, size in zip(buffers, sizes, strict=True)]
    for array, content in zip(arrays, (F, p, 0.0, 0.0), strict=False):
        array[:] = content
    arguments: list[Any]
    if isinstance(made, EnergyFunction):
        arguments = [arrays[0], arrays[1], exact, arrays[2], arrays[3]]
    elif isinstance(made, Coordinate):
        arguments = [arrays[0], exact, arrays[2], arrays[3]]
    else:
        arguments = [float(F[0]), arrays[1], arrays[2]]
    if jit_enabled:
        pointer = ctypes.POINTER(ctypes.c_double)
        value = made.pointer(*(a if isinstance(a, float) else a.ctypes.data_as(pointer) for a in arguments))
    else:
        value = made.function(*arguments)
    for buffer, size in zip(buffers, sizes, strict=True):
        outside = np.delete(buffer, slice(margin, margin + size))
        if not np.array_equal(outside, np.full_like(outside, guard), equal_nan=True):
            raise _stray(made, "writes to")
    if isinstance(made, Law):
        return float(value), arrays[2][:1], arrays[2][1:2].reshape(1, 1)
    return float(value), arrays[2], arrays[3].reshape(n, n)


def _stray(made: Function, does: str) -> ConstitutionError:
    listed = [] if isinstance(made, Law) else [f"with rows={made.rows} F has {_size(made)} numbers"]
    if not isinstance(made, Coordinate):
        listed.append(f"p has {len(made.parameters)} {made.parameters}")
    if isinstance(made, Law):
        listed.append("d has 3")
    return complaint(
        made.function, f"{does} an entry that is not there: {', '.join(listed)}; correct the index or the decorator"
    )


def refuse_stray_indices(made: Function) -> None:
    """Run it between two kinds of guards: writing outside of its arrays destroys them, reading there shows."""
    F = np.random.default_rng(1).normal(size=_size(made))
    p = np.ones(len(_parameters(made)))
    results = []
    for guard in (1.25, -0.75):
        value, first, second = _call(made, F, p, 1.0, guard)
        results.append(np.concatenate([[value], first, second.ravel()]))
    if not np.array_equal(results[0], results[1], equal_nan=True):
        raise _stray(made, "reads")


# ---- comparing --------------------------------------------------------------------------------------------


@dataclass
class _Worst:
    """The largest relative error of one derivative so far, and what was compared there."""

    what: str
    error: float = 0.0
    text: str = ""

    def compare(self, point: int, given: Array, expected: Array, size: float) -> None:
        """`size` is that of the values whose differences are expected."""
        scale = max(float(np.abs(given).max()), float(np.abs(expected).max()))
        difference = np.nan_to_num(np.abs(given - expected), nan=np.inf)
        # what round-off explains is no error; 1e-9 is as good as zero
        error = max(0.0, float(difference.max()) - _ROUNDING * size) / max(scale, 1e-9)
        if error > self.error:
            at = tuple(int(i) for i in np.unravel_index(difference.argmax(), difference.shape))
            index = ", ".join(map(str, at))
            self.error = error
            self.text = f"{self.what}[{index}] = {given[at]:.9g} at point {point}, differences give {expected[at]:.9g}"


def check_derivatives(
    function: Function,
    at: ArrayLike | None = None,
    parameters: ArrayLike | None = None,
    points: int = 16,
    tolerance: float = 1e-6,
) -> None:
    """Compare the derivatives of an energy, a coordinate or a law with finite differences.

        check_derivatives(helix)
        check_derivatives(damper, at=[-0.1, 0.0, 0.3], parameters=[2.0, 0.1, 0.01])

    `at` are the points: F (k, rows, 3), or x (k,) for a law; by default random ones of order one. `parameters` are
    p, one set (q,) or one per point (k, q); by default between ½ and 1½. Prints how well they agree. A relative
    error above `tolerance` is a ConstitutionError that shows the worst entry; so is a negative eigenvalue of H
    where exact is 0, a negative φ″, or a function that says something else with exact = 0 than with 1.
    """
    if not isinstance(function, Function):
        raise ConstitutionError(
            f"check_derivatives: got {shown(function)}; give a function decorated with @energy, @coordinate or @law."
        )
    first, second = _Worst("the first derivative"), _Worst("the second derivative")
    count = 0
    for point, F, p in _points(function, at, parameters, points):
        count += 1
        value, gradient, hessian = _call(function, F, p, 1.0)
        if not np.isfinite([value, *gradient, *hessian.ravel()]).all():
            raise complaint(
                function.function,
                f"gives {value:.3g} at point {point}, or a derivative that is not a finite number; choose points `at` "
                "which it is defined",
            )
        first.compare(point, gradient, _differences(function, F, p, value, 0), abs(value))
        second.compare(point, hessian, _differences(function, F, p, value, 1), float(np.abs(gradient).max()))
        _check_safe_form(function, point, F, p, tolerance)
    for worst in (first, second):
        if not worst.error <= tolerance:
            raise complaint(function.function, f"has a wrong derivative: {worst.text}; correct it")
    print(
        f"{function.name}: at {count} points the first derivative agrees with differences to {first.error:.1e}, "
        f"the second to {second.error:.1e}."
    )


def _points(
    made: Function, at: ArrayLike | None, parameters: ArrayLike | None, points: int
) -> Iterator[tuple[int, Array, Array]]:
    """Number, F and p of every point."""
    rng = np.random.default_rng(0)
    n, q = _size(made), len(_parameters(made))
    places = rng.normal(size=(points, n)) if at is None else np.asarray(at, float).reshape(-1, n)
    p = rng.uniform(0.5, 1.5, (len(places), q)) if parameters is None else np.asarray(parameters, float)
    if p.shape[-1:] != (q,):
        raise complaint(made.function, f"takes {q} parameters {_parameters(made)}; parameters has shape {p.shape}")
    p = np.broadcast_to(p, (len(places), q))
    return zip(range(len(places)), places, p, strict=True)


def _differences(made: Function, F: Array, p: Array, value: float, order: int) -> Array:
    """∂value/∂F (n,) for order 0, ∂gradient/∂F (n, n) for order 1."""
    columns = []
    for i in range(len(F)):
        total: Any = 0.0
        for steps, weight in _WEIGHTS:
            moved = F.copy()
            moved[i] += steps * _STEP
            result = _call(made, moved, p, 1.0)[order]
            if order == 0 and isinstance(made, Coordinate) and made.period > 0.0:
                result = value + np.remainder(result - value + made.period / 2, made.period) - made.period / 2
            total = total + weight * np.asarray(result) / _STEP
        columns.append(total)
    return np.stack(columns, axis=-1)


def _check_safe_form(made: Function, point: int, F: Array, p: Array, tolerance: float) -> None:
    """What is used far from the solution must be convex, and the same function otherwise."""
    value, gradient, hessian = _call(made, F, p, 0.0)
    true_value, true_gradient, _ = _call(made, F, p, 1.0)
    if value != true_value or not np.allclose(gradient, true_gradient, tolerance, tolerance):
        raise complaint(
            made.function,
            f"gives another value or gradient with exact = 0 than with 1 at point {point}; only H may differ",
        )
    if isinstance(made, Coordinate):
        return
    smallest, size = float(np.linalg.eigvalsh(hessian)[0]), float(np.abs(hessian).max())
    if smallest < -tolerance * size:
        what = "φ″ =" if isinstance(made, Law) else "H with exact = 0 has the eigenvalue"
        raise complaint(
            made.function, f"is not convex at point {point}: {what} {smallest:.3g}; leave out what makes it negative"
        )

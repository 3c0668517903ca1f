"""Scalar functions that joints are made of, compiled once and called by address from the shared loops.

Three kinds, all on flat arrays (component a of row r of F is F[3*r + a]):

    energy       psi(F, p, exact, g, H) → ψ        g (3m) ← ∂ψ/∂F,  H (3m·3m) ← ∂²ψ/∂F²;  m rows, parameters p
    coordinate   x(F, exact, dx, d2x) → x          dx (3m) ← ∂x/∂F, d2x (3m·3m) ← ∂²x/∂F² (not read with exact = 0)
    law          phi(x, p, d) → φ                  d[0] ← φ′, d[1] ← φ″

g, H, dx, d2x arrive filled with zeros. With exact = 0 an energy must return a positive semi-definite H (drop what
might not be); with exact = 1 the true one. A law must have φ″ ≥ 0.

A function is plain Python that Numba can compile. It is registered by its decorator, and the derivative tests run
over the registry, so nothing can be added unchecked. Calling by address costs a nanosecond or two; in exchange
the loops that gather, pull back and assemble are compiled once for all functions, also for those that users
write.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from llvmlite import ir
from numba import cfunc, types
from numba.extending import intrinsic

from dovetail.errors import ConstitutionError
from dovetail.kernel.bounds import check_index
from dovetail.kernel.kernel import FASTMATH, cached_callback, jit_enabled, kernel

__all__ = [
    "COORDINATES",
    "ENERGIES",
    "LAWS",
    "Coordinate",
    "EnergyFunction",
    "Law",
    "call_coordinate",
    "call_energy",
    "call_law",
    "coordinate",
    "energy",
    "law",
    "nearest",
    "parabola",
]

_PACKAGE = Path(__file__).parents[2]


@dataclass(frozen=True)
class _Function:
    """A registered function with its compiled address."""

    name: str
    function: Callable[..., float]
    pointers: tuple[bool, ...] = field(repr=False)

    @cached_property
    def _compiled(self) -> Any:
        if _PACKAGE in Path(self.function.__code__.co_filename).parents:
            return cached_callback(self.function, self.pointers)
        pointer = types.CPointer(types.float64)
        signature = types.float64(*(pointer if p else types.float64 for p in self.pointers))
        return cfunc(signature, fastmath=FASTMATH, error_model="numpy")(self.function)

    @property
    def address(self) -> Any:
        """What kernels take: an address, or the function itself when JIT is off."""
        return self._compiled.address if jit_enabled else self.function

    @property
    def pointer(self) -> Any:
        """The compiled function as Python can call it, with ctypes pointers and numbers."""
        return self._compiled.ctypes


@dataclass(frozen=True)
class EnergyFunction(_Function):
    """ψ of `rows` rows of F; `parameters` names the entries of p, with units."""

    rows: int = 1
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Coordinate(_Function):
    """x of `rows` rows of F; `period` > 0 for an angle, which is then unwrapped to the committed value."""

    rows: int = 1
    period: float = 0.0


@dataclass(frozen=True)
class Law(_Function):
    """φ of a coordinate; `parameters` names the entries of p."""

    parameters: tuple[str, ...] = ()


ENERGIES: dict[str, EnergyFunction] = {}
COORDINATES: dict[str, Coordinate] = {}
LAWS: dict[str, Law] = {}

_Kind = TypeVar("_Kind", EnergyFunction, Coordinate, Law)


def _registering(
    registry: dict[str, _Kind], kind: type[_Kind], pointers: tuple[bool, ...], *more: Any
) -> Callable[[Callable[..., float]], _Kind]:
    """A decorator that puts a function into a registry, under its name.

    The name is free, or an earlier version of the same function has it (notebooks run cells again).
    """

    def decorate(function: Callable[..., float]) -> _Kind:
        name, known = function.__name__, registry.get(function.__name__)
        if known is not None and not _is_new_version(known.function, function):
            code = known.function.__code__
            raise ConstitutionError(
                f"{name}: a function of that name is already registered, line {code.co_firstlineno} of "
                f"{code.co_filename}; give yours another name."
            )
        registry[name] = kind(name, function, pointers, *more)
        return registry[name]

    return decorate


def _is_new_version(old: Any, new: Any) -> bool:
    """Whether `new` is the definition of `old` run again: no other function, nor the same around other values."""
    closures = [repr([cell.cell_contents for cell in f.__closure__ or ()]) for f in (old, new)]
    return (old.__module__, old.__qualname__) == (new.__module__, new.__qualname__) and (
        old.__code__ is not new.__code__ or closures[0] == closures[1]
    )


def energy(rows: int, parameters: tuple[str, ...]) -> Callable[[Callable[..., float]], EnergyFunction]:
    """Register psi(F, p, exact, g, H) under its name."""
    return _registering(ENERGIES, EnergyFunction, (True, True, False, True, True), rows, parameters)


def coordinate(rows: int, period: float = 0.0) -> Callable[[Callable[..., float]], Coordinate]:
    """Register x(F, exact, dx, d2x) under its name."""
    return _registering(COORDINATES, Coordinate, (True, False, True, True), rows, period)


def law(parameters: tuple[str, ...]) -> Callable[[Callable[..., float]], Law]:
    """Register phi(x, p, d) under its name."""
    return _registering(LAWS, Law, (False, True, True), parameters)


_DOUBLE = ir.DoubleType()
_POINTER = _DOUBLE.as_pointer()


def _data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Pointer to the first number of an array argument."""
    return context.make_array(kind)(context, builder, value).data


def _row(context: Any, builder: Any, kinds: Any, values: Any, array: int, index: int) -> Any:
    """Pointer to row values[index] of the two-dimensional array argument values[array]."""
    view = context.make_array(kinds[array])(context, builder, values[array])
    stride = builder.extract_value(view.shape, 1)
    row = context.cast(builder, values[index], kinds[index], types.int64)
    check_index(context, builder, row, builder.extract_value(view.shape, 0), 0)
    return builder.gep(view.data, [builder.mul(row, stride)])


def _invoke(builder: Any, address: Any, arguments: list[Any]) -> Any:
    function = ir.FunctionType(_DOUBLE, [argument.type for argument in arguments])
    return builder.call(builder.inttoptr(address, function.as_pointer()), arguments)


def _energy_intrinsic(context: Any, address: Any, F: Any, p: Any, k: Any, exact: Any, g: Any, H: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, a: Any) -> Any:
        t = signature.args
        arguments = [
            _data(target, builder, t[1], a[1]),
            _row(target, builder, t, a, 2, 3),
            a[4],
            _data(target, builder, t[5], a[5]),
            _data(target, builder, t[6], a[6]),
        ]
        return _invoke(builder, a[0], arguments)

    return types.float64(types.int64, F, p, k, types.float64, g, H), generate


def _coordinate_intrinsic(context: Any, address: Any, F: Any, exact: Any, dx: Any, d2x: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, a: Any) -> Any:
        F, dx, d2x = (_data(target, builder, signature.args[i], a[i]) for i in (1, 3, 4))
        return _invoke(builder, a[0], [F, a[2], dx, d2x])

    return types.float64(types.int64, F, types.float64, dx, d2x), generate


def _law_intrinsic(context: Any, address: Any, x: Any, p: Any, at: Any, d: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, a: Any) -> Any:
        t = signature.args
        place, array = target.cast(builder, a[3], t[3], types.int64), target.make_array(t[2])(target, builder, a[2])
        check_index(target, builder, place, array.nitems, name="the parameters of laws")
        parameters = builder.gep(array.data, [place])
        return _invoke(builder, a[0], [a[1], parameters, _data(target, builder, t[4], a[4])])

    return types.float64(types.int64, types.float64, p, at, d), generate


if jit_enabled:
    call_energy = intrinsic(_energy_intrinsic)
    call_coordinate = intrinsic(_coordinate_intrinsic)
    call_law = intrinsic(_law_intrinsic)
else:

    def call_energy(function: Any, F: Any, p: Any, k: int, exact: float, g: Any, H: Any) -> float:
        """ψ of row k of the parameters."""
        return float(function(F, p[k], exact, g, H))

    def call_coordinate(function: Any, F: Any, exact: float, dx: Any, d2x: Any) -> float:
        """x and its derivatives."""
        return float(function(F, exact, dx, d2x))

    def call_law(function: Any, x: float, p: Any, at: int, d: Any) -> float:
        """φ with the parameters p[at] and following."""
        return float(function(x, p[at:], d))


@kernel
def parabola(weight: float, away: float, d: Any) -> float:
    """φ = weight/2 away², with its derivatives."""
    d[0] = weight * away
    d[1] = weight
    return 0.5 * weight * away * away


@kernel
def nearest(x: float, period: float, reference: float) -> float:
    """x moved by whole periods to the branch nearest the reference."""
    if period > 0.0:
        return x + period * math.floor((reference - x) / period + 0.5)
    return x

"""Joints of your own: energies, coordinates and laws as plain functions, and the words to build joints from them.

A joint class lists words; a word names a function, the rows it acts on and where its parameters come from
(`dovetail.constitution.terms` has the vocabulary). A hinge that resists being turned, −c·θ̇, is

    @law(parameters=("c [N·m·s]", "θₙ [rad]", "h [s]"))
    def damper(x, p, d):
        d[0] = p[0] * p[2] * (x - p[1])
        d[1] = p[0] * p[2]
        return 0.5 * p[0] * p[2] * (x - p[1]) ** 2

    class Damper(Law):
        function = "damper"
        parameters = (Parameter("damping"), Parameter(start=True), Parameter(step=True))

    class DampedHinge(AffineBodyRevoluteJoint, uid=2**32 + 1):
        terms = (*AffineBodyRevoluteJoint.terms, Compose(Damper(), Angle()))
        attributes = {"damping": 0.0}

    check_derivatives(damper)

The three kinds of functions, on flat arrays (component a of row r of F is F[3*r + a]):

    @energy(rows=m, parameters=…)       psi(F, p, exact, g, H) → ψ       g ← ∂ψ/∂F,  H[3m*i + j] ← ∂²ψ/∂F_i∂F_j
    @coordinate(rows=m, period=0.0)     x(F, exact, dx, d2x) → x         dx ← ∂x/∂F, d2x[3m*i + j] ← ∂²x/∂F_i∂F_j
    @law(parameters=…)                  phi(x, p, d) → φ                 d[0] ← φ′,  d[1] ← φ″ ≥ 0

g, H, dx, d2x arrive filled with zeros; d2x is read only where exact is 1. Where exact is 0, H must have no negative
eigenvalue: leave out what might give one. `period` says by how much x jumps, as an angle does at ±π; x is then
continued from step to step. ψ and φ are energies [J] times h², so −φ′/h² is a force [N] or torque [N·m]. Functions
are compiled where they are defined and may use numbers, loops, conditions and `math`. UIDs from 2³² on are yours.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

from dovetail.checked import checked, shown
from dovetail.constitution.joint import EdgeJoint, VertexJoint
from dovetail.constitution.laws import Damper, DryFriction, Hold, Limit, Servo, Spring
from dovetail.constitution.terms import (
    Angle,
    Bearing,
    Coincide,
    Compose,
    Coordinate,
    Cosine,
    Helix,
    Law,
    Length,
    Parameter,
    Projection,
    Slide,
    Term,
)
from dovetail.errors import ConstitutionError
from dovetail.kernel.kernel import jit_enabled
from dovetail.solver import coordinate as _coordinates  # noqa: F401  the built-in names are taken
from dovetail.solver import law as _laws  # noqa: F401
from dovetail.solver.joint import function as _solver
from dovetail.solver.joint.derivatives import check_derivatives, complaint, refuse_stray_indices

__all__ = [
    "Angle",
    "Bearing",
    "Coincide",
    "Compose",
    "Coordinate",
    "Cosine",
    "Damper",
    "DryFriction",
    "EdgeJoint",
    "Helix",
    "Hold",
    "Law",
    "Length",
    "Limit",
    "Parameter",
    "Projection",
    "Servo",
    "Slide",
    "Spring",
    "Term",
    "VertexJoint",
    "check_derivatives",
    "coordinate",
    "energy",
    "law",
]

_Kind = TypeVar("_Kind", _solver.EnergyFunction, _solver.Coordinate, _solver.Law)
_Definition = Callable[..., float]

_ADVICE = "use numbers, loops, conditions, math functions, and single entries of the arrays it is given"


# ---- decorators --------------------------------------------------------------------------------------------


def energy(rows: int, parameters: tuple[str, ...] = ()) -> Callable[[_Definition], _solver.EnergyFunction]:
    """Register psi(F, p, exact, g, H), an energy of `rows` rows; `parameters` names the entries of p, with units."""
    decorate = _solver.energy(rows, _names("energy", parameters))
    return lambda function: _add(_solver.ENERGIES, decorate, function, "(F, p, exact, g, H)")


@checked(ConstitutionError)
def coordinate(rows: int, period: float = 0.0) -> Callable[[_Definition], _solver.Coordinate]:
    """Register x(F, exact, dx, d2x), a scalar of `rows` rows that jumps by `period`, 0 if it never does."""
    decorate = _solver.coordinate(rows, period)
    return lambda function: _add(_solver.COORDINATES, decorate, function, "(F, exact, dx, d2x)")


def law(parameters: tuple[str, ...] = ()) -> Callable[[_Definition], _solver.Law]:
    """Register phi(x, p, d), an energy of one scalar; `parameters` names the entries of p, with units."""
    decorate = _solver.law(_names("law", parameters))
    return lambda function: _add(_solver.LAWS, decorate, function, "(x, p, d)")


def _names(kind: str, parameters: Any) -> tuple[str, ...]:
    if not isinstance(parameters, (tuple, list)) or not all(isinstance(name, str) for name in parameters):
        raise ConstitutionError(
            f"{kind}: parameters = {shown(parameters)}; give a tuple with a name for each entry of p, ('c [N·m·s]',)."
        )
    return tuple(parameters)


def _add(
    registry: dict[str, _Kind], decorate: Callable[[_Definition], _Kind], function: _Definition, arguments: str
) -> _Kind:
    """Register a function once it is known to compile and to stay within its arrays."""
    takes = len(inspect.signature(function).parameters)
    if takes != arguments.count(",") + 1:
        raise complaint(function, f"takes {takes} arguments; it is called with {arguments}")
    before = dict(registry)
    try:
        made = decorate(function)
        if jit_enabled:
            _compile(made)
            refuse_stray_indices(made)
    except ConstitutionError:
        registry.clear()
        registry.update(before)
        raise
    return made


def _compile(made: _Kind) -> None:
    try:
        made.address  # noqa: B018  the first look compiles
    except Exception as error:  # the compiler raises errors of many classes
        told = re.sub(r"\x1b\[[\d;]*m", "", str(error))  # Numba writes in bold where colorama is installed
        lines = [line.strip() for line in told.splitlines() if line.strip()]
        reason = next((line for line in lines if not line.startswith("Failed in nopython")), type(error).__name__)
        if reason.startswith("No implementation of function"):
            reason = "it cannot do " + next(line for line in lines if line.startswith(">>>")).removeprefix(">>> ")
        place = re.findall(r"line (\d+):", told)
        where = f", in line {place[-1]}" if place else ""
        raise complaint(made.function, f"does not compile: {reason.rstrip('.')}{where}; {_ADVICE}") from None

"""Declarations of joints matched with the functions and attributes that they name, before any kernel runs.

A compiled function reads its rows and parameters through bare pointers, so a declaration that gives it fewer of
them would read stray memory; the checks here are what makes that impossible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from dovetail.constitution.terms import Coordinate as CoordinateWord
from dovetail.constitution.terms import Law as LawWord
from dovetail.constitution.terms import Parameter, Term
from dovetail.errors import ConstitutionError
from dovetail.solver.joint.function import COORDINATES, ENERGIES, LAWS, Coordinate, EnergyFunction, Law

if TYPE_CHECKING:
    from dovetail.world.lower.lowered import JointGeometry

__all__ = ["coordinate_of", "energy_of", "law_of"]

_Kind = TypeVar("_Kind", EnergyFunction, Coordinate, Law)


def energy_of(entry: JointGeometry, term: Term) -> EnergyFunction:
    """The energy that a term names, after a check that it gets its rows and parameters."""
    found = _registered(entry, term, ENERGIES, "energy")
    _match_rows(entry, term, found)
    _match_parameters(entry, term, found)
    if any(parameter.start for parameter in term.parameters):
        raise _error(
            entry, f"{_name(term)} asks for the start of the step, but a Term has no coordinate; make it a Law."
        )
    return found


def coordinate_of(entry: JointGeometry, word: CoordinateWord) -> Coordinate:
    """The coordinate that a word names, after a check that it gets its rows."""
    found = _registered(entry, word, COORDINATES, "coordinate")
    _match_rows(entry, word, found)
    return found


def law_of(entry: JointGeometry, word: LawWord) -> Law:
    """The law that a word names, after a check that it gets its parameters and that its attributes are there."""
    found = _registered(entry, word, LAWS, "law")
    _match_parameters(entry, word, found)
    for attribute in (word.switch, word.hold, word.effort):
        if attribute is not None:
            _require(entry, word, attribute)
    return found


def _error(entry: JointGeometry, problem: str) -> ConstitutionError:
    return ConstitutionError(f"{entry.kind.__name__} '{entry.slot.object_name}': {problem}")


def _name(word: Any) -> str:
    return type(word).__name__


def _registered(entry: JointGeometry, word: Any, registry: dict[str, _Kind], kind: str) -> _Kind:
    name = getattr(word, "function", None)
    if not isinstance(name, str) or name not in registry:
        raise _error(
            entry,
            f"{_name(word)}.function is {name!r}, but no {kind} of that name is registered, there are "
            f"{', '.join(sorted(registry))}; import the module that defines it before World.init.",
        )
    return registry[name]


def _match_rows(entry: JointGeometry, word: Any, function: EnergyFunction | Coordinate) -> None:
    given = len(word.stencil)
    if given != function.rows:
        raise _error(
            entry,
            f"the stencil of {_name(word)} has {given} rows {tuple(row for row, *_ in word.stencil)}, but its function "
            f"'{function.name}' takes rows={function.rows}; make them equal.",
        )
    unknown = [row for row in word.rows if row not in entry.rows]
    if unknown:
        raise _error(
            entry,
            f"the stencil of {_name(word)} has the row '{unknown[0]}', which is not one of {', '.join(entry.rows)}.",
        )


def _match_parameters(entry: JointGeometry, word: Any, function: EnergyFunction | Law) -> None:
    parameters: tuple[Parameter, ...] = word.parameters
    if len(parameters) != len(function.parameters):
        raise _error(
            entry,
            f"{_name(word)} gives {len(parameters)} parameters, but its function '{function.name}' takes "
            f"{len(function.parameters)} ({', '.join(function.parameters)}); make them equal.",
        )
    for parameter in parameters:
        if parameter.attribute:
            _require(entry, word, parameter.attribute)


def _require(entry: JointGeometry, word: Any, attribute: str) -> None:
    element, slot = entry.kind.element, entry.elements.find(attribute)
    if slot is None:
        raise _error(
            entry,
            f"{_name(word)} needs the attribute '{attribute}' of every {element}, which is not there; list it in the "
            f"joint's class, attributes = {{'{attribute}': 0.0}}, or create it on the geometry.",
        )
    if slot.values.ndim != 1 or slot.values.dtype.kind not in "iuf":
        raise _error(
            entry,
            f"{_name(word)} needs one number per {element} in the attribute '{attribute}', which is of type "
            f"{slot.type_name()}; create it with a number as default.",
        )

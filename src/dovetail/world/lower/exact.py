"""Exact joints of a scene: the words of joints turned into constraints.

Coincide(row) is one linear constraint. Slide(point, axis) from both bodies says that r, axis_i and axis_j are all
parallel. As r × axis_i = 0 and r × axis_j = 0 that loses rank where the anchors meet, r = 0; as

    r × ½(axis_i + axis_j) = 0,   axis_i × axis_j = 0        (the second only if no Coincide(axis) says so)

it never does. A slide on one body alone is r × axis = 0 with that axis. Hold is a row on its coordinate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dovetail.constitution.joint.base import Joint
from dovetail.constitution.laws import Hold
from dovetail.constitution.terms import Coincide, Compose, Slide, Stencil, Stenciled, Term
from dovetail.errors import ConstitutionError
from dovetail.logger import Logger
from dovetail.solver.bodies import Bodies
from dovetail.solver.joint.combined import Combined
from dovetail.solver.joint.compliance import Compliance
from dovetail.solver.joint.coordinates import Coordinates
from dovetail.solver.joint.exact import ExactJoints
from dovetail.solver.joint.redundancy import redundancies
from dovetail.solver.joint.rows import Rows
from dovetail.solver.joint.stencil import Stencils
from dovetail.typing import Array, Flags
from dovetail.world.lower.lowered import JointGeometry, LawOnJoints, LoweredJoints, by_kind, stencils_of

__all__ = ["check_loops", "exact_stencils", "lower_exact", "lower_held", "which_are_exact"]

_NAMED = 8  # joints that a message lists


@dataclass(frozen=True, slots=True)
class _Constraint(Stenciled):
    """Rows with their weights on both bodies: one that is to vanish, or two that are to be parallel."""

    stencil: Stencil


def _has_strength(term: Term | Compose) -> bool:
    parameters = term.law.parameters if isinstance(term, Compose) else term.parameters
    return any(parameter.attribute == "strength_ratio" for parameter in parameters)


def which_are_exact(kind: type[Joint], strength: Array, everywhere: bool, who: str) -> Flags:
    """Flags (k,): strength_ratio is infinite, or all joints are to be exact as far as they can."""
    infinite = np.isinf(strength)
    soft = [term for term in kind.terms if not _can_hold(term) and _has_strength(term)]
    if infinite.any() and soft:
        name = type(soft[0].law if isinstance(soft[0], Compose) else soft[0]).__name__
        raise ConstitutionError(
            f"{who}: joint {int(np.argmax(infinite))} has strength_ratio = inf, but its {name} is an energy, and only "
            "Coincide, Slide and Hold can be exact; give a finite number such as 1e6."
        )
    return infinite | (everywhere and any(_can_hold(term) for term in kind.terms))


def _can_hold(term: Term | Compose) -> bool:
    """Whether a term of a joint can be a constraint."""
    return isinstance(term.law, Hold) if isinstance(term, Compose) else isinstance(term, (Coincide, Slide))


def _constraints(kind: type[Joint]) -> Iterator[_Constraint]:
    """The constraints that the terms of a joint stand for."""
    coincide = [term for term in kind.terms if isinstance(term, Coincide)]
    for term in coincide:
        yield _Constraint(term.stencil)
    slides = [term for term in kind.terms if isinstance(term, Slide)]
    for point, axis in dict.fromkeys((term.point, term.axis) for term in slides):
        owners = {term.owner for term in slides if (term.point, term.axis) == (point, axis)}
        left, right = ("left" in owners) / len(owners), ("right" in owners) / len(owners)
        yield _Constraint(((point, -1.0, 1.0), (axis, left, right)))
        if len(owners) == 2 and Coincide(axis) not in coincide:
            yield _Constraint(((axis, 1.0, 0.0), (axis, 0.0, 1.0)))


def lower_held(uses: list[LawOnJoints], coordinates: Coordinates, bodies: Bodies, Q: Array) -> Combined | None:
    """The coordinates that exact joints hold, or None if there are none; each use is told its rows."""
    held, joints, weights, targets, compliances = [], [], [], [], []
    count, inertia = 0, coordinates.inertia(Q, bodies.mass, bodies.is_fixed)
    for use in uses:
        chosen = np.flatnonzero(use.entry.exact)
        if not (isinstance(use.word, Hold) and chosen.size):
            continue
        of = use.laws.of[use.rows][chosen]
        use.held_rows = slice(count, count + len(chosen))
        held.append(of)
        count += len(chosen)
        _, target, scale = use.laws.p[use.rows][chosen].T
        joints.append(use.entry.offset + chosen)
        weights.append(scale)
        targets.append(scale * target)
        compliances.append(scale**2 / inertia[of])
    if not count:
        return None
    return Combined(
        coordinates, np.concatenate(held), np.arange(count + 1), np.concatenate(weights), np.concatenate(targets),
        np.concatenate(joints), Compliance.rigid(np.concatenate(compliances)),
    )  # fmt: skip


def exact_stencils(entries: list[JointGeometry]) -> dict[int, Stencils]:
    """Rows of the exact joints of all joint geometries, in the order of the joints: points (1) and slides (2)."""
    parts: dict[int, list[Stencils]] = {1: [Stencils.none(1)], 2: [Stencils.none(2)]}
    for kind, alike in by_kind([entry for entry in entries if entry.exact.any()]).items():
        chosen = np.flatnonzero(np.concatenate([entry.exact for entry in alike]))
        left, right = (np.concatenate([getattr(entry, side) for entry in alike])[chosen] for side in ("left", "right"))
        joint = np.concatenate([np.arange(entry.offset, entry.offset + entry.count) for entry in alike])[chosen]
        for constraint in _constraints(kind):
            W = stencils_of(alike, constraint)[chosen]
            parts[W.shape[1]].append(Stencils(left, right, W, joint))
    found = {}
    for m, listed in parts.items():
        left, right, W, joint = (
            np.concatenate([getattr(part, name) for part in listed]) for name in ("left", "right", "W", "joint")
        )
        order = np.argsort(joint, kind="stable")
        found[m] = Stencils(left[order], right[order], W[order], joint[order])
    return found


def lower_exact(lowered: LoweredJoints, bodies: Bodies) -> ExactJoints | None:
    """The exact joints among the rows of all joints and couplings, or None if there are none."""
    entries, points, slides = lowered.geometries, lowered.points, lowered.slides
    couplings = None if lowered.couplings is None else lowered.couplings.exact
    parts = [rows for rows in (lowered.held, couplings) if rows is not None]
    if points.exact == points.count and slides.exact == slides.count and not parts:
        return None

    def compliance(rows: Rows) -> Compliance:
        first = rows.exact
        stencils = Stencils(rows.left[first:], rows.right[first:], rows.W[first:], rows.joint[first:])
        return Compliance.of(stencils, bodies.mass, bodies.stiffness, bodies.is_fixed)

    def name(joint: int) -> str:
        if joint < 0:
            return f"coupling {-1 - joint}"
        entry = next(entry for entry in entries if joint < entry.offset + entry.count)
        return f"joint {joint - entry.offset} of '{entry.slot.object_name}'"

    combined = Combined.joined(parts, lowered.coordinates)
    return ExactJoints(points, slides, combined, (compliance(points), compliance(slides)), name)


def check_loops(exact: ExactJoints, bodies: Bodies, Q: Array) -> None:
    """Refuse exact joints that contradict each other, and tell of those whose reactions are not unique."""
    for found in redundancies(exact, Q, bodies.mass, bodies.is_fixed):
        names = [exact.name(joint) for joint in found.joints[:_NAMED]]
        more = len(found.joints) - len(names)
        who = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 and not more else [", ".join(names)])
        who += f" and {more} more" if more else ""
        ends = exact.pairs_of(found.joints)
        if bodies.is_fixed[ends].all():
            if found.open:
                raise ConstitutionError(
                    f"World.init: the exact {who} cannot be closed, it is open by {found.open:.3g} [m or rad] and both "
                    "of its bodies are fixed; correct its anchors, or leave it out."
                )
            continue
        if found.open:
            raise ConstitutionError(
                f"World.init: the exact joints {who} contradict each other, they cannot all be closed: an opening of "
                f"{found.open:.3g} [m or rad] is left whatever the bodies do; correct their anchors, or give one of "
                "them a finite strength_ratio."
            )
        motions = f"{found.surplus} motion{'s' if found.surplus > 1 else ''}"
        if len({frozenset(pair) for pair in ends.tolist()}) == 1:
            Logger.warn(
                f"World.init: the exact joints {who} between the same two bodies hold {motions} twice; bodies move as "
                "they should, but only the sum of these reactions means something. Remove one of them."
            )
        else:
            Logger.info(
                f"World.init: the loop of exact joints {who} holds {motions} twice; bodies move as they should, but "
                "how these joints share their reactions is not unique."
            )

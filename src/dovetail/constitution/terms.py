"""The words in which joints are written down: energies, coordinates, laws and loads on material rows.

A joint carries a frame in each of its two bodies, left (i) and right (j). A **row** names the same item of
that frame on both bodies:

    c, x0, x1    material points: the anchor, and the two ends of the axis
    t, n, b      material directions: along the axis, and two across it

Written with an index, c_i is where the left body carries the row now. r = c_j − c_i throughout. A
declaration says which words apply to which rows and which attributes hold the parameters; the solver knows
what they compute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "Angle",
    "Articulation",
    "AxialForce",
    "AxialTorque",
    "Coincide",
    "Compose",
    "Coordinate",
    "Law",
    "Limit",
    "Load",
    "Projection",
    "Slide",
    "Spring",
    "Term",
]

Owner = Literal["left", "right"]


# ---- energies ----------------------------------------------------------------------------------------------


class Term:
    """An energy ψ of some rows. Joints weigh theirs with K = strength_ratio·(m_i + m_j) [kg]."""

    __slots__ = ()

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows ψ depends on."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Coincide(Term):
    """ψ = K/2 ‖row_i − row_j‖²: two points in one place, or two directions parallel."""

    row: str

    @property
    def rows(self) -> tuple[str, ...]:
        return (self.row,)


@dataclass(frozen=True, slots=True)
class Slide(Term):
    """ψ = K/2 ‖r × axis_k‖², k the owner: the points may part only along the axis of that body."""

    point: str
    axis: str
    owner: Owner

    @property
    def rows(self) -> tuple[str, ...]:
        return (self.point, self.axis)


# ---- coordinates -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A scalar x(q) of a joint. The edge attribute `attribute` reports x + `offset`, where `offset` is one
    too.
    """

    attribute: str
    offset: str
    unit: str

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows x depends on."""
        raise NotImplementedError

    @property
    def reported(self) -> tuple[str, ...]:
        """The attributes that the world writes every step."""
        return (self.attribute, "velocity")


@dataclass(frozen=True, slots=True)
class Projection(Coordinate):
    """x = r·axis [m]: how far the right body is ahead along the axis of the left or right body, or of their
    mean.

    With owner "both", x = ½ r·(axis_i + axis_j).
    """

    attribute: str = "distance"
    offset: str = "init_distance"
    unit: str = "m"
    point: str = "c"
    axis: str = "t"
    owner: Owner | Literal["both"] = "both"

    @property
    def rows(self) -> tuple[str, ...]:
        return (self.point, self.axis)


@dataclass(frozen=True, slots=True)
class Angle(Coordinate):
    """x = atan2(s, c) [rad], 2c = n_i·n_j + b_i·b_j, 2s = b_i·n_j − n_i·b_j: how far the right body has
    turned.

    Right-handed about +t. x is continued over many turns from step to step; `multi_turn` reports that value
    plus the offset, `attribute` the same wrapped to (−π, π].
    """

    attribute: str = "angle"
    offset: str = "init_angle"
    unit: str = "rad"
    multi_turn: str = "angle/multi_turn"
    n: str = "n"
    b: str = "b"

    @property
    def rows(self) -> tuple[str, ...]:
        return (self.n, self.b)

    @property
    def reported(self) -> tuple[str, ...]:
        return (self.attribute, self.multi_turn, "velocity")


# ---- laws --------------------------------------------------------------------------------------------------


class Law:
    """An energy φ of one scalar x. Its targets and bounds are given in the reported frame, x + offset."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Spring(Law):
    """φ = K_d/2 (x − x̃)², K_d = strength_ratio·(m_i + m_j), x̃ = aim − offset; only where `is_constrained`
    is 1.

    Where `is_passive` is 1, x̃ is the value x had when it became 1.
    """

    aim: str
    strength_ratio: str = "driving/strength_ratio"
    is_constrained: str = "driving/is_constrained"
    is_passive: str = "is_passive"


@dataclass(frozen=True, slots=True)
class Limit(Law):
    """φ = s((x − u)/w)³ above u, s((l − x)/w)³ below l, 0 from l to u; w = u − l, or 1 where they are
    equal.
    """

    lower: str = "limit/lower"
    upper: str = "limit/upper"
    strength: str = "limit/strength"


@dataclass(frozen=True, slots=True)
class Compose(Term):
    """φ∘x: a law of a coordinate."""

    law: Law
    coordinate: Coordinate

    @property
    def rows(self) -> tuple[str, ...]:
        return self.coordinate.rows


# ---- loads -------------------------------------------------------------------------------------------------


class Load:
    """A generalised force without an energy, evaluated at the start of a step; it moves the predicted
    state.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class AxialForce(Load):
    """+f·t on the right body, −f·t on the left, t = ½(axis_i + axis_j), each at the body's local origin."""

    force: str = "external_force"
    is_constrained: str = "external_force/is_constrained"
    axis: str = "t"


@dataclass(frozen=True, slots=True)
class AxialTorque(Load):
    """+τ·e on the right body and −τ·e on the left, e the mean of both bodies' unit vectors from `start` to
    `end`.

    On the affine part of body k this is F = ±½ τ [e]× A_k⁻ᵀ.
    """

    torque: str = "external_torque"
    is_constrained: str = "external_torque/is_constrained"
    start: str = "x0"
    end: str = "x1"


# ---- many joints at once -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Articulation:
    """½ (δθ − δθ̃)ᵀ M (δθ − δθ̃) over the coordinates of several joints, δθ their change during the step."""

    mass: str = "mass"
    target: str = "delta_theta_tilde"
    change: str = "delta_theta"

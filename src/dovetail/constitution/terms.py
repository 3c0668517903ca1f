"""The words in which joints are written down: energies, coordinates, laws and loads on material rows.

A joint carries a frame in each of its two bodies, left (i) and right (j). A **row** names the same item of
that frame on both bodies:

    c, x0, x1    material points: the anchor, and the two ends of the axis
    t, n, b      material directions: along the axis, and two across it

Written with an index, c_i is where the left body carries the row now. r = c_j − c_i throughout.

A declaration names a `function` of the solver, the `stencil` it acts on and where its `parameters` come from;
the solver knows what it computes. A stencil lists rows with their weights on the left and on the right body:
("c", −1, 1) is r, ("t", ½, ½) the mean of both axes; a fourth entry names an attribute of the joint, read at init,
that the row is divided by. The laws are in `laws.py`. Terms of your own are subclasses that name a function of
your own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from dovetail.checked import number, shown
from dovetail.errors import ArgumentType, ConstitutionError

__all__ = [
    "Angle",
    "Articulation",
    "AxialForce",
    "AxialTorque",
    "Bearing",
    "Coincide",
    "Compose",
    "Coordinate",
    "Cosine",
    "Helix",
    "Law",
    "Length",
    "Load",
    "Parameter",
    "Projection",
    "Slide",
    "Stencil",
    "Stenciled",
    "Term",
]

Owner = Literal["left", "right"]
Row: TypeAlias = tuple[str, float, float] | tuple[str, float, float, str]
Stencil: TypeAlias = tuple[Row, ...]
_OWN: dict[str, tuple[float, float]] = {"left": (1.0, 0.0), "right": (0.0, 1.0), "both": (0.5, 0.5)}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that a function takes: an attribute of the joint, as it is, or

    | | |
    |---|---|
    | `times_mass` | multiplied by the masses m_i + m_j of the two bodies |
    | `reported` | given in the frame of the reported coordinate, from which the offset is subtracted |
    | `unbounded` | may be infinite |
    | `sign` | "≥ 0" or "> 0" where others are refused |

    or, without an attribute, one of

    | | |
    |---|---|
    | `start` | what the coordinate was at the start of the step (laws only) |
    | `step` | the length h of the step [s] |
    | `predicted` | where the coordinate would go by itself: of laws that are inertia, times the integrator's weight |
    | `inertia` | that of the coordinate at init [kg or kg·m²] (laws only) |
    | `exerted` | what a law with a cap has exerted before the end of the step, see servo.py |
    | `value` | a constant |

    so that a resistance −c·ẋ, which is −c (x − xₙ)/h, is the law φ = c h/2 (x − xₙ)².
    """

    attribute: str = ""
    times_mass: bool = False
    reported: bool = False
    start: bool = False
    step: bool = False
    unbounded: bool = False
    sign: Literal["any", "≥ 0", "> 0"] = "any"
    inertia: bool = False
    predicted: bool = False
    exerted: bool = False
    value: float | None = None

    def __post_init__(self) -> None:
        own = (self.start, self.step, self.inertia, self.predicted, self.exerted)
        flags = (self.times_mass, self.reported, self.unbounded, *own)
        if not isinstance(self.attribute, str) or not all(isinstance(flag, bool) for flag in flags):
            raise ArgumentType(f"{shown(self)}: its attribute is text, and what it is or not is True or False.")
        if self.value is not None and number(self.value) is None:
            raise ArgumentType(f"Parameter: value = {shown(self.value)}; give a number.")
        places = (*own, self.attribute != "", self.value is not None)
        if sum(places) != 1:
            raise ConstitutionError(
                f"{shown(self, 300)}: a parameter comes from one place; give an attribute, a value, or one of start, "
                "step, inertia, predicted, exerted."
            )


_STRENGTH = (Parameter("strength_ratio", times_mass=True),)


class Stenciled:
    """Something that depends on rows of both bodies."""

    __slots__ = ()

    @property
    def stencil(self) -> Stencil:
        """Rows with their weights on the left and the right body."""
        raise NotImplementedError

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows it depends on."""
        return tuple(dict.fromkeys(row for row, *_ in self.stencil))


# ---- energies ----------------------------------------------------------------------------------------------


class Term(Stenciled):
    """ψ [kg·m²] of some rows, an energy times h². Joints weigh theirs with K = strength_ratio·(m_i + m_j) [kg].

    `strength_ratio` is read once, when a world is initialised; all other parameters are read every frame.
    """

    __slots__ = ()
    function: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]] = _STRENGTH


@dataclass(frozen=True, slots=True)
class Coincide(Term):
    """ψ = K/2 ‖row_i − row_j‖²: two points in one place, or two directions parallel."""

    row: str
    function: ClassVar[str] = "coincide"

    @property
    def stencil(self) -> Stencil:
        return ((self.row, 1.0, -1.0),)


@dataclass(frozen=True, slots=True)
class Slide(Term):
    """ψ = K/2 ‖r × axis_k‖², k the owner: the points may part only along the axis of that body."""

    point: str
    axis: str
    owner: Owner
    function: ClassVar[str] = "slide"

    @property
    def stencil(self) -> Stencil:
        return ((self.point, -1.0, 1.0), (self.axis, *_OWN[self.owner]))


# ---- coordinates -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Coordinate(Stenciled):
    """A scalar x(q). That of a joint needs two attributes of each joint: `attribute` reports x + `offset`.

    Where laws alone use it, it needs no names. Where a joint reports several, all but the first have a `prefix`, which
    stands before the names of everything else that belongs to it: `angle/velocity`, `angle/limit/lower`.
    """

    attribute: str = ""
    offset: str = ""
    unit: str = ""
    prefix: str = ""
    function: ClassVar[str]

    @property
    def reported(self) -> tuple[str, ...]:
        """The attributes that the world writes every step."""
        if not (self.attribute and self.offset):
            raise ConstitutionError(
                f"{type(self).__name__}: the coordinate of a joint is reported, so it needs names; make it with "
                "attribute=…, offset=… and unit=…."
            )
        return (self.attribute, self.velocity)

    @property
    def velocity(self) -> str:
        """The attribute that its rate is written to."""
        return f"{self.prefix}velocity"


@dataclass(frozen=True, slots=True)
class Projection(Coordinate):
    """x = r·axis [m]: how far the right body is ahead along the axis of the owner.

    With owner "both", x = ½ r·(axis_i + axis_j).
    """

    attribute: str = "distance"
    offset: str = "init_distance"
    unit: str = "m"
    point: str = "c"
    axis: str = "t"
    owner: Owner | Literal["both"] = "both"
    function: ClassVar[str] = "projection"

    @property
    def stencil(self) -> Stencil:
        return ((self.point, -1.0, 1.0), (self.axis, *_OWN[self.owner]))


@dataclass(frozen=True, slots=True)
class Angle(Coordinate):
    """x = atan2(s, c) [rad], 2c = n_i·n_j + b_i·b_j, 2s = b_i·n_j − n_i·b_j.

    How far the right body has turned, right-handed about +t. x is continued over many turns from step to
    step; `multi_turn` reports that value plus the offset, `attribute` the same wrapped to (−π, π].
    """

    attribute: str = "angle"
    offset: str = "init_angle"
    unit: str = "rad"
    multi_turn: str = "angle/multi_turn"
    n: str = "n"
    b: str = "b"
    function: ClassVar[str] = "angle"

    @property
    def stencil(self) -> Stencil:
        return tuple((row, *_OWN[owner]) for owner in ("left", "right") for row in (self.n, self.b))

    @property
    def reported(self) -> tuple[str, ...]:
        return (self.attribute, self.multi_turn, self.velocity)


@dataclass(frozen=True, slots=True)
class Bearing(Angle):
    """x = atan2(s b_k·v, n_k·v) [rad]: where a direction v of one body points in the plane (n, b) of the owner k.

    s is the sign: −1 where it turns the other way round.
    """

    n: str = "n"
    b: str = "b"
    direction: str = "n"
    owner: Owner = "left"
    sign: float = 1.0
    function: ClassVar[str] = "bearing"

    @property
    def stencil(self) -> Stencil:
        other = "right" if self.owner == "left" else "left"
        left, right = (self.sign * weight for weight in _OWN[self.owner])
        return ((self.n, *_OWN[self.owner]), (self.b, left, right), (self.direction, *_OWN[other]))


@dataclass(frozen=True, slots=True)
class Cosine(Coordinate):
    """x = left_i·right_j: the cosine between a direction of the left body and one of the right."""

    left: str = "t"
    right: str = "n"
    function: ClassVar[str] = "projection"

    @property
    def stencil(self) -> Stencil:
        return ((self.left, 1.0, 0.0), (self.right, 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Length(Coordinate):
    """x = ‖end_j − start_i‖ [m]: how far a point of the right body is from one of the left."""

    attribute: str = "distance"
    offset: str = "init_distance"
    unit: str = "m"
    start: str = "x0"
    end: str = "x1"
    function: ClassVar[str] = "length"

    @property
    def stencil(self) -> Stencil:
        return ((self.start, 1.0, 0.0), (self.end, 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Helix(Coordinate):
    """x = d/pitch − θ/2π [turns]: by how many turns a nut is ahead of its thread, with d and θ as above."""

    unit: str = "turn"
    pitch: str = "pitch"
    function: ClassVar[str] = "helix"

    @property
    def stencil(self) -> Stencil:
        way: Row = ("c", -1.0, 1.0, self.pitch)
        return (way, ("t", *_OWN["both"]), *Angle().stencil)


# ---- laws --------------------------------------------------------------------------------------------------


class Law:
    """φ [kg·m²] of one scalar x, an energy times h². Targets and bounds are given in the reported frame, x + offset.

    All parameters are read every frame, except `strength_ratio`. `switch` names an attribute that turns the law off
    where it is 0, by making the first parameter 0, which must be the strength; `hold` one that freezes the reported
    parameters at the value the coordinate has when it becomes 1; `effort` one that is told what the law exerts along
    +x, −φ′/h² [N or N·m].
    """

    __slots__ = ()
    function: ClassVar[str]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        raise NotImplementedError

    @property
    def switch(self) -> str | None:
        return None

    @property
    def hold(self) -> str | None:
        return None

    @property
    def effort(self) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class Compose(Stenciled):
    """φ∘x: a law of a coordinate. Drives and limits have them, and joints may list some beside their terms."""

    law: Law
    coordinate: Coordinate

    @property
    def stencil(self) -> Stencil:
        return self.coordinate.stencil


# ---- loads -------------------------------------------------------------------------------------------------


class Load:
    """A force without an energy, evaluated at the start of a step; it moves the predicted state."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class AxialForce(Load):
    """+f·t on the right body, −f·t on the left, t = ½(axis_i + axis_j), each at the body's local origin."""

    force: str = "external_force"
    is_constrained: str = "external_force/is_constrained"
    axis: str = "t"


@dataclass(frozen=True, slots=True)
class AxialTorque(Load):
    """+τ·e on the right body, −τ·e on the left, e the mean of their unit vectors from `start` to `end`.

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

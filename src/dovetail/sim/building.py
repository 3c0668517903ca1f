"""Putting bodies and joints into a `Sim`."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np

from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyShell,
    AffineBodySphericalJoint,
)
from dovetail.core import Scene
from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplex, SimplicialComplexSlot
from dovetail.geometry import ground as half_plane
from dovetail.sim import shapes
from dovetail.sim.body import Body
from dovetail.sim.given import color_of, positive, rotation_of, skew, unit, vector
from dovetail.sim.joint import AxisJoint, FixedJoint, PrismaticJoint, RevoluteJoint, SimJoint, SphericalJoint
from dovetail.sim.materials import Materials
from dovetail.typing import ArrayLike

__all__ = ["BodyOptions", "Building", "JointOptions"]

_Joint = TypeVar("_Joint", bound=SimJoint)
_AxisJoint = TypeVar("_AxisJoint", bound=AxisJoint)


class BodyOptions(TypedDict, total=False):
    """What every body takes.

    pos        place of its origin [m]; default (0, 0, 0)
    rot        quaternion (w, x, y, z), 3×3 matrix, AngleAxis(angle, axis) or SciPy's Rotation
    density    [kg/m³]; default 1000. Or:
    mass       [kg]
    fixed      True: it never moves
    velocity   of its origin at the start [m/s]
    spin       angular velocity at the start [rad/s]
    friction   coefficient μ; two bodies rub with √(μ_a μ_b). Default: that of the Sim
    contact    False: nothing touches it
    color      (r, g, b) from 0 to 1, "#rrggbb" or a name
    name       unique; default such as "box 1"
    kappa      stiffness of the shape [Pa]; default that of the Sim
    """

    pos: ArrayLike
    rot: Any
    density: float
    mass: float
    fixed: bool
    velocity: ArrayLike
    spin: ArrayLike
    friction: float
    contact: bool
    color: Any
    name: str
    kappa: float


class JointOptions(TypedDict, total=False):
    """What hinges and sliders take.

    limit      (lower, upper) of the coordinate [rad or m]
    drive      a target [rad or m] to hold, or True for a drive that is off until `drive.aim` is set
    name       unique; default such as "revolute joint 1"
    strength   γ: the joint is as stiff as γ(m_i + m_j)/dt²; default 100
    """

    limit: tuple[float, float] | None
    drive: float | bool | None
    name: str
    strength: float


class Building:
    """A scene under construction: its bodies and joints by name."""

    _scene: Scene
    _materials: Materials
    _friction: float
    _kappa: float

    def __init__(self) -> None:
        self._bodies: dict[str, Body] = {}
        self._joints: dict[str, SimJoint] = {}
        self._counts: dict[str, int] = {}
        self._prototypes: dict[Any, SimplicialComplex] = {}
        self._anchor: SimplicialComplexSlot | None = None

    @property
    def started(self) -> bool:
        """Whether a step was made; from then on nothing can be added."""
        raise NotImplementedError

    # --- bodies -------------------------------------------------------------------------------------------

    def box(self, size: ArrayLike, **options: Unpack[BodyOptions]) -> Body:
        """A box with edges of these lengths [m], or a cube with one. Options: see `BodyOptions`."""
        return self._body("box", lambda who: shapes.box(who, size), ("box", str(size)), options)

    def sphere(self, radius: float, *, detail: int = 2, **options: Unpack[BodyOptions]) -> Body:
        """A ball, made of 20·4^detail triangles. Options: see `BodyOptions`."""
        return self._body("sphere", lambda who: shapes.sphere(who, radius, detail), ("sphere", radius, detail), options)

    def capsule(self, radius: float, length: float, *, detail: int = 2, **options: Unpack[BodyOptions]) -> Body:
        """A cylinder of this length [m] along its z with half-spheres at both ends. Options: see `BodyOptions`."""
        key = ("capsule", radius, length, detail)
        return self._body("capsule", lambda who: shapes.capsule(who, radius, length, detail), key, options)

    def cylinder(self, radius: float, length: float, *, detail: int = 2, **options: Unpack[BodyOptions]) -> Body:
        """A cylinder along its z with 8·2^detail sides. Options: see `BodyOptions`."""
        key = ("cylinder", radius, length, detail)
        return self._body("cylinder", lambda who: shapes.cylinder(who, radius, length, detail), key, options)

    def mesh(
        self,
        source: str | PathLike[str] | Any,
        *,
        scale: ArrayLike = 1.0,
        thickness: float | None = None,
        **options: Unpack[BodyOptions],
    ) -> Body:
        """A body from a mesh: the path of a file (.obj .stl .ply .glb .msh), a trimesh.Trimesh, (vertices, faces).

        It must be closed; with `thickness` [m] it is a shell that reaches so far to both sides, open or closed.
        Options: see `BodyOptions`.
        """
        return self._body("mesh", lambda who: shapes.mesh(who, source, scale), None, options, thickness)

    def ground(
        self, height: float = 0.0, *, normal: ArrayLike | None = None, friction: float | None = None, name: str = ""
    ) -> None:
        """A half-space that nothing enters: below `height` [m] along its normal, by default against gravity."""
        who = "Sim.ground"
        self._require_building(who)
        if normal is None:
            g = np.asarray(self._scene.config["gravity"], float).reshape(3)
            normal = -g if g.any() else (0.0, 0.0, 1.0)
        plane = half_plane(float(vector(who, "height", height, "m", 1)[0]), unit(who, "normal", normal))
        self._materials.apply(plane, self._mu(who, friction), True)
        self._scene.objects.create(self._name(who, "ground", name)).geometries.create(plane)

    def _body(
        self,
        kind: str,
        make: Callable[[str], SimplicialComplex],
        key: Any,
        options: BodyOptions,
        thickness: float | None = None,
    ) -> Body:
        unknown = options.keys() - BodyOptions.__annotations__.keys()
        if unknown:
            raise SceneError(f"Sim.{kind}: there is no option '{sorted(unknown)[0]}'; {_taken(BodyOptions)}.")
        name = self._name(f"Sim.{kind}", kind, options.get("name", ""))
        who = f"{kind} '{name}'"
        self._require_building(who)
        geometry = self._prototype(who, make, key, options, thickness)
        T = np.eye(4)
        T[:3, :3] = rotation_of(who, options.get("rot"))
        T[:3, 3] = vector(who, "pos", options.get("pos", (0.0, 0.0, 0.0)), "m")
        V = np.zeros((4, 4))
        V[:3, :3] = skew(vector(who, "spin", options.get("spin", (0.0, 0.0, 0.0)), "rad/s")) @ T[:3, :3]
        V[:3, 3] = vector(who, "velocity", options.get("velocity", (0.0, 0.0, 0.0)), "m/s")
        geometry.instances["transform"] = T
        geometry.instances["velocity"] = V
        geometry.instances["is_fixed"] = int(bool(options.get("fixed", False)))
        if options.get("color") is not None:
            geometry.instances.create("color", color_of(who, options["color"]))
        self._materials.apply(geometry, self._mu(who, options.get("friction")), bool(options.get("contact", True)))
        body = self._bodies[name] = Body(self, self._add(name, geometry), kind)  # type: ignore[arg-type]  # Sim is the one subclass
        return body

    def _prototype(
        self,
        who: str,
        make: Callable[[str], SimplicialComplex],
        key: Any,
        options: BodyOptions,
        thickness: float | None,
    ) -> SimplicialComplex:
        """A copy of the mesh with its mass; equal primitives share their arrays, so that contact knows them as one."""
        if "mass" in options and "density" in options:
            raise SceneError(f"{who}: both mass and density are given; give one of them.")
        density = positive(who, "density", options.get("density", 1000.0), "kg/m³")
        kappa = positive(who, "kappa", options.get("kappa", self._kappa), "Pa")
        mass = positive(who, "mass", options["mass"], "kg") if "mass" in options else None
        full_key = None if key is None else (*key, density, mass, kappa)
        found = self._prototypes.get(full_key)
        if found is None:
            found = make(who)

            def apply(rho: float) -> None:
                if thickness is None:
                    AffineBodyConstitution().apply_to(found, kappa, mass_density=rho)
                else:
                    radius = positive(who, "thickness", thickness, "m")
                    AffineBodyShell().apply_to(found, kappa, mass_density=rho, thickness=radius)

            apply(density)
            if mass is not None:
                apply(mass / float(found.meta.slot("volume").values[0]))
            if full_key is not None:
                self._prototypes[full_key] = found
        return found.copy()

    # --- joints -------------------------------------------------------------------------------------------

    def revolute(
        self, left: Body | None, right: Body, pos: ArrayLike, axis: ArrayLike, **options: Unpack[JointOptions]
    ) -> RevoluteJoint:
        """A hinge through `pos` [m] along `axis`, both in the world as it is now. Options: see `JointOptions`."""
        return self._axis_joint(RevoluteJoint, AffineBodyRevoluteJoint(), left, right, pos, axis, options)

    def prismatic(
        self,
        left: Body | None,
        right: Body,
        axis: ArrayLike,
        pos: ArrayLike | None = None,
        **options: Unpack[JointOptions],
    ) -> PrismaticJoint:
        """A slider along `axis` through `pos` [m], by default the right body's place. Options: see `JointOptions`."""
        place = self._pair("Sim.prismatic", left, right)[1].pos if pos is None else pos
        return self._axis_joint(PrismaticJoint, AffineBodyPrismaticJoint(), left, right, place, axis, options)

    def spherical(
        self, left: Body | None, right: Body, pos: ArrayLike, *, name: str = "", strength: float = 100.0
    ) -> SphericalJoint:
        """A ball and socket at `pos` [m] in the world as it is now."""
        who, ends = self._ends("Sim.spherical", left, right, strength)
        joint = AffineBodySphericalJoint().create_geometry([vector(who, "pos", pos, "m")], *ends)
        return self._join(SphericalJoint, who, name, joint, left, right)

    def fixed(
        self, left: Body | None, right: Body, pos: ArrayLike | None = None, *, name: str = "", strength: float = 100.0
    ) -> FixedJoint:
        """A weld at `pos` [m], by default midway; the bodies keep their relative pose."""
        who, ends = self._ends("Sim.fixed", left, right, strength)
        if pos is None:
            place = right.pos if left is None else (left.pos + right.pos) / 2
        else:
            place = vector(who, "pos", pos, "m")
        in_left = place if left is None else left.local(place)
        joint = AffineBodyFixedJoint().create_geometry([in_left], [right.local(place)], *ends)
        return self._join(FixedJoint, who, name, joint, left, right)

    def _axis_joint(
        self,
        handle: type[_AxisJoint],
        constitution: AffineBodyRevoluteJoint | AffineBodyPrismaticJoint,
        left: Body | None,
        right: Body,
        pos: ArrayLike,
        axis: ArrayLike,
        options: JointOptions,
    ) -> _AxisJoint:
        who = f"Sim.{handle.kind.split()[0]}"
        unknown = options.keys() - JointOptions.__annotations__.keys()
        if unknown:
            raise SceneError(f"{who}: there is no option '{sorted(unknown)[0]}'; {_taken(JointOptions)}.")
        who, ends = self._ends(who, left, right, options.get("strength", 100.0))
        start, along = vector(who, "pos", pos, "m"), unit(who, "axis", axis)
        joint = constitution.create_geometry([start], [start + along * _lever(left, right)], *ends)
        handle.load(joint)
        made = self._join(handle, who, options.get("name", ""), joint, left, right)
        limit, drive = options.get("limit"), options.get("drive")
        if limit is not None:
            made.limit = limit
        if drive is True:
            made.drive.on = False  # there from the start, and off
        elif drive is not None and drive is not False:
            made.drive.aim = drive
        return made

    def _ends(
        self, who: str, left: Body | None, right: Body, strength: float
    ) -> tuple[str, tuple[list[Any], list[int], list[Any], list[int], list[float]]]:
        """Who it is in messages, and the two bodies and the strength as constitutions take them."""
        self._require_building(who)
        self._pair(who, left, right)
        slot = self._world_anchor() if left is None else left.slot
        return who, ([slot], [0], [right.slot], [0], [positive(who, "strength", strength)])

    def _pair(self, who: str, left: Body | None, right: Body) -> tuple[Body | None, Body]:
        for side, body in (("left", left), ("right", right)):
            ours = isinstance(body, Body) and body.name in self._bodies and self._bodies[body.name] is body
            if not ours and not (side == "left" and body is None):
                advice = "a body of this Sim, or None for the world" if side == "left" else "a body of this Sim"
                raise SceneError(f"{who}: the {side} body is {body!r}; give {advice}.")
        if left is right:
            raise SceneError(f"{who}: both bodies are '{right.name}'; a joint needs two.")
        return left, right

    def _join(
        self, handle: type[_Joint], who: str, name: str, joint: SimplicialComplex, left: Body | None, right: Body
    ) -> _Joint:
        unique = self._name(who, handle.kind, name)
        made = handle(self, self._add(unique, joint), left, right)  # type: ignore[arg-type]  # Sim is the one subclass
        self._joints[unique] = made
        return made

    def _world_anchor(self) -> SimplicialComplexSlot:
        """The immovable point that joints with the world hold on to.

        It has next to no mass, so that a joint is made for the mass of its other body.
        """
        if self._anchor is None:
            proxy = AffineBodyConstitution().create_proxy(self._kappa, 1e-6, np.zeros(3), 1e-6 * np.eye(3), 1e-6)
            proxy.instances["is_fixed"] = 1
            self._anchor = self._add(self._name("Sim", "world", "world"), proxy)
        return self._anchor

    # --- names --------------------------------------------------------------------------------------------

    def _add(self, name: str, geometry: SimplicialComplex) -> SimplicialComplexSlot:
        slot, _ = self._scene.objects.create(name).geometries.create(geometry)
        assert isinstance(slot, SimplicialComplexSlot)
        return slot

    def _name(self, who: str, kind: str, given: str) -> str:
        """A name that nothing else has."""
        if given:
            if self._scene.objects.find(given):
                raise SceneError(f"{who}: there is already something called '{given}'; choose another name.")
            return given
        while True:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            name = f"{kind} {self._counts[kind]}"
            if not self._scene.objects.find(name):
                return name

    def _mu(self, who: str, friction: float | None) -> float:
        if friction is None:
            return self._friction
        mu = float(vector(who, "friction", friction, size=1)[0])
        if mu < 0.0:
            raise SceneError(f"{who}: friction = {friction!r}; give a coefficient ≥ 0.")
        return mu

    def _require_building(self, who: str) -> None:
        if self.started:
            raise SceneError(
                f"{who}: the simulation has started, and bodies and joints can only be added before the first step; "
                "add everything first, or make a new Sim."
            )


def _lever(left: Body | None, right: Body) -> float:
    """Length of a joint's axis [m], its lever against tilting: half the size of the smaller body."""
    sizes = [float(np.linalg.norm(np.ptp(b.slot.geometry.positions.values, axis=0))) for b in (left, right) if b]
    return 0.5 * min(size for size in sizes if size > 0)


def _taken(options: Any) -> str:
    return "it takes " + ", ".join(options.__annotations__)

"""Mechanisms for the tests of joints: a bench on which bodies are put, joined and run, without contact.

    bench = Bench({"dt": 0.005}, gravity=(0, 0, -9.81))
    base = bench.box("base", fixed=True)
    arm = bench.box("arm", at=(1, 0, 0))
    hinge = bench.join(AffineBodyRevoluteJoint, [base], [arm], (0.5, 0, 0), (0.5, 1, 0))
    bench.run(10)
    hinge["angle"]

`Joined` reads and writes the attributes of a joint geometry, whether they lie on edges or on vertices.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import Engine, Scene, World
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyD6Joint,
    AffineBodyJointArmature,
    AffineBodyJointDamper,
    AffineBodyJointDrive,
    AffineBodyJointFriction,
    AffineBodyJointLimit,
    AffineBodyJointSpring,
    AffineBodySphericalJoint,
    AffineBodySphericalJointResistance,
    Joint,
    constitution_classes,
)
from dovetail.constitution.joint.coordinate_extra import CoordinateExtra
from dovetail.constitution.joint.extra import Drive, JointLimit, JointLoad
from dovetail.constitution.joint.spherical import MeasuredSphericalJoint
from dovetail.core import AffineBodyStateAccessorFeature
from dovetail.geometry import SimplicialComplex, SimplicialComplexSlot, trimesh
from dovetail.world.simulation import Simulation

__all__ = [
    "JOINTS",
    "MEMBERS",
    "TIGHT",
    "Bench",
    "Joined",
    "axis_angle",
    "cross_matrix",
    "everything_on",
    "extras_of",
    "image",
    "pose",
    "random_rotation",
]

_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_SIDES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])

JOINTS: dict[int, type[Joint]] = {
    uid: cls for uid, cls in constitution_classes().items() if uid < 2**32 and issubclass(cls, Joint)
}
"""All joints of the specification by UID: a new one is in here the day it is listed."""

MEMBERS: dict[str, type[Joint]] = {
    "driven ball": MeasuredSphericalJoint,
    **{f"D6 {free}": AffineBodyD6Joint.with_free(*free.split()) for free in ("x rz", "y ry", "y z rx rz", "rx ry rz")},
}
"""Joints that share a UID with another one, which their geometries tell from it."""

LOOSE_FIT = 0.3
"""Half the spread of what `everything_on` asks for [m or rad]: limits are violated and aims missed by about this."""

TIGHT = {"newton/velocity_tol": 1e-8, "newton/transrate_tol": 1e-8}
"""Tolerances at which the last, quadratically convergent Newton step leaves round-off behind."""


def cross_matrix(w: Any) -> np.ndarray:
    """[w]× with [w]× v = w × v."""
    x, y, z = np.asarray(w, float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def axis_angle(axis: Any, angle: float) -> np.ndarray:
    """Rotation by an angle [rad], right-handed about an axis (Rodrigues)."""
    S = cross_matrix(np.asarray(axis, float) / np.linalg.norm(axis))
    return np.eye(3) + np.sin(angle) * S + (1.0 - np.cos(angle)) * S @ S


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    return axis_angle(rng.normal(size=3), rng.uniform(0.0, 3.0))


def pose(position: Any = (0.0, 0.0, 0.0), rotation: np.ndarray | None = None) -> np.ndarray:
    """A 4×4 transform."""
    T = np.eye(4)
    T[:3, 3] = position
    if rotation is not None:
        T[:3, :3] = rotation
    return T


def image(slot: SimplicialComplexSlot, point: Any, instance: int = 0) -> np.ndarray:
    """Where a body carries one of its own points now."""
    T = slot.geometry.transforms.values[instance]
    return T[:3, :3] @ np.asarray(point, float) + T[:3, 3]


def extras_of(kind: type[Joint]) -> list[type[Any]]:
    """The drives, limits, loads and so on of the package that a joint can have, by UID."""
    found = [cls for uid, cls in constitution_classes().items() if uid < 2**32]
    special = [cls for cls in found if getattr(cls, "base", None) is kind]
    anywhere = [cls for cls in found if issubclass(cls, CoordinateExtra) and kind.coordinates()]
    if any(issubclass(cls, JointLimit) for cls in special):
        anywhere.remove(AffineBodyJointLimit)  # the same limit, on the same attributes
    balls = [AffineBodySphericalJointResistance] if issubclass(kind, AffineBodySphericalJoint) else []
    return special + anywhere + balls


def everything_on(kind: type[Joint], rng: np.random.Generator) -> list[Callable[[SimplicialComplex], None]]:
    """All extras of a joint, in random order and switched on, with values that make each of them act.

    The values do not depend on the order in which the extras are applied.
    """
    seed = int(rng.integers(2**31))

    def apply(extra: type[Any], sc: SimplicialComplex) -> None:
        n = kind.elements(sc).size()
        rng = np.random.default_rng([seed, extra.uids[0]])
        for word in kind.coordinates() if issubclass(extra, CoordinateExtra) else ():
            low = rng.uniform(0.5, 2, n) * LOOSE_FIT * rng.choice([1, -4], n)
            numbers = {
                AffineBodyJointLimit: (low, low + LOOSE_FIT, rng.uniform(1, 10, n)),
                AffineBodyJointDrive: (rng.uniform(1e5, 1e6, n), rng.uniform(1e2, 1e3, n), rng.uniform(1e3, 1e5, n)),
                AffineBodyJointDamper: (rng.uniform(1e2, 1e3, n),),
                AffineBodyJointFriction: (rng.uniform(10, 100, n), rng.uniform(0.1, 1.0, n)),
                AffineBodyJointArmature: (rng.uniform(0.1, 1.0, n),),
                AffineBodyJointSpring: (rng.uniform(1e4, 1e5, n), low),
            }[extra]
            extra().apply_to(sc, *numbers, coordinate=word.attribute)
            if extra is AffineBodyJointDrive:
                kind.elements(sc)[f"{word.prefix}drive/target"] = rng.uniform(-LOOSE_FIT, LOOSE_FIT, n)
                kind.elements(sc)[f"{word.prefix}drive/target_velocity"] = rng.uniform(-1, 1, n)
        if issubclass(extra, CoordinateExtra):
            return
        if extra is AffineBodySphericalJointResistance:
            angle = rng.uniform(0.5, 2, n) * LOOSE_FIT
            extra().apply_to(sc, rng.uniform(1e2, 1e3, n), rng.uniform(0.1, 1.0, n), angle, rng.uniform(1, 10, n))
        elif issubclass(extra, Drive):
            extra().apply_to(sc, rng.uniform(1, 100, n))
            sc.edges["driving/is_constrained"] = 1
            sc.edges[extra.aim] = rng.uniform(-LOOSE_FIT, LOOSE_FIT, n)
        elif issubclass(extra, JointLimit):
            low = rng.uniform(0.5, 2, n) * LOOSE_FIT * rng.choice([1, -4], n)
            extra().apply_to(sc, low, low + LOOSE_FIT, rng.uniform(1, 10, n))
        elif issubclass(extra, JointLoad):
            extra().apply_to(sc, rng.uniform(-10, 10, n))
            sc.edges[f"{extra.load}/is_constrained"] = 1
        else:
            raise AssertionError(f"no values are known for {extra.__name__}; add them here")

    extras = extras_of(kind)
    order = rng.permutation(len(extras))
    return [lambda sc, extra=extras[k]: apply(extra, sc) for k in order]


class Joined:
    """A joint geometry in a scene: `joined["angle"]` is the attribute of all its joints, writable."""

    def __init__(self, slot: SimplicialComplexSlot, kind: type[Joint]) -> None:
        self.slot, self.kind = slot, kind

    def __getitem__(self, name: str) -> np.ndarray:
        return self.kind.elements(self.slot.geometry)[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.kind.elements(self.slot.geometry)[name] = value


class Bench:
    """A scene under construction and, from the first `run` on, its world."""

    def __init__(self, config: dict[str, Any] | None = None, gravity: Any = (0.0, 0.0, 0.0)) -> None:
        self.scene = Scene()
        self.scene.config["gravity"] = np.reshape(np.asarray(gravity, float), (3, 1)).tolist()
        self.scene.config["contact/enable"] = 0
        for key, value in (config or {}).items():
            self.scene.config[key] = value
        self._world: World | None = None

    # ---- bodies --------------------------------------------------------------------------------------------

    def put(self, name: str, geometry: SimplicialComplex) -> SimplicialComplexSlot:
        slot, _ = self.scene.objects.create(name).geometries.create(geometry)
        assert isinstance(slot, SimplicialComplexSlot)
        return slot

    def _bodies(
        self, name: str, sc: SimplicialComplex, at: Any, rotation: Any, fixed: bool, spin: Any, velocity: Any
    ) -> SimplicialComplexSlot:
        positions = np.atleast_2d(np.asarray(at, float))
        sc.instances.resize(len(positions))
        rotations = np.broadcast_to(np.eye(3) if rotation is None else rotation, (len(positions), 3, 3))
        sc.instances["transform"] = np.stack([pose(p, R) for p, R in zip(positions, rotations, strict=True)])
        sc.instances["is_fixed"] = int(fixed)
        rates = np.zeros((len(positions), 4, 4))
        rates[:, :3, :3] = cross_matrix(spin) @ rotations
        rates[:, :3, 3] = velocity
        sc.instances["velocity"] = rates
        return self.put(name, sc)

    def box(
        self, name: str = "box", size: Any = (0.4, 0.4, 0.4), at: Any = (0.0, 0.0, 0.0), rotation: Any = None,
        fixed: bool = False, density: float = 1000.0, kappa: float = 1e8, spin: Any = (0.0, 0.0, 0.0),
        velocity: Any = (0.0, 0.0, 0.0), potential: str = "OrthoPotential",
    ) -> SimplicialComplexSlot:  # fmt: skip
        """Boxes about their origins; `at` (3,) or (n, 3), `rotation` (3, 3) or (n, 3, 3), `spin` [rad/s]."""
        sc = trimesh(_CORNERS * np.asarray(size, float), _SIDES)
        AffineBodyConstitution({"name": potential}).apply_to(sc, kappa, density)
        return self._bodies(name, sc, at, rotation, fixed, spin, velocity)

    def rigid(
        self, name: str = "rigid", mass: float = 1.0, inertia: Any = (0.1, 0.1, 0.1), centre: Any = (0.0, 0.0, 0.0),
        at: Any = (0.0, 0.0, 0.0), rotation: Any = None, fixed: bool = False, stiffness: float = 1e9,
        spin: Any = (0.0, 0.0, 0.0), velocity: Any = (0.0, 0.0, 0.0),
    ) -> SimplicialComplexSlot:  # fmt: skip
        """Bodies given by mass, inertia about the centre of mass [kg·m²] and that centre; `stiffness` is κV [J]."""
        sc = AffineBodyConstitution().create_proxy(stiffness, mass, centre, np.diag(inertia), 1.0)
        return self._bodies(name, sc, at, rotation, fixed, spin, velocity)

    # ---- joints --------------------------------------------------------------------------------------------

    def join(
        self, kind: type[Joint], left: Sequence[Any], right: Sequence[Any], *points: Any, strength: Any = 100.0,
        extras: Sequence[Callable[[SimplicialComplex], None]] = (), name: str = "joint",
    ) -> Joined:  # fmt: skip
        """Joints in the world form between bodies, each a slot or (slot, instance).

        points: P0 and P1 for joints with an axis, the anchor for those without; a fixed joint takes none. `extras` are
        called with the geometry before it enters the scene.
        """
        bodies = [[b if isinstance(b, tuple) else (b, 0) for b in side] for side in (left, right)]
        count = len(bodies[0])
        wanted = len(kind.world_points)
        given = [np.broadcast_to(np.asarray(p, float), (count, 3)) for p in points[:wanted]]
        pairs: list[Any] = []
        for side in bodies:
            pairs += [[slot for slot, _ in side], [instance for _, instance in side]]
        sc = kind().create_geometry(*given, *pairs, strength)
        for extra in extras:
            extra(sc)
        return Joined(self.put(name, sc), kind)

    # ---- running -------------------------------------------------------------------------------------------

    @property
    def world(self) -> World:
        """The world, initialised when it is first asked for; joint states are published then."""
        if self._world is None:
            self._world = World(Engine("cpu", tempfile.gettempdir()))
            self._world.init(self.scene)
            assert self._world.is_valid()
        return self._world

    def run(self, frames: int = 1, each: Callable[[], Any] | None = None) -> list[Any]:
        """Advance and retrieve; what `each` returns after every frame."""
        seen = []
        for _ in range(frames):
            self.world.advance()
            self.world.retrieve()
            if each is not None:
                seen.append(each())
        return seen

    def lowered(self) -> Simulation:
        """The scene as solver arrays with the parameters of its first step, for tests of energies and derivatives."""
        simulation = Simulation(self.scene)
        simulation.joints.refresh(simulation.dt)
        simulation.model.prepare(simulation.dt, np.ones(simulation.model.bodies.count))
        return simulation

    def accessor(self) -> AffineBodyStateAccessorFeature:
        found = self.world.features().find(AffineBodyStateAccessorFeature)
        assert found is not None
        return found

    def write(self, transforms: np.ndarray, first: int = 0) -> None:
        """Replace the transforms (n, 4, 4) of bodies `first` … through the state accessor."""
        accessor = self.accessor()
        state = accessor.create_geometry(first, len(transforms))
        state.instances.create("transform", np.eye(4))
        state.instances["transform"] = transforms
        accessor.copy_from(state)

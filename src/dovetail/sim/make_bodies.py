"""Putting bodies into a `Sim`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypedDict, Unpack

import numpy as np

from dovetail.checked import checked, numbers, shown
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyShell,
)
from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplex, affine_body
from dovetail.geometry import ground as half_plane
from dovetail.geometry.round import cylinder_moments
from dovetail.sim import shapes
from dovetail.sim.body import Body
from dovetail.sim.given import color_of, flag, positive, rotation_of, skew, unit, vector
from dovetail.sim.making import Making, taken
from dovetail.sim.materials import Material, Materials
from dovetail.typing import Array, ArrayLike
from dovetail.world.step_length import step_length

__all__ = ["BodyMaking", "BodyOptions"]

_Moments = Callable[[float], tuple[Array, float]]

_LEAST_INERTIA = 1e-10
"""How small inertia may be beside the stiffness of a shape; a factor in float64 knows 1e-16 of its largest entries."""


class BodyOptions(TypedDict, total=False):
    """What every body takes.

    | | |
    |---|---|
    | `pos` | place of its origin [m]; default (0, 0, 0) |
    | `rot` | quaternion (w, x, y, z), 3×3 matrix, AngleAxis(angle, axis) or SciPy's Rotation |
    | `density` | [kg/m³]; default 1000. Or: |
    | `mass` | [kg] |
    | `fixed` | True: it never moves |
    | `velocity` | of its origin at the start [m/s] |
    | `spin` | angular velocity at the start [rad/s] |
    | `friction` | coefficient μ; two bodies rub with √(μ_a μ_b). Default: that of the Sim |
    | `contact` | False: nothing touches it |
    | `color` | (r, g, b) from 0 to 1, "#rrggbb" or a name |
    | `name` | unique; default such as "box 1" |
    | `kappa` | stiffness of the shape [Pa]: strains are ∝ 1/κ. Default: that of the Sim, less below some 0.1 mm |
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


class BodyMaking(Making):
    """The calls that make bodies."""

    _materials: Materials
    _friction: float

    def __init__(self) -> None:
        super().__init__()
        self._prototypes: dict[Any, SimplicialComplex] = {}
        self._material: dict[str, Material] = {}

    def box(self, size: ArrayLike, **options: Unpack[BodyOptions]) -> Body:
        """A box with edges of these lengths [m], or a cube with one. Options: see `BodyOptions`."""
        return self._body("box", lambda who: shapes.box(who, size), _key("box", size), options)

    def sphere(self, radius: float, *, detail: int = 3, **options: Unpack[BodyOptions]) -> Body:
        """A ball, truly round; its picture has 20·4^detail triangles. Options: see `BodyOptions`."""
        return self._body(
            "sphere", lambda who: shapes.sphere(who, radius, detail), _key("sphere", radius, detail), options
        )

    def capsule(self, radius: float, length: float, *, detail: int = 3, **options: Unpack[BodyOptions]) -> Body:
        """A cylinder of this length [m] along its z with half-balls at both ends, truly round.

        Its picture has 4·2^detail sides. Options: see `BodyOptions`.
        """
        key = _key("capsule", radius, length, detail)
        return self._body("capsule", lambda who: shapes.capsule(who, radius, length, detail), key, options)

    def cylinder(self, radius: float, length: float, *, detail: int = 4, **options: Unpack[BodyOptions]) -> Body:
        """A cylinder along its z, which touches as a prism with 8·2^detail sides. Options: see `BodyOptions`."""
        key = _key("cylinder", radius, length, detail)
        return self._body(
            "cylinder", lambda who: shapes.cylinder(who, radius, length, detail), key, options,
            moments=lambda density: cylinder_moments(density, radius, length),
        )  # fmt: skip

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

    @checked(SceneError)
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
        self._materials.apply(plane, Material(self._mu(who, friction), True))
        self._scene.objects.create(self._name(who, "ground", name)).geometries.create(plane)

    def _body(
        self,
        kind: str,
        make: Callable[[str], SimplicialComplex],
        key: Any,
        options: BodyOptions,
        thickness: float | None = None,
        moments: _Moments | None = None,
    ) -> Body:
        unknown = options.keys() - BodyOptions.__annotations__.keys()
        if unknown:
            raise SceneError(f"Sim.{kind}: there is no option '{sorted(unknown)[0]}'; {taken(BodyOptions)}.")
        name = self._name(f"Sim.{kind}", kind, options.get("name", ""))
        who = f"{kind} '{name}'"
        self._require_building(who)
        material = Material(self._mu(who, options.get("friction")), flag(who, "contact", options.get("contact", True)))
        geometry = self._prototype(who, make, key, options, thickness, moments, material)
        T = np.eye(4)
        T[:3, :3] = rotation_of(who, options.get("rot"))
        T[:3, 3] = vector(who, "pos", options.get("pos", (0.0, 0.0, 0.0)), "m")
        geometry.instances["transform"] = T
        if "spin" in options or "velocity" in options:
            V = np.zeros((4, 4))
            V[:3, :3] = skew(vector(who, "spin", options.get("spin", (0.0, 0.0, 0.0)), "rad/s")) @ T[:3, :3]
            V[:3, 3] = vector(who, "velocity", options.get("velocity", (0.0, 0.0, 0.0)), "m/s")
            geometry.instances["velocity"] = V
        if flag(who, "fixed", options.get("fixed", False)):
            geometry.instances["is_fixed"] = 1
        if options.get("color") is not None:
            geometry.instances.create("color", color_of(who, options["color"]))
        body = self._bodies[name] = Body(self, self._add(name, geometry), kind)  # type: ignore[arg-type]  # Sim is the one subclass
        self._material[name] = material
        return body

    @checked(SceneError)
    def no_contact(self, one: Body | Sequence[Body], other: Body | Sequence[Body]) -> None:
        """Let bodies of the first group pass through those of the second; a group is a body or several."""
        who = "Sim.no_contact"
        self._require_building(who)
        groups = [[given] if isinstance(given, Body) else list(given) for given in (one, other)]
        for body in (body for group in groups for body in group):
            if not isinstance(body, Body) or self._bodies.get(body.name) is not body:
                raise SceneError(f"{who}: {shown(body)} is not a body of this Sim; give bodies, or lists of them.")
        for number, group in zip(self._materials.keep_apart(), groups, strict=True):
            for body in group:
                before = self._material[body.name]
                material = self._material[body.name] = before._replace(groups=before.groups | {number})
                self._materials.apply(body.slot.geometry, material)

    def _prototype(
        self,
        who: str,
        make: Callable[[str], SimplicialComplex],
        key: Any,
        options: BodyOptions,
        thickness: float | None,
        moments: _Moments | None,
        material: Material,
    ) -> SimplicialComplex:
        """A copy of the mesh with its mass; equal primitives share their arrays, so that contact knows them as one.

        moments gives M̂ and the volume for a density where the mesh does not.
        """
        if "mass" in options and "density" in options:
            raise SceneError(f"{who}: both mass and density are given; give one of them.")
        density = positive(who, "density", options.get("density", 1000.0), "kg/m³")
        kappa = positive(who, "kappa", options.get("kappa", self._kappa), "Pa")
        mass = positive(who, "mass", options["mass"], "kg") if "mass" in options else None
        full_key = None if key is None else (*key, density, mass, kappa)
        dressed = self._prototypes.get((full_key, material))
        if dressed is not None:
            return dressed.copy()
        found = self._prototypes.get(full_key)
        if found is None:
            found = make(who)

            def apply(rho: float) -> None:
                if moments is not None:
                    M_hat, volume = moments(rho)
                    matrix = affine_body.build_abd_mass_matrix(M_hat[0, 0], M_hat[0, 1:], M_hat[1:, 1:])
                    AffineBodyConstitution().apply_to(found, kappa, mass=matrix, volume=volume)
                elif thickness is None:
                    AffineBodyConstitution().apply_to(found, kappa, mass_density=rho)
                else:
                    radius = positive(who, "thickness", thickness, "m")
                    AffineBodyShell().apply_to(found, kappa, mass_density=rho, thickness=radius)

            apply(density)
            if mass is not None:
                apply(mass / float(found.meta.slot("volume").first))
            if "kappa" not in options:
                found.instances["kappa"] = min(kappa, self._stiffest(found))
            if full_key is not None:
                self._prototypes[full_key] = found.copy()
        made = found.copy()
        self._materials.apply(made, material)
        if full_key is not None:
            self._prototypes[full_key, material] = made.copy()
        return made

    def _stiffest(self, body: SimplicialComplex) -> float:
        """The shape's stiffness κ [Pa] beside which the body's inertia is not yet lost in round-off.

        A step weighs turning, with the smallest second moment I of the mass, against stretching, κ V h².
        """
        m, c, S, volume = (
            np.array(body.meta.slot(name).first)
            for name in ("abd_mass", "mass_center", "abd_mass_x_bar_x_bar", "volume")
        )
        inertia = np.linalg.eigvalsh(S - m * np.outer(c, c))[0]
        h = step_length(self._scene.config)
        return float(inertia / (_LEAST_INERTIA * volume * h * h))

    def _mu(self, who: str, friction: float | None) -> float:
        if friction is None:
            return self._friction
        mu = float(vector(who, "friction", friction, size=1)[0])
        if mu < 0.0:
            raise SceneError(f"{who}: friction = {shown(friction)}; give a coefficient ≥ 0.")
        return mu


def _key(kind: str, *sizes: Any) -> tuple[Any, ...] | None:
    """What equal primitives have in common; None where a size is no number, which making the mesh complains of."""
    given = [size for size in map(numbers, sizes) if size is not None]
    return (kind, *(tuple(size.ravel().tolist()) for size in given)) if len(given) == len(sizes) else None

"""Putting bodies into a `Sim`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict, Unpack

import numpy as np

from dovetail.checked import checked, numbers, shown
from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplex
from dovetail.geometry import ground as half_plane
from dovetail.geometry.round import cylinder_moments
from dovetail.sim import shapes
from dovetail.sim.body import Body
from dovetail.sim.compound import Part, assemble
from dovetail.sim.given import color_of, flag, positive, rotation_of, skew, unit, vector
from dovetail.sim.making import Making, taken
from dovetail.sim.mass import Moments, apply_mass, moments_of
from dovetail.sim.materials import Material, Materials
from dovetail.sim.terrain import TerrainOptions, heights_of, surface
from dovetail.typing import ArrayLike
from dovetail.world.step_length import step_length

__all__ = ["BodyMaking", "BodyOptions"]

_MASS = ("density", "mass", "center_of_mass", "inertia")

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
    | `center_of_mass` | in the body [m]; default that of the shape |
    | `inertia` | about the centre of mass, body axes [kg·m²]: 3×3, or three moments; default the shape's |
    | `fixed` | True: it never moves |
    | `velocity` | of its origin at the start [m/s] |
    | `spin` | angular velocity at the start [rad/s] |
    | `friction` | coefficient μ; two bodies rub with √(μ_a μ_b). Default: that of the Sim |
    | `rolling_friction` | lever c [m]: a torque of c times the normal force resists rolling; the larger of two counts |
    | `restitution` | from 0 to 1: share of the speed of an impact that bodies part with; the larger of two counts |
    | `contact` | False: nothing touches it |
    | `color` | (r, g, b) from 0 to 1, "#rrggbb" or a name |
    | `name` | unique; default such as "box 1" |
    | `kappa` | stiffness of the shape [Pa]: strains are ∝ 1/κ. Default: that of the Sim, less below some 0.1 mm |
    """

    pos: ArrayLike
    rot: Any
    density: float
    mass: float
    center_of_mass: ArrayLike
    inertia: ArrayLike
    fixed: bool
    velocity: ArrayLike
    spin: ArrayLike
    friction: float
    rolling_friction: float
    restitution: float
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

    def compound(self, parts: Sequence[Part], **options: Unpack[BodyOptions]) -> Body:
        """One body made of several shapes, such as [Part.box(0.1), Part.sphere(0.1, pos=(0.2, 0, 0))].

        Parts may overlap, and each counts with its whole mass. Options: see `BodyOptions`; `density` is that of parts
        that have none of their own, `mass` the mass of all together.
        """
        self._require_options("compound", BodyOptions, options)
        whole, moments = assemble("Sim.compound", parts)
        return self._body("compound", lambda _: whole, None, options, moments=moments)

    @checked(SceneError)
    def terrain(
        self,
        heights: ArrayLike | Callable[..., Any],
        size: ArrayLike,
        *,
        cells: int | Sequence[int] = 32,
        scale: float = 1.0,
        **options: Unpack[TerrainOptions],
    ) -> Body:
        """A fixed surface over the rectangle `size` = (along x, along y) [m] about its origin, touched from above.

        `heights[i, j]` [m] are those at x_i and y_j, evenly spaced from side to side, or a function z(x, y), which is
        taken at the corners of `cells` (one number, or two). Both are multiplied by `scale`. Options: see
        `TerrainOptions`.
        """
        who = "Sim.terrain"
        self._require_options("terrain", TerrainOptions, options)
        table = heights_of(who, heights, vector(who, "size", size, "m", 2), cells, scale)
        mesh, moments = surface(who, table, size)
        fixed: BodyOptions = {**options, "fixed": True}  # type: ignore[typeddict-item]  # all of them are options of bodies
        return self._body("terrain", lambda _: mesh, None, fixed, moments=moments)

    @checked(SceneError)
    def ground(
        self,
        height: float = 0.0,
        *,
        normal: ArrayLike | None = None,
        friction: float | None = None,
        rolling_friction: float = 0.0,
        restitution: float = 0.0,
        name: str = "",
    ) -> None:
        """A half-space that nothing enters: below `height` [m] along its normal, by default against gravity.

        friction, rolling_friction and restitution are as those of bodies.
        """
        who = "Sim.ground"
        self.reopen()
        if normal is None:
            g = np.asarray(self._scene.config["gravity"], float).reshape(3)
            normal = -g if g.any() else (0.0, 0.0, 1.0)
        plane = half_plane(float(vector(who, "height", height, "m", 1)[0]), unit(who, "normal", normal))
        further = {"rolling_friction": rolling_friction, "restitution": restitution}
        self._materials.apply(plane, self._material_of(who, {"friction": friction, **further}))
        self._scene.objects.create(self._name(who, "ground", name)).geometries.create(plane)

    def _body(
        self,
        kind: str,
        make: Callable[[str], SimplicialComplex],
        key: Any,
        options: BodyOptions,
        thickness: float | None = None,
        moments: Moments | None = None,
    ) -> Body:
        self._require_options(kind, BodyOptions, options)
        name = self._name(f"Sim.{kind}", kind, options.get("name", ""))
        who = f"{kind} '{name}'"
        self.reopen()
        material = self._material_of(who, options)
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
        self.reopen()
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
        moments: Moments | None,
        material: Material,
    ) -> SimplicialComplex:
        """A copy of the mesh with its mass; equal primitives share their arrays, so that contact knows them as one."""
        kappa = positive(who, "kappa", options.get("kappa", self._kappa), "Pa")
        own = _key("", *(options.get(name, 0.0) for name in _MASS))
        full_key = None if key is None or own is None else (*key, *own, *(name in options for name in _MASS), kappa)
        dressed = self._prototypes.get((full_key, material))
        if dressed is not None:
            return dressed.copy()
        found = self._prototypes.get(full_key)
        if found is None:
            found = make(who)
            apply_mass(who, found, kappa, options, thickness, moments)
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
        M_hat, volume = moments_of(body)
        m, mc, S = M_hat[0, 0], M_hat[1:, 0], M_hat[1:, 1:]
        inertia = np.linalg.eigvalsh(S - np.outer(mc, mc) / m)[0]
        h = step_length(self._scene.config)
        return float(inertia / (_LEAST_INERTIA * volume * h * h))

    def _require_options(self, kind: str, known: Any, options: Any) -> None:
        unknown = options.keys() - known.__annotations__.keys()
        if unknown:
            raise SceneError(f"Sim.{kind}: there is no option '{sorted(unknown)[0]}'; {taken(known)}.")

    def _material_of(self, who: str, options: Mapping[str, Any]) -> Material:
        c, e = (
            float(vector(who, what, options.get(what, 0.0), size=1)[0]) for what in ("rolling_friction", "restitution")
        )
        if not (c >= 0.0 and 0.0 <= e <= 1.0):
            raise SceneError(
                f"{who}: rolling_friction = {c:g} m and restitution = {e:g}; give a lever ≥ 0 and a number from 0 to 1."
            )
        collides = flag(who, "contact", options.get("contact", True))
        return Material(self._mu(who, options.get("friction")), collides, rolling_friction=c, restitution=e)

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

"""Bodies and scenes for the tests of contact: meshes, scenes that check every frame, and a probe into the solver.

    stage = Stage(gravity=(0, 0, -10))
    stage.ground()
    stage.add("cube", BOX, [(0, 0, 0.6)])
    stage.run(20)                    # after every frame nothing intersects, by an independent exact test

`Probe` evaluates energy, gradient and Hessian of contact alone, at any state.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from intersection import assert_apart
from scenes import cross_matrix, pose, rotation

from dovetail import Engine, Scene, World
from dovetail.constitution import AffineBodyConstitution
from dovetail.geometry import SimplicialComplex, SimplicialComplexSlot, halfplane, label_surface, trimesh
from dovetail.solver.blocks import Blocks
from dovetail.solver.contact.contact import Contact
from dovetail.solver.iteration import Iteration
from dovetail.solver.potential import Evaluation
from dovetail.solver.solution import Tolerances
from dovetail.world.simulation import Simulation

__all__ = [
    "BOX",
    "DART",
    "FINE_BOX",
    "L_SHAPE",
    "MESHES",
    "STAR",
    "TETRAHEDRON",
    "TORUS",
    "Mesh",
    "Probe",
    "Stage",
    "box",
    "boxes_in_touch",
    "random_rotation",
    "scaled",
    "subdivided",
]

Mesh = tuple[np.ndarray, np.ndarray]
"""Vertices (n, 3) and outward triangles (t, 3)."""


# ---- meshes ----------------------------------------------------------------------------------------------------


def _triangles(polygons: Sequence[Sequence[int]]) -> np.ndarray:
    """Fans of convex polygons."""
    return np.array([[f[0], f[k], f[k + 1]] for f in polygons for k in range(1, len(f) - 1)])


def box(x: float = 1.0, y: float = 1.0, z: float = 1.0) -> Mesh:
    """A box around the origin."""
    corners = np.array([[i, j, k] for k in (-0.5, 0.5) for j in (-0.5, 0.5) for i in (-0.5, 0.5)])
    sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    return corners * (x, y, z), _triangles(sides)


def _prism(outline: Sequence[tuple[float, float]], pieces: Sequence[Sequence[int]], height: float) -> Mesh:
    """A counter-clockwise outline in the plane, raised to both sides; `pieces` are convex polygons that fill it."""
    n = len(outline)
    flat = np.array(outline, float)
    bottom, top = (np.column_stack([flat, np.full(n, z)]) for z in (-height / 2, height / 2))
    sides = [[k, (k + 1) % n, n + (k + 1) % n, n + k] for k in range(n)]
    caps = [[n + k for k in piece] for piece in pieces] + [list(piece)[::-1] for piece in pieces]
    return np.concatenate([bottom, top]), _triangles([*sides, *caps])


def _torus(major: float, minor: float, around: int, across: int) -> Mesh:
    u, v = np.meshgrid(2 * np.pi * np.arange(around) / around, 2 * np.pi * np.arange(across) / across, indexing="ij")
    ring = major + minor * np.cos(v)
    points = np.stack([ring * np.cos(u), ring * np.sin(u), minor * np.sin(v)], axis=-1).reshape(-1, 3)
    quads = [
        [
            i * across + j,
            (i + 1) % around * across + j,
            (i + 1) % around * across + (j + 1) % across,
            i * across + (j + 1) % across,
        ]
        for i in range(around)
        for j in range(across)
    ]
    return points, _triangles(quads)


def subdivided(mesh: Mesh) -> Mesh:
    """Every triangle cut into four by the middles of its sides."""
    points, triangles = mesh
    sides = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    edges, of_side = np.unique(sides, axis=0, return_inverse=True)
    middle = (len(points) + of_side).reshape(-1, 3)
    a, b, c = triangles.T
    ab, bc, ca = middle.T
    cut = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return (
        np.concatenate([points, points[edges].mean(axis=1)]),
        np.concatenate([np.stack(corners, axis=1) for corners in cut]),
    )


def _star(inner: float, outer: float) -> Mesh:
    """A cube with a spike on every face: convex at the spikes, concave between them."""
    points, triangles = box(inner, inner, inner)
    points, triangles = points.copy(), triangles.reshape(-1, 2, 3)
    tips, spiked = [], []
    for k, (first, second) in enumerate(triangles):
        rim = [first[0], first[1], first[2], second[2]]
        normal = points[rim].mean(axis=0)
        tips.append(outer * normal / np.linalg.norm(normal))
        spiked += [[rim[i], rim[(i + 1) % 4], len(points) + k] for i in range(4)]
    return np.concatenate([points, tips]), np.array(spiked)


def scaled(mesh: Mesh, factor: Any) -> Mesh:
    return mesh[0] * np.asarray(factor, float), mesh[1]


BOX = box()
FINE_BOX = subdivided(BOX)
TETRAHEDRON: Mesh = (
    np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]) / 2,
    np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]),
)
L_SHAPE = _prism(
    [(-0.5, -0.5), (0.5, -0.5), (0.5, -0.1), (-0.1, -0.1), (-0.1, 0.5), (-0.5, 0.5)],
    [[0, 1, 2, 3], [0, 3, 4, 5]],
    0.4,
)
TORUS = _torus(0.4, 0.15, 10, 6)
STAR = _star(0.4, 0.7)
DART = _prism([(-0.5, -0.5), (0.0, -0.25), (0.5, -0.5), (0.0, 0.6)], [[0, 1, 3], [1, 2, 3]], 0.3)
MESHES: dict[str, Mesh] = {
    "box": BOX,
    "fine_box": FINE_BOX,
    "tetrahedron": TETRAHEDRON,
    "L_shape": L_SHAPE,
    "torus": TORUS,
    "star": STAR,
    "dart": DART,
}
"""All about one metre wide: three convex ones, of them one with flat edges, and four with concave edges."""


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    return rotation(rng.normal(size=3), rng.uniform(0.0, np.pi))


# ---- scenes ----------------------------------------------------------------------------------------------------


class Stage:
    """A scene under construction and, from the first `run` on, its world, checked after every frame.

    Gravity is off and d̂ is 1 mm unless told otherwise; config keys are written with `__` for `/`.
    """

    def __init__(self, gravity: Any = (0.0, 0.0, 0.0), d_hat: float = 1e-3, **config: Any) -> None:
        self.scene = Scene({name.replace("__", "/"): value for name, value in config.items()})
        self.scene.config["gravity"] = np.reshape(np.asarray(gravity, float), (3, 1)).tolist()
        self.scene.config["contact/d_hat"] = d_hat
        self.ignored: Collection[frozenset[str]] = ()
        self._world: World | None = None

    def material(self, mu: float, kappa: float | None = None) -> None:
        """Friction and stiffness of all pairs; without κ it stays adaptive."""
        self.scene.contact_tabular.default_model(mu, -1.0 if kappa is None else kappa)

    def ground(self, height: float = 0.0, normal: Any = (0.0, 0.0, 1.0)) -> Any:
        plane = halfplane(height * np.asarray(normal, float), normal)
        slot, _ = self.scene.objects.create("ground").geometries.create(plane)
        return slot

    def add(
        self, name: str, mesh: Mesh | SimplicialComplex, poses: Sequence[Any] = ((0.0, 0.0, 0.0),), *,
        velocity: Any = (0.0, 0.0, 0.0), spin: Any = (0.0, 0.0, 0.0), fixed: bool = False, density: float = 1000.0,
        kappa: float = 1e8, applied: Sequence[Callable[[SimplicialComplex], Any]] = (),
        body: Callable[[SimplicialComplex], None] | None = None,
    ) -> SimplicialComplexSlot:  # fmt: skip
        """Bodies of one mesh, one per pose: (4, 4) transforms or (3,) positions; speeds (3,) or one per body.

        `body` makes bodies of the mesh where they are not solids; `applied` are run on it afterwards.
        """
        sc = mesh if isinstance(mesh, SimplicialComplex) else trimesh(*mesh)
        label_surface(sc)
        if body is None:
            AffineBodyConstitution().apply_to(sc, kappa, density)
        else:
            body(sc)
        transforms = np.array([p if np.shape(p) == (4, 4) else pose(p) for p in map(np.asarray, poses)])
        sc.instances.resize(len(transforms))
        sc.instances["transform"] = transforms
        rates = np.zeros_like(transforms)
        rates[:, :3, 3] = velocity
        for rate, T, w in zip(rates, transforms, np.broadcast_to(spin, (len(rates), 3)), strict=True):
            rate[:3, :3] = cross_matrix(w) @ T[:3, :3]
        sc.instances["velocity"] = rates
        sc.instances["is_fixed"] = int(fixed)
        for apply in applied:
            apply(sc)
        slot, _ = self.scene.objects.create(name).geometries.create(sc)
        assert isinstance(slot, SimplicialComplexSlot)
        return slot

    @property
    def world(self) -> World:
        if self._world is None:
            self._world = World(Engine("cpu", tempfile.gettempdir()))
            self._world.init(self.scene)
            assert self._world.is_valid()
        return self._world

    def run(self, frames: int = 1, each: Callable[[], Any] | None = None) -> list[Any]:
        """Advance and retrieve, and check that nothing intersects; what `each` returns after every frame."""
        seen = []
        for _ in range(frames):
            self.world.advance()
            self.world.retrieve()
            assert_apart(self.scene, self.ignored)
            if each is not None:
                seen.append(each())
        return seen

    def probe(self) -> Probe:
        return Probe(self.scene)


def boxes_in_touch(count: int) -> Probe:
    """Boxes beside each other on a half-plane, in rows of three, all in contact."""
    stage = Stage(d_hat=0.02)
    stage.material(0.5, 1e8)
    stage.ground()
    for k in range(count):
        stage.add(f"box {k}", BOX, [pose((1.011 * (k % 3), 1.012 * (k // 3), 0.51))])
    return stage.probe()


# ---- a look into the solver ------------------------------------------------------------------------------------


class Probe:
    """Contact of a scene as the solver sees it, evaluated at any state Q (n, 4, 3) of the bodies."""

    def __init__(self, scene: Scene) -> None:
        self.simulation = Simulation(scene)
        contact = self.simulation.contact
        assert contact is not None
        self.contact: Contact = contact
        self.Q = self.simulation.state.Q.copy()
        self.h = self.simulation.dt
        self.model = self.simulation.model
        fixed = self.model.bodies.is_fixed
        n = len(fixed)
        everyone = np.array([(i, j) for i in range(n) for j in range(i + 1, n)], np.int64).reshape(-1, 2)
        self.blocks = Blocks(fixed, everyone)
        self.at: Evaluation | None = None

    def look(self, Q: np.ndarray, motion: np.ndarray | None = None) -> None:
        """Search for contacts at Q and lag friction there; `motion` (n, 4, 3) is the largest that will follow.

        Raises SolverError where surfaces touch.
        """
        self.contact.forget(np.zeros(0, np.int64))
        self.model.prepare(self.h, np.ones(len(Q)))
        y = np.zeros((len(Q), 12)) if motion is None else -motion.reshape(-1, 12)
        self.iteration = Iteration(self.model, Q.copy(), self.h, Tolerances())
        self.iteration.begin_contacts(y * self.model.bodies.is_free[:, None])

    def energy(self, Q: np.ndarray, look: bool = True) -> float:
        """Energy of contact at Q times h²; without `look` by the candidates and friction of the last search."""
        if look:
            self.look(Q)
        # a sum over those of the bodies would round differently
        self.at, E = self.model.potential.bare(Q), np.zeros(len(Q))
        assert self.at.contacts is not None
        self.contact.at(Q, self.at.contacts, np.ones(len(Q), np.int64), E)
        return float(E.sum())

    @property
    def count(self) -> int:
        """How many contacts were active at the last energy."""
        assert self.at is not None and self.at.contacts is not None
        return self.at.contacts.count

    def contacts(self) -> list[tuple[int, int, int, tuple[int, ...], float]]:
        """Active contacts of the last energy: kind, body a, body b (−1: half-plane), vertices of the meshes, distance.

        Of a half-plane the second "vertex" is its number.
        """
        scene = self.contact.scene
        assert self.at is not None and self.at.contacts is not None
        active, found = self.at.contacts, []
        for k in range(active.count):
            kind, a, b, *x = active.candidates.pairs[active.candidate[k]].tolist()
            split, corners = {0: (1, 4), 1: (2, 4), 2: (1, 3), 3: (1, 1)}[kind]
            owners = [a if i < split else b for i in range(corners)]
            start = [int(scene.x_base[body] + scene.vertex_start[scene.shape_of[body]]) for body in owners]
            vertices = tuple(x[i] - start[i] for i in range(corners)) + ((x[1],) if b < 0 else ())
            found.append((kind, a, b, vertices, float(np.sqrt(active.squared[k]))))
        return found

    def free_share(self, Q: np.ndarray, motion: np.ndarray) -> float:
        """Share of the motion (n, 4, 3) from Q that the solver would allow, the smallest of all islands."""
        y = -motion.reshape(-1, 12) * self.model.bodies.is_free[:, None]
        self.look(Q, 8.0 * motion)  # with room to spare: it shall be collisions that bound the step
        self.iteration.bound(y)
        return float(self.model.islands.alpha[: self.model.islands.count].min())

    def slips(self, Q: np.ndarray) -> np.ndarray:
        """u (k, 2) of friction at Q."""
        f = self.contact.friction
        xi, bodies, moved = f.xi[: f.count], f.bodies[: f.count], Q - self.contact.Q_start
        x = np.einsum("ki,kix->kx", xi[:, :4], moved[bodies[:, 0]])
        x -= np.where(bodies[:, 1:] >= 0, np.einsum("ki,kix->kx", xi[:, 4:], moved[bodies[:, 1]]), 0.0)
        return np.einsum("ktx,kx->kt", f.tangent[: f.count], x) - f.roll[: f.count] + f.carried[: f.count]

    def derivatives(
        self, Q: np.ndarray, look: bool = True, aim: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (12n,) and Hessian (12n, 12n) by body, rows and columns of fixed bodies zero.

        The Hessian of friction is the exact one, that for contacts that are expected to end the step where they are,
        or one with secants to a slip (2,).
        """
        self.energy(Q, look)
        friction = self.contact.friction
        friction.aim[: friction.count] = self.slips(Q) if aim is None else aim
        blocks, n = self.blocks, len(Q)
        for array in (blocks.g, blocks.D, blocks.U):
            array[:] = 0.0
        assert self.at is not None and self.at.contacts is not None
        self.contact.assemble(Q, self.at.contacts, self.model.bodies.is_free, blocks)
        g, H = np.zeros((n, 12)), np.zeros((n, 12, n, 12))
        for a in range(n):
            if blocks.position[a] < 0:
                continue
            g[a] = blocks.g[a]
            upper = np.triu(blocks.D[a])
            H[a, :, a] = upper + np.triu(upper, 1).T
            for b in range(n):
                if blocks.position[b] > blocks.position[a]:
                    place = np.empty(1, np.int64)
                    blocks.locate(np.array([a]), np.array([b]), place)
                    U = blocks.U[place[0]]
                    H[a, :, b], H[b, :, a] = U, U.T
        return g.reshape(-1), H.reshape(12 * n, 12 * n)

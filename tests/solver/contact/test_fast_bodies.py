"""Bodies that move in a step by more than they measure: what is watched stays in proportion to their surfaces.

The most near elements that a look may find is known beforehand: so many per element of the scene, or all of two boxes
per body pair. An element owns at most three vertices and three edges, so that two of them make for at most 3 + 3
candidates of a vertex and a triangle and 9 of edges.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from contact_scenes import BOX, MESHES, TETRAHEDRON, Mesh, Stage, random_rotation, scaled, subdivided
from scenes import pose

from dovetail.errors import SolverError
from dovetail.solver.contact import detect, room, watch
from dovetail.solver.contact.motion import guard_uncovered

CANDIDATES = 3 + 3 + 9  # of two elements at most
OCTAHEDRON = (
    np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float),
    np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4], [1, 0, 5], [2, 1, 5], [3, 2, 5], [0, 3, 5]]),
)


def sphere(rounds: int) -> Mesh:
    """Of radius 0.5 m with 8 · 4ⁿ triangles."""
    points, triangles = OCTAHEDRON
    for _ in range(rounds):
        points, triangles = subdivided((points, triangles))
        points = points / np.linalg.norm(points, axis=1, keepdims=True)
    return 0.5 * points, triangles


def knobbly_torus(around: int, across: int) -> Mesh:
    """A ring 0.5 m across with five arms and knobs all over, 2 · around · across triangles."""
    u, v = np.meshgrid(2 * np.pi * np.arange(around) / around, 2 * np.pi * np.arange(across) / across, indexing="ij")
    tube = 0.055 * (1.0 + 0.3 * np.cos(20 * u) * np.cos(5 * v))
    ring = 0.17 * (1.0 + 0.25 * np.cos(5 * u)) + tube * np.cos(v)
    points = np.stack([ring * np.cos(u), ring * np.sin(u), tube * np.sin(v)], axis=-1).reshape(-1, 3)
    i, j = (x.reshape(-1) for x in np.indices((around, across)))
    a, b, c, d = (((i + x) % around) * across + (j + y) % across for x, y in ((0, 0), (1, 0), (1, 1), (0, 1)))
    return points, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


@pytest.fixture
def looks(monkeypatch):
    """What every look finds: near elements, candidates, near body pairs."""
    found = []

    def counted(*arguments):
        candidates = watched(*arguments)
        found.append((elements[-1] if elements else 0, candidates.count, len(arguments[5])))
        return candidates

    def near_elements(*arguments):
        rows, box = inner(*arguments)
        elements.append(len(rows))
        return rows, box

    elements, watched, inner = [], watch.detect, detect.near_elements
    monkeypatch.setattr(watch, "detect", counted)
    monkeypatch.setattr(detect, "near_elements", near_elements)
    return found


def assert_bounded(looks, elements: int) -> None:
    for near, candidates, pairs in looks:
        most = 16 * elements + 256 * pairs
        assert near <= most
        assert candidates <= CANDIDATES * most


def two(mesh: Mesh, distance: float, speed: float, dt: float, **config) -> Stage:
    stage = Stage(dt=dt, gravity=(0, 0, 0), **config)
    stage.add("pair", mesh, [(distance / 2, 0, 0), (-distance / 2, 0, 0)], velocity=[(-speed, 0, 0), (speed, 0, 0)])
    return stage


def test_fine_spheres_collide_at_any_speed(looks):
    """With 8192 triangles each: all pairs of features would be 2·10⁸, of 120 bytes each."""
    stage = two(sphere(5), 1.6, 20.0, 0.03)
    stage.run(2)
    assert_bounded(looks, 2 * 8192)
    assert max(near for near, *_ in looks) > 1000  # they did come near
    assert stage.world.report.converged


@pytest.mark.parametrize("size", [(30, 12), (48, 20)], ids=["720 triangles", "1920 triangles"])
def test_concave_bodies_at_100_metres_a_second(rng, looks, size):
    """Four of them meet; memory grows like the triangles, not like their square."""
    stage, mesh = Stage(dt=0.01, gravity=(0, 0, 0), d_hat=1e-3), knobbly_torus(*size)
    for k, (x, z) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
        place = np.array([0.5 * x, 0.03 * k, 0.5 * z])
        stage.add(f"ring {k}", mesh, [pose(place, random_rotation(rng))], velocity=[-100.0 * place], spin=[(9, 0, 9)])
    stage.run(2)
    assert_bounded(looks, 4 * len(mesh[1]))
    assert max(near for near, *_ in looks) > len(mesh[1])


def landing(monkeypatch, per_element: float) -> tuple[np.ndarray, int]:
    """A finely meshed box is thrown onto another at 20 m/s: where it is after some steps, and the most looks in one."""
    monkeypatch.setattr(detect, "_PER_ELEMENT", per_element)
    mesh = subdivided(subdivided(subdivided(BOX)))
    stage = Stage(dt=0.01, gravity=(0, 0, -9.8))
    stage.material(mu=0.0)
    stage.add("table", mesh, [(0, 0, 0)], fixed=True)
    thrown = stage.add("thrown", mesh, [pose((0.1, 0.2, 1.3))], velocity=[(0, 0, -20.0)])
    most = max(stage.run(4, lambda: stage.world.report.detections))
    assert stage.world.report.converged
    return thrown.geometry.transforms.values.copy(), most


def test_a_step_in_parts_ends_where_a_whole_one_does(monkeypatch):
    whole, few = landing(monkeypatch, 1e9)
    parts, many = landing(monkeypatch, 1.0)
    assert many > few
    # the tolerance of Newton's method: 1e-3 m/s · dt in each of four steps
    assert np.abs(parts - whole).max() < 4e-5


def test_many_fast_bodies_have_few_pairs_to_watch(monkeypatch, rng, looks):
    """Sixty of them, each of which crosses the way of all others in a step."""
    monkeypatch.setattr(watch, "_NEIGHBOURS", 8)
    stage = Stage(dt=0.01, gravity=(0, 0, 0), d_hat=1e-3)
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)[:60]
    stage.add("swarm", scaled(TETRAHEDRON, 0.1), list(0.3 * grid), velocity=100.0 * rng.normal(size=(60, 3)))
    stage.run(2)
    assert 60 < max(pairs for *_, pairs in looks) <= 8 * 60


def test_a_step_in_parts_is_repeated_bit_by_bit(monkeypatch):
    """From a state that was kept: it knows which budgets are short."""
    monkeypatch.setattr(detect, "_PER_ELEMENT", 1.0)
    stage = two(sphere(3), 1.1, 20.0, 0.01)
    world = stage.world
    world.advance()
    kept, found = world.state(), []
    assert kept.arrays["contact/slack"][:, 2].any()
    for _ in range(2):
        world.restore(kept)
        world.advance()
        found.append(world.state().arrays)
    for name, array in found[0].items():
        assert np.array_equal(array, found[1][name], equal_nan=True), name


def test_bodies_are_guarded_where_their_step_is_not_covered():
    books = SimpleNamespace(
        used=np.array([0.0, 0.9, 0.0, 0.0, 0.0]), motion=np.full(5, 0.2), budget=np.ones(5),
        near=np.array([[0, 2], [2, 3], [0, 4]]), spent=np.array([0.1, 0.5, 0.0]), need=np.array([0.2, 0.6, 0.9]),
        slack=np.ones(3),
    )  # fmt: skip
    guarded = np.zeros(5, np.int64)
    getattr(guard_uncovered, "py_func", guard_uncovered)(books, guarded)
    assert guarded.tolist() == [0, 1, 1, 1, 0]


def test_too_little_memory_is_told_in_one_paragraph(monkeypatch):
    stage = two(sphere(4), 1.02, 5.0, 0.01)
    before = stage.world.state().arrays
    monkeypatch.setattr(room, "_MEMORY", 1e5)
    with pytest.raises(SolverError) as error:
        stage.world.advance()
    message = str(error.value)
    assert "memory" in message and "2048 elements" in message and "contact/d_hat" in message and "\n" not in message
    for name, array in stage.world.state().arrays.items():
        assert np.array_equal(array, before[name], equal_nan=True), name


def test_a_heap_with_hardly_any_room_never_intersects(monkeypatch):
    """Every budget is cut, those of bodies that rest while others fall, too, which no guard could hold back."""
    monkeypatch.setattr(detect, "_PER_ELEMENT", 0.3)
    monkeypatch.setattr(detect, "_ALL_OF_TWO_BOXES", 6)
    monkeypatch.setattr(watch, "_NEIGHBOURS", 1)
    rng = np.random.default_rng(1)
    stage = Stage(gravity=(0, 0, -9.8), dt=0.03)
    stage.ground()
    places = np.array([(x, y, z) for z in range(5) for x in range(2) for y in range(2)])
    for k, (name, mesh) in enumerate(MESHES.items()):
        poses = [
            pose(0.2 * place + (0, 0, 0.15) + rng.uniform(-0.01, 0.01, 3), random_rotation(rng))
            for place in places[k :: len(MESHES)]
        ]
        stage.add(name, scaled(mesh, 0.11), poses, spin=rng.normal(size=3), velocity=(0, 0, -3))
    stage.run(5)

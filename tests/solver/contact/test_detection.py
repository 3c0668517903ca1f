"""Which features can touch, and that no pair of them is ever missed or counted twice: against brute force."""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations_with_replacement, product

import ipctk
import numpy as np
import pytest
from contact_scenes import BOX, FINE_BOX, L_SHAPE, MESHES, STAR, TORUS, Mesh, Probe, Stage, random_rotation, scaled
from intersection import assert_apart
from scenes import pose

from dovetail.errors import SolverError
from dovetail.solver.contact.kinds import EDGE_EDGE, POINT_PLANE, POINT_TRIANGLE
from dovetail.solver.contact.surface import make_shape

D_HAT = 0.06
KAPPA = 1e8
PAIRS = list(combinations_with_replacement(MESHES, 2))
NO_EDGES = np.zeros((0, 2), np.int64)


def edges_and_bends(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """All edges of a closed mesh, and how far the one triangle falls below the plane of the other [m]."""
    points, triangles = mesh
    sides: dict[tuple[int, int], list[int]] = {}
    for t, corners in enumerate(triangles.tolist()):
        for i in range(3):
            sides.setdefault(tuple(sorted((corners[i], corners[(i + 1) % 3]))), []).append(t)
    bends = []
    for (a, b), (first, second) in sides.items():
        normal = np.cross(*(points[triangles[first][k]] - points[triangles[first][0]] for k in (1, 2)))
        (far,) = set(triangles[second].tolist()) - {a, b}
        bends.append((points[a] - points[far]) @ normal / np.linalg.norm(normal))
    return np.array(list(sides)), np.array(bends)


def convex_edges(mesh: Mesh) -> np.ndarray:
    edges, bends = edges_and_bends(mesh)
    return edges[bends > 1e-9]


# ---- shapes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MESHES)
def test_a_closed_surface_touches_with_its_convex_edges_and_their_ends_only(name):
    mesh = MESHES[name]
    shape = make_shape(*mesh, NO_EDGES, closed=True)
    expected = {tuple(e) for e in np.sort(convex_edges(mesh), axis=1).tolist()}
    assert {tuple(e) for e in np.sort(shape.edges, axis=1).tolist()} == expected
    vertices = shape.element_vertices[shape.element_vertices >= 0]
    assert sorted(vertices.tolist()) == sorted({v for edge in expected for v in edge})
    owned = shape.element_edges[shape.element_edges >= 0]
    assert sorted(owned.tolist()) == list(range(len(expected)))


def test_flat_and_concave_edges_are_left_out():
    """A cube has 12 of its 18 edges, and 24 of 72 once it is cut up; an L has 17 of its 30."""
    counts = {name: len(make_shape(*mesh, NO_EDGES, closed=True).edges) for name, mesh in MESHES.items()}
    assert (counts["box"], counts["fine_box"], counts["L_shape"], counts["star"]) == (12, 24, 17, 24)


def test_an_open_surface_touches_with_all_edges_that_are_not_flat():
    """A folded strip of two squares: six sides and the fold, whichever way it is folded; not the flat diagonals."""
    points = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0.5], [0, 1, 0], [1, 1, 0], [2, 1, 0.5]], float)
    triangles = np.array([[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]])
    for fold in (1.0, -1.0):
        shape = make_shape(points * [1, 1, fold], triangles, NO_EDGES, closed=False)
        assert len(shape.edges) == 7


@pytest.mark.parametrize("name", MESHES)
def test_patches_are_connected_and_convex_and_cover_the_surface(name):
    points, triangles = MESHES[name]
    patch = make_shape(points, triangles, NO_EDGES, closed=True).patch
    assert len(patch) == len(triangles) and patch.min() == 0
    for p in range(patch.max() + 1):
        members = triangles[patch == p]
        for a, b, c in members:
            normal = np.cross(points[b] - points[a], points[c] - points[a])
            # flat to 1e-6 of the size counts as convex
            assert ((points[members.reshape(-1)] - points[a]) @ normal).max() <= 1e-6 * np.linalg.norm(normal)
        reached = {0}
        for _ in members:
            touched = {v for k in reached for v in members[k]}
            reached |= {k for k in range(len(members)) if len(touched & set(members[k])) >= 2}
        assert len(reached) == len(members)


def test_a_convex_body_is_one_patch():
    assert all(make_shape(*MESHES[name], NO_EDGES, closed=True).patch.max() == 0 for name in ("box", "tetrahedron"))


# ---- pairs -----------------------------------------------------------------------------------------------------


def apart(probe: Probe, meshes: tuple[Mesh, Mesh], gap: float) -> None:
    """Move the second body straight away from the first, or back, until their distance is about `gap`."""
    for _ in range(60):
        nearest = brute_force_distance(probe, meshes)
        if 0.9 * gap < nearest < 1.1 * gap:
            return
        away = probe.Q[1, 0] - probe.Q[0, 0]
        probe.Q[1, 0] += (gap - nearest) * away / np.linalg.norm(away)
    raise AssertionError("no place at that distance")


def positions(probe: Probe, meshes: tuple[Mesh, Mesh]) -> list[np.ndarray]:
    return [mesh[0] @ probe.Q[b, 1:] + probe.Q[b, 0] for b, mesh in enumerate(meshes)]


def brute_force_distance(probe: Probe, meshes: tuple[Mesh, Mesh]) -> float:
    """Smallest distance over all vertices and triangles, and over all pairs of edges."""
    return min(d for *_, d in brute_force(probe, meshes, every_edge=True))


def brute_force(
    probe: Probe, meshes: tuple[Mesh, Mesh], every_edge: bool = False
) -> list[tuple[int, int, int, tuple[int, ...], float]]:
    """(kind, a, b, vertices, distance) of all pairs of features of two bodies, edges convex unless told otherwise."""
    X = positions(probe, meshes)
    edges = [edges_and_bends(mesh)[0] if every_edge else convex_edges(mesh) for mesh in meshes]
    found = []
    for a, b in ((0, 1), (1, 0)):
        for v in np.unique(edges[a]).tolist():
            for t in meshes[b][1].tolist():
                D = ipctk.point_triangle_distance(X[a][v], *X[b][t])
                found.append((POINT_TRIANGLE, a, b, (v, *t), D**0.5))
    for e, f in product(edges[0].tolist(), edges[1].tolist()):
        D = ipctk.edge_edge_distance(*X[0][e], *X[1][f])
        found.append((EDGE_EDGE, 0, 1, (*e, *f), D**0.5))
    return found


def expected_energy(probe: Probe, meshes: tuple[Mesh, Mesh]) -> tuple[float, int]:
    """h²κ Σ m b over pairs of convex edges and the nearest triangle of each patch to each vertex; how many count."""
    patches = [make_shape(*mesh, NO_EDGES, closed=True).patch for mesh in meshes]
    number = [{tuple(t): k for k, t in enumerate(mesh[1].tolist())} for mesh in meshes]
    X = positions(probe, meshes)
    nearest: dict[tuple[int, int, int], float] = {}
    energy = 0.0
    count = 0
    for kind, a, b, vertices, d in brute_force(probe, meshes):
        if d >= D_HAT:
            continue
        if kind == POINT_TRIANGLE:
            key = (a, vertices[0], int(patches[b][number[b][vertices[1:]]]))
            nearest[key] = min(nearest.get(key, np.inf), d)
        else:
            at = [*X[0][list(vertices[:2])], *X[1][list(vertices[2:])]]
            rest = [*meshes[0][0][list(vertices[:2])], *meshes[1][0][list(vertices[2:])]]
            weight = ipctk.edge_edge_mollifier(*at, ipctk.edge_edge_mollifier_threshold(*rest))
            energy += weight * ipctk.barrier(d * d, D_HAT**2)
            count += weight > 0
    energy += sum(ipctk.barrier(d * d, D_HAT**2) for d in nearest.values())
    return probe.h**2 * KAPPA * energy, count + len(nearest)


def two_bodies(rng: np.random.Generator, meshes: tuple[Mesh, Mesh]) -> Probe:
    stage = Stage(d_hat=D_HAT)
    stage.material(0.0, KAPPA)
    start = rng.normal(size=3)
    for k, mesh in enumerate(meshes):
        stage.add(f"body {k}", mesh, [pose(2.0 * k * start / np.linalg.norm(start), random_rotation(rng))])
    return stage.probe()


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_energy_is_that_of_all_pairs_of_features_each_counted_once(rng, names):
    meshes = (MESHES[names[0]], MESHES[names[1]])
    probe = two_bodies(rng, meshes)
    apart(probe, meshes, 0.3 * D_HAT)
    energy, count = expected_energy(probe, meshes)
    assert count > 0
    assert probe.energy(probe.Q) == pytest.approx(energy, rel=1e-9)
    assert probe.count == count
    names_of_pairs = [(kind, a, b, vertices) for kind, a, b, vertices, _ in probe.contacts()]
    assert len(set(names_of_pairs)) == count


@pytest.mark.parametrize("names", [("box", "L_shape"), ("torus", "torus"), ("star", "fine_box")], ids="-".join)
def test_no_contact_is_missed_while_bodies_stay_within_their_budgets(rng, names):
    """Contacts looked for once are complete after any motion that was announced, with turns and stretches."""
    meshes = (MESHES[names[0]], MESHES[names[1]])
    probe = two_bodies(rng, meshes)
    apart(probe, meshes, 0.5 * D_HAT)
    start = probe.Q.copy()
    for _ in range(4):
        motion = rng.uniform(-1, 1, start.shape) * 0.3 * D_HAT
        probe.look(start, motion)
        probe.Q = start + motion
        energy, count = expected_energy(probe, meshes)
        assert probe.energy(probe.Q, look=False) == pytest.approx(energy, rel=1e-9, abs=1e-300)
        assert probe.count == count


def test_a_vertex_meets_a_half_plane_once(rng):
    stage = Stage(d_hat=D_HAT)
    stage.material(0.0, KAPPA)
    stage.ground()
    mesh = FINE_BOX
    turned = random_rotation(rng)
    lowest = (mesh[0] @ turned.T)[:, 2].min()
    stage.add("box", mesh, [pose((0, 0, 0.4 * D_HAT - lowest), turned)])
    probe = stage.probe()
    heights = mesh[0] @ probe.Q[0, 1:, 2] + probe.Q[0, 0, 2]
    touchable = np.unique(convex_edges(mesh))
    near = touchable[heights[touchable] < D_HAT]
    energy = probe.h**2 * KAPPA * sum(ipctk.barrier(z * z, D_HAT**2) for z in heights[near])
    assert probe.energy(probe.Q) == pytest.approx(energy, rel=1e-12)
    assert sorted(vertices[0] for *_, vertices, _ in probe.contacts()) == near.tolist()
    assert {kind for kind, *_ in probe.contacts()} == {POINT_PLANE}


# ---- many bodies -----------------------------------------------------------------------------------------------


def test_all_near_bodies_of_a_crowd_are_found(rng):
    """Sixty bodies of five shapes that overlap freely: pairs of bodies with candidates are those of brute force.

    But for those that an axis keeps apart, by as much as their slack says.
    """
    stage = Stage(d_hat=0.02)
    chosen = [scaled(mesh, 0.2) for mesh in (BOX, FINE_BOX, L_SHAPE, STAR, TORUS)]
    for k, mesh in enumerate(chosen):
        stage.add(f"shape {k}", mesh, [pose(rng.uniform(-0.5, 0.5, 3), random_rotation(rng)) for _ in range(12)])
    probe = stage.probe()
    with suppress(SolverError):  # some of them intersect
        probe.look(probe.Q)
    rows = probe.contact.candidates.pairs
    found = {tuple(sorted(pair)) for pair in rows[:, 1:3].tolist()}
    watch = probe.contact.watch
    slack = {tuple(watch.near[k].tolist()): watch.slack[k] for k in np.flatnonzero(watch.axis.any(axis=1))}
    reach = 0.02 + 2 * 0.01  # d̂ and the least budgets
    for i, j in combinations_with_replacement(range(60), 2):
        if i == j:
            continue
        X = [chosen[b // 12][0] @ probe.Q[b, 1:] + probe.Q[b, 0] for b in (i, j)]
        gap = np.maximum(X[0].min(0), X[1].min(0)) - np.minimum(X[0].max(0), X[1].max(0))
        if np.linalg.norm(np.maximum(gap, 0)) > reach:
            assert (i, j) not in found
        else:
            corners = np.linalg.norm(X[0][:, None] - X[1][None], axis=2).min()
            # at this distance nothing may have happened that the pair has no candidates for
            assert corners > reach or (i, j) in found or corners > 0.02 + slack[i, j]
    assert len(rows) == len({tuple(row) for row in rows.tolist()})
    assert len(found) > 50


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_bodies_pressed_together_from_any_direction_never_intersect(rng, names):
    """Only the features kept keep them apart: steps that want to pass are cut again and again, down to tiny gaps."""
    stage = Stage(d_hat=1e-3)
    start = rng.normal(size=3)
    start *= 2.0 / np.linalg.norm(start)
    slots = [
        stage.add(f"body {k}", MESHES[name], [pose(k * start, random_rotation(rng))]) for k, name in enumerate(names)
    ]
    probe = stage.probe()
    for round_ in range(24):
        # towards and through each other, with a twist that brings other features forward each time
        motion = np.zeros_like(probe.Q)
        motion[1, 0] = 2.0 * (probe.Q[0, 0] - probe.Q[1, 0]) + 0.3 * rng.normal(size=3) * (round_ % 3 == 1)
        motion[1, 1:] = rng.normal(size=(3, 3)) * (round_ % 3 == 2) * 0.2
        probe.Q = probe.Q + probe.free_share(probe.Q, motion) * motion
        for b, slot in enumerate(slots):
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = probe.Q[b, 1:].T, probe.Q[b, 0]
            slot.geometry.instances["transform"][0] = T
        assert_apart(stage.scene)
    probe.energy(probe.Q)
    nearest = min(d for *_, d in probe.contacts())
    assert nearest < 1e-4  # they did come together: 24 steps of which most halve the gap

"""What engines are judged by: overlaps, gaps and energies of motions that are known, and shapes that all agree on."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scenes import pose, rotation
from scipy.optimize import linprog

from dovetail.bench.engines.quaternion import matrices, xyzw
from dovetail.bench.engines.tree import spanning_tree
from dovetail.bench.measure import energies, joint_gaps
from dovetail.bench.penetration import deepest
from dovetail.bench.scene import GRAVITY, BenchScene
from dovetail.bench.scenes import build, chain, net, pile, wrecking_ball
from dovetail.bench.shapes import ball, box, ring

SHAPES = {"box": box(0.1, 0.2, 0.3), "ball": ball(0.35), "ring": ring(0.1, 0.03)}


def pair(first, second, *places) -> tuple[BenchScene, np.ndarray]:
    """Two bodies high above the ground, and their poses in one frame."""
    T = np.stack([pose((0, 0, 9)) @ np.asarray(place) for place in places])
    scene = BenchScene("pair", (first, second), np.array([0, 1]), T, np.zeros(2, np.int64), None, True, 1, 1.0)
    return scene, T[None, :, :3]


def depth(first, second, *places) -> float:
    return deepest(*pair(first, second, *places))["bodies"]


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_has_the_mass_moments_of_its_surface_about_its_origin(name):
    shape = SHAPES[name]
    mesh = trimesh.Trimesh(shape.vertices, shape.triangles, process=False)
    assert mesh.is_watertight
    assert shape.volume == pytest.approx(mesh.volume)
    np.testing.assert_allclose(mesh.center_mass, 0.0, atol=1e-12)
    np.testing.assert_allclose(shape.inertia / 1000.0, mesh.moment_inertia, atol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_the_convex_pieces_of_a_shape_fill_it(name):
    shape = SHAPES[name]
    hulls = [trimesh.convex.convex_hull(shape.vertices[piece]) for piece in shape.pieces]
    assert sum(hull.volume for hull in hulls) == pytest.approx(shape.volume)


def test_a_box_in_a_box_is_as_deep_as_the_shortest_way_out():
    a = box(1, 1, 1)
    assert depth(a, a, np.eye(4), pose((0.9, 0.3, 0.2))) == pytest.approx(0.1)
    assert depth(a, a, np.eye(4), pose((1.001, 0.3, 0.2))) == 0.0


def test_crossed_edges_are_found_by_the_axis_between_them():
    """Two cubes stand on edges that cross at right angles: their edges are √½ from the centres."""
    a = box(1, 1, 1)
    lower, upper = pose(turned=rotation((1, 0, 0), np.pi / 4)), rotation((0, 1, 0), np.pi / 4)
    reach = 2 * np.sqrt(0.5)
    assert depth(a, a, lower, pose((0, 0, reach - 0.01), upper)) == pytest.approx(0.01)
    assert depth(a, a, lower, pose((0, 0, reach + 0.01), upper)) == 0.0


def test_an_overlap_is_the_least_shift_that_parts_two_bodies(rng):
    """Against linear programming: bodies have no common point once one is shifted by the depth, and have one before."""
    a, b = box(0.4, 0.5, 0.6), box(0.3, 0.7, 0.5)
    deep = 0
    for _ in range(20):
        T = pose(rng.uniform(-0.7, 0.7, 3), rotation(rng.normal(size=3), rng.uniform(0, 3)))
        corners = a.vertices, b.vertices @ T[:3, :3].T + T[:3, 3]
        found = depth(a, b, np.eye(4), T)
        assert (found > 0) == common_point(*corners)
        if found > 0:
            deep += 1
            directions = rng.normal(size=(10, 3))
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
            assert all(common_point(corners[0], corners[1] + 0.99 * found * u) for u in directions)
    assert 3 < deep < 20


def common_point(p, q) -> bool:
    """Whether convex hulls of points meet: Σ a_i p_i = Σ b_j q_j for some weights."""
    n, m = len(p), len(q)
    equal = np.zeros((5, n + m))
    equal[:3, :n], equal[:3, n:] = p.T, -q.T
    equal[3, :n], equal[4, n:] = 1.0, 1.0
    return linprog(np.zeros(n + m), A_eq=equal, b_eq=[0, 0, 0, 1, 1]).status == 0


def test_rings_interlock_without_touching_and_overlap_when_pulled_too_far():
    link = SHAPES["ring"]
    other = rotation((1, 0, 0), np.pi / 2)
    assert depth(link, link, np.eye(4), pose((0.166, 0, 0), other)) == 0.0
    # 2·0.1 − 0.03 m apart the bars touch; 5 mm more and they are as deep
    assert depth(link, link, np.eye(4), pose((0.175, 0, 0), other)) == pytest.approx(0.005)


def test_the_ground_counts_from_the_lowest_vertex():
    scene, poses = pair(box(1, 1, 1), box(1, 1, 1), np.eye(4), pose((3, 0, 0)))
    poses = poses.copy()
    poses[0, 1, 2, 3] = 0.48
    assert deepest(scene, poses)["ground"] == pytest.approx(0.02)


@pytest.mark.parametrize("name", ["chain 4", "net 9", "pile 2³", "wrecking ball"])
def test_scenes_start_closed_and_without_overlap(name):
    scene = build(name, 1)
    poses = scene.transform[None, :, :3]
    assert scene.name == name
    assert joint_gaps(scene, poses)[0] < 1e-15
    found = deepest(scene, poses)
    assert not found["bodies"] and not found["ground"]


def test_the_wrecking_ball_is_what_the_report_says():
    scene = wrecking_ball()
    assert np.bincount(scene.shape_of).tolist() == [560, 13, 1]


def test_a_gap_is_the_distance_of_the_ends_of_the_pin():
    scene = chain(2)
    poses = np.tile(scene.transform[None, :, :3], (2, 1, 1, 1))
    poses[1, 1, :, 3] += (0.0, 0.0, 0.003)
    np.testing.assert_allclose(joint_gaps(scene, poses), [0.0, 0.003], atol=1e-15)
    # turned about the joint, across the pin of 2 × 0.01 m: its ends part by 0.01·2 sin(θ/2)
    turn = pose((0.1, 0, 0)) @ pose(turned=rotation((0, 0, 1), 0.2)) @ pose((-0.1, 0, 0))
    poses[1, 1] = (turn @ scene.transform[1])[:3]
    assert joint_gaps(scene, poses)[1] == pytest.approx(0.02 * np.sin(0.1))


def test_energy_of_a_body_that_falls_and_spins_is_kept():
    """Along a parabola speeds over a step are exact in its middle; heights are off by g h²/8 all along."""
    scene = pile(1)
    time = np.arange(20) * scene.dt
    poses = np.tile(scene.transform[None, :, :3], (20, 1, 1, 1))
    poses[:, 0, 2, 3] += 2.0 * time - 0.5 * GRAVITY * time**2
    poses[:, 0, :, :3] = [rotation((1, 2, 2), 30.0 * t) for t in time]
    E = energies(scene, poses)
    mass, inertia = scene.mass[0], scene.inertia[0, 0, 0]
    expected = 0.5 * mass * 2.0**2 + 0.5 * inertia * 30.0**2 + mass * GRAVITY * scene.transform[0, 2, 3]
    np.testing.assert_allclose(E, expected - mass * GRAVITY**2 * scene.dt**2 / 8, rtol=1e-9)


def test_a_net_is_a_tree_and_loops():
    scene = net(4)
    tree = spanning_tree(scene)
    # 16 plates, the fixed one the root; 2·4·3 joints
    assert (tree.joint >= 0).sum() == 15 and len(tree.loops) == 24 - 15
    place = {body: k for k, body in enumerate(tree.order)}
    assert sorted(place) == list(range(16))
    assert all(place[int(tree.parent[b])] < place[b] for b in range(16) if tree.parent[b] >= 0)


def test_quaternions_and_matrices_are_inverse(rng):
    R = np.stack([rotation(rng.normal(size=3), rng.uniform(0, np.pi)) for _ in range(20)])
    np.testing.assert_allclose(matrices(np.array([xyzw(r) for r in R])), R, atol=1e-12)

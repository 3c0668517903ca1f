"""How far a step may go: never into a collision, by ipctk's CCD over all features, and not much less than that."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import ipctk
import numpy as np
import pytest
from contact_scenes import BOX, TETRAHEDRON, Mesh, Probe, Stage, random_rotation
from scenes import pose, rotation

D_HAT = 1e-2
# Its time of impact is where the gap has shrunk to 1e-3 of what it was: nearly the true one, and not later.
CCD = ipctk.AdditiveCCD(conservative_rescaling=1 - 1e-3)


def edges_of(mesh: Mesh) -> list[list[int]]:
    return np.unique(np.sort(mesh[1][:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0).tolist()


def landing(gap: float) -> float:
    """Gap below which no step ends, as the solver's rule has it."""
    return max(0.1 * gap, min(0.3 * D_HAT, 0.5 * gap, max(0.2 * gap, 0.02 * D_HAT)))


def times_of_impact(
    meshes: tuple[Mesh, Mesh], before: list[np.ndarray], after: list[np.ndarray]
) -> tuple[float, float]:
    """Earliest share of a step at which features meet, and at which they are within a tenth of landing; 1 if never."""
    impact = land = 1.0
    for a, b in ((0, 1), (1, 0)):
        for v, t in product(range(len(before[a])), meshes[b][1].tolist()):
            corners = [before[a][v], *before[b][t], after[a][v], *after[b][t]]
            gap = ipctk.point_triangle_distance(*corners[:4]) ** 0.5
            impact = min(impact, CCD.point_triangle_ccd(*corners)[1], 1.0)
            land = min(land, CCD.point_triangle_ccd(*corners, min_distance=1.1 * landing(gap))[1], 1.0)
    for e, f in product(edges_of(meshes[0]), edges_of(meshes[1])):
        corners = [*before[0][e], *before[1][f], *after[0][e], *after[1][f]]
        gap = ipctk.edge_edge_distance(*corners[:4]) ** 0.5
        impact = min(impact, CCD.edge_edge_ccd(*corners)[1], 1.0)
        land = min(land, CCD.edge_edge_ccd(*corners, min_distance=1.1 * landing(gap))[1], 1.0)
    return impact, land


def motions(rng: np.random.Generator, Q: np.ndarray) -> Iterator[np.ndarray]:
    """Straight through each other, past each other, turning and stretching on the way, both moving along."""
    towards = Q[0, 0] - Q[1, 0]
    for speed in (0.3, 1.0, 30.0):
        motion = np.zeros_like(Q)
        motion[1, 0] = speed * towards
        yield motion
        motion = motion.copy()
        motion[1] += speed * 0.2 * rng.normal(size=(4, 3))
        yield motion
        motion = motion.copy()
        motion[:, 0] += rng.normal(size=3)
        motion[0, 1:] += 0.3 * rng.normal(size=(3, 3))
        yield motion


def attitudes(rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Poses of two unit bodies at small and large gaps: any attitude, and aligned ones with parallel features."""
    for gap in (0.2 * D_HAT, 0.1):
        for _ in range(2):
            start = rng.normal(size=3)
            start *= (1.75 + gap) / np.linalg.norm(start)
            yield pose((0, 0, 0), random_rotation(rng)), pose(start, random_rotation(rng))
        yield pose(), pose((0, 0, 1 + gap))
        yield pose(), pose((0.3, 0.2, 1 + gap))
        yield pose(), pose((1e-12, -1e-12, 1 + gap), rotation((0, 0, 1), 1e-12))
        yield pose(), pose((1.0, 0.0, 1 + gap))
        on_edge = rotation((1, 0, 0), np.pi / 4)
        yield pose((0, 0, 0), on_edge), pose((0, 0, 2**0.5 + gap), on_edge)
        yield pose((0, 0, 0), on_edge), pose((0.5, 0, 2**0.5 + gap), rotation((0, 0, 1), np.pi / 2) @ on_edge)


@pytest.mark.parametrize("meshes", [(BOX, BOX), (TETRAHEDRON, BOX)], ids=["boxes", "tetrahedron and box"])
def test_a_step_ends_before_the_impact_and_uses_most_of_the_way(rng, meshes):
    bounded = 0
    for poses in attitudes(rng):
        stage = Stage(d_hat=D_HAT)
        for k, mesh in enumerate(meshes):
            stage.add(f"body {k}", mesh, [poses[k]])
        probe = stage.probe()
        for motion in motions(rng, probe.Q):
            share = probe.free_share(probe.Q, motion)
            before, after = (
                [mesh[0] @ Q[b, 1:] + Q[b, 0] for b, mesh in enumerate(meshes)] for Q in (probe.Q, probe.Q + motion)
            )
            impact, land = times_of_impact(meshes, before, after)
            assert 0.0 < share <= 1.0
            assert share < impact or share == impact == 1.0
            assert share >= 0.8 * land
            bounded += share < 1.0
    assert bounded > 60


def test_common_motion_does_not_shorten_a_step(rng):
    stage = Stage(d_hat=D_HAT)
    stage.add("pair", BOX, [(0, 0, 0), (0, 0, 1 + 0.5 * D_HAT)])
    probe = stage.probe()
    motion = np.zeros_like(probe.Q)
    motion[:, 0] = rng.normal(size=3)
    assert probe.free_share(probe.Q, motion) == 1.0


def test_a_step_towards_a_half_plane_ends_at_the_landing_gap():
    gap = 0.05
    for fall in (0.5 * gap, 1.0, 100.0, -100.0):
        stage = Stage(d_hat=D_HAT)
        stage.ground()
        stage.add("cube", BOX, [(0, 0, 0.5 + gap)])
        probe = stage.probe()
        motion = np.zeros_like(probe.Q)
        motion[0, 0, 2] = -fall
        room = gap - landing(gap)
        assert probe.free_share(probe.Q, motion) == pytest.approx(room / max(fall, room), rel=1e-12)


@pytest.mark.parametrize("speed", [1e2, 1e4, 1e6])
def test_a_point_far_off_and_very_fast_does_not_tunnel(speed):
    """The step is many times longer than the bodies; ipctk's first impact bounds it all the same."""
    stage = Stage(d_hat=D_HAT)
    stage.add("wall", BOX, [(0, 0, 0)], fixed=True)
    stage.add("tip", TETRAHEDRON, [(0.1, 0.05, 5.0)])
    probe = stage.probe()
    motion = np.zeros_like(probe.Q)
    motion[1, 0, 2] = -speed
    share = probe.free_share(probe.Q, motion)
    gap = 4.0
    assert share * speed < gap
    assert share * speed >= 0.8 * (gap - landing(gap))


def test_a_share_leaves_every_gap_a_landing_gap(rng):
    """Over random close configurations: no gap of the moved state is below its rule."""
    for _ in range(40):
        stage = Stage(d_hat=D_HAT)
        stage.add("lower", BOX, [pose((0, 0, 0), random_rotation(rng))])
        stage.add("upper", BOX, [pose((0, 0, 1.8), random_rotation(rng))])
        probe = stage.probe()
        for _ in range(3):
            motion = np.zeros_like(probe.Q)
            motion[1, 0, 2] = -2.0
            motion[1, 1:] = 0.1 * rng.normal(size=(3, 3))
            before = nearest(probe)
            probe.Q = probe.Q + probe.free_share(probe.Q, motion) * motion
            assert nearest(probe) >= 0.999 * landing(before)


def nearest(probe: Probe) -> float:
    X = [BOX[0] @ Q[1:] + Q[0] for Q in probe.Q]
    points = [
        ipctk.point_triangle_distance(X[a][v], *X[b][t])
        for a, b in ((0, 1), (1, 0))
        for v in range(8)
        for t in BOX[1].tolist()
    ]
    lines = [ipctk.edge_edge_distance(*X[0][e], *X[1][f]) for e, f in product(edges_of(BOX), edges_of(BOX))]
    return min(points + lines) ** 0.5

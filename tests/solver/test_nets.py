"""Which mechanisms are solved by the forces in their points, and that they end where the block system does."""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import TIGHT, Bench

from dovetail.constitution import (
    AffineBodyDrivingRevoluteJoint,
    AffineBodyRevoluteJoint,
    AffineBodySphericalJoint,
)

EXACT = float("inf")


def net(bench: Bench, side: int, strength: float, offset: float = 0.0, hinge: bool = False, driven: bool = False):
    """side × side plates in a level grid, neighbours joined at a ball each; the first corner is held by the world."""
    place = {(i, j): side * i + j for i in range(side) for j in range(side)}
    at = np.array([(0.1 * i + offset, 0.1 * j, 0.0) for i, j in place])
    plates = bench.box(f"plates {offset}", (0.08, 0.08, 0.02), at)
    post = bench.box(f"post {offset}", (0.02, 0.02, 0.02), (offset - 0.1, 0.0, 0.0), fixed=True)
    pairs = [
        (place[i, j], place[i + a, j + b]) for i, j in place for a, b in ((1, 0), (0, 1)) if (i + a, j + b) in place
    ]
    left, right = np.array(pairs).T
    balls = bench.join(
        AffineBodySphericalJoint, [(plates, k) for k in left], [(plates, k) for k in right],
        0.5 * (at[left] + at[right]), strength=strength, name=f"balls {offset}",
    )  # fmt: skip
    corner = np.array([offset - 0.05, 0.0, 0.0])
    if not hinge and not driven:
        held = bench.join(AffineBodySphericalJoint, [post], [(plates, 0)], corner, strength=strength)
        return [balls, held]
    half = np.array([0.0, 0.03, 0.0])
    ends = (corner - half, corner + half)
    held = bench.join(AffineBodyRevoluteJoint, [post], [(plates, 0)], *ends, strength=strength)
    if driven:
        between = 0.5 * (at[0] + at[side]) + np.array([[0.0, -0.02, 0.0], [0.0, 0.02, 0.0]])

        def drive(sc) -> None:
            AffineBodyDrivingRevoluteJoint().apply_to(sc, 1.0)

        bench.join(
            AffineBodyRevoluteJoint, [(plates, 0)], [(plates, side)], *between, strength=strength, extras=[drive]
        )
    return [balls, held]


def taken(bench: Bench) -> np.ndarray:
    """Flags of the bodies in nets."""
    directions = bench.lowered().model.directions
    directions.need_blocks()
    return directions.blocks.in_net


def test_a_net_is_taken_and_fixed_bodies_are_in_none():
    bench = Bench()
    net(bench, 8, 100.0)
    found = taken(bench)
    assert found[:64].all() and not found[64:].any()


def test_chains_and_small_loops_stay_with_the_block_system():
    for side, wanted in ((2, False), (8, True)):
        bench = Bench()
        net(bench, side, 100.0)
        assert taken(bench).any() == wanted
    bench = Bench()
    at = np.stack([0.1 * np.arange(20), np.zeros(20), np.zeros(20)], axis=1)
    links = bench.box("links", (0.08, 0.02, 0.02), at)
    ends = 0.5 * (at[1:] + at[:-1])
    bench.join(AffineBodySphericalJoint, [(links, k) for k in range(19)], [(links, k) for k in range(1, 20)], ends)
    assert not taken(bench).any()


def test_a_drive_between_two_bodies_leaves_their_net_to_the_block_system_and_no_other():
    bench = Bench()
    net(bench, 8, 100.0, driven=True)
    net(bench, 8, 100.0, offset=5.0)
    found = taken(bench)
    assert not found[:65].any() and found[65:129].all()


def test_bodies_without_inertia_are_in_no_net():
    bench = Bench()
    net(bench, 8, 100.0)
    plates = bench.scene.geometries[0][0].geometry
    plates.instances["external_kinetic"][7] = 1
    assert not taken(bench).any()


def motion(taking: bool, frames: int, strength: float, **config) -> tuple[np.ndarray, np.ndarray]:
    """States of all frames and reactions at the end, of two nets."""
    direction = {"newton/direction": "net" if taking else "factor"}
    bench = Bench({"dt": 0.01, **TIGHT, **config, **direction}, gravity=(0.0, 0.0, -9.8))
    joints = [*net(bench, 4, strength, hinge=True), *net(bench, 3, 30.0, offset=2.0)]
    bodies = [slot.geometry for slot, _ in bench.scene.geometries if "kappa" in slot.geometry.instances]
    states = bench.run(frames, lambda: np.concatenate([body.transforms.values.copy() for body in bodies]))
    assert bench.world._simulation.model.directions.blocks.in_net.any() == taking
    return np.array(states), np.concatenate([joint["reaction/force"].ravel() for joint in joints])


@pytest.mark.parametrize("integrator", ["bdf1", "ctr"])
@pytest.mark.parametrize("strength", [100.0, EXACT])
def test_nets_move_the_same_either_way(strength, integrator):
    config = {"integrator/type": integrator}
    found, forces = motion(True, 8, strength, **config)
    expected, others = motion(False, 8, strength, **config)
    # tolerances of 1e-8 m/s · 0.01 s, and eight steps that pass errors on
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_allclose(forces, others, atol=1e-5 * np.abs(others).max())

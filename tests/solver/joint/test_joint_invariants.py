"""What every joint of the specification must do, checked on the energies of a scene that has it with all its extras."""

from __future__ import annotations

import numpy as np
import pytest
from dense_blocks import gradient, hessian
from joint_scenes import JOINTS, MEMBERS, Bench, cross_matrix, everything_on, random_rotation

from dovetail import constitution as c
from dovetail.constitution.joint.frame import anchors
from dovetail.geometry.rows import rows_to_transforms
from dovetail.solver.blocks import set_to_base
from dovetail.solver.joint.laws import assemble_laws, law_energies
from dovetail.solver.joint.rows import assemble_rows, linearise_rows, row_energies

REMOVED = {
    c.AffineBodySphericalJoint: 3,
    c.AffineBodyRevoluteJoint: 5,
    c.AffineBodyPrismaticJoint: 5,
    c.AffineBodyFixedJoint: 6,
    c.AffineBodyCylindricalJoint: 4,
    c.AffineBodyPlanarJoint: 3,
    c.AffineBodyUniversalJoint: 4,
    c.AffineBodyDistanceJoint: 1,
    c.AffineBodyPointOnLineJoint: 2,
    c.AffineBodyScrewJoint: 5,
    c.AffineBodyD6Joint: 6,
    **dict(zip(MEMBERS.values(), (3, 4, 4, 2, 3), strict=True)),
}
"""Relative motions of two rigid bodies that a joint takes away; a new joint gets its row here."""

KINDS = {**{cls.__name__: cls for cls in JOINTS.values()}, **MEMBERS}
joints = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
seeds = pytest.mark.parametrize("seed", range(4))


def pair(kind, seed, extras=True):
    """Two bodies in random poses with three joints of one kind between them: solver arrays, joints, generator."""
    rng = np.random.default_rng(seed)
    bench = Bench({"newton/direction": "factor"})
    left = bench.box("left", (0.3, 0.2, 0.4), at=rng.normal(size=3), rotation=random_rotation(rng))
    right = bench.box("right", (0.2, 0.5, 0.3), at=rng.normal(size=3), rotation=random_rotation(rng))
    points = rng.normal(size=(2, 3, 3))
    chosen = everything_on(kind, rng) if extras else ()
    joined = bench.join(kind, [left] * 3, [right] * 3, *points, strength=rng.uniform(10, 100, 3), extras=chosen)
    return bench.lowered(), joined, rng


def disturbed(simulation, rng, size=0.1):
    return simulation.state.Q + size * rng.normal(size=simulation.state.Q.shape)


def joint_energy(simulation, Q):
    """Energy of everything between the bodies: rows, laws and what else there is."""
    potential, owner, E = simulation.model.potential, np.zeros(len(Q), np.int64), np.zeros(1)
    for rows in (potential.points, potential.slides):
        row_energies(rows, Q, owner, E)
    if potential.laws is not None:
        law_energies(potential.laws, Q, owner, E)
    return E[0] + sum(other.energy(Q) for other in potential.others)


def assemble_joints(simulation, Q, exact):
    """The blocks with everything between the bodies, and nothing of the bodies themselves."""
    potential, directions = simulation.model.potential, simulation.model.directions
    directions.need_blocks()
    blocks = directions.blocks
    blocks.g[:], blocks.D[:] = 0.0, blocks.base_D
    set_to_base(blocks, 0, len(blocks.U))
    for rows in (potential.points, potential.slides):
        linearise_rows(rows, simulation.model.bodies.is_free, Q)
        assemble_rows(rows, exact, False, blocks.g, blocks.D, blocks.U)
    if potential.laws is not None:
        assemble_laws(potential.laws, exact, Q, blocks.g, blocks.D, blocks.U)
    for other in potential.others:
        other.assemble(Q, exact, blocks)
    return blocks


def joint_gradient(simulation, Q):
    """∂E/∂Q (n, 4, 3) of everything between the bodies."""
    return gradient(assemble_joints(simulation, Q, True)).reshape(-1, 4, 3)


def joint_hessian(simulation, Q):
    """Safe Hessian (24, 24) of the joints between two bodies: what is constant, and what is assembled at Q."""
    return hessian(assemble_joints(simulation, Q, False))


def moment(Q, G):
    """Σ over the rows of Q × G: total angular momentum or torque about the origin."""
    return np.cross(Q.reshape(-1, 3), G.reshape(-1, 3)).sum(axis=0)


@joints
@seeds
def test_a_joint_is_at_rest_in_the_pose_in_which_it_is_created(kind, seed):
    simulation, _, _ = pair(kind, seed, extras=False)
    # gaps of round-off, 1e-16 m, squared, times K of 1e4 kg
    assert joint_energy(simulation, simulation.state.Q) <= 1e-25


@joints
@seeds
def test_moving_both_bodies_together_costs_nothing(kind, seed):
    simulation, _, rng = pair(kind, seed)
    Q = disturbed(simulation, rng)
    moved = Q @ random_rotation(rng).T
    moved[:, 0] += rng.normal(size=3)
    before, after = joint_energy(simulation, Q), joint_energy(simulation, moved)
    assert before > 1.0
    assert after == pytest.approx(before, rel=1e-10)


@joints
@seeds
def test_the_bodies_push_back_equally(kind, seed):
    simulation, _, rng = pair(kind, seed)
    Q = disturbed(simulation, rng)
    G = joint_gradient(simulation, Q)
    assert np.abs(G[:, 0]).max() > 1.0
    # sums of some 100 terms with the round-off of the largest, 1e-16
    assert np.abs(G[:, 0].sum(axis=0)).max() <= 1e-13 * np.abs(G).max()
    assert np.abs(moment(Q, G)).max() <= 1e-12 * np.abs(G).max() * np.abs(Q).max()


@joints
@seeds
def test_joint_removes_relative_motions(kind, seed):
    """Of the six ways in which the right body can move as a rigid one, the joint's Hessian resists so many."""
    assert kind in REMOVED, "how many relative motions does the new joint remove? Add it to the table"
    rng = np.random.default_rng(seed)
    bench = Bench({"newton/direction": "factor"})
    left = bench.box("left", at=rng.normal(size=3), rotation=random_rotation(rng))
    right = bench.box("right", at=rng.normal(size=3), rotation=random_rotation(rng))
    bench.join(kind, [left], [right], *rng.normal(size=(2, 3)), strength=100.0)
    simulation = bench.lowered()
    Q = simulation.state.Q
    motions = np.zeros((6, 2, 4, 3))
    for axis, e in enumerate(np.eye(3)):
        motions[axis, 1, 0] = e
        motions[3 + axis, 1] = Q[1] @ cross_matrix(e).T
    motions = motions.reshape(6, 24)
    stiffness = np.linalg.eigvalsh(motions @ joint_hessian(simulation, Q) @ motions.T)
    # resisted motions have stiffnesses of K = 1e4 kg times a squared lever; free ones leave 1e-16 of that
    assert np.count_nonzero(stiffness > 1e-9 * stiffness[-1]) == REMOVED[kind]
    assert np.abs(stiffness[: 6 - REMOVED[kind]]).max(initial=0.0) <= 1e-12 * stiffness[-1]


@joints
@seeds
def test_the_safe_hessian_of_a_joint_with_all_extras_is_positive_semidefinite(kind, seed):
    simulation, _, rng = pair(kind, seed)
    eigenvalues = np.linalg.eigvalsh(joint_hessian(simulation, disturbed(simulation, rng, 0.5)))
    assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]


@joints
@seeds
def test_reactions_are_the_forces_and_moments_of_the_gradient(kind, seed):
    """−∂E/∂Q of the joint without extras on its right body, as a force and a torque about the anchor."""
    simulation, joined, rng = pair(kind, seed, extras=False)
    poses = rows_to_transforms(simulation.state.Q)
    c_bar = anchors(joined.slot.geometry, *(np.tile(T, (3, 1, 1)) for T in poses))["c"][1]
    Q = disturbed(simulation, rng)
    G = -joint_gradient(simulation, Q)[1]
    h = 0.5
    simulation.state.Q[:] = Q
    simulation.state.dt_before = h
    simulation.joints.commit(simulation.state)
    simulation.joints.retrieve(simulation.state)
    force, torque = joined["reaction/force"], joined["reaction/torque"]
    about_origin = torque + np.cross(c_bar @ Q[1], force)
    # sums of some 100 terms with round-off 1e-16 of the largest
    assert np.abs(force.sum(axis=0) - G[0] / h**2).max() <= 1e-13 * np.abs(force).max()
    assert np.abs(about_origin.sum(axis=0) - moment(Q[1], G) / h**2).max() <= 1e-12 * np.abs(about_origin).max()

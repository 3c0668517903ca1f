"""Evaluation is pure: looking elsewhere changes nothing of what is known of a state, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contact_scenes import BOX, Probe, Stage, scaled

from dovetail.constitution import (
    AffineBodyDrivingPrismaticJoint,
    AffineBodyJointDamper,
    AffineBodyJointFriction,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
    AffineBodySphericalJoint,
    Joint,
)

D_HAT = 1e-2
GAP = 0.4 * D_HAT


def scene(strength: float) -> Probe:
    """Three cubes that touch each other and the ground with friction, and an arm with laws and a hard limit.

    The arm hangs on a hinge between bounds that are near, a driven slider and a ball, and nearly touches the ground.
    """
    stage = Stage(gravity=(0, 0, -10), d_hat=D_HAT, newton__direction="factor")
    stage.material(0.5, 1e7)
    stage.ground()
    cube = scaled(BOX, 0.2)
    z = 0.1 + GAP
    stage.add("cubes", cube, [(0, 0, z), (0.2 + GAP, 0.03, z), (0.1, 0.02, z + 0.2 + GAP)])
    post = stage.add("post", cube, [(2, 0, 1)], fixed=True)
    links = stage.add("links", cube, [(2.4, 0, 1), (2.8, 0, 1), (2.8, 0, 0.1 + GAP)])

    def join(kind: type[Joint], left: Any, right: Any, *points: Any, extras: Any = ()) -> None:
        (a, i), (b, j) = left, right
        sc = kind().create_geometry(*([point] for point in points), [a], [i], [b], [j], [strength])
        for extra in extras:
            extra(sc)
        stage.scene.objects.create(kind.__name__).geometries.create(sc)

    def drive(sc: Any) -> None:
        AffineBodyDrivingPrismaticJoint().apply_to(sc, 100.0)
        sc.edges["driving/is_constrained"] = 1
        sc.edges["aim_distance"] = 0.3

    join(
        AffineBodyRevoluteJoint, (post, 0), (links, 0), (2.2, 0, 1), (2.2, 1, 1),
        extras=[
            lambda sc: AffineBodyRevoluteJointLimit().apply_to(sc, -0.3, 0.2, np.inf),
            lambda sc: AffineBodyJointDamper().apply_to(sc, 3.0),
        ],
    )  # fmt: skip
    join(
        AffineBodyPrismaticJoint, (links, 0), (links, 1), (2.6, 0, 1), (3.6, 0, 1),
        extras=[drive, lambda sc: AffineBodyJointFriction().apply_to(sc, 5.0, 0.01)],
    )  # fmt: skip
    join(AffineBodySphericalJoint, (links, 1), (links, 2), (2.8, 0, 0.5))
    probe = stage.probe()
    probe.simulation.joints.refresh(probe.h)
    return probe


def begun(strength: float) -> tuple[Probe, np.ndarray, list[np.ndarray]]:
    """The scene at the start of a step, a state on the way, and others: near it, not allowed, inside out, apart."""
    probe, rng = scene(strength), np.random.default_rng(4)
    free = probe.model.bodies.is_free[:, None, None]
    motion = 0.1 * GAP * rng.normal(size=probe.Q.shape) * free
    probe.model.potential.Q_tilde[:] = probe.Q + 3 * motion
    probe.look(probe.Q, 8 * motion)
    near, far = motion, 2 * motion[:, ::-1]
    through = np.zeros_like(motion)
    through[0, 0, 2] = -0.1  # into the ground
    apart = np.zeros_like(motion)
    apart[[2, 6], 0, 2] = 0.2  # where distances are known that are far too large here
    upside_down = -2.0 * probe.Q * free
    upside_down[:, 0] = 0.0
    Q = probe.Q + motion
    return probe, Q, [Q + near, Q - far, Q + through, Q + upside_down, Q + apart]


def derivatives(probe: Probe, at: Any, exact: bool) -> list[np.ndarray]:
    """Gradient and blocks at an evaluation, on a structure for all pairs of bodies."""
    directions, n = probe.model.directions, len(at.Q)
    directions.lay_out(np.stack(np.triu_indices(n, 1), axis=1))
    probe.model.potential.assemble(at, exact, probe.model.bodies.is_free, directions.blocks)
    free = probe.model.bodies.is_free != 0
    return [array.copy() for array in (directions.blocks.g[free], directions.blocks.D[free], directions.blocks.U)]


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("strength", [100.0, np.inf])
@pytest.mark.parametrize("exact", [False, True])
def test_a_state_that_is_kept_has_the_same_energies_and_derivatives_whatever_is_evaluated_meanwhile(strength, exact):
    probe, Q, _ = begun(strength)
    at = probe.model.potential.at(Q)
    expected = [at.E.copy(), *derivatives(probe, at, exact)]
    assert at.contacts.count > 10 and probe.contact.friction.count > 10 and np.isfinite(at.E).all()
    probe, Q, others = begun(strength)
    potential = probe.model.potential
    first, kept = potential.at(Q), Q.copy()
    seen = [potential.at(other, first).E.sum() for other in others]
    assert np.isfinite(seen).tolist() == [True, True, False, False, True]
    assert len({first.E.sum(), *np.array(seen)[np.isfinite(seen)]}) == 4, "they are different states"
    np.testing.assert_array_equal(first.Q, kept)
    assert_same([first.E, *derivatives(probe, first, exact)], expected)


@pytest.mark.parametrize("strength", [100.0, np.inf])
def test_a_state_that_is_evaluated_again_has_the_same_energies_and_derivatives(strength):
    probe, Q, others = begun(strength)
    potential = probe.model.potential
    at = potential.at(Q)
    expected = [at.E.copy(), *derivatives(probe, at, True)]
    for other in others:
        derivatives(probe, potential.at(other), True)
    again = potential.at(Q)
    assert_same([again.E, *derivatives(probe, again, True)], expected)


@pytest.mark.parametrize("strength", [100.0, np.inf])
def test_evaluations_that_are_kept_do_not_share_anything(strength):
    probe, _, others = begun(strength)
    potential, kept = probe.model.potential, []
    for other in others:
        kept.append(potential.at(other, *kept))
    found = [at.E.copy() for at in kept]
    for at, other, E in zip(kept, others, found, strict=True):
        np.testing.assert_array_equal(potential.at(other, *kept).E, E)
        assert at.Q is other


@pytest.mark.parametrize("strength", [100.0, np.inf])
def test_the_direction_at_a_state_that_is_kept_is_the_same_whatever_is_evaluated_meanwhile(strength):
    found = []
    for looks_elsewhere in (False, True):
        probe, Q, others = begun(strength)
        potential = probe.model.potential
        first = potential.at(Q)
        for other in others if looks_elsewhere else ():
            potential.at(other, first)
        found.append(probe.model.directions.newton(first, True).copy())
    assert np.abs(found[0]).max() > 1e-6
    np.testing.assert_array_equal(found[1], found[0])


def shares(probe: Probe, y: np.ndarray) -> list[np.ndarray]:
    """Islands of the step −y from the start, and the share of it that each may take."""
    iteration, islands = probe.iteration, probe.model.islands
    iteration.bound(y)
    return [islands.of.copy(), islands.alpha[: islands.count].copy(), islands.guarded[: islands.count].copy()]


@pytest.mark.parametrize("strength", [100.0, np.inf])
def test_the_free_share_of_a_step_is_the_same_whatever_is_evaluated_meanwhile(strength):
    """A cube falls on another, which is pushed aside, and the arm turns beyond its bound."""
    found = []
    for looks_elsewhere in (False, True):
        probe, _, others = begun(strength)
        y = np.zeros((len(probe.Q), 12))
        y[2, 2], y[0, 0] = 0.6 * GAP, 0.1
        for b in (4, 5, 6):
            turned = np.cross((0.0, 0.5, 0.0), probe.Q[b] - np.array([(2.2, 0.0, 1.0), *np.zeros((3, 3))]))
            y[b] -= turned.ravel()
        probe.look(probe.Q, -8.0 * y.reshape(probe.Q.shape))  # with room to spare: nothing is looked for again
        for other in others if looks_elsewhere else ():
            probe.model.potential.at(other, probe.iteration.at)
        looks = probe.contact.watch.looks
        found.append(shares(probe, y))
        assert probe.contact.watch.looks == looks
    of, alpha, guarded = found[0]
    assert len(alpha) >= 2 and (alpha < 1.0).all() and (alpha > 0.0).all() and guarded.all()
    assert alpha[of[2]] != alpha[of[4]], "one is bounded by a gap, the other by the hard limit"
    assert_same(found[1], found[0])

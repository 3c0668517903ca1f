"""Free articulated systems keep their momentum: joints, drives and limits only pass it from body to body.

What a step conserves follows from its optimality condition M(Q − Q̃) c + ∇E = 0, since ∇E of every joint term balances
in force and in moment about any point. Without outer forces

    bdf1   Σ M V is constant, and Σ Q × M(V − Vₙ) = 0 with Q at the end of the step
    bdf2   the same with (3V − 4Vₙ + Vₙ₋₁)/2 instead of V − Vₙ

where × adds over the rows of Q. The angular momentum Σ Q × M V itself changes by what the integrator damps; no joint
has a part in it.
"""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import JOINTS, Bench, everything_on, random_rotation

FRAMES = 10
# steps of 5e-12 m at the end: round-off of the stiffest of these rings makes steps of 2e-12 m
CONVERGED = {"newton/velocity_tol": 5e-10, "newton/transrate_tol": 5e-10}
joints = pytest.mark.parametrize("kinds", [[kind] for kind in JOINTS.values()] + [list(JOINTS.values())])
integrators = pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])


def _inner(sc):
    """Drives and limits gentle; joint loads off, since they are computed, and balance, at the start of a step."""
    edges = sc.edges
    for name, value in {
        "external_force/is_constrained": 0,
        "external_torque/is_constrained": 0,
        "driving/strength_ratio": 0.3,
        "limit/strength": 0.1,
    }.items():
        if name in edges:
            edges[name] = value


def cloud(kinds, integrator, dt=0.01, moved=True):
    """Eight free boxes in a ring of random joints that spins as a whole; drives and limits move half of the joints."""
    rng = np.random.default_rng(21)
    count = 8
    bench = Bench({"dt": dt, "integrator/type": integrator, "integrator/bdf2_start": "bdf1", **CONVERGED})
    places, spin, drift = rng.normal(size=(count, 3)), np.array([0.3, -0.8, 1.2]), np.array([0.5, 0.0, 0.2])
    bodies = [
        bench.box(
            f"body {k}", rng.uniform(0.2, 0.6, 3), at=at, rotation=random_rotation(rng), density=100.0, spin=spin,
            velocity=np.cross(spin, at) + drift,
        )
        for k, at in enumerate(places)
    ]  # fmt: skip
    for k in range(count):
        kind = kinds[k % len(kinds)]
        pair = [bodies[k]], [bodies[(k + 1) % count]]
        extras = [*everything_on(kind, rng), _inner] if moved and k % 2 else ()
        bench.join(kind, *pair, *rng.normal(size=(2, 3)), extras=extras)
    return bench.lowered()


def moment(mass, Q, V):
    """Σ over bodies and rows of Q × M̂ V."""
    return np.cross(Q, mass @ V).sum(axis=(0, 1))


@joints
@integrators
def test_linear_momentum_is_kept_to_round_off_in_every_step(kinds, integrator):
    simulation = cloud(kinds, integrator)
    mass, state = simulation.model.bodies.mass, simulation.state
    size = np.abs(mass @ state.V)[:, 0].sum()
    before = (mass @ state.V)[:, 0].sum(axis=0)
    for frame in range(1, FRAMES + 1):
        assert simulation.advance(frame).converged
        after = (mass @ state.V)[:, 0].sum(axis=0)
        assert np.abs(after - before).max() <= 1e-12 * size
        before = after


@joints
@integrators
def test_angular_momentum_is_changed_by_the_integrator_alone(kinds, integrator):
    simulation = cloud(kinds, integrator)
    mass, state = simulation.model.bodies.mass, simulation.state
    size = np.abs(mass @ state.V).sum() * np.abs(state.Q).max()
    V_before = state.V.copy()
    for frame in range(1, FRAMES + 1):
        V = state.V.copy()
        simulation.advance(frame)
        one_step = integrator == "bdf1" or frame == 1
        change = state.V - V if one_step else (3 * state.V - 4 * V + V_before) / 2
        assert np.abs(moment(mass, state.Q, change)).max() <= 1e-12 * size
        V_before = V


def test_angular_momentum_itself_is_kept_with_the_order_of_the_integrator():
    """What is lost in 0.2 s halves with the step of bdf1, and falls fourfold or faster with that of bdf2.

    Without drives, whose physical stiffness K_d/h² would change with the step.
    """
    lost = {}
    for integrator in ("bdf1", "bdf2"):
        for dt in (0.01, 0.005):
            simulation = cloud(list(JOINTS.values()), integrator, dt, moved=False)
            mass, state = simulation.model.bodies.mass, simulation.state
            start = moment(mass, state.Q, state.V)
            for frame in range(round(0.2 / dt)):
                simulation.advance(frame + 1)
            lost[integrator, dt] = np.linalg.norm(moment(mass, state.Q, state.V) - start) / np.linalg.norm(start)
    assert lost["bdf1", 0.01] / lost["bdf1", 0.005] == pytest.approx(2, abs=0.3)
    assert lost["bdf2", 0.01] / lost["bdf2", 0.005] > 3.5
    assert lost["bdf2", 0.005] < 1e-3

"""A consistent start, V̂ and Â, against a dense twin in NumPy and against rigid motions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dense_blocks import assemble
from joint_scenes import Bench, axis_angle, cross_matrix, everything_on

from dovetail.constitution import (
    AffineBodyJointArmature,
    AffineBodyJointDamper,
    AffineBodyJointDrive,
    AffineBodyJointFriction,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodySphericalJoint,
)
from dovetail.solver import consistent
from dovetail.solver.consistent import consistent_start
from dovetail.solver.integrator import INTEGRATORS, Methods
from dovetail.solver.joint.laws import LawBatch, Laws
from dovetail.solver.joint.rows import Rows
from dovetail.solver.model import Model
from dovetail.solver.potential import Potential

H = 0.01
STIFF, SOFT = 1e8, 1e3


def ctr(smooth: np.ndarray) -> Methods:
    """ctr for these bodies, bdf1 for the others."""
    return Methods(INTEGRATORS["ctr"], ~smooth)


def mechanism(rng: np.random.Generator, *, potential: str = "OrthoPotential", kappa: float = STIFF, exact: int = 0):
    """Three bodies on a fixed one, by a ball joint, a hinge and a slider with everything on them, and a free body.

    Laws by rate and rotors are left out: they have tests of their own, tests/physics/test_consistent_drives.py and
    test_joint_armature.py.
    """
    bench = Bench({"dt": H, "integrator/type": "ctr", "joint/exact": exact}, gravity=(0, 0, -9.8))
    base = bench.box("base", fixed=True)
    made = [
        bench.box(f"body {k}", (0.2, 0.3, 0.4), (k + 1.0, 0, 0), rotation=axis_angle(rng.normal(size=3), 0.5),
                  kappa=kappa, potential=potential)
        for k in range(4)
    ]  # fmt: skip
    bench.join(AffineBodySphericalJoint, [base], made[:1], (0.5, 0, 0), name="ball")
    bench.join(AffineBodyRevoluteJoint, made[:1], made[1:2], (1.5, 0, -0.5), (1.5, 0, 0.5), name="hinge",
               extras=everything_on(AffineBodyRevoluteJoint, rng))  # fmt: skip
    bench.join(AffineBodyPrismaticJoint, made[1:2], made[2:3], (2.5, 0, 0), (2.5, 1, 0), name="slider",
               extras=everything_on(AffineBodyPrismaticJoint, rng))  # fmt: skip
    simulation = bench.lowered()
    potential = simulation.model.potential
    assert potential.laws is not None
    batches = [batch for batch in potential.laws.batches if batch.start < 0 and batch.law.name != "armature"]
    slow = Laws(potential.laws.coordinates, batches)
    assert 0 < slow.count < potential.laws.count
    given = (potential.bodies, potential.points, potential.slides, slow, potential.exact)
    model = Model(Potential(*given, [other for other in potential.others if other is not potential.soft_transforms]))
    model.prepare(H, np.ones(model.bodies.count))
    return model, simulation.state


def free(model: Model) -> np.ndarray:
    return model.bodies.is_free != 0


def flat(model: Model, rows: np.ndarray) -> np.ndarray:
    """(n, 4, 3) → the unknowns of the free bodies in body order."""
    return rows[free(model)].ravel()


def dense_mass(model: Model) -> np.ndarray:
    M = [np.kron(m, np.eye(3)) for m in model.bodies.mass[free(model)]]
    out = np.zeros((12 * len(M), 12 * len(M)))
    for k, block in enumerate(M):
        out[12 * k : 12 * k + 12, 12 * k : 12 * k + 12] = block
    return out


def constraints(model: Model):
    """Functions c(Q) with weights k, so that k/2 ‖c‖² are the energies that a start sees, with their shares.

    Shapes: AᵀA − 1, where w‖G‖² has k = 2w; joints: gaps W Q; sliders r × t; laws: their coordinate.
    """
    bodies, potential, found = model.bodies, model.potential, []
    for b in np.flatnonzero(free(model)):
        stiffness = (4.0 if bodies.model[b] == 1 else 1.0) * potential.weights.w[b]
        share = 2 * stiffness / (bodies.largest_moment[b] + 2 * stiffness)

        def strain(Q, b=b):
            A = Q[b, 1:].T
            return (A.T @ A - np.eye(3)).ravel()

        SHAPES[strain] = b
        found.append((strain, 0.5 * stiffness * share))
    for batch in potential.laws.batches:
        found += [coordinate_of(model, batch, m) for m in range(batch.count)]
    found += [slide_of(potential.slides, k) for k in range(potential.slides.count)]
    found += [coincide_of(potential.points, k) for k in range(potential.points.count)]
    return [f for f in found if f[1] > 0.0]


def gathered(rows: Rows, k: int, Q: np.ndarray) -> np.ndarray:
    return rows.W[k] @ np.concatenate([Q[rows.left[k]], Q[rows.right[k]]])


def coincide_of(points: Rows, k: int):
    return lambda Q: gathered(points, k, Q)[0], points.K[k]


def slide_of(slides: Rows, k: int):
    def across(Q: np.ndarray) -> np.ndarray:
        return np.cross(*gathered(slides, k, Q))

    SLIDERS.append(across)
    return across, slides.K[k]


def coordinate_of(model: Model, batch: LawBatch, m: int):
    c, k = model.potential.laws.coordinates, batch.of[m]
    W = c.W[c.first[k] : c.first[k + 1]]

    def x(Q: np.ndarray) -> np.ndarray:
        F = W @ np.concatenate([Q[c.left[k]], Q[c.right[k]]])
        if len(F) == 2:
            return np.array([F[0] @ F[1]])
        ni, bi, nj, bj = F
        return np.array([np.arctan2(bi @ nj - ni @ bj, ni @ nj + bi @ bj)])

    x0 = float(x(STATE["Q"])[0])
    step = 1e-4
    phi = batch.law.function

    def slope(at: float) -> float:
        d = np.zeros(3)
        phi(at, batch.p[m], d)
        return d[0]

    curvature = (slope(x0 + step) - slope(x0 - step)) / (2 * step)
    J = jacobian(model, x)
    stiff = curvature * float((J @ np.linalg.solve(dense_mass(model), J.T))[0, 0])
    return x, curvature * stiff / (1 + stiff)


STATE: dict[str, np.ndarray] = {}
SLIDERS: list[Any] = []
SHAPES: dict[Any, int] = {}


def spin_of(model: Model, state, b: int) -> np.ndarray:
    """The unknowns of the turning of body b alone that has the angular momentum of its velocity."""
    a, mass = state.Q[b, 1:], model.bodies.mass[b]
    S = mass[1:, 1:] - np.outer(mass[0, 1:], mass[0, 1:]) / mass[0, 0]
    turning = sum(S[i, j] * ((a[i] @ a[j]) * np.eye(3) - np.outer(a[j], a[i])) for i in range(3) for j in range(3))
    omega = np.linalg.solve(turning, np.cross(a, S @ state.V[b, 1:]).sum(axis=0))
    rows = np.zeros_like(state.V)
    rows[b, 1:] = np.cross(omega, a)
    return flat(model, rows)


def jacobian(model: Model, c, Q: np.ndarray | None = None, step: float = 1e-6) -> np.ndarray:
    """∂c/∂(unknowns) by central differences; c is at most quadratic, or smooth on the scale of 1."""
    Q = STATE["Q"] if Q is None else Q
    columns = []
    for b in np.flatnonzero(free(model)):
        for i in range(4):
            for a in range(3):
                plus, minus = Q.copy(), Q.copy()
                plus[b, i, a] += step
                minus[b, i, a] -= step
                columns.append((c(plus) - c(minus)) / (2 * step))
    return np.array(columns).T


def gradient(model: Model, Q: np.ndarray) -> np.ndarray:
    """∇ of all energies but the kinetic one, by the tested assembly."""
    model.prepare(H, np.zeros(len(Q)))
    g = assemble(model, Q, Q, exact=True).g[free(model)].ravel()
    model.prepare(H, np.full(len(Q), 4.0))
    return g


@pytest.mark.parametrize("kappa", [STIFF, SOFT])
@pytest.mark.parametrize("potential", ["OrthoPotential", "ARAP"])
def test_a_start_is_that_of_the_dense_equations(potential, kappa, rng):
    """P V̂ = M V and P Â = M a − ∇V − h² Σ k Jᵀ(∂J/∂Q V̂)V̂, with P = M + Σ k JᵀJ from differences of constraints.

    For shapes the spin of V stands for V̂ in the last term.
    """
    model, state = mechanism(rng, potential=potential, kappa=kappa)
    model.potential.laws.past[:] = model.potential.laws.p  # targets at rest
    state.V[:] = rng.normal(size=state.V.shape) * free(model)[:, None, None]
    STATE["Q"] = state.Q.copy()
    M = dense_mass(model)
    terms = [(jacobian(model, c), c, k) for c, k in constraints(model)]
    P = M + sum(k * J.T @ J for J, _, k in terms)
    a = np.zeros_like(state.Q)
    a[:, 0, 2] = np.where(free(model), -9.8, 0.0)
    V_hat = np.linalg.solve(P, M @ flat(model, state.V))
    g = gradient(model, state.Q)
    V, total, inner = consistent_start(model, state, H, a.copy(), ctr(np.ones(len(state.Q), np.bool_)))
    # differences of 1e-6 leave 1e-9 of J, and P has a condition of up to 1e10 where bodies are stiff
    np.testing.assert_allclose(flat(model, V), V_hat, atol=2e-5)
    bends = np.zeros(len(M))
    for J, c, k in terms:
        rate = flat(model, V)
        if c in SLIDERS:
            rate = rate - np.linalg.pinv(J) @ (J @ rate)  # what it resists is left out
        elif c in SHAPES:
            rate = spin_of(model, state, SHAPES[c])
        rows = np.zeros_like(state.Q)
        rows[free(model)] = rate.reshape(-1, 4, 3)
        later, earlier = (jacobian(model, c, state.Q + step * rows) for step in (1e-4, -1e-4))
        bends += k * J.T @ ((later - earlier) / 2e-4 @ rate)
    wanted = np.linalg.solve(P, M @ flat(model, a) - g / H**2 - bends)
    found = flat(model, 0.5 * (total + inner))
    # the same on forces of springs, limits and drives that nearly cancel: 1.1e-3 was seen
    np.testing.assert_allclose(found, wanted, atol=2e-3 * np.abs(wanted).max())


@pytest.mark.parametrize("potential", ["OrthoPotential", "ARAP"])
def test_a_rigid_motion_is_left_alone_and_gets_its_centripetal_acceleration(potential, rng):
    """V̂ = V and Â = ω × (ω × r) about the centre of mass, which falls."""
    bench = Bench({"dt": H}, gravity=(0, 0, -9.8))
    turned = axis_angle(rng.normal(size=3), 0.7)
    inertia_axes = (0.3, 0.3, 0.3)  # a cube: its axis of rotation stays
    bench.box("box", inertia_axes, (1, 2, 3), rotation=turned, potential=potential, kappa=STIFF)
    simulation = bench.lowered()
    model, state = simulation.model, simulation.state
    omega = np.array([0.5, -1.0, 2.0])
    spin = cross_matrix(omega)
    state.V[0, 1:] = (spin @ state.Q[0, 1:].T).T
    state.V[0, 0] = 1.0, -2.0, 0.5
    a = np.array([[[0, 0, -9.8], *np.zeros((3, 3))]])
    V, total, inner = consistent_start(model, state, H, a, ctr(np.ones(1, np.bool_)))
    np.testing.assert_allclose(V, state.V, atol=1e-9)
    A = 0.5 * (total + inner)[0]
    # the filter takes 1/(1 + ω²h²) off, 1e-4 here and four times that of ARAP
    np.testing.assert_allclose(A[1:], (spin @ spin @ state.Q[0, 1:].T).T, rtol=5e-4)
    np.testing.assert_allclose(A[0], [0, 0, -9.8], atol=1e-9)


def test_exact_joints_hold_for_velocity_and_acceleration(rng):
    """J V̂ = 0, and the rate of that along Q̇ = V̂, V̇ = Â: J Â + (∂J/∂Q V̂) V̂ = 0."""
    model, state = mechanism(rng, exact=1)
    state.V[:] = rng.normal(size=state.V.shape) * free(model)[:, None, None]
    model.prepare(H, np.full(len(state.Q), 4.0))
    points, slides = model.potential.points, model.potential.slides
    assert model.potential.exact is not None and points.count > points.exact == 0 and slides.count > slides.exact == 0
    a = np.zeros_like(state.Q)
    V, total, inner = consistent_start(model, state, H, a, ctr(np.ones(len(state.Q), np.bool_)))
    A = np.where(free(model)[:, None, None], 0.5 * (total + inner), 0.0)  # of fixed bodies it is arbitrary
    for rows in (points, slides):
        for k in range(rows.count):
            u, du, ddu = (gathered(rows, k, X) for X in (state.Q, V, A))
            if len(u) == 1:
                rate, second = du[0], ddu[0]
            else:
                rate = np.cross(du[0], u[1]) + np.cross(u[0], du[1])
                second = np.cross(ddu[0], u[1]) + np.cross(u[0], ddu[1]) + 2 * np.cross(du[0], du[1])
            np.testing.assert_allclose(rate, 0.0, atol=1e-10)  # velocities of 1, residuals below 1e-12
            np.testing.assert_allclose(second, 0.0, atol=1e-6)  # h²Â is solved for to 1e-12


def test_bodies_that_need_bdf1_keep_their_velocity(rng):
    model, state = mechanism(rng)
    state.V[:] = rng.normal(size=state.V.shape)
    smooth = np.zeros(len(state.Q), np.bool_)
    smooth[-1] = True
    a = rng.normal(size=state.Q.shape)
    V, total, inner = consistent_start(model, state, H, a.copy(), ctr(smooth))
    np.testing.assert_array_equal(V[:-1], state.V[:-1])
    np.testing.assert_array_equal(total[:-1], a[:-1])
    np.testing.assert_array_equal(inner[:-1], state.A[:-1])
    assert not (V[-1] == state.V[-1]).all()
    np.testing.assert_array_equal(model.islands.unconverged, model.bodies.is_free)


LAWS = {
    "none": [],
    "servos": [lambda sc: AffineBodyJointDrive().apply_to(sc, 30.0, 0.5, 1e3)],
    "rates": [
        lambda sc: AffineBodyJointDamper().apply_to(sc, 0.3),
        lambda sc: AffineBodyJointFriction().apply_to(sc, 0.02, 1e-3),
    ],
    "rotors": [lambda sc: AffineBodyJointArmature().apply_to(sc, 0.01)],
}


@pytest.mark.parametrize("laws", LAWS)
@pytest.mark.parametrize("gamma", [100.0, np.inf])
def test_sweeps_and_blocks_give_the_same_start(gamma, laws, rng):
    """A tree of forty links under load: the start by dual sweeps, and by the block system once the trees are felled."""
    bench = Bench({"dt": H, "integrator/type": "ctr", "newton/direction": "sweep"}, gravity=(0, 0, -9.8))
    size = (0.1, 0.02, 0.02)
    base = bench.box("base", size, (-0.05, 0, 0), fixed=True)
    links = bench.box("links", size, [(0.1 * k + 0.05, 0, 0) for k in range(40)])
    bodies = [(links, k) for k in range(40)]
    pins, half = np.array([[0.1 * k, 0, 0] for k in range(40)]), np.array([0, 0.01, 0])
    joints = [base, *bodies[:-1]], bodies, pins - half, pins + half
    bench.join(AffineBodyRevoluteJoint, *joints, strength=gamma, extras=LAWS[laws])
    bench.run(20)
    simulation = bench.world._simulation
    model, state = simulation.model, simulation.state
    assert model.directions.sweep is not None
    np.testing.assert_array_equal(model.directions.sweep.starts, model.bodies.is_free)
    assert model.directions.sweep.lawless.any() == (laws == "none")
    # noise that changes spins at once, so that V̂ has others than Vₙ, and fast ones: a third of a radian in a step
    state.V += 10.0 * rng.normal(size=state.V.shape) * free(model)[:, None, None]
    assert 0.3 < H * np.abs(state.V[:, 1:]).max() < 0.5
    a = np.zeros_like(state.Q)
    a[1:, 0, 2] = -9.8
    smooth = np.ones(len(state.Q), np.bool_)
    known = model.directions.blocks.laid_out
    swept = [x.copy() for x in consistent_start(model, state, H, a.copy(), ctr(smooth))]
    assert model.directions.blocks.laid_out == known == (laws == "rates"), "no block was needed"
    model.directions.sweep = None
    blocked = consistent_start(model, state, H, a.copy(), ctr(smooth))
    for one, two in zip(swept, blocked, strict=True):
        one, two = one[1:], two[1:]  # the base is fixed
        # sweeps take a body for a rigid one with a stiffness of 8w on all strains: 1/(ω²h²) = 1e-3 of the strain rates;
        # the torques of servos strain it too, and soft hinges yield to that
        share = 5e-3 if laws == "servos" else 2e-3
        np.testing.assert_allclose(one, two, atol=share * np.abs(two).max())


def test_bodies_that_turn_by_a_radian_a_step_start_by_blocks(monkeypatch):
    bench = Bench({"dt": 0.05, "integrator/type": "ctr"})
    base = bench.box("base", (0.1, 0.1, 0.1), fixed=True)
    arm = bench.box("arm", (0.3, 0.1, 0.1), (0.15, 0, 0), spin=(0, 25.0, 0), velocity=(0, 0, -25.0 * 0.15))
    half = np.array([0, 0.02, 0])
    bench.join(AffineBodyRevoluteJoint, [base], [arm], -half, half, strength=np.inf)
    asked = []
    monkeypatch.setattr(consistent, "_solve", lambda *given, solve=consistent._solve: asked.append(solve(*given)))
    bench.run(1)
    assert bench.world._simulation.model.directions.sweep is not None and len(asked) == 1
    bench.world._simulation.state.V *= 0.5
    bench.run(1)
    assert len(asked) == 1


@pytest.mark.parametrize("links", [3, 16])  # one by one, and eight at a time
def test_spinning_bodies_start_by_sweeps_with_their_spin_and_its_gyroscopic_torque(links, rng):
    """Plates on ball joints that spin about any axis: the filter leaves such velocities alone."""
    starts = []
    bench = Bench({"dt": H, "integrator/type": "ctr"}, gravity=(0, 0, -9.8))
    size = np.array([0.3, 0.1, 0.05])
    base = bench.box("base", (0.1, 0.1, 0.1), (0, 0, 0), fixed=True)
    plates = bench.box("plates", size, [(0.3 * (k + 0.5), 0, 0) for k in range(links)])
    bodies = [base, *((plates, k) for k in range(links))]
    pins = np.array([(0.3 * k, 0, 0) for k in range(links)])
    bench.join(AffineBodySphericalJoint, bodies[:-1], bodies[1:], pins, strength=np.inf)
    simulation = bench.lowered()
    model, state = simulation.model, simulation.state
    assert model.directions.sweep is not None
    np.testing.assert_array_equal(model.directions.sweep.lawless, model.bodies.is_free)
    arm, at_pin = np.array([0.15, 0, 0]), np.zeros(3)
    for k in range(1, links + 1):
        omega = 3.0 * rng.normal(size=3)
        state.V[k, 0], state.V[k, 1:] = at_pin + np.cross(omega, arm), np.cross(omega, state.Q[k, 1:])
        at_pin = state.V[k, 0] + np.cross(omega, arm)
    model.prepare(H, ctr(np.ones(links + 1, np.bool_)).weight)
    a = np.zeros_like(state.Q)
    a[1:, 0, 2] = -9.8
    smooth = free(model)
    for sweep in (model.directions.sweep, None):
        model.directions.sweep = sweep
        starts.append([x.copy() for x in consistent_start(model, state, H, a.copy(), ctr(smooth))])
    (V, _, inner), (V_block, _, inner_block) = starts
    np.testing.assert_allclose(V, state.V, atol=1e-8 * np.abs(state.V).max())
    np.testing.assert_allclose(V_block, state.V, atol=1e-8 * np.abs(state.V).max())
    # moments over 8w, the share of strain rates that are left in a filter, are 1e-4 here
    np.testing.assert_allclose(inner, inner_block, atol=3e-4 * np.abs(inner_block).max())

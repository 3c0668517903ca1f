"""What touching adds to the start of a step, against the equations of held.py in NumPy; forces in joints; rolling."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import rotation

from dovetail import AngleAxis, Sim
from dovetail.solver.consistent import assemble_filter
from dovetail.solver.contact.normal import add_normal_gradient
from dovetail.solver.contact.roll import Turning, roll
from dovetail.solver.following import twist
from dovetail.solver.held import touch
from dovetail.solver.rigid import rigid, rows_of


def second_moments(mass: np.ndarray) -> np.ndarray:
    return mass[1:, 1:] - np.outer(mass[1:, 0], mass[0, 1:]) / mass[0, 0]


def test_motions_of_rigid_bodies_have_the_momentum_of_any_motion(rng):
    mass = np.cov(rng.normal(size=(4, 50)))[None] + 0.5 * np.eye(4)
    Q, A = rng.normal(size=(2, 1, 4, 3))
    Q[0, 1:] = rotation(rng.normal(size=3), 0.7).T
    w, rows = np.empty((1, 6)), np.empty((1, 4, 3))
    rigid(mass, Q, A, w)
    rows_of(mass, Q, w, rows)
    S = second_moments(mass[0])
    for motion in (A, rows):
        np.testing.assert_allclose((mass[0] @ motion[0])[0], mass[0, 0, 0] * w[0, :3], rtol=1e-10)
        turning = np.cross(Q[0, 1:], S @ motion[0, 1:]).sum(axis=0)
        np.testing.assert_allclose(turning, w[0, 3:], rtol=1e-10)
    moments = Q[0, 1:].T @ S @ Q[0, 1:]
    spin = np.linalg.solve(np.trace(moments) * np.eye(3) - moments, w[0, 3:])
    np.testing.assert_allclose(rows[0, 1:], np.cross(spin, Q[0, 1:]), rtol=1e-9)


def sliding_arm() -> Sim:
    """A rod on a hinge whose round tip slides along an inclined floor."""
    sim = Sim(dt=0.01, friction=0.0)
    sim.ground(height=-0.75, normal=(0.2, 0, 1))
    post = sim.box(0.1, fixed=True, contact=False)
    crank = sim.box((0.5, 0.05, 0.05), pos=(0.25, 0, 0), contact=False, name="crank")
    rod = sim.capsule(0.03, 0.8, pos=(0.5, 0, -0.4), name="rod")
    sim.revolute(post, crank, pos=(0, 0, 0), axis=(0, 1, 0))
    sim.revolute(crank, rod, pos=(0.5, 0, 0), axis=(0, 1, 0))
    return sim


def test_what_touching_adds_is_that_of_the_equations():
    """f, φ, y = P_c⁻¹M(f − f′) and ℓ; by the matrices that the solver assembles, in dense arithmetic."""
    sim = sliding_arm()
    sim.step(20)
    simulation = sim.world._simulation
    model, state, h = simulation.model, simulation.state, 0.01
    held = model.knocked(state.Q, h)
    assert held.any() and not model.lone.among(model.bodies.is_free).any()
    found = touch(model, state, h, model.loads.accelerations(state.Q), held)
    contact, blocks, bodies = model.contact, model.directions.blocks, model.bodies
    free = np.flatnonzero(bodies.is_free)
    active = bodies.is_free * held

    def matrix() -> np.ndarray:
        """What is assembled, of the free bodies: two of them."""
        H = np.zeros((24, 24))
        order = [list(free).index(b) for b in blocks.order[blocks.order >= 0] if b in free]
        for k, b in enumerate(free):
            H[12 * k : 12 * k + 12, 12 * k : 12 * k + 12] = np.triu(blocks.D[b]) + np.triu(blocks.D[b], 1).T
        i, j = order
        H[12 * i : 12 * i + 12, 12 * j : 12 * j + 12] = blocks.U[0]
        H[12 * j : 12 * j + 12, 12 * i : 12 * i + 12] = blocks.U[0].T
        return H

    M = np.zeros((24, 24))
    for k, b in enumerate(free):
        M[12 * k : 12 * k + 12, 12 * k : 12 * k + 12] = np.kron(bodies.mass[b], np.eye(3))
    exact = model.potential.exact
    assemble_filter(model, model.start, active, blocks)
    P = matrix()
    s = contact.press(state.Q, h)
    g = np.zeros((bodies.count, 12))
    add_normal_gradient(s, contact.scene, contact.assembly.normal, contact.assembly.everybody, g)
    F = -g[free].reshape(-1) / h**2
    # the points of exact joints, as J y = 0
    rows = exact.points
    J = np.zeros((3 * rows.count, 12 * bodies.count))
    for k in range(rows.count):
        for side, body in enumerate((rows.left[k], rows.right[k])):
            for i in range(4):
                J[3 * k : 3 * k + 3, 12 * body + 3 * i : 12 * body + 3 * i + 3] += rows.W[k, 0, 4 * side + i] * np.eye(
                    3
                )
    J = J.reshape(len(J), bodies.count, 12)[:, free].reshape(len(J), -1)
    Z = np.linalg.svd(J)[2][np.linalg.matrix_rank(J) :].T  # motions that the joints leave

    def solve(H: np.ndarray, b: np.ndarray) -> np.ndarray:
        return Z @ np.linalg.solve(Z.T @ H @ Z, Z.T @ b)

    pushed = np.zeros((bodies.count, 6))
    response = np.zeros((bodies.count, 4, 3))
    response[free] = solve(P, F).reshape(-1, 4, 3)
    rigid(bodies.mass, state.Q, response, pushed)
    # barriers at Q, and what joints add to them, make f; but for the change of the inner forces in the step, ¼ of it
    off = found.pushed[free, :6] - pushed[free]
    assert np.linalg.norm(off[:, :3]) < 0.05 * np.linalg.norm(pushed[free, :3])
    assert np.linalg.norm(off[:, 3:]) < 0.05 * np.linalg.norm(pushed[free, 3:])
    u, old = np.zeros((2, bodies.count, 4, 3))
    rows_of(bodies.mass, state.Q, found.pushed[:, :6].copy(), u)
    rows_of(bodies.mass, state.Q, state.pushed[:, :6].copy(), old)
    change = (u - old)[free].reshape(-1)
    r = np.sqrt(change @ M @ change / (u[free].reshape(-1) @ M @ u[free].reshape(-1)))
    phi = max(0.0, 1.0 - (4 * r) ** 4)
    assert 0.5 < phi <= 1.0
    np.testing.assert_allclose(found.half[free], 0.5 * h * phi * u[free], rtol=1e-6)
    assemble_filter(model, model.start, active, blocks)
    s, once = contact.press(state.Q, h), np.ones(bodies.count + 1)
    contact.add_resistance(state.Q, state.Q_before, h, s, active, once, blocks)
    y = solve(matrix(), M @ change)
    V = state.V.copy()
    V[free] -= h * phi * y.reshape(-1, 4, 3)
    for b in free:
        S = second_moments(bodies.mass[b])
        twist = -(h**2) * phi * sum(S[i, j] * np.cross(u[b, 1 + i], V[b, 1 + j]) for i in range(3) for j in range(3))
        rows_of_it = np.zeros((4, 3))
        rows_of_it[1:] = 0.5 * np.cross(twist, state.Q[b, 1:])
        V[b] += np.linalg.solve(bodies.mass[b], rows_of_it)
    np.testing.assert_allclose(found.V[free], V[free], rtol=0, atol=1e-3 * np.abs(state.V[free] - V[free]).max())


def test_contacts_that_a_body_sways_on_count_as_rigid():
    """V of a tall box that was pushed: its barriers count γ times in P_c; in dense arithmetic."""
    sim = Sim(dt=0.01)
    sim.ground()
    box = sim.box((0.1, 0.1, 1.2), pos=(0, 0, 0.6009))
    sim.step(50)
    box.spin, box.velocity = (0, 0.05, 0), (0.03, 0, 0)
    sim.step(12)
    simulation = sim.world._simulation
    model, state, h = simulation.model, simulation.state, 0.01
    contact, blocks, mass, one = model.contact, model.directions.blocks, model.bodies.mass, np.ones(1, np.int64)
    found = touch(model, state, h, model.loads.accelerations(state.Q), one != 0)
    u, change = np.empty((2, 1, 4, 3))
    assert found.pushed[0, 12] == state.pushed[0, 12] == 0.0  # nothing slides
    rows_of(mass, state.Q, found.pushed[:, :6].copy(), u)
    rows_of(mass, state.Q, found.pushed[:, :6] - state.pushed[:, :6], change)
    M, way, d = np.kron(mass[0], np.eye(3)), (state.Q - state.Q_before).reshape(-1), change.reshape(-1)
    rigour = 1.0 + (-(h**2) * (d @ M @ way) / (way @ M @ way) / 0.05) ** 4
    assert 10.0 < rigour < 200.0
    phi = 1.0 - (16 * (d @ M @ d) / (u.reshape(-1) @ M @ u.reshape(-1))) ** 2

    def resistance(rigour: float) -> np.ndarray:
        assemble_filter(model, model.start, one, blocks)
        s = contact.press(state.Q, h)
        contact.add_resistance(state.Q, state.Q_before, h, s, one, np.array([rigour, 1.0]), blocks)
        return np.triu(blocks.D[0]) + np.triu(blocks.D[0], 1).T

    once, twice = resistance(1.0).copy(), resistance(2.0)
    y, followed = (
        np.linalg.solve(once + (often - 1) * (twice - once), M @ d).reshape(1, 4, 3) for often in (rigour, 1)
    )
    V = state.V - h * phi * y
    twist(mass, model.bodies.mass_inverse, h, np.array([phi]), state.Q, state.moved, state.rubbing, u, V)
    np.testing.assert_allclose(found.V, V, rtol=0, atol=1e-6 * np.abs(h * y).max())
    assert np.abs(y).max() < 0.4 * np.abs(followed).max()  # 1/(1 + γx), where it was 1/(1 + x)


@pytest.mark.parametrize("exact", [True, False])
def test_joints_of_what_touches_tell_all_of_their_force(exact):
    """A beam on a hinge and on the ground, at rest: the hinge has half of its weight, and what is exerted on it."""
    sim = Sim(dt=0.01, exact=exact, friction=0.0)
    sim.ground()
    post = sim.box(0.1, fixed=True, pos=(0, 0, 0.05 + 0.01), contact=False)
    beam = sim.box((1.0, 0.05, 0.05), pos=(0.5, 0, 0.06), mass=2.0)
    hinge = sim.revolute(post, beam, pos=(0, 0, 0.06), axis=(0, 1, 0))
    beam.force = (3.0, 0, 0)
    sim.step(100)
    assert len(sim.contacts) > 0 and sim.world.report.bdf1_bodies == 0
    np.testing.assert_allclose(hinge.reaction.force, (-3.0, 0, 9.81), atol=0.05)  # the beam's end is not quite its tip


def test_the_joint_of_a_swinging_arm_that_touches_has_its_centripetal_force():
    """A rod is pressed against a wall without friction by its hinge, which carries weight and centripetal force."""
    sim = Sim(dt=0.002, friction=0.0)
    sim.ground(normal=(0, -1, 0), height=-0.0297)
    post = sim.box(0.02, fixed=True, contact=False)
    rod = sim.capsule(0.03, 0.4, rot=AngleAxis(np.pi / 2, (0, 1, 0)), pos=(0.3, 0, 0), mass=1.0)
    push = sim.revolute(post, rod, pos=(0, 0, 0), axis=(0, 1, 0))
    touched = 0
    for _ in range(150):
        sim.step()
        touched += len(sim.contacts) > 0
    assert touched > 100
    c, w = rod.center, rod.spin[1]
    I = rod.inertia  # noqa: E741
    alpha = 9.81 * c[0] / (I[0, 0] + 0.09)  # about the hinge, mass 1, lever 0.3
    force = push.reaction.force
    # m a of the centre of mass: −ω² c and α × c, with the weight; a step has the force at its end
    expected_x = -(w**2) * c[0] - alpha * -c[2]
    assert force[0] == pytest.approx(expected_x, rel=0.02)


def test_rolling_without_slip_is_no_slip(rng):
    """The point that will touch moves by δ where v = ω r, and is the lowest one after the turn of the step."""
    n, x, r = np.array([0.0, 0, 1]), 0.4, 0.3
    e = np.array([0.6, 0.8, 0.0])
    Q = np.zeros((1, 4, 3))
    Q[0, 0] = 1.0, 2.0, 3.0
    Q[0, 1:] = rotation(rng.normal(size=3), 0.7).T
    A = Q[0, 1:].T
    xi = np.zeros((1, 8))
    xi[0, 0] = 1.0
    xi[0, 1:4] = np.linalg.solve(A, -r * n)
    turning = Turning(turn=(x * e)[None], axis=np.zeros((1, 3)))
    delta = np.array(roll(turning, 0, tuple(n), -r, Q, xi, 0, 0))
    R = rotation(e, 2 * np.arctan(x / 2))
    material = A @ xi[0, 1:4]
    np.testing.assert_allclose(R @ material, -r * n, atol=1e-12)
    advance = x * np.cross(e, r * n)  # of the centre: h v with v = ω × (r n)
    moved = advance + R @ material - material
    np.testing.assert_allclose(delta[:2], moved[:2], atol=1e-12)  # along the tangents


@pytest.mark.parametrize("shape", ["ball", "disc", "corner of a disc"])
def test_to_pivot_and_to_lean_is_no_slip(shape):
    """δ of a ball that pivots, and of a leaning disc on a circle, against the way of the point, to third order in h.

    The disc has the spin α k + β n; where a corner is s off the rim's lowest point it goes by hβ' n × s besides.
    """
    n, r, alpha, beta, c = np.array([0.0, 0, 1]), 0.3, 4.0, 1.5, 0.4
    off = 0.02 if "corner" in shape else 0.0

    def rolled(h: float) -> float:
        Q, xi, k = np.zeros((1, 4, 3)), np.zeros((1, 8)), np.array([0, -np.sqrt(1 - c * c), c])
        Q[0, 1:] = np.eye(3)
        xi[0, 0] = 1.0
        axis = np.zeros(3) if shape == "ball" else k

        def lever(t: float) -> np.ndarray:
            if shape == "ball":
                return -r * n
            k = rotation(n, beta * t) @ axis
            return -r * (n - c * k) / np.sqrt(1 - c * c) + off * np.cross(k, n)

        def spin(t: float) -> np.ndarray:
            if shape == "ball":
                return np.array([0.0, alpha, beta])
            return alpha * (rotation(n, beta * t) @ axis) + beta * n

        xi[0, 1:4] = lever(0.0)
        turning = Turning(turn=h * spin(0.0)[None], axis=axis[None].copy())
        delta = np.array(roll(turning, 0, tuple(n), -r, Q, xi, 0, 0))
        # the way of that point: its centre goes with −ω × ℓ of the rim's lowest point, and it turns with ω
        N = 200
        R, way, low = np.eye(3), np.zeros(3), off
        for m in range(N):
            t = h * (m + 0.5) / N
            w, at = spin(t), lever(t)
            if shape != "ball":
                at = at - low * np.cross(rotation(n, beta * t) @ axis, n)
            way -= h / N * np.cross(w, at)
            R = rotation(w, np.linalg.norm(w) * h / N) @ R
        moved = way + R @ xi[0, 1:4] - xi[0, 1:4]
        return float(np.abs(delta - moved)[:2].max())

    coarse, fine = rolled(0.04), rolled(0.02)
    assert coarse < 2.0 * 0.04**3 * 4**3 * r  # 2 (ωh)³ r
    assert coarse / fine > 6.0 or (off > 0.0 and coarse / fine > 3.5)  # a corner's way is right to second order in h s


def test_friction_that_slides_is_followed_by_half_of_its_change_and_by_its_levers():
    """A plate that slides and spins: change = Δf − ½Δw, and −½ Σ d × F about the centre of mass, in NumPy."""
    sim = Sim(dt=0.01, friction=0.3)
    sim.ground()
    sim.box((0.3, 0.2, 0.02), pos=(0, 0, 0.0109), velocity=(2, 0, 0), spin=(0, 0, 4))
    sim.step(10)
    simulation = sim.world._simulation
    model, state, h, M = simulation.model, simulation.state, 0.01, simulation.model.bodies.mass
    found = touch(model, state, h, model.loads.accelerations(state.Q), np.ones(1, np.bool_))
    Q, c = state.Q[0], M[0, 0, 1:] / M[0, 0, 0]
    F, turned, slides = state.rubbing[0, :12].reshape(4, 3), state.rubbing[0, 12:15], state.rubbing[0, 15]
    assert slides == state.pushed[0, 12] == 4.0
    u, old = np.zeros((2, 1, 4, 3))
    rigid(M, state.Q, (np.linalg.solve(M[0], F))[None], rubbed := np.empty((1, 6)))
    np.testing.assert_allclose(found.pushed[:, 6:12], rubbed, rtol=1e-10, atol=1e-12)
    rows_of(M, state.Q, found.pushed[:, :6].copy(), u)
    differs = found.pushed - state.pushed[:, :13]
    rows_of(M, state.Q, differs[:, :6] - 0.5 * differs[:, 6:12], old)
    size, change = (np.einsum("ij,ix,jx->", M[0], x[0], x[0]) for x in (u, old))
    phi = 1.0 - (16 * change / size) ** 2
    np.testing.assert_allclose(found.half, 0.5 * h * phi * u, rtol=1e-10)
    way = (state.Q - state.Q_before)[0]
    lever = turned - np.cross(way[0] + c @ way[1:], F[0])
    assert np.linalg.norm(lever) > 1e-6
    V, none = np.zeros((1, 4, 3)), np.zeros((1, 4, 3))
    twist(M, model.bodies.mass_inverse, h, np.ones(1), state.Q, state.moved, state.rubbing, none, V)
    momentum = np.cross(Q[1:], (M[0] @ V[0])[1:] - np.outer(c, (M[0] @ V[0])[0])).sum(axis=0)
    np.testing.assert_allclose(momentum, -0.5 * h * lever, rtol=1e-6, atol=1e-12)

"""Second order while something holds a body: a ball that rolls with its mass off its centre, an arm on its stop."""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import solve_ivp

from dovetail import AngleAxis, Sim

G = 9.81


def lopsided(dt: float, seconds: float) -> tuple[float, float]:
    """Errors of the place [m] and of A of a ball that rolls and wobbles, its centre of mass below its centre first."""
    r, mass, spin, J0, c0 = 0.1, 5.0, np.array([0, 6, 3.0]), np.diag([0.02, 0.025, 0.03]), np.array([0, 0, -0.02])
    sim = Sim(dt, friction=0.8)
    sim.ground()
    ball = sim.sphere(r, pos=(0, 0, r), mass=mass, center_of_mass=c0, inertia=J0)
    sim.step(round(0.3 / dt))
    begun, up = ball.pos[:2], np.array([0, 0, 1.0])
    ball.spin, ball.velocity = spin, np.cross(spin, r * up)
    sim.step(round(seconds / dt))

    def cross(a: np.ndarray) -> np.ndarray:
        return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])

    def roll(_: float, q: np.ndarray) -> np.ndarray:
        """J ω̇ + ω × Jω = ℓ × F,  F = m(v̇ + g n),  v = −ω × ℓ,  ℓ = −r n − c; q is the centre, A and ω."""
        R, w = q[3:12].reshape(3, 3), q[12:]
        c, J = R @ c0, R @ J0 @ R.T
        arm, P = -r * up - c, cross(-r * up - c)
        rest = np.cross(arm, mass * (G * up + np.cross(w, np.cross(w, c)))) - np.cross(w, J @ w)
        rate = np.linalg.solve(J - mass * P @ P, rest)
        return np.concatenate([np.cross(w, r * up), (cross(w) @ R).ravel(), rate])

    start = [0, 0, r, *np.eye(3).ravel(), *spin]
    exact = solve_ivp(roll, (0, seconds), start, rtol=1e-9, atol=1e-11).y[:, -1]
    off = ball.transform[:3, :3] - exact[3:12].reshape(3, 3)
    return float(np.linalg.norm(ball.pos[:2] - begun - exact[:2])), float(np.abs(off).max())


def stopped(dt: float, seconds: float) -> float:
    """Error of the angle [rad] of a pendulum on an arm that lies on its hard limit."""
    length, begun, far = 0.5, 0.8, np.array([0.4, 0.1, 0])
    sim = Sim(dt)
    arm = sim.box((0.4, 0.1, 0.1), pos=(0.2, 0, 0), contact=False)
    along = np.array([math.sin(begun), 0, -math.cos(begun)])
    rod = sim.box((0.03, 0.03, length), rot=AngleAxis(-begun, [0, 1, 0]), pos=far + length / 2 * along, contact=False)
    sim.revolute(None, arm, pos=(0, 0, 0), axis=(0, -1, 0), limit=(0.0, 1.0), hard=True)
    sim.revolute(arm, rod, pos=far, axis=(0, 1, 0))
    moment = rod.inertia[1, 1] + rod.mass * length**2 / 4
    sim.step(round(seconds / dt))
    tip = rod.point((0, 0, -length / 2)) - rod.point((0, 0, length / 2))

    def swing(_: float, q: np.ndarray) -> list[float]:
        return [q[1], -rod.mass * G * length / 2 * math.sin(q[0]) / moment]

    exact = solve_ivp(swing, (0, seconds), [begun, 0], rtol=1e-10, atol=1e-12).y[0, -1]
    return math.atan2(tip[0], -tip[2]) - float(exact)


def test_a_lopsided_ball_rolls_and_wobbles_to_second_order():
    """Of first order it is 4 mm off at 0.01 s: rolling must be no slip where it pivots, and what sticks be followed."""
    coarse, fine = lopsided(0.02, 0.6), lopsided(0.01, 0.6)
    assert fine[0] < 2e-4 and fine[1] < 3e-3
    assert coarse[0] / fine[0] > 2**1.8 and coarse[1] / fine[1] > 2**1.8


def test_a_pendulum_on_an_arm_on_its_stop_swings_to_second_order():
    """Of first order it is 0.1 rad off at 0.01 s."""
    coarse, fine = (abs(stopped(dt, 2.0)) for dt in (0.02, 0.01))
    assert fine < 0.03
    assert coarse / fine > 2**1.8


def test_a_round_mesh_rocks_from_corner_to_corner():
    """Half a disc of 128 corners keeps its swing: contacts that always count as rigid would resist that."""
    r, begun = 0.2, 0.3
    arc = np.linspace(np.pi, 2 * np.pi, 65)
    ring = np.stack([r * np.cos(arc), np.full(65, -0.1), r * np.sin(arc)], axis=1)
    n, k = 65, np.arange(1, 64)
    this, after = np.arange(n), (np.arange(n) + 1) % n
    zero = np.zeros_like(k)
    faces = [(zero, k, k + 1), (zero + n, n + k + 1, n + k), (this, n + this, n + after), (this, n + after, after)]
    mesh = np.concatenate([ring, ring * [1, -1, 1]]), np.concatenate([np.stack(each, axis=1) for each in faces])
    sim = Sim(friction=0.8)
    sim.ground()
    rocker = sim.mesh(mesh, pos=(0, 0, r + 8e-4), rot=AngleAxis(begun, [0, 1, 0]))
    leans = []
    for _ in range(300):
        sim.step()
        A = rocker.transform[:3, :3]
        leans.append(abs(math.atan2(A[0, 2], A[0, 0])))
    assert max(leans[-100:]) > 0.97 * begun

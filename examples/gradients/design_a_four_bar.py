"""Design through a loop: lengths of a four-bar linkage whose coupler draws a given curve.

A motor turns the crank once; a point of the coupler draws. Gradients go through the closed loop, by the lengths of
crank, coupler, rocker and frame, and by the place of the point. All six are found from how the curve should look.
"""

from __future__ import annotations

import numpy as np

from dovetail import AngleAxis, Sim, optimise
from dovetail.differentiable import RolloutFunction
from dovetail.errors import SceneError

STEPS, SPEED = 40, 4 * np.pi  # [rad/s]: a turn
WANTED = np.array([0.10, 0.32, 0.26, 0.30, 0.18, 0.12])
"""Crank, coupler, rocker, frame, and the point along and across the coupler [m]: what draws the given curve."""
GUESS = np.array([0.09, 0.30, 0.28, 0.29, 0.15, 0.10])
BOUNDS, GOAL, ROLLOUTS = (0.05, 0.5), 1e-6, 60  # of lengths [m]; a loss that is small enough, and how many are allowed


def build(p):
    """The linkage with its crank level."""
    crank, coupler, rocker, frame = p[:4]
    pin, pivot = np.array([crank, 0.0]), np.array([frame, 0.0])
    chord = pivot - pin
    far = np.linalg.norm(chord)
    along = (coupler**2 - rocker**2 + far**2) / (2 * far)
    if not abs(along) < coupler:
        raise SceneError(f"lengths {p[:4]}: the coupler does not reach the rocker; take others.")
    knee = pin + (along * chord + np.sqrt(coupler**2 - along**2) * np.array([-chord[1], chord[0]])) / far
    sim = Sim(dt=0.0125, contact=False, gravity=(0, 0, 0))
    bodies = {}
    for name, a, b in (("crank", np.zeros(2), pin), ("coupler", pin, knee), ("rocker", pivot, knee)):
        x, z = b - a
        turn = AngleAxis(float(-np.arctan2(z, x)), [0, 1, 0])
        bodies[name] = sim.box((0.3, 0.02, 0.02), pos=(a[0], 0, a[1]), rot=turn, mass=0.2, name=name)
    y = (0, 1, 0)
    motor = sim.revolute(None, bodies["crank"], pos=(0, 0, 0), axis=y, drive=True, name="motor")
    motor.drive.target_velocity = -SPEED
    motor.drive.stiffness, motor.drive.damping = 0.0, 100.0  # firm: the linkage weighs little
    sim.revolute(bodies["crank"], bodies["coupler"], pos=(pin[0], 0, pin[1]), axis=y, name="pin")
    sim.revolute(bodies["coupler"], bodies["rocker"], pos=(knee[0], 0, knee[1]), axis=y, name="knee")
    sim.revolute(None, bodies["rocker"], pos=(pivot[0], 0, 0), axis=y, name="pivot")
    return sim


def drawn(C, p):
    """(T + 1, 3) the curve: a point (u, 0, w) of the coupler, linear in its rows C (T + 1, 4, 3)."""
    return C[:, 0] + p[4] * C[:, 1] + p[5] * C[:, 3]


def problem():
    """The rollout as a function of lengths, and the loss: mean squared distance of the curves [m²], times 1e4."""
    function = RolloutFunction(build, STEPS, ["p"], p=GUESS)
    Q, _, tape = function(WANTED)
    coupler = tape.body("coupler")
    curve = drawn(Q[:, coupler], WANTED)

    def loss(Q, V, p):
        C = Q[:, coupler]
        away = drawn(C, p) - curve
        off = away * 1e4 / len(curve)
        dQ, dp = np.zeros_like(Q), np.zeros_like(p)
        dQ[:, coupler, 0], dQ[:, coupler, 1], dQ[:, coupler, 3] = off, p[4] * off, p[5] * off
        dp[4], dp[5] = (off * C[:, 1]).sum(), (off * C[:, 3]).sum()
        return 0.5 * float((off * away).sum()), dQ, None, dp

    return function, loss, lambda Q, p: np.linalg.norm(drawn(Q[:, coupler], p) - curve, axis=1)


def check():
    function, loss, distances = problem()
    found = optimise(function, [GUESS], loss, bounds=[BOUNDS], rollouts=ROLLOUTS, goal=GOAL)
    (p,) = found.values
    off = distances(function(p)[0], p).max()
    print(f"{found.rollouts} rollouts; lengths {p.round(4)}, wanted {WANTED}")
    print(f"loss {found.history[0]:.3g} → {found.loss:.3g}; curves are at most {1e3 * off:.3f} mm apart")
    assert found.loss <= GOAL and off < 1e-4


if __name__ == "__main__":
    check()

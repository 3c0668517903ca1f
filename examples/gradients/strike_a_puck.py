"""Optimisation through contact: an arm of two links learns to strike a puck so that it stops on a mark.

80 torques of two motors are found by L-BFGS with gradients by the adjoint: through the motors, the impact, and the
friction that stops the puck. Differences would take 160 rollouts for one gradient.
"""

from __future__ import annotations

import numpy as np

from dovetail import Sim, optimise
from dovetail.differentiable import RolloutFunction

PUSH, STEPS = 15, 40  # steps in which the first guess pushes, and in all
MARK = np.array([0.4, 0.6])  # [m], where the puck is to stop
EFFORT = 1e-6  # how much a squared torque counts
GOAL, ROLLOUTS = 1e-4, 40  # of the loss, which a miss by 14 mm has, and how many are allowed


def build():
    """An arm above the ground, and a puck before it."""
    sim = Sim(dt=0.02, friction=0.3)
    sim.ground()
    upper = sim.box((0.3, 0.05, 0.05), pos=(0.15, 0, 0.06), density=400, name="upper")
    lower = sim.box((0.3, 0.05, 0.05), pos=(0.45, 0, 0.06), density=400, name="lower")
    for name, left, right, x in (("shoulder", None, upper, 0.0), ("elbow", upper, lower, 0.3)):
        sim.revolute(left, right, pos=(x, 0, 0.06), axis=(0, 0, 1), damping=0.02, name=name).torque = 0.1
    sim.box((0.08, 0.08, 0.06), pos=(0.55, 0.12, 0.0312), density=300, name="puck")
    return sim


def problem():
    """The rollout as a function of torques, a first guess that hits the puck, and the loss."""
    sim = build()
    inputs = [("shoulder", "external_torque"), ("elbow", "external_torque")]
    function = RolloutFunction(sim, STEPS, inputs, smooth=True)
    start = [np.zeros((STEPS, 1)), np.zeros((STEPS, 1))]
    start[0][:PUSH], start[1][:PUSH] = 1.0, 0.2
    puck = function(*start)[2].body("puck")

    def loss(Q, V, *torques):
        dQ, off = np.zeros_like(Q), Q[-1, puck, 0, :2] - MARK
        dQ[-1, puck, 0, :2] = off
        effort = 0.5 * EFFORT * sum(float((torque**2).sum()) for torque in torques)
        return 0.5 * float(off @ off) + effort, dQ, None, *(EFFORT * torque for torque in torques)

    return function, start, loss, puck


def check():
    function, start, loss, puck = problem()
    print("puck at", function(*start)[0][-1, puck, 0].round(3), "with the first torques")
    found = optimise(function, start, loss, rollouts=ROLLOUTS, goal=GOAL)
    Q, _, _ = function(*found.values)
    off = float(np.linalg.norm(Q[-1, puck, 0, :2] - MARK))
    print(f"puck {1e3 * off:.1f} mm from its mark after {found.rollouts} rollouts")
    print(f"loss {found.history[0]:.4f} → {found.loss:.6f}")
    assert found.loss <= GOAL and off < 0.015


if __name__ == "__main__":
    check()

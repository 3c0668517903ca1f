"""Planning with Jacobians of steps: iLQR swings a pole up on a cart and holds it there.

Each round of iLQR runs the plan with feedback, takes A and B of every step from the tape, and solves backwards for
better controls and gains. States are the four numbers of the mechanism, x, θ and their rates; the control is the force
along the rail.
"""

from __future__ import annotations

import numpy as np

from dovetail import Sim

STEPS, DT = 75, 0.02
GOAL = np.array([0.0, np.pi, 0.0, 0.0])
EFFORT, SOON, LAST = 2e-3, np.array([0.02, 0.05, 0.002, 0.002]), np.array([100.0, 200.0, 40.0, 20.0])


def build():
    sim = Sim(dt=DT, contact=False)
    cart = sim.box((0.3, 0.2, 0.1), mass=1.0, name="cart")
    pole = sim.box((0.04, 0.04, 0.6), pos=(0, -0.15, -0.3), mass=0.3, name="pole")
    rail = sim.prismatic(None, cart, axis=(1, 0, 0), name="rail")
    hinge = sim.revolute(cart, pole, pos=(0, -0.15, 0), axis=(0, 1, 0), damping=0.01, name="hinge")
    return sim, sim.mechanism(rail, hinge)


class Planner:
    def __init__(self):
        self.sim, self.machine = build()
        self.start = self.sim.state
        self.u, self.k, self.K = np.zeros(STEPS), np.zeros(STEPS), np.zeros((STEPS, 4))
        self.x = np.zeros((STEPS + 1, 4))
        self.rollouts = 0

    def now(self):
        return np.concatenate([self.machine.q, self.machine.v])

    def run(self, share):
        """A rollout of u + share·k + K(x − x̄): its cost, controls, states and tape."""
        self.rollouts += 1
        self.sim.state = self.start
        u, x = self.u.copy(), np.zeros((STEPS + 1, 4))

        def controls(n):
            x[n] = self.now()
            u[n] = np.clip(self.u[n] + share * self.k[n] + self.K[n] @ (x[n] - self.x[n]), -40, 40)
            self.machine.effort = (u[n], 0.0)

        tape = self.sim.rollout(STEPS, controls)
        x[-1] = self.now()
        off = x - GOAL
        cost = 0.5 * (EFFORT * u @ u + (SOON * off[:-1] ** 2).sum() + (LAST * off[-1] ** 2).sum())
        return cost, u, x, tape

    def improve(self, x, tape):
        """k and K by Riccati's recursion, from the end to the start."""
        S, s = np.diag(LAST), LAST * (x[-1] - GOAL)
        every_A, every_B = tape.step_jacobians(mechanism=self.machine)
        for n in reversed(range(STEPS)):
            A, b = every_A[n], every_B[n, :, 0]
            Qx, Qu = SOON * (x[n] - GOAL) + A.T @ s, EFFORT * self.u[n] + b @ s
            Qxx, Quu, Qux = np.diag(SOON) + A.T @ S @ A, EFFORT + b @ S @ b, b @ S @ A
            self.k[n], self.K[n] = -Qu / Quu, -Qux / Quu
            S, s = Qxx - np.outer(Qux, Qux) / Quu, Qx - Qux * Qu / Quu
            S = 0.5 * (S + S.T)

    def plan(self, rounds):
        self.u[: STEPS // 5] = 5.0
        cost, self.u, self.x, tape = self.run(0.0)
        for _ in range(rounds):
            self.improve(self.x, tape)
            for share in (1.0, 0.5, 0.25, 0.1, 0.03):
                found = self.run(share)
                if found[0] < cost:
                    break
            else:
                break
            gain, (cost, self.u, self.x, tape) = cost - found[0], found
            if gain < 1e-4 * cost:
                break
        return cost


def check(rounds=60):
    planner = Planner()
    cost = planner.plan(rounds)
    off = planner.x[-1] - GOAL
    print(f"{planner.rollouts} rollouts, cost {cost:.3f}; at the end {off.round(4)} off, in m, rad, m/s, rad/s")
    print(f"largest force {np.abs(planner.u).max():.1f} N")
    assert np.abs(off).max() < 0.05 and planner.rollouts < 100


if __name__ == "__main__":
    check()

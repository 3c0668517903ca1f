"""Planning with Jacobians of steps: iLQR swings a pole up on a cart and holds it there.

Each round of iLQR runs the plan with feedback, takes tangents of every step from the tape, and solves backwards for
better controls and gains. States are the four numbers of the mechanism, x, θ and their rates; five tangents of a step,
along how bodies move with these and along the force, are its A and B.
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
    cart.force = (0, 0, 0)  # what is to be pushed in a rollout is told before it
    rail = sim.prismatic(None, cart, axis=(1, 0, 0), name="rail")
    hinge = sim.revolute(cart, pole, pos=(0, -0.15, 0), axis=(0, 1, 0), damping=0.01, name="hinge")
    return sim, cart, sim.mechanism(rail, hinge)


def poses(state):
    """Q and V of cart and pole, one after the other, of a state of the mechanism."""
    x, turn, speed, rate = state
    c, s = np.cos(turn), np.sin(turn)
    # of the pole: origin and axes, then how they change by θ
    pole = np.array([[x - 0.3 * s, -0.15, -0.3 * c], [c, 0, -s], [0, 1, 0], [s, 0, c]])
    by_turn = np.array([[-0.3 * c, 0, 0.3 * s], [-s, 0, -c], [0, 0, 0], [c, 0, -s]])
    along = np.zeros((4, 3))
    along[0, 0] = 1.0
    cart = np.vstack([[x, 0, 0], np.eye(3)])
    return np.array([[cart, pole], [speed * along, speed * along + rate * by_turn]]).ravel()


def lift(state):
    """(48, 4): how Q and V change with the state."""
    return np.array([(poses(state + e) - poses(state - e)) / 2e-6 for e in 1e-6 * np.eye(4)]).T


class Planner:
    def __init__(self):
        self.sim, self.cart, self.machine = build()
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
            self.cart.force = (u[n], 0, 0)

        tape = self.sim.rollout(STEPS, controls)
        x[-1] = self.now()
        off = x - GOAL
        cost = 0.5 * (EFFORT * u @ u + (SOON * off[:-1] ** 2).sum() + (LAST * off[-1] ** 2).sum())
        return cost, u, x, tape

    def linear(self, n, x, tape):
        """A (4, 4) and b (4,) of step n, in states of the mechanism."""
        shape = tape.Q[0].shape
        places = [tape.body("cart"), tape.body("pole")]
        ways, down = lift(x[n]), np.linalg.pinv(lift(x[n + 1]))
        push = np.zeros(shape)
        push[places[0], 0, 0] = 1.0
        found = []
        for k in range(5):
            dQ, dV = np.zeros(shape), np.zeros(shape)
            if k < 4:
                dQ[places], dV[places] = ways[:, k].reshape(2, 2, 4, 3)
            ends = tape.step_jvp(n, dQ, dV, push if k == 4 else 0.0)
            found.append(down @ np.concatenate([end[places].ravel() for end in ends]))
        return np.array(found[:4]).T, found[4]

    def improve(self, x, tape):
        """k and K by Riccati's recursion, from the end to the start."""
        S, s = np.diag(LAST), LAST * (x[-1] - GOAL)
        for n in reversed(range(STEPS)):
            A, b = self.linear(n, x, tape)
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
    assert np.abs(off).max() < 0.05


if __name__ == "__main__":
    check()

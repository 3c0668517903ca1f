"""A policy trained through the simulator: a small network in PyTorch learns to bring a rod upright and hold it.

The rod hangs on a motor with limited torque, and starts anywhere within 1 rad of upright. A step of the simulator is a
layer like any other: states go in with a torque and come out, and `backward` goes through all of them. Needs torch.
"""

from __future__ import annotations

import numpy as np
import torch

from dovetail import Sim
from dovetail.differentiable import RolloutFunction
from dovetail.torch import rollout

STEPS, TORQUE = 40, 6.0  # of 20 ms; [N·m]


def build():
    """A rod that stands on its hinge; its weight pulls with 1.5 N·m at 1 rad."""
    sim = Sim(dt=0.02, contact=False, integrator="bdf1")
    rod = sim.box((0.05, 0.05, 0.6), pos=(0, 0, 0.3), mass=0.6, name="rod")
    hinge = sim.revolute(None, rod, pos=(0, 0, 0), axis=(0, 1, 0), damping=0.05, name="hinge")
    hinge.torque = 1.0
    return sim


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1), torch.nn.Tanh())

    def forward(self, Q, V, rod):
        """A torque from what can be seen: lean, and how fast it changes."""
        lean = Q[-1, rod, 3]  # the rod's own z
        seen = torch.stack([lean[0], lean[2], V[-1, rod, 3, 0]])
        return TORQUE * self.net(seen)


def start(sim, angle):
    """Q and V of the bodies with the rod leaning."""
    sim.mechanism().q = [angle]
    tape = sim.rollout(0)
    return torch.tensor(tape.Q), torch.tensor(tape.V)


def cost(policy, step, Q, V, rod):
    """How far from upright, and how fast, over an episode."""
    total, home = 0.0, Q[-1]
    moves = torch.zeros(len(home), 1, 1, dtype=bool)
    moves[rod] = True  # the others are fixed: there is no gradient by their poses
    for k in range(STEPS):
        torque = policy(Q, V, rod)
        Q, V = rollout(step, torch.where(moves, Q[-1], home), V[-1], torque)
        weight = 1.0 if k > STEPS // 2 else 0.2
        total = (
            total + weight * ((1.0 - Q[-1, rod, 3, 2]) + 0.01 * (V[-1, rod, 3] ** 2).sum()) + 1e-4 * (torque**2).sum()
        )
    return total, Q


def check(rounds=80, seed=0):
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float64)
    sim = build()
    step = RolloutFunction(sim, 1, ["Q", "V", ("hinge", "external_torque")])
    rod = sim.rollout(0).body("rod")
    policy, dice = Policy(), np.random.default_rng(seed)

    def tested():
        """Mean cost from four starts that are not trained on."""
        with torch.no_grad():
            return np.mean([cost(policy, step, *start(sim, angle), rod)[0].item() for angle in (-1.0, -0.5, 0.5, 1.0)])

    before = tested()
    optimiser = torch.optim.Adam(policy.parameters(), lr=0.02)
    for _ in range(rounds):
        optimiser.zero_grad()
        losses = [cost(policy, step, *start(sim, angle), rod)[0] for angle in dice.uniform(-1, 1, 2)]
        (sum(losses) / len(losses)).backward()
        optimiser.step()
    after = tested()
    print(f"mean cost of four new starts: {before:.2f} before, {after:.2f} after {2 * rounds} episodes")
    assert after < 0.2 * before


if __name__ == "__main__":
    check()

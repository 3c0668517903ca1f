"""The short form: a robot arm with six motors carries a weight to a pose found by inverse kinematics.

At rest each motor holds what hangs on it. With the weights m_b g at the centres c_b of all bodies beyond joint k, whose
axis a goes through p, statics ask for a torque of

    τ_k = −a · Σ_b (c_b − p) × m_b g
"""

from __future__ import annotations

import numpy as np

from dovetail import AngleAxis, Sim

GOAL = (0.55, 0.35, 0.45)  # [m] of the hand
TURN = AngleAxis(0.7, (0, 0, 1)) * AngleAxis(0.9, (0, 1, 0))
TRAVEL = 1.5  # [s]
GRAVITY = np.array([0.0, 0.0, -9.81])

# name, size [m], centre, place and axis of the joint that carries it; the arm is built stretched out along x
LINKS = (
    ("turntable", (0.10, 0.08, 0.24), (0, 0, 0.33), (0, 0, 0.20), (0, 0, 1)),
    ("upper arm", (0.40, 0.08, 0.08), (0.20, 0.09, 0.40), (0, 0, 0.40), (0, 1, 0)),
    ("forearm", (0.30, 0.06, 0.06), (0.55, 0, 0.40), (0.40, 0, 0.40), (0, 1, 0)),
    ("wrist", (0.06, 0.05, 0.05), (0.74, 0, 0.40), (0.70, 0, 0.40), (1, 0, 0)),
    ("knuckle", (0.05, 0.04, 0.04), (0.80, 0, 0.40), (0.78, 0, 0.40), (0, 1, 0)),
    ("hand", (0.04, 0.10, 0.03), (0.85, 0, 0.40), (0.83, 0, 0.40), (1, 0, 0)),
)


def build():
    """The simulation, the hand, and the joints from the base on."""
    sim = Sim()
    sim.ground()
    parent = sim.cylinder(0.10, 0.20, pos=(0, 0, 0.10), fixed=True, color="grey", name="base")
    joints = []
    for k, (name, size, center, pos, axis) in enumerate(LINKS):
        link = sim.box(size, pos=center, density=2000, color="orange" if k % 2 else "grey", name=name)
        joints.append(sim.revolute(parent, link, pos=pos, axis=axis, limit=(-2.5, 2.5), drive=0.0, name=f"to {name}"))
        parent = link
    weight = sim.sphere(0.05, pos=(0.93, 0, 0.40), mass=2.0, color="blue", name="weight")
    sim.fixed(parent, weight)

    arm = sim.mechanism(*joints)
    arm.q = start = np.array([-0.6, -0.8, 1.2, 0.2, 0.3, 0.0])
    goal = arm.inverse_kinematics(parent, GOAL, TURN)

    @sim.before_step
    def move():
        t = min(sim.time / TRAVEL, 1.0)
        arm.target = start + (goal - start) * t * t * (3 - 2 * t)

    return sim, parent, *joints


def check():
    sim, hand, *joints = build()
    sim.step(round(1.5 * TRAVEL / sim.dt))
    moved = [joint.right for joint in joints] + [sim["weight"]]
    expected = [
        -joint.axis @ sum(np.cross(body.center - joint.anchor, body.mass * GRAVITY) for body in moved[k:])
        for k, joint in enumerate(joints)
    ]
    measured = [joint.drive.effort for joint in joints]
    for joint, m, e in zip(joints, measured, expected, strict=True):
        print(f"{joint.name:13} holds {m:+9.4f} N·m, statics {e:+9.4f} N·m")
    off = np.linalg.norm(hand.pos - GOAL)
    print(f"hand off its goal by {1e3 * off:.3f} mm")
    assert off < 1e-4  # weight and links strain by 1e-5
    # what is left is Newton's tolerance; lengths differ by strains of 1e-5
    np.testing.assert_allclose(measured, expected, rtol=1e-4, atol=1e-3)


if __name__ == "__main__":
    check()

"""A robot file: an arm of seven joints with a mimic gripper picks a box from a table and places it on another.

The arm is robots/arm7.urdf. Its file has no gains, so that its drives approach their targets within 0.05 s and give way
to the weight by fractions of a millimetre; what it picks, it picks where it is. One finger has a motor, the other
mimics it exactly, so each presses with half of the motor's force. It lets go 2 mm above the table.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from dovetail import AngleAxis, Sim

FILE = Path(__file__).parent / "robots" / "arm7.urdf"
EDGE = 0.04  # [m]
PICK, PLACE = np.array([0.45, -0.25, 0.20]), np.array([0.40, 0.30, 0.12])  # [m] on the tables' tops
UP, DOWN = np.array([0.0, 0.0, 1.0]), AngleAxis(np.pi, (0, 1, 0))
OPEN, CLOSED = 0.0, 0.045  # [m] that a finger has moved inwards; the box stops it before
GRIP = 20.0  # [N], the motor's effort in the file

# until when [s], above which table, how high [m] the tool is above the place of the box's centre, and the fingers
HIGH, LET_GO = 0.12, 0.002
PATH = (
    (0.0, PICK, HIGH, OPEN), (0.5, PICK, 0.0, OPEN), (0.8, PICK, 0.0, CLOSED), (1.2, PICK, HIGH, CLOSED),
    (2.2, PLACE, HIGH, CLOSED), (2.8, PLACE, LET_GO, CLOSED), (3.0, PLACE, LET_GO, CLOSED), (3.2, PLACE, LET_GO, OPEN),
    (3.6, PLACE, HIGH, OPEN),
)  # fmt: skip


def build():
    """The simulation, the box, and the joints of the arm."""
    sim = Sim()
    sim.ground()
    for name, top in (("first table", PICK), ("second table", PLACE)):
        sim.box((0.2, 0.2, top[2]), pos=(*top[:2], top[2] / 2), fixed=True, color="brown", name=name)
    box = sim.box(EDGE, pos=PICK + UP * (EDGE / 2 + 1e-3), density=800, color="blue", name="box")
    arm = sim.robot(FILE, name="arm")
    grip = arm.names.index("grip")

    @cache
    def posture(x, y, z):
        """q that holds the tool there, pointing down."""
        turn = np.arctan2(y, x)
        arm.q = (turn, 0.3, 0, 1.8, 0, 1.0, turn, 0)  # near it, from where it is looked for
        return arm.inverse_kinematics(arm.frames["tool"], (x, y, z), DOWN)

    times, goals = [step[0] for step in PATH], []
    for _, top, above, fingers in PATH:
        goals.append(posture(*(top + UP * (EDGE / 2 + above))).copy())
        goals[-1][grip] = fingers
    arm.q = goals[0]

    @sim.before_step
    def move():
        k = int(np.clip(np.searchsorted(times, sim.time, side="right") - 1, 0, len(times) - 2))
        s = min((sim.time - times[k]) / (times[k + 1] - times[k]), 1.0)
        target = goals[k] + (goals[k + 1] - goals[k]) * s * s * (3 - 2 * s)
        target[grip] = goals[k + 1][grip]
        arm.target = target

    return sim, box, *arm.joints.values()


def check():
    sim, box, *joints = build()
    grip, mirror = (next(j for j in joints if j.name == f"arm/{name}") for name in ("grip", "mirror"))
    hand, fingers = sim["arm/hand"], [sim["arm/left"], sim["arm/right"]]
    held, apart = [], []  # where the box is in the hand, and how far the fingers differ
    for _ in sim.run(round(4.0 / sim.dt)):
        apart.append(abs(grip.distance - mirror.distance))
        if 1.0 < sim.time < 2.95:
            held.append(hand.local(box.pos))
            pressed = [abs(box.force_from(finger)[1]) for finger in fingers]  # they close along y
    slipped = float(np.linalg.norm(np.ptp(held, axis=0)))
    off = box.pos - PLACE - UP * EDGE / 2
    aside, above, weight = float(np.linalg.norm(off[:2])), float(off[2]), 9.81 * box.mass
    print(
        f"the box stands {1e3 * aside:.3f} mm beside its place and {1e3 * above:.3f} mm above the table, d_hat is 1 mm"
    )
    print(
        f"in the hand it moved by {1e6 * slipped:.1f} µm; the fingers differ by {max(apart):.1e} m at most, expected 0"
    )
    print(f"the fingers press with {pressed[0]:.3f} and {pressed[1]:.3f} N, expected {GRIP / 2:g} N each")
    print(f"the table carries {box.contact_force[2]:.6f} N, the box weighs {weight:.6f} N")
    assert aside < 1e-3  # what is asked for; the drives give way to the arm's weight by about 0.4 mm
    assert 0 < above < 1e-3  # it rests on the barrier, which begins at d_hat
    assert slipped < 2e-5  # eps_velocity · dt at each of two fingers: what contacts that stick may give way
    assert max(apart) < 1e-9  # a mimic is exact: Newton's tolerance
    # the hand has come to rest before it lets go; it still settles, as e^(−t/0.05 s)
    np.testing.assert_allclose(pressed, GRIP / 2, rtol=2e-3)
    assert abs(box.contact_force[2] / weight - 1) < 1e-6  # at rest


if __name__ == "__main__":
    check()

"""A robot file: a quadruped of 13 bodies stands still on its drives, and trots as fast as its feet say.

The robot is robots/quadruped.urdf. Diagonal legs step together, each half of the time on the ground, where a foot goes
backwards under the trunk at the speed v; on the others it goes forwards again, above the ground. Without slip the trunk
goes forwards at v. Angles of a leg with thigh and shank of length L, whose foot is at (x, z) below the hip, are

    knee = −2 arccos(r/2L),    thigh = atan2(−x, −z) − knee/2,    r² = x² + z²
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dovetail import Sim

FILE = Path(__file__).parent / "robots" / "quadruped.urdf"
LEGS = ("fl", "fr", "rl", "rr")
PHASES = np.array([0.0, 0.5, 0.5, 0.0])  # of a period: diagonal legs are together
LENGTH, RADIUS = 0.2, 0.018  # [m] of thigh and shank, and of feet
HEIGHT, LIFT = 0.30, 0.04  # [m] of the hips above the feet's centres, and of a foot above the ground
SPEED, PERIOD = 0.4, 0.4  # [m/s], [s]
STANDS, TROTS = 3.0, 3.2  # [s]
GAIN, DAMPING = 1000.0, 10.0  # [N·m/rad], [N·m·s/rad]


def angles(x, z):
    """Thigh and knee [rad] of feet that are at (x, z) from their hips [m]."""
    knee = -2.0 * np.arccos(np.hypot(x, z) / (2.0 * LENGTH))
    return np.arctan2(-x, -z) - knee / 2.0, knee


def feet(time):
    """Where the feet are below their hips [m], at a time of the trot [s]; the first strides are shorter."""
    phase = (time / PERIOD + PHASES) % 1.0
    half = 0.25 * SPEED * PERIOD * min(time / PERIOD, 1.0)  # of a stride
    swing = np.clip(2.0 * phase - 1.0, 0.0, 1.0)
    x = np.where(phase < 0.5, half * (1.0 - 4.0 * phase), -half * np.cos(np.pi * swing))
    return x, -HEIGHT + LIFT * np.sin(np.pi * swing) ** 2


def build():
    """The simulation, the trunk and the joints."""
    sim = Sim(friction=0.8)
    sim.ground()
    thigh, knee = angles(0.0, -HEIGHT)
    q = {f"{leg}_{part}": value for leg in LEGS for part, value in (("thigh", thigh), ("knee", knee))}
    robot = sim.robot(FILE, pos=(0, 0, HEIGHT + RADIUS + 1e-3), q=q, fixed_base=False, name="dog")
    for joint in robot.joints.values():
        joint.drive.stiffness, joint.drive.damping = GAIN, DAMPING
    hips = np.array([[robot.names.index(f"{leg}_{part}") for leg in LEGS] for part in ("hip", "thigh", "knee")])

    @sim.before_step
    def move():
        x, z = feet(max(sim.time - STANDS, 0.0)) if sim.time > STANDS else (np.zeros(4), np.full(4, -HEIGHT))
        target = np.zeros(len(robot.names))
        target[hips[1]], target[hips[2]] = angles(x, z)
        robot.target = target

    return sim, robot.base, *robot.joints.values()


def check():
    sim, trunk, *joints = build()
    t, way, iterations = [], [], []
    for _ in sim.run(round((STANDS + TROTS) / sim.dt)):
        t.append(sim.time)
        way.append(trunk.pos)
        iterations.append(sim.world.report.iterations)
    t, (x, y, z) = np.array(t), np.array(way).T
    still, trots = (t > STANDS - 1.0) & (t < STANDS), t > STANDS + 2.0 * PERIOD
    crept = float(np.linalg.norm(np.ptp(np.array(way)[still], axis=0)))
    speed = float((x[trots][-1] - x[trots][0]) / np.ptp(t[trots]))
    print(f"standing it crept by {crept:.1e} m in its last second, expected 0")
    print(f"its trot is {speed:.4f} m/s fast, feet that do not slip say {SPEED} m/s")
    print(f"the trunk goes up and down by {1e3 * np.ptp(z[trots]):.1f} mm, and aside by {1e3 * abs(y[-1]):.1f} mm")
    standing, trotting = (float(np.array(iterations)[some].mean()) for some in (still, trots))
    print(f"a step takes {standing:.2f} iterations standing and {trotting:.2f} trotting")
    assert len(joints) == 12 and len(sim.bodies) == 13
    assert crept < 1e-9  # what sticks does not creep: it has settled to round-off of drives that settle in 10 ms
    # 1.010 to 1.023 of it at 0.3 to 0.5 m/s, 0.974 at 1 ms: the drives give way where feet land
    assert abs(speed / SPEED - 1.0) < 0.03
    assert np.ptp(z[trots]) < 0.01 and abs(y[-1]) < 0.02  # it keeps its height and its way


if __name__ == "__main__":
    check()

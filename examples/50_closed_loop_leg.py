"""A robot file with a loop: a leg whose knee is moved from the hip by crank and rod squats with what it carries.

The leg is robots/leg.urdf. URDF has trees alone, so the rod ends in the air there, and one more hinge joins it to the
heel of the shank. With the angles a of the thigh and b of the crank, the heel E is where circles about the knee K and
the crank's pin C meet, and the foot F is on the line from it through the knee. On ground without friction, motors at
rest do the work of lifting: with the height z of each link's centre above the foot,

    τ_a = ∂V/∂a,    τ_b = ∂V/∂b,    V = g Σ m z
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dovetail import Sim

FILE = Path(__file__).parent / "robots" / "leg.urdf"
THIGH, SHANK, HEEL, CRANK, ROD = 0.30, 0.29, 0.06, 0.08, 0.31  # [m]
FOOT = 0.02  # [m], its radius
HIGH, LOW = 0.50, 0.36  # [m] of the hip above the foot
PERIOD, SQUATS = 1.0, 1.5  # [s], and how many
GAIN, DAMPING = 1e4, 200.0  # [N·m/rad], [N·m·s/rad]
MASSES = {"trunk": 8.0, "thigh": 1.2, "crank": 0.2, "rod": 0.15, "shank": 0.5}  # [kg], of the file


def along(angle, length=1.0):
    """What hangs down (x, z), turned by an angle about y."""
    return -length * np.array([np.sin(angle), np.cos(angle)])


def angle_of(way):
    return np.arctan2(-way[0], -way[1])


def corner(p, q, r):
    """The angle between sides p and q of a triangle, across from r."""
    return np.arccos((p * p + q * q - r * r) / (2 * p * q))


def posture(height):
    """Angles of thigh, crank, rod and shank against the vertical, with the foot that far below the hip."""
    a = -corner(THIGH, height, SHANK)
    shank = angle_of((0.0, -height) - along(a, THIGH))
    E = along(a, THIGH) - along(shank, HEEL)
    b = angle_of(E) + corner(np.hypot(*E), CRANK, ROD)
    return a, b, angle_of(E - along(b, CRANK)), shank


def points(a, b):
    """Knee K, pin C, heel E and foot F (x, z) from the hip."""
    K, C = along(a, THIGH), along(b, CRANK)
    distance = float(np.hypot(*(K - C)))
    E = K + along(angle_of(C - K) + corner(distance, HEEL, ROD), HEEL)
    return K, C, E, K + (K - E) * SHANK / HEEL


def potential(a, b):
    """V [J] of the leg that stands with its foot on the ground."""
    K, C, E, F = points(a, b)
    centres = {"trunk": 0.08, "thigh": K[1] / 2, "crank": C[1] / 2, "rod": (C + E)[1] / 2}
    centres["shank"] = K[1] + 0.11 / SHANK * (F - K)[1]
    return 9.81 * sum(mass * (centres[link] - F[1]) for link, mass in MASSES.items())


def build():
    """The simulation, the shank, the motors of hip and knee, and the joint that closes the loop."""
    sim = Sim(friction=0.0, kappa=1e10)  # the rod carries 600 N: it would strain by 1e-3 with the default
    sim.ground()
    a, b, rod, shank = posture(HIGH)
    q = {"lift": HIGH + FOOT + 1e-3, "hip": a, "motor": b, "heel": rod - b, "knee": shank - a}
    leg = sim.robot(FILE, q=q, name="leg")
    E = along(a, THIGH) - along(shank, HEEL)
    loop = sim.revolute(leg.bodies["rod"], leg.bodies["shank"], pos=(E[0], 0, q["lift"] + E[1]), axis=(0, 1, 0))
    motors = sim.mechanism(leg.joints["hip"], leg.joints["motor"])

    for name in ("hip", "motor"):
        leg.joints[name].drive.stiffness, leg.joints[name].drive.damping = GAIN, DAMPING

    @sim.before_step
    def move():
        turns = min(sim.time / PERIOD, SQUATS)
        motors.target = posture((HIGH + LOW) / 2 + (HIGH - LOW) / 2 * np.cos(2 * np.pi * turns))[:2]

    return sim, leg.bodies["shank"], *leg.joints.values(), loop


def check():
    sim, shank, *_ = build()
    hip, motor, rod, trunk = (sim[f"leg/{name}"] for name in ("hip", "motor", "rod", "trunk"))
    gaps, errors = [], []  # [m]
    for _ in sim.run(round((SQUATS * PERIOD + 0.8) / sim.dt)):
        gaps.append(np.linalg.norm(rod.point((0, 0, -ROD)) - shank.point((0, 0, HEEL))))
        F = points(hip.angle, motor.angle)[3]
        foot = shank.point((0, 0, -SHANK)) - trunk.pos
        errors.append(np.linalg.norm(foot - (F[0], 0, F[1])))
    a, b, h = hip.angle, motor.angle, 1e-5
    expected = [
        (potential(a + h * da, b + h * db) - potential(a - h * da, b - h * db)) / (2 * h) for da, db in np.eye(2)
    ]
    measured = [hip.drive.effort, motor.drive.effort]
    weight = 9.81 * sum(MASSES.values())
    print(f"the loop is open by {max(gaps):.1e} m at most, expected 0")
    print(f"the foot is off its closed form by {1e6 * max(errors):.0f} µm at most, over {HIGH - LOW:.2f} m of squat")
    for name, m, e in zip(("hip", "crank"), measured, expected, strict=True):
        print(f"the motor of the {name} holds {m:+.3f} N·m, virtual work says {e:+.3f} N·m")
    print(f"the ground carries {shank.contact_force[2]:.4f} N, the leg weighs {weight:.4f} N")
    assert max(gaps) < 1e-9  # joints are exact
    assert max(errors) < 1e-4  # the rod strains by 2e-5, which the lever of the shank makes five times longer
    np.testing.assert_allclose(measured, expected, rtol=1e-3)  # strains again
    assert abs(shank.contact_force[2] / weight - 1) < 1e-5  # it has settled


if __name__ == "__main__":
    check()

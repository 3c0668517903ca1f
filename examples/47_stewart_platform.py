"""The short form: a Stewart platform, whose six legs carry it along a path of poses.

A pose is a place p and a turn R of the platform. A leg from the base's point a to the platform's point b must be

    l = |p + R b − a|

long: inverse kinematics is that, and the motors of the legs do the rest.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.transform import Rotation

from dovetail import Sim

HEIGHT = 0.64  # [m] of the platform
PERIOD = 3.0  # [s]


def ring(radius, spread, z):
    """Six points on a circle, two beside each third of it, in the order of the legs."""
    angles = [k * math.tau / 3 + side * spread for k in range(3) for side in (-1, 1)]
    return np.array([(radius * math.cos(angle), radius * math.sin(angle), z) for angle in angles])


LOWER, UPPER = (
    ring(0.50, 0.25, 0.0),
    ring(0.30, math.pi / 3 - 0.25, -0.04),
)  # [m] a, in the world, and b, in the platform


def pose(t):
    """Place and turn of the platform: round about, up and down, and tilted; at rest at the start and after a period."""
    s = math.tau * t / PERIOD
    out, across = 1 - math.cos(s), math.sin(s) * (1 - math.cos(s))
    place = np.array([0.06 * out, 0.06 * across, HEIGHT + 0.05 * across])
    return place, Rotation.from_rotvec([0.12 * out, 0.08 * across, 0.15 * across])


def lengths(t):
    """What the legs must measure then [m]."""
    place, turn = pose(t)
    return np.linalg.norm(place + turn.apply(UPPER) - LOWER, axis=1)


def build():
    """The simulation, the platform and the sliders of the legs."""
    sim = Sim(kappa=1e10)  # thin legs of the default 1e8 Pa would bend by 0.3 mm
    base = sim.cylinder(0.6, 0.04, pos=(0, 0, -0.04), fixed=True, color="grey", name="base")
    platform = sim.cylinder(0.35, 0.04, pos=(0, 0, HEIGHT), density=2000, color="blue", name="platform")
    legs = []
    for a, local in zip(LOWER, UPPER, strict=True):
        b = platform.point(local)
        along = (b - a) / np.linalg.norm(b - a)
        turn, _ = Rotation.align_vectors([along], [(0, 0, 1)])
        outer = sim.cylinder(0.02, 0.35, detail=1, pos=a + 0.19 * along, rot=turn, color="grey")
        inner = sim.cylinder(0.01, 0.45, detail=1, pos=b - 0.24 * along, rot=turn, color="orange")
        pin = np.cross(along, (0, 0, 1))
        sim.universal(base, outer, pos=a, axis=pin, cross=np.cross(along, pin))
        legs.append(sim.prismatic(outer, inner, axis=along, drive=0.0))
        sim.spherical(inner, platform, pos=b)
    motors = sim.mechanism(*legs)

    @sim.before_step
    def move():
        motors.target = lengths(sim.time + sim.dt) - lengths(0.0)

    return sim, platform, *legs


def check():
    sim, platform, *_ = build()
    off = turned = 0.0
    for _ in sim.run(round(PERIOD / sim.dt)):
        place, turn = pose(sim.time)
        off = max(off, float(np.linalg.norm(platform.pos - place)))
        turned = max(turned, float((Rotation.from_matrix(platform.transform[:3, :3]) * turn.inv()).magnitude()))
    reach = np.ptp([lengths(t) for t in np.linspace(0, PERIOD, 100)])
    print(f"legs of {lengths(0.0)[0]:.3f} m change by up to {reach:.3f} m")
    print(f"the platform is off its commanded pose by at most {1e3 * off:.4f} mm, expected below 0.1 mm,")
    print(f"and by {1e3 * turned:.4f} mrad, expected below 0.2 mrad")
    assert off < 1e-4
    assert turned < 2e-4


if __name__ == "__main__":
    check()

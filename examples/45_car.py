"""The short form: a car sags on its springs, is driven by its rear wheels, and coasts.

With four springs k under it a body of mass m sags by m g/4k. Torques τ on the rear axles push with 2τ/r, r the radius
of the wheels. The car's whole mass M and its wheels' inertia I are to be moved, so that it gains speed, and keeps it:

    a = (2τ/r) / (M + 4I/r²)
"""

from __future__ import annotations

import numpy as np

from dovetail import Sim

BASE, TRACK, RADIUS = 1.2, 0.8, 0.2  # [m] between the axles, between the wheels, of a wheel
SPRING, DAMPER = 1e4, 600.0  # [N/m], [N·s/m] of each wheel
TORQUE = 40.0  # [N·m] of each rear wheel
SETTLED, PUSHED = 150, 250  # steps
SIDEWAYS = (np.sqrt(0.5), np.sqrt(0.5), 0, 0)  # the z of a wheel along the axle


def build():
    """The simulation, the body, struts and axles."""
    sim = Sim(friction=0.9)
    sim.ground()
    body = sim.box((1.8, 0.5, 0.25), pos=(0, 0, 0.5), density=500, color="blue", name="body")
    struts, axles = [], []
    for x in (-BASE / 2, BASE / 2):
        for y in (-TRACK / 2, TRACK / 2):
            hub = sim.box((0.1, 0.05, 0.1), pos=(x, 0.8 * y, RADIUS + 0.001), color="grey")
            wheel = sim.cylinder(RADIUS, 0.1, pos=(x, y, RADIUS + 0.001), rot=SIDEWAYS, density=400, color="black")
            struts.append(sim.prismatic(body, hub, axis=(0, 0, 1), drive=0.0))
            struts[-1].drive.stiffness, struts[-1].drive.damping = SPRING, DAMPER
            axles.append(sim.revolute(hub, wheel, pos=wheel.pos, axis=(0, 1, 0)))

    @sim.before_step
    def push():
        for axle in axles[:2]:
            axle.torque = TORQUE if SETTLED <= sim.frame < PUSHED else 0.0

    return sim, body, *struts, *axles


def check():
    sim, body, *joints = build()
    struts, axles = joints[:4], joints[4:]
    sim.step(SETTLED)
    sag, by_hand = float(np.mean([strut.distance for strut in struts])), body.mass * 9.81 / (4 * SPRING)
    sim.step(PUSHED - SETTLED + 50)  # and until the body has stopped nodding
    wheels = [axle.right for axle in axles]
    to_move = sum(part.mass for part in sim.bodies) + sum(wheel.inertia[2, 2] for wheel in wheels) / RADIUS**2
    speed, expected = body.velocity[0], 2 * TORQUE / RADIUS / to_move * (PUSHED - SETTLED) * sim.dt
    sim.step(200)
    coasting, rolling = body.velocity[0], float(np.mean([axle.velocity for axle in axles])) * RADIUS
    print(f"the body sags by {1e3 * sag:.3f} mm, by hand {1e3 * by_hand:.3f} mm")
    print(f"pushed to {speed:.4f} m/s, expected {expected:.4f} m/s")
    print(f"after 2 s of coasting {coasting:.4f} m/s, lost {100 * (1 - coasting / speed):.3f} % (0 expected)")
    print(f"its wheels roll at {rolling:.4f} m/s")
    assert abs(sag / by_hand - 1) < 1e-3
    assert abs(speed / expected - 1) < 1e-2  # -0.71 % while the wheels speed up at this dt; 0.02 % at half of it
    assert 0 <= 1 - coasting / speed < 2e-3
    assert abs(rolling / coasting - 1) < 5e-3


if __name__ == "__main__":
    check()

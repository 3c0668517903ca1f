"""The short form: a Geneva drive, whose pin turns a wheel of six slots by 60° in a turn of the crank and then locks it.

Only contact drives the wheel: a round pin in the slots of a concave mesh, and a disc on the crank that lies in the
wheel's hollows while the pin is outside. With the crank r, the centres a = 2r apart, and α the crank's angle from the
line of centres, the pin enters and leaves along a slot, at α = ∓60°. In between the wheel has turned by

    θ = −30° − atan(sin α / (2 − cos α)),        dθ/dα = −(2 cos α − 1)/(5 − 4 cos α)

at most as fast as the crank, at α = 0.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail import Sim

A, R = 0.2, 0.1  # [m] between the centres, of the crank
PIN, PLAY = 0.008, 0.0001  # [m] radius of the pin, and its distance to each side of a slot
LOOSE = 0.0012  # [m] between disc and hollow: flat faces repel from d_hat on, which is 1 mm
WHEEL, DISC = A * math.cos(math.pi / 6), 0.06  # [m] radii
THICK = 0.02  # [m]
STEEL = 7850.0  # [kg/m³], of the crank: contact is as stiff as the lighter of two bodies, or welds of bodies, needs
SIXTH = math.tau / 6
SPEED = 2.0  # [rad/s]


def arc(center, radius, start, end, steps):
    """Points on a circle from one angle to another [rad]."""
    angles = np.linspace(start, end, steps + 1)
    return center + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def turned(points, angle):
    """Points turned about the origin."""
    c, s = math.cos(angle), math.sin(angle)
    return np.asarray(points) @ [[c, s], [-s, c]]


def wheel_outline():
    """Six times a hollow for the disc and a slot, with tips between, counter-clockwise; a hollow is at angle 0."""
    hollow, wide = DISC + LOOSE, PIN + PLAY
    edge = math.acos((A * A + hollow**2 - WHEEL**2) / (2 * A * hollow))  # of the hollow, seen from its centre
    mouth = math.sqrt(WHEEL**2 - wide**2)
    bottom = arc((A - R, 0), wide, -math.pi / 2, -3 * math.pi / 2, 12)
    slot = turned([(mouth, -wide), *bottom, (mouth, wide)], SIXTH / 2)
    part = [*arc((A, 0), hollow, math.pi + edge, math.pi - edge, 16), *slot]
    return np.concatenate([turned(part, k * SIXTH) for k in range(6)])


def extruded(outline, height):
    """Vertices and faces of a plate with this outline, counter-clockwise; it may be concave."""
    n, left, faces = len(outline), list(range(len(outline))), []

    def area(p, q, r):
        return (q[..., 0] - p[..., 0]) * (r[..., 1] - p[..., 1]) - (q[..., 1] - p[..., 1]) * (r[..., 0] - p[..., 0])

    while len(left) > 2:  # cut off ears: corners whose triangle has no other point in it
        for k in range(len(left)):
            triple = left[k - 1], left[k], left[(k + 1) % len(left)]
            others = outline[[m for m in left if m not in triple]]
            a, b, c = outline[list(triple)]
            inside = (area(a, b, others) >= 0) & (area(b, c, others) >= 0) & (area(c, a, others) >= 0)
            if area(a, b, c) > 0 and not inside.any():
                faces += [triple, tuple(n + m for m in reversed(triple))]
                del left[k]
                break
    for k in range(n):
        m = (k + 1) % n
        faces += [(k, n + k, n + m), (k, n + m, m)]
    top = np.column_stack([outline, np.full(n, height / 2)])
    return np.concatenate([top, top * (1, 1, -1)]), faces


def build():
    """The simulation, the motor of the crank and the axle of the wheel."""
    sim = Sim(friction=0.1)
    wheel = sim.mesh(extruded(wheel_outline(), THICK), pos=(A, 0, 0), color="orange", name="wheel")
    sector = np.array([(0, 0), *arc((0, 0), DISC, -2 * SIXTH, 2 * SIXTH, 60)])  # open where the pin is in a slot
    disc = sim.mesh(extruded(sector, THICK), density=STEEL, color="blue", name="disc")
    arm = sim.box((R + 0.04, 0.03, 0.015), pos=(-R / 2, 0, 0.03), density=STEEL, color="blue", name="arm")
    pin = sim.capsule(PIN, 0.03, pos=(-R, 0, 0.005), density=STEEL, color="grey", name="pin")
    sim.fixed(disc, arm)
    sim.fixed(arm, pin)
    motor = sim.revolute(None, disc, pos=(0, 0, 0), axis=(0, 0, 1), motor=SPEED, name="motor")
    axle = sim.revolute(None, wheel, pos=(A, 0, 0), axis=(0, 0, 1), name="axle")
    return sim, motor, axle


def check():
    sim, motor, axle = build()
    rows = np.array([(motor.angle, axle.angle, axle.velocity) for _ in sim.run(round(math.tau / SPEED / sim.dt))])
    alpha, angle, speed = rows[:, 0] - math.pi, rows[:, 1], rows[:, 2]
    inside = np.abs(alpha) < SIXTH
    theta = -SIXTH / 2 - np.arctan2(np.sin(alpha), 2 - np.cos(alpha))
    off = np.abs(angle - np.where(inside, theta, np.where(alpha < 0, 0.0, -SIXTH)))
    index, peak = math.degrees(angle[-1]), -speed.min()
    print(f"a turn of the crank turns the wheel by {index:.2f}°, expected -60°")
    print(f"at most with {peak:.3f} rad/s, expected {SPEED:.3f} rad/s")
    print(f"off the closed form by {1e3 * off.max():.2f} mrad; play in the slots is {1e3 * PLAY / (A - R):.2f} mrad")
    assert abs(index + 60) < 0.4  # LOOSE is 7 mrad of the wheel
    # what the pin was pressed in, and its play, it gives back before the peak: 1.2, 1.2 and 1.3 % at 10, 5 and 2.5 ms
    assert abs(peak / SPEED - 1) < 0.015
    assert off.max() < 2 * PLAY / (A - R)  # play, and again what the pin is pressed in


if __name__ == "__main__":
    check()

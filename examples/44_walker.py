"""The short form: Theo Jansen's walker, eight legs on one crank, walks as far as the paths of its feet say.

A foot that stands on the ground stands still, so the body moves against it. Four stand at a time: of the legs in front
and of those behind, the ones that are lower; the others are half a turn ahead. Those in front and behind would move the
body at different speeds, so some must slip: those that carry less, being farther from the middle, where the weight is.
If the others do not, the body goes in a turn of the crank, with the path x(φ) of a foot and x = 0 in the middle, by

    d = ∮ |x′(φ)| dφ,        x of the foot that stands nearest to the middle
"""

from __future__ import annotations

import math

import numpy as np
from trimesh.convex import convex_hull

from dovetail import AngleAxis, Sim

# Jansen's lengths [m]: a, l place the pivot B; m is the crank, j, k the rods to it; b, d, e and g, h, i are triangles
LENGTHS = {
    "a": 0.380, "l": 0.078, "m": 0.150, "j": 0.500, "k": 0.619, "b": 0.415, "c": 0.393, "d": 0.401, "e": 0.558,
    "f": 0.394, "g": 0.367, "h": 0.657, "i": 0.490,
}  # fmt: skip
SPEED = 3.0  # [rad/s]
ROWS = ((-0.70, 0.3), (-0.30, 0.3 + math.pi), (0.30, 0.3 + math.pi), (0.70, 0.3))  # y [m] and phase of pairs of legs
LAYER = 0.03  # [m] between the planes in which the parts of a leg move: none is in the way of another


def meet(p, r, q, s):
    """The point left of the way from p to q that is r away from p and s from q."""
    d = math.dist(p, q)
    x = (d * d + r * r - s * s) / (2 * d)
    u = (q - p) / d
    return p + x * u + math.sqrt(r * r - x * x) * np.array([-u[1], u[0]])


def leg(phase):
    """Points (x, z) of a leg that stands left of its crank, which turns about the origin; F is the foot."""
    n, at = LENGTHS, {"P": LENGTHS["m"] * np.array([math.cos(phase), math.sin(phase)])}
    at["B"] = np.array([-n["a"], -n["l"]])
    at["X"] = meet(at["B"], n["b"], at["P"], n["j"])
    at["Z"] = meet(at["P"], n["k"], at["B"], n["c"])
    at["Y"] = meet(at["B"], n["d"], at["X"], n["e"])
    at["W"] = meet(at["Z"], n["g"], at["Y"], n["f"])
    at["F"] = meet(at["Z"], n["i"], at["W"], n["h"])
    return at


def stride(steps=1440):
    """The way of the body in a turn of the crank, if the feet that carry most do not slip [m]."""
    phases = np.linspace(0, math.tau, steps, endpoint=False)
    x, z = np.array([[leg(phase + half)["F"] for phase in phases] for half in (0, math.pi)]).transpose(2, 0, 1)
    stands = np.argmin(z, axis=0), np.arange(steps)
    distance, way = -x[stands], np.abs(np.gradient(x, axis=1))[stands]
    mirrored = -np.arange(steps) + steps // 2  # legs in front are mirror images with the crank at π − φ
    return float(np.where(distance < distance[mirrored], way, way[mirrored]).sum())


def add_leg(sim, body, crank, at, y):
    """A leg of six parts and nine hinges with its points (x, z) at these places, in planes beside y."""
    planes = iter(y + LAYER * (np.arange(6) - 2.5))

    def place(point, y):
        return np.array([at[point][0], y, at[point][1]])

    def rod(first, second):
        y = next(planes)
        p, q = place(first, y), place(second, y)
        turn = AngleAxis(-math.atan2(q[2] - p[2], q[0] - p[0]), (0, 1, 0))
        return sim.box((math.dist(p, q), 0.02, 0.03), pos=(p + q) / 2, rot=turn, color="grey")

    def triangle(*points):
        y = next(planes)
        corners = np.array([place(point, dy) for point in points for dy in (-0.01, 0.01)])
        middle = place(points[0], y)
        return sim.mesh(convex_hull(corners - middle + (0, y, 0)), pos=middle, color="orange")

    j, k, c, f = rod("P", "X"), rod("P", "Z"), rod("B", "Z"), rod("Y", "W")
    upper, lower = triangle("B", "X", "Y"), triangle("F", "Z", "W")
    for point, left, right in (
        ("P", crank, j), ("P", crank, k), ("X", j, upper), ("B", body, upper), ("B", body, c),
        ("Y", upper, f), ("W", f, lower), ("Z", c, lower), ("Z", k, lower),
    ):  # fmt: skip
        sim.revolute(left, right, pos=place(point, y), axis=(0, 1, 0))


def build(rows=ROWS):
    """The simulation, the walker's body and its motor."""
    sim = Sim(friction=0.8)
    sim.ground()
    legs = [(side, y, leg(phase if side < 0 else math.pi - phase)) for y, phase in rows for side in (-1, 1)]
    up = np.array([0.0, 0.005 - min(at["F"][1] for _, _, at in legs)])
    width = 0.4 + 2 * max(abs(y) for y, _ in rows)
    body = sim.box((0.9, 0.2, 0.05), pos=(0, 0, up[1] - LENGTHS["l"]), color="blue", name="body")
    crank = sim.box((0.03, width, 0.03), pos=(0, 0, up[1]), color="brown", name="crank")
    motor = sim.revolute(body, crank, pos=(0, 0, up[1]), axis=(0, 1, 0), motor=SPEED, name="motor")
    for side, y, at in legs:
        offset = 0.1 * side  # mirror images pass each other
        add_leg(sim, body, crank, {name: (-side, 1) * point + up for name, point in at.items()}, y + offset)
    return sim, body, motor


def check():
    sim, body, motor = build()
    way, turned = [], []
    for _ in sim.run(round(1.15 * math.tau / SPEED / sim.dt)):
        way.append(body.pos)
        turned.append(motor.angle)
    x, y, z = np.array(way).T
    start = 0.1 * math.tau  # it has landed and is under way
    walked = float(np.diff(np.interp([start, start + math.tau], turned, x))[0])
    print(f"{walked:.4f} m a turn of the crank, no-slip kinematics {stride():.4f} m")
    print(f"off its way by {1e3 * np.abs(y).max():.1f} mm, up and down by {1e3 * np.ptp(z[20:]):.1f} mm")
    # 1.394 to 1.416 m at 0.5 to 3 rad/s: the body bounces and pitches a little where legs change
    assert abs(walked / stride() - 1) < 0.02
    assert np.abs(y).max() < 0.02 * walked


if __name__ == "__main__":
    check()

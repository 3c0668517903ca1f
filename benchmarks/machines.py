"""Machines as users build them: through `Sim`, with its defaults."""

from __future__ import annotations

import math

import numpy as np

from dovetail import Sim

# Theo Jansen's lengths [cm]: a, l place the pivot; j, k the rods to the crank m; b, d, e and g, h, i are triangles
LENGTHS = {
    "a": 38.0, "l": 7.8, "m": 15.0, "j": 50.0, "k": 61.9, "b": 41.5, "c": 39.3, "d": 40.1, "e": 55.8, "f": 39.4,
    "g": 36.7, "h": 65.7, "i": 49.0,
}  # fmt: skip
LAYER = 0.03  # [m] between the planes that the parts of a leg move in


def arm(contact: bool, driven: bool, links: int = 6) -> Sim:
    """Links on hinges about y and z in turns, the first one on the world; with drives and limits on all, or on none."""
    sim = Sim(dt=0.01, contact=contact)
    _add_arm(sim, links, driven, 0.0)
    return sim


def arms(count: int) -> Sim:
    """Driven and limited arms beside each other, without contact."""
    sim = Sim(dt=0.01, contact=False)
    for n in range(count):
        _add_arm(sim, 6, True, float(n))
    return sim


def _add_arm(sim: Sim, links: int, driven: bool, y: float) -> None:
    parent = None
    for k in range(links):
        link = sim.box((0.3, 0.05, 0.05), pos=(0.3 * k + 0.15, y, 1))
        more = {"limit": (-3.0, 3.0), "drive": 0.0} if driven else {}
        sim.revolute(parent, link, pos=(0.3 * k, y, 1), axis=(0, 1, 0) if k % 2 == 0 else (0, 0, 1), **more)
        parent = link


def _meet(p: np.ndarray, r: float, q: np.ndarray, s: float) -> np.ndarray:
    """The point left of the way from p to q that is r away from p and s from q."""
    d = np.linalg.norm(q - p)
    x = (d * d + r * r - s * s) / (2.0 * d)
    u = (q - p) / d
    return p + x * u + math.sqrt(r * r - x * x) * np.array([-u[1], u[0]])


def _leg(phase: float) -> dict[str, np.ndarray]:
    """Points (x, z) [m] of a leg that stands to the left of its crank, which turns about the origin."""
    n = {name: 0.01 * length for name, length in LENGTHS.items()}
    at = {"O": np.zeros(2), "P": n["m"] * np.array([math.cos(phase), math.sin(phase)])}
    at["B"] = np.array([-n["a"], -n["l"]])
    at["X"] = _meet(at["B"], n["b"], at["P"], n["j"])
    at["Z"] = _meet(at["P"], n["k"], at["B"], n["c"])
    at["Y"] = _meet(at["B"], n["d"], at["X"], n["e"])
    at["W"] = _meet(at["Z"], n["g"], at["Y"], n["f"])
    at["F"] = _meet(at["Z"], n["i"], at["W"], n["h"])
    return at


def _prism(corners: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """A triangle (3, 2) in the plane of x and z with some width along y."""
    (a, b, c), half = corners, 0.5 * width
    if (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) < 0.0:
        b, c = c, b
    vertices = np.array([[x, y, z] for y in (half, -half) for x, z in (a, b, c)])
    faces = [[0, 2, 1], [3, 4, 5]]
    for k in range(3):
        m = (k + 1) % 3
        faces += [[k, m, 3 + m], [k, 3 + m, 3 + k]]
    return vertices, np.array(faces)


def walker(speed: float = 2.0, contact: bool = True) -> Sim:
    """Jansen's walker with four legs on one crank, 26 bodies and 38 exact hinges, feet on the ground.

    Legs at both ends of the crank's axle, a pair of mirror images each, half a turn apart.
    """
    sim = Sim(dt=0.01, friction=0.8, contact=contact)
    legs = [(side, end, _leg(phase if side < 0 else math.pi - phase))
            for end, phase in ((-1, 0.3), (1, 0.3 + math.pi)) for side in (-1, 1)]  # fmt: skip
    height = 0.005 - min(leg["F"][1] for _, _, leg in legs)
    sim.ground()

    def place(side: int, point: np.ndarray, y: float) -> np.ndarray:
        return np.array([-side * point[0], y, point[1] + height])

    chassis = sim.box((0.9, 0.2, 0.05), pos=(0, 0, height - 0.078), name="chassis")
    crank = sim.box((0.05, 1.2, 0.05), pos=(0, 0, height + 0.05), name="crank")
    for y in (-0.1, 0.1):
        drive = {"drive": True} if y > 0.0 else {}
        axle = sim.revolute(chassis, crank, pos=(0, y, height), axis=(0, 1, 0), **drive)
    axle.drive.target_velocity = speed
    for n, (side, end, at) in enumerate(legs):
        # every part moves in a plane of its own, so that none is in the way of another
        planes = iter(end * (0.2 + 0.2 * (side + 1) / 2.0 + LAYER * (1 + k)) for k in range(6))

        def rod(first: str, second: str, at=at, side=side, planes=planes, n=n):
            y = next(planes)
            p, q = place(side, at[first], y), place(side, at[second], y)
            along = q - p
            angle = -math.atan2(along[2], along[0])
            turn = (math.cos(angle / 2.0), 0.0, math.sin(angle / 2.0), 0.0)
            size = (float(np.linalg.norm(along)), 0.02, 0.03)
            return sim.box(size, pos=(p + q) / 2.0, rot=turn, name=f"{first}{second}{n}")

        def triangle(*names: str, at=at, side=side, planes=planes, n=n):
            y = next(planes)
            corners = np.array([[-side * at[name][0], at[name][1]] for name in names])
            middle = corners.mean(axis=0)
            pos = (middle[0], y, middle[1] + height)
            return sim.mesh(_prism(corners - middle, 0.02), pos=pos, name=f"{''.join(names)}{n}")

        j, k, c, f = rod("P", "X"), rod("P", "Z"), rod("B", "Z"), rod("Y", "W")
        upper, lower = triangle("B", "X", "Y"), triangle("Z", "W", "F")
        for point, left, right in (
            ("P", crank, j), ("P", crank, k), ("X", j, upper), ("B", chassis, upper), ("B", chassis, c),
            ("Y", upper, f), ("W", f, lower), ("Z", c, lower), ("Z", k, lower),
        ):  # fmt: skip
            sim.revolute(left, right, pos=place(side, at[point], 0.0), axis=(0, 1, 0))
    return sim

"""A screw joint of your own: a nut on a threaded rod, which gravity must spin as it pulls it down.

The package has one, AffineBodyScrewJoint; this is how such a joint is written, with a pitch that is a constant.

The rod is fixed and upright. Its right-handed thread ties the height d of the nut to its angle θ, d = LEAD·θ, hence

    m d̈ + (J/LEAD²) d̈ = −m g    ⇒    d̈ = −g / (1 + J/(m·LEAD²))

with J the moment of inertia of the nut about the axis.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail import Engine, Scene, World
from dovetail.constitution import AffineBodyConstitution
from dovetail.extend import (
    Angle,
    Coincide,
    Compose,
    Coordinate,
    EdgeJoint,
    Law,
    Parameter,
    Slide,
    check_derivatives,
    coordinate,
    law,
)
from dovetail.geometry import trimesh

# ---- the joint ------------------------------------------------------------------------------------------------

PITCH = 0.2  # [m] along the axis for each turn
LEAD = PITCH / (2.0 * math.pi)  # [m/rad]


@coordinate(rows=5, period=PITCH)
def screw_thread(F, exact, dx, d2x):
    """x = r·t − LEAD·θ [m] of F = (r, t, n_i, b_i, n_j), θ = arg z, z = n_i·n_j + i b_i·n_j."""
    x, z = 0.0, 0j
    for a in range(3):
        x += F[a] * F[3 + a]
        z += complex(F[6 + a], F[9 + a]) * F[12 + a]
    u = np.empty(9, np.complex128)  # dz/z, hence dθ = Im u and d²θ = Im(d²z/z − u²)
    for a in range(3):
        u[a], u[3 + a], u[6 + a] = F[12 + a] / z, 1j * F[12 + a] / z, complex(F[6 + a], F[9 + a]) / z
        dx[a], dx[3 + a] = F[3 + a], F[a]
        d2x[15 * a + 3 + a] = d2x[15 * (3 + a) + a] = 1.0
    for k in range(9):
        dx[6 + k] = -LEAD * u[k].imag
        for m in range(9):
            d2x[15 * (6 + k) + 6 + m] = LEAD * (u[k] * u[m]).imag
    for a in range(3):
        for k, part in ((6 + a, 1.0 / z), (9 + a, 1j / z)):
            d2x[15 * k + 12 + a] -= LEAD * part.imag
            d2x[15 * (12 + a) + k] -= LEAD * part.imag
    return x - LEAD * math.atan2(z.imag, z.real)


@law(parameters=("K [kg]",))
def thread(x, p, d):
    """φ = K/2 x²."""
    d[0], d[1] = p[0] * x, p[0]
    return 0.5 * p[0] * x * x


class Helix(Coordinate):
    function = "screw_thread"
    stencil = (("c", -1, 1), ("t", 0.5, 0.5), ("n", 1, 0), ("b", 1, 0), ("n", 0, 1))


class Thread(Law):
    function = "thread"
    parameters = (Parameter("strength_ratio", times_mass=True),)


class ScrewJoint(EdgeJoint, uid=2**32 + 20):
    terms = (Slide("c", "t", "left"), Slide("c", "t", "right"), Coincide("t"), Compose(Thread(), Helix()))
    coordinate = Angle()


# ---- a scene with it ------------------------------------------------------------------------------------------

GRAVITY = 9.8
DT = 0.001
NUT = np.array([0.12, 0.12, 0.05])  # [m] edges of the nut
CORNERS = np.array([[x, y, z] for z in (-0.5, 0.5) for y in (-0.5, 0.5) for x in (-0.5, 0.5)])
SIDES = np.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]])


def build():
    """The scene, the slot of the nut and the slot of the joint."""
    scene = Scene({"dt": DT, "gravity": [0, 0, -GRAVITY], "contact/enable": 0})
    slots = []
    for name, size in (("rod", np.array([0.02, 0.02, 1.0])), ("nut", NUT)):
        mesh = trimesh(CORNERS * size, SIDES)
        AffineBodyConstitution().apply_to(mesh, 1e9)
        mesh.instances["is_fixed"] = int(name == "rod")
        slots.append(scene.objects.create(name).geometries.create(mesh)[0])
    rod, nut = slots
    joint = ScrewJoint().create_geometry([[0, 0, 0]], [[0, 0, 1]], [rod], [0], [nut], [0], [1e4])
    screw, _ = scene.objects.create("screw").geometries.create(joint)
    return scene, nut, screw


def acceleration():
    """d̈ of the nut in closed form [m/s²]."""
    J_over_m = (NUT[0] ** 2 + NUT[1] ** 2) / 12
    return -GRAVITY / (1 + J_over_m / LEAD**2)


def check():
    """The nut obeys its thread and falls as slowly as the closed form says."""
    check_derivatives(screw_thread)
    check_derivatives(thread)
    scene, nut, screw = build()
    world = World(Engine("cpu"))
    world.init(scene)
    steps = 200
    for _ in range(steps):
        world.advance()
    world.retrieve()
    height = float(nut.geometry.transforms.values[0, 2, 3])
    angle = float(screw.geometry.edges["angle/multi_turn"][0])
    # bdf1 under a constant acceleration: y = a h² n(n + 1)/2; besides, it slows the spin by a share of order ω h
    expected = acceleration() * DT**2 * steps * (steps + 1) / 2
    print(f"after {steps * DT:.1f} s: height {height:.5f} m (closed form {expected:.5f} m), {angle:.3f} rad,")
    print(f"height − lead·angle = {height - LEAD * angle:.1e} m, {world.report.iterations} Newton iterations")
    assert abs(height - LEAD * angle) < 1e-5 * abs(height)
    assert abs(height / expected - 1) < 0.01


if __name__ == "__main__":
    check()

"""A four-bar linkage whose joints hold exactly, driven through turns at 42 ms a step.

The crank is driven at 5 rad/s. With strength_ratio = inf the pins stay together to round-off, so the rocker is where
Freudenstein's equation has it; with γ = 100 the same pins open by 0.15 mm. A planar four-bar is
over-constrained in space: three of its 24 constraints say what others have said, and nothing minds.
"""

from __future__ import annotations

import math

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution, AffineBodyDrivingRevoluteJoint, AffineBodyRevoluteJoint

GROUND, CRANK, COUPLER, ROCKER = 1.0, 0.3, 0.9, 0.7  # [m]
START, SPEED = 0.5, 5.0  # [rad], [rad/s]
DT, FRAMES = 1 / 24, 60
PIN = np.array([0.0, 0.0, 0.05])


def rocker_angle(crank):
    """θ₄ of K₁ cos θ₄ − K₂ cos θ₂ + K₃ = cos(θ₂ − θ₄), on the open branch."""
    K1, K2 = GROUND / CRANK, GROUND / ROCKER
    K3 = (CRANK**2 - COUPLER**2 + ROCKER**2 + GROUND**2) / (2 * CRANK * ROCKER)
    A = math.cos(crank) - K1 - K2 * math.cos(crank) + K3
    B, C = -2 * math.sin(crank), K1 - (K2 + 1) * math.cos(crank) + K3
    return 2 * math.atan2(-B - math.sqrt(B * B - 4 * A * C), 2 * A)


def build(strength_ratio=math.inf):
    """The scene, the slots of crank and rocker, and that of the four pins."""
    scene = Scene({"dt": DT, "gravity": [0, -9.8, 0], "contact/enable": 0})  # bars overlap at the pins
    end = np.array([[0, 0], [GROUND, 0]]) + [
        [length * math.cos(angle), length * math.sin(angle)]
        for length, angle in ((CRANK, START), (ROCKER, rocker_angle(START)))
    ]
    pins = np.array([[0, 0, 0], [*end[0], 0], [*end[1], 0], [GROUND, 0, 0]])
    bars = []
    for name, p, q in (("ground", 3, 0), ("crank", 0, 1), ("coupler", 1, 2), ("rocker", 3, 2)):
        along = pins[q] - pins[p]
        box = trimesh.creation.box((np.linalg.norm(along), 0.05, 0.02))
        sc = geometry.trimesh(box.vertices, box.faces)
        AffineBodyConstitution().apply_to(sc, kappa=1e9, mass_density=2700.0)
        turn = trimesh.transformations.rotation_matrix(math.atan2(along[1], along[0]), (0, 0, 1))
        turn[:3, 3] = (pins[p] + pins[q]) / 2
        sc.instances["transform"] = turn[None]
        sc.instances["is_fixed"] = int(name == "ground")
        bars.append(scene.objects.create(name).geometries.create(sc)[0])
    ground, crank, coupler, rocker = bars
    joint = AffineBodyRevoluteJoint().create_geometry(
        pins - PIN, pins + PIN, [ground, crank, coupler, ground], [0] * 4, [crank, coupler, rocker, rocker], [0] * 4,
        [strength_ratio] * 4,
    )  # fmt: skip
    AffineBodyDrivingRevoluteJoint().apply_to(joint, 1e4)
    joint.edges["driving/is_constrained"] = [1, 0, 0, 0]
    owner = scene.objects.create("pins")
    hinges, _ = owner.geometries.create(joint)

    def drive(info):
        info.geo_slots()[0].geometry.edges["aim_angle"][0] = SPEED * DT * info.frame()

    scene.animator.insert(owner, drive)
    return scene, crank, rocker, hinges


def run(strength_ratio):
    """Largest gap [m] and largest error of the rocker's angle [rad] over all frames."""
    scene, crank, rocker, hinges = build(strength_ratio)
    world = World(Engine("cpu"))
    world.init(scene)
    gap = error = 0.0
    for _ in range(FRAMES):
        world.advance()
        world.retrieve()
        gap = max(gap, float(hinges.geometry.edges["gap"].max()))
        angle = [math.atan2(*bar.geometry.instances["transform"][0, 1::-1, 0]) for bar in (crank, rocker)]
        error = max(error, abs(math.remainder(angle[1] - rocker_angle(angle[0]), 2 * math.pi)))
    print(f"γ = {strength_ratio:g}: pins open by {gap:.1e} m, the rocker is {error:.1e} rad off")
    return gap, error


def check():
    gap, error = run(math.inf)
    soft_gap, soft_error = run(100.0)
    # round-off, and the strain of aluminium-like bars
    assert gap < 1e-11 and error < 3e-5
    assert soft_gap > 1e-5 and soft_error > 10 * error


if __name__ == "__main__":
    check()

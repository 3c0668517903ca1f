"""Bodies led by hand: one follows a path, one is spun by a rotating motor, one is pushed by a linear motor.

A soft transform pulls a body towards `aim_transform`, many times harder than inertia resists; the motors are soft
transforms whose aim runs ahead of the body by ω dt or v dt in every frame.
"""

from __future__ import annotations

import math

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution, LinearMotor, RotatingMotor, SoftTransformConstraint

DT, FRAMES = 0.01, 100
OMEGA, SPEED, RADIUS = math.pi, 0.5, 0.4


def cube(x):
    box = trimesh.creation.box((0.1, 0.1, 0.1))
    sc = geometry.trimesh(box.vertices, box.faces)
    AffineBodyConstitution().apply_to(sc, kappa=1e8, mass_density=1000.0)
    sc.instances["transform"][0, 0, 3] = x
    return sc


def circle(frame):
    """Where the first cube should be: on a circle in the x–y plane, without turning."""
    angle = OMEGA * frame * DT
    return np.array([RADIUS * math.cos(angle), RADIUS * math.sin(angle), 0.0])


def lead(info):
    instances = info.geo_slots()[0].geometry.instances
    instances["is_constrained"] = 1
    instances["aim_transform"][0, :3, 3] = circle(info.frame())


def spin(info):
    sc = info.geo_slots()[0].geometry
    sc.instances["is_constrained"] = 1
    RotatingMotor.animate(sc, info.dt())


def push(info):
    sc = info.geo_slots()[0].geometry
    sc.instances["is_constrained"] = 1
    LinearMotor.animate(sc, info.dt())


def build():
    """The scene and the slots of the three cubes."""
    scene = Scene({"dt": DT, "gravity": [0, 0, 0], "contact/enable": 0})
    follower, rotor, cart = cube(RADIUS), cube(1.0), cube(2.0)
    SoftTransformConstraint().apply_to(follower, (100.0, 100.0))
    RotatingMotor().apply_to(rotor, strength=100.0, motor_axis=(0, 0, 1), motor_rot_vel=OMEGA)
    LinearMotor().apply_to(cart, strength=100.0, motor_axis=(0, 1, 0), motor_vel=SPEED)
    slots = []
    for name, sc, animation in (("follower", follower, lead), ("rotor", rotor, spin), ("cart", cart, push)):
        led = scene.objects.create(name)
        slots.append(led.geometries.create(sc)[0])
        scene.animator.insert(led, animation)
    return (scene, *slots)


def check():
    scene, *slots = build()
    world = World(Engine("cpu"))
    world.init(scene)
    for _ in range(FRAMES):
        world.advance()
        world.retrieve()  # the motors look at the retrieved poses
    follower, rotor, cart = (slot.geometry.transforms.values[0] for slot in slots)
    away = np.linalg.norm(follower[:3, 3] - circle(FRAMES))
    turned = math.atan2(rotor[1, 0], rotor[0, 0]) % (2 * math.pi)
    print(f"the follower is {1e3 * away:.3f} mm from its aim after half a turn")
    print(f"the rotor turned by {turned:.4f} rad of {OMEGA * FRAMES * DT:.4f}, the cart moved by {cart[1, 3]:.4f} m")
    # a pull of 100 times the inertia lets the body lag by h²/100 times its acceleration
    assert away < RADIUS * OMEGA**2 * DT**2 / 100 * 1.1
    assert abs(turned - OMEGA * FRAMES * DT) < 0.02
    assert abs(cart[1, 3] - SPEED * FRAMES * DT) < 0.01


if __name__ == "__main__":
    check()

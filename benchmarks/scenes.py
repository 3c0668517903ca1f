"""Scenes that the benchmarks share, built with public calls only."""

from __future__ import annotations

import numpy as np

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution, AffineBodyRevoluteJoint, AffineBodySphericalJoint

CUBE_VERTICES = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
CUBE_TRIANGLES = np.array(
    [
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
        [1, 5, 7],
        [1, 7, 3],
    ]
)


def new_scene(contact: bool = False, **config: object) -> Scene:
    return Scene({"contact/enable": int(contact), **config})


def boxes(scene: Scene, size, positions, name: str = "boxes", fixed=(), velocity=None):
    """One geometry with an instance per position; returns its slot."""
    mesh = geometry.trimesh(CUBE_VERTICES * np.asarray(size, float), CUBE_TRIANGLES)
    geometry.label_surface(mesh)
    AffineBodyConstitution().apply_to(mesh, 1e8)
    mesh.instances.resize(len(positions))
    mesh.instances["transform"][:, :3, 3] = positions
    mesh.instances["is_fixed"][list(fixed)] = 1
    if velocity is not None:
        mesh.instances["velocity"] = velocity
    slot, _ = scene.objects.create(name).geometries.create(mesh)
    return slot


def spinning(count: int) -> Scene:
    """Free boxes with linear and angular velocity."""
    scene = new_scene(gravity=[0.0, -9.8, 0.0])
    velocity = np.zeros((4, 4))
    velocity[:3, :3] = [[0.0, -0.1, 2.0], [0.1, 0.0, -0.3], [-2.0, 0.3, 0.0]]
    velocity[:3, 3] = (0.5, 3.0, 0.0)
    positions = np.zeros((count, 3))
    positions[:, 0] = np.arange(count)
    boxes(scene, (0.5, 0.2, 0.3), positions, velocity=velocity)
    return scene


def hinge_chain(links: int, strength_ratio: float = 100.0) -> Scene:
    """Links 0.1 × 0.02 × 0.02 m hinged end to end about y, from horizontal; the first body is fixed."""
    scene = new_scene(gravity=[0.0, 0.0, -9.8])
    positions = np.zeros((links + 1, 3))
    positions[:, 0] = 0.1 * np.arange(-1, links) + 0.05
    slot = boxes(scene, (0.1, 0.02, 0.02), positions, "links", fixed=(0,))
    ends = np.zeros((links, 3))
    ends[:, 0] = 0.1 * np.arange(links)
    half = np.array([0.0, 0.01, 0.0])
    left = np.arange(links)
    hinges = AffineBodyRevoluteJoint().create_geometry(
        ends - half, ends + half, [slot] * links, left, [slot] * links, left + 1, np.full(links, strength_ratio)
    )
    scene.objects.create("hinges").geometries.create(hinges)
    return scene


def ball_tree(depth: int, strength_ratio: float = np.inf) -> Scene:
    """A binary tree of 2^depth − 1 links 0.1 × 0.02 × 0.02 m on ball joints, fanned out in a horizontal plane."""
    scene = new_scene(gravity=[0.0, 0.0, -9.8])
    count = 2**depth - 1
    angle, tip = np.zeros(count + 1), np.zeros((count + 1, 3))
    transforms = np.tile(np.eye(4), (count + 1, 1, 1))
    transforms[0, 0, 3] = -0.05
    for level in range(depth):
        here = np.arange(2**level, 2 ** (level + 1))
        parent = here // 2 if level else np.zeros(1, np.int64)
        angle[here] = angle[parent] + (np.where(here % 2, 0.5, -0.5) * 0.9 ** (level + 1) if level else 0.0)
        along = np.stack([np.cos(angle[here]), np.sin(angle[here]), np.zeros(len(here))], axis=1)
        tip[here] = tip[parent] + 0.1 * along
        transforms[here, :3, 0] = along
        transforms[here, :3, 1] = np.stack([-along[:, 1], along[:, 0], along[:, 2]], axis=1)
        transforms[here, :3, 3] = tip[parent] + 0.05 * along
    slot = boxes(scene, (0.1, 0.02, 0.02), transforms[:, :3, 3], "links", fixed=(0,))
    slot.geometry.instances["transform"] = transforms
    bodies = np.arange(1, count + 1)
    parents = bodies // 2
    balls = AffineBodySphericalJoint().create_geometry(
        tip[parents], [slot] * count, parents, [slot] * count, bodies, np.full(count, strength_ratio)
    )
    scene.objects.create("balls").geometries.create(balls)
    return scene


def start(scene: Scene, workspace: str) -> World:
    scene.config["threads/count"] = 1
    world = World(Engine("cpu", workspace))
    world.init(scene)
    return world

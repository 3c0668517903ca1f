"""Scenes that the benchmarks share, built with public calls only."""

from __future__ import annotations

import numpy as np

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution, AffineBodyRevoluteJoint

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


def start(scene: Scene, workspace: str) -> World:
    world = World(Engine("cpu", workspace))
    world.init(scene)
    return world

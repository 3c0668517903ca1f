"""Scenes that several tests build: boxes with a pose and a velocity, chains of them, and how to read them back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dovetail import Scene, World
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyDrivingRevoluteJoint,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointLimit,
    AffineBodyRevoluteJoint,
    AffineBodySphericalJoint,
)
from dovetail.core import AffineBodyStateAccessorFeature
from dovetail.geometry import SimplicialComplex, SimplicialComplexSlot, label_surface, trimesh

__all__ = [
    "TIGHT",
    "add_boxes",
    "add_chain",
    "angular_velocity",
    "assert_same_arrays",
    "box_mesh",
    "cross_matrix",
    "dump_file",
    "dumped",
    "mixed_scene",
    "new_scene",
    "pose",
    "rate",
    "read_state",
    "rotation",
    "run",
    "small_scene",
    "write_state",
]

TIGHT = {"newton/velocity_tol": 1e-9, "newton/transrate_tol": 1e-8}
"""Newton's last step then leaves errors near round-off: it converges quadratically."""

_CORNERS = np.array([[x, y, z] for z in (-0.5, 0.5) for y in (-0.5, 0.5) for x in (-0.5, 0.5)])
_SIDES = np.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]])


def new_scene(**config: Any) -> Scene:
    """A scene without contact; config keys are written with `__` for `/`, as in newton__max_iter=3."""
    settings = {"contact/enable": 0} | {name.replace("__", "/"): value for name, value in config.items()}
    return Scene(settings)


def box_mesh(size: Any = (1.0, 1.0, 1.0), centre: Any = (0.0, 0.0, 0.0)) -> SimplicialComplex:
    """A closed box with edges along the axes."""
    mesh = trimesh(_CORNERS * np.asarray(size, float) + np.asarray(centre, float), _SIDES)
    label_surface(mesh)
    return mesh


def cross_matrix(w: Any) -> np.ndarray:
    """[w]× with [w]× v = w × v."""
    x, y, z = np.asarray(w, float)
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def rotation(axis: Any, angle: float) -> np.ndarray:
    """Rodrigues' formula."""
    K = cross_matrix(np.asarray(axis, float) / np.linalg.norm(axis))
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def pose(position: Any = (0.0, 0.0, 0.0), turned: Any = None) -> np.ndarray:
    """The 4×4 transform with a translation and a linear part."""
    T = np.eye(4)
    T[:3, 3] = position
    if turned is not None:
        T[:3, :3] = turned
    return T


def rate(T: np.ndarray, linear: Any = (0.0, 0.0, 0.0), angular: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Rate of a transform T whose origin moves with `linear` [m/s] and which turns with `angular` [rad/s]."""
    V = np.zeros((4, 4))
    V[:3, :3] = cross_matrix(angular) @ T[:3, :3]
    V[:3, 3] = linear
    return V


def angular_velocity(T: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Axial part of Ȧ A⁻¹, world axes."""
    W = V[:3, :3] @ np.linalg.inv(T[:3, :3])
    return 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])


def add_boxes(
    scene: Scene,
    poses: Any = ((0.0, 0.0, 0.0),),
    size: Any = (0.5, 0.2, 0.3),
    centre: Any = (0.0, 0.0, 0.0),
    *,
    name: str = "box",
    velocities: Sequence[np.ndarray] | None = None,
    fixed: Sequence[int] = (),
    kappa: float = 1e8,
    density: float = 1000.0,
    potential: str = "OrthoPotential",
    applied: Sequence[Any] = (),
    instances: dict[str, Any] | None = None,
) -> SimplicialComplexSlot:
    """An object of equal boxes, one instance per pose: (4, 4) transforms or (3,) translations.

    `applied` are functions of the mesh, run after the body was made of it; `instances` are further attributes.
    """
    mesh = box_mesh(size, centre)
    AffineBodyConstitution({"name": potential}).apply_to(mesh, kappa, density)
    for apply in applied:
        apply(mesh)
    transforms = [p if np.shape(p) == (4, 4) else pose(p) for p in map(np.asarray, poses)]
    mesh.instances.resize(len(transforms))
    mesh.instances["transform"] = np.array(transforms).reshape(-1, 4, 4)
    if velocities is not None:
        mesh.instances["velocity"] = np.array(velocities)
    mesh.instances["is_fixed"][list(fixed)] = 1
    for attribute, values in (instances or {}).items():
        if attribute not in mesh.instances:
            mesh.instances.create(attribute, np.zeros_like(np.asarray(values)[0]))
        mesh.instances[attribute] = values
    slot, _ = scene.objects.create(name).geometries.create(mesh)
    return slot


def add_chain(scene: Scene, count: int = 4, strength: float = 100.0) -> SimplicialComplexSlot:
    """Links of 0.2 m along x, the first one fixed, joined by spherical joints; returns the links' slot."""
    links = add_boxes(scene, [(0.2 * k, 0.0, 0.0) for k in range(count)], (0.18, 0.04, 0.06), name="links", fixed=[0])
    k = np.arange(count - 1)
    anchors = np.stack([0.2 * k + 0.1, 0 * k, 0 * k], axis=1)
    joints = AffineBodySphericalJoint().create_geometry(
        anchors, [links] * len(k), k, [links] * len(k), k + 1, np.full(len(k), strength)
    )
    scene.objects.create("joints").geometries.create(joints)
    return links


def small_scene(**config: Any) -> Scene:
    """A spinning box and a chain: what needs the fewest kernels and still couples bodies."""
    scene = new_scene(**config)
    add_boxes(scene, [(0, 3, 0)], name="spinning", velocities=[rate(np.eye(4), (1, 2, 3), (4, 5, 6))])
    add_chain(scene, 3)
    return scene


def mixed_scene(**config: Any) -> Scene:
    """A bit of everything: a spinning box, a soft one, a chain, a driven hinge and a slider with limits."""
    scene = small_scene(**config)
    add_boxes(
        scene, [(0, 6, 0)], name="soft", potential="ARAP", kappa=1e5, velocities=[rate(np.eye(4), angular=(9, 0, 2))]
    )
    base = add_boxes(scene, [(0, -2, 0)], name="base", fixed=[0])
    arm = add_boxes(scene, [(0.6, -2, 0)], name="arm")
    cart = add_boxes(scene, [(-0.6, -2, 0)], name="cart")
    hinge = AffineBodyRevoluteJoint().create_geometry(
        [[0.3, -2, -0.5]], [[0.3, -2, 0.5]], [base], [0], [arm], [0], [100.0]
    )
    AffineBodyDrivingRevoluteJoint().apply_to(hinge, 10.0)
    hinge.edges["driving/is_constrained"] = 1
    hinge.edges["aim_angle"] = 0.3
    slider = AffineBodyPrismaticJoint().create_geometry(
        [[-0.3, -2, 0]], [[-0.3, -1, 0]], [base], [0], [cart], [0], [100.0]
    )
    AffineBodyPrismaticJointLimit().apply_to(slider, -0.001, 0.1, 100.0)
    for name, joint in (("hinge", hinge), ("slider", slider)):
        scene.objects.create(name).geometries.create(joint)
    return scene


def run(world: World, frames: int) -> None:
    """Advance, and read the last frame back into the scene."""
    for _ in range(frames):
        world.advance()
    world.retrieve()


def read_state(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Transforms and their rates (n, 4, 4) of all bodies."""
    accessor = world.features().find(AffineBodyStateAccessorFeature)
    found = accessor.create_geometry()
    found.instances.create("transform", np.eye(4))
    found.instances.create("velocity", np.zeros((4, 4)))
    accessor.copy_to(found)
    return found.instances["transform"].copy(), found.instances["velocity"].copy()


def write_state(world: World, transforms: Any = None, velocities: Any = None, first: int = 0) -> None:
    """Replace transforms or rates (n, 4, 4) of the bodies from `first` on."""
    accessor = world.features().find(AffineBodyStateAccessorFeature)
    given = {"transform": transforms, "velocity": velocities}
    count = next(len(values) for values in given.values() if values is not None)
    state = accessor.create_geometry(first, count)
    for attribute, values in given.items():
        if values is not None:
            state.instances.create(attribute, np.eye(4))
            state.instances[attribute] = values
    accessor.copy_from(state)


def dump_file(workspace: Path, frame: int) -> Path:
    """Where a world puts the dump of a frame."""
    return workspace / "dump" / f"state.{frame}.npz"


def dumped(world: World) -> dict[str, np.ndarray]:
    """Every array of the present frame, read from a dump of it."""
    assert world.dump()
    with np.load(dump_file(Path(world.engine.workspace()), world.frame()), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def assert_same_arrays(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> None:
    """The same names, and the same bits under each."""
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert array.tobytes() == right[name].tobytes(), name

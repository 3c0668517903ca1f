"""The scenes of the comparison: hinge chains, spherical nets, piles of cubes, a wrecking ball."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.bench.scene import GRAVITY, BenchScene, Joints
from dovetail.bench.shapes import ball, box, ring
from dovetail.typing import Array

__all__ = ["BUILDERS", "build", "chain", "net", "pile", "wrecking_ball"]


def _at(positions: Any) -> Array:
    """Transforms without rotation."""
    positions = np.asarray(positions, float)
    T = np.tile(np.eye(4), (len(positions), 1, 1))
    T[:, :3, 3] = positions
    return T


def chain(links: int, frames: int = 100) -> BenchScene:
    """Links of 0.1 × 0.02 × 0.02 m hinged end to end about y, the first to the world, from horizontal."""
    link = box(0.1, 0.02, 0.02)
    x = 0.1 * np.arange(links)
    zero = np.zeros(links)
    hinges = Joints("revolute", np.arange(links) - 1, np.arange(links), np.stack([x, zero, zero], axis=1))
    # the centre of a hanging chain is half its length below
    energy = links * link.mass * GRAVITY * 0.05 * links
    return BenchScene(
        f"chain {links}", (link,), np.zeros(links, np.int64), _at(np.stack([x + 0.05, zero, zero], axis=1)),
        np.zeros(links, np.int64), hinges, False, frames, energy,
    )  # fmt: skip


def net(side: int, frames: int = 100) -> BenchScene:
    """side × side plates of 0.08 × 0.08 × 0.02 m in a level grid, neighbours joined at a ball each; a corner is fixed.

    Every cell closes a loop: engines in reduced coordinates need constraints here.
    """
    plate = box(0.08, 0.08, 0.02)
    number = np.arange(side * side).reshape(side, side)
    centres = np.array([[0.1 * i, 0.1 * j, 0.0] for i in range(side) for j in range(side)])
    left = np.concatenate([number[:-1].reshape(-1), number[:, :-1].reshape(-1)])
    right = np.concatenate([number[1:].reshape(-1), number[:, 1:].reshape(-1)])
    fixed = np.zeros(side * side, np.int64)
    fixed[0] = 1
    joints = Joints("spherical", left, right, 0.5 * (centres[left] + centres[right]))
    energy = side * side * plate.mass * GRAVITY * 0.1 * side
    return BenchScene(
        f"net {side * side}",
        (plate,),
        np.zeros(side * side, np.int64),
        _at(centres),
        fixed,
        joints,
        False,
        frames,
        energy,
    )


def pile(n: int, frames: int = 100) -> BenchScene:
    """n³ cubes of 0.1 m, 0.12 m apart, the lowest 0.1 m over the ground."""
    cube = box(0.1, 0.1, 0.1)
    grid = [(0.12 * x, 0.12 * y, 0.15 + 0.12 * z) for z in range(n) for x in range(n) for y in range(n)]
    # every cube falls by 0.1 m or more
    energy = n**3 * cube.mass * GRAVITY * (0.1 + 0.01 * (n - 1))
    return BenchScene(
        f"pile {n}³", (cube,), np.zeros(n**3, np.int64), _at(grid), np.zeros(n**3, np.int64), None, True, frames, energy
    )


_WALL = (4, 14, 10)  # cubes along x, y, z
_SIDE, _SPACE = 0.15, 0.002
_RINGS, _MIDDLE, _BAR = 13, 0.1, 0.03
_PITCH = 2 * _MIDDLE - _BAR - 0.004  # of rings: 4 mm of play
_BALL = 0.35
_TILT = np.deg2rad(50.0)  # of the chain at the start, from the vertical


def wrecking_ball(frames: int = 250) -> BenchScene:
    """A ball on a chain of 13 rings that interlock swings into a wall of 560 cubes.

    The first ring is fixed. Rings hold each other by contact alone; the ball hangs on the last by a spherical joint.
    """
    shapes = (box(_SIDE, _SIDE, _SIDE), ring(_MIDDLE, _BAR), ball(_BALL))
    pitch = _SIDE + _SPACE
    nx, ny, nz = _WALL
    wall = np.array(
        [
            (x * pitch, (y - (ny - 1) / 2) * pitch, _SPACE + _SIDE / 2 + z * pitch)
            for z in range(nz)
            for x in range(nx)
            for y in range(ny)
        ]
    )
    transforms = [_at(wall)]
    # hanging straight down the ball would touch the wall at half its height
    reach = _PITCH * (_RINGS - 1) + _MIDDLE + _BAR + 0.02 + _BALL
    top = np.array([-_SIDE / 2 - _BALL, 0.0, 0.5 * nz * pitch + reach])
    down = np.array([-np.sin(_TILT), 0.0, -np.cos(_TILT)])
    across = np.array([0.0, 1.0, 0.0])
    links = np.tile(np.eye(4), (_RINGS, 1, 1))
    for k, T in enumerate(links):
        normal = across if k % 2 == 0 else np.cross(down, across)
        T[:3, :3] = np.stack([down, normal, np.cross(down, normal)], axis=1)
        T[:3, 3] = top + k * _PITCH * down
    transforms.append(links)
    transforms.append(_at([top + reach * down]))
    shape_of = np.repeat([0, 1, 2], [len(wall), _RINGS, 1])
    fixed = np.zeros(len(shape_of), np.int64)
    fixed[len(wall)] = 1
    last, bob = len(shape_of) - 2, len(shape_of) - 1
    hook = top + ((_RINGS - 1) * _PITCH + _MIDDLE) * down
    joint = Joints("spherical", np.array([last]), np.array([bob]), hook[None])
    energy = shapes[2].mass * GRAVITY * reach * (1 - np.cos(_TILT))
    return BenchScene("wrecking ball", shapes, shape_of, np.concatenate(transforms), fixed, joint, True, frames, energy)


BUILDERS: dict[str, Callable[..., BenchScene]] = {"chain": chain, "net": net, "pile": pile}


def build(name: str, frames: int) -> BenchScene:
    """By the name that reports use: 'chain 100', 'net 100', 'pile 3³', 'wrecking ball'."""
    if name == "wrecking ball":
        return wrecking_ball(frames)
    kind, size = name.split()
    count = int(size.rstrip("³"))
    return BUILDERS[kind](round(count**0.5) if kind == "net" else count, frames)

"""Scenes whose contacts are read back, solved tightly."""

from __future__ import annotations

import numpy as np
from contact_scenes import BOX, L_SHAPE, STAR, TORUS, Stage, random_rotation, scaled
from scenes import TIGHT, pose

__all__ = ["D_HAT", "TIGHTLY", "G", "H", "heap", "resting"]

G, H, D_HAT = 10.0, 0.01, 1e-3

TIGHTLY = {name.replace("/", "__"): value for name, value in TIGHT.items()}
"""Newton's last step is then below 1e-11 m, so that forces are balanced to 1e-6 of the weight."""


def resting(**config) -> tuple[Stage, object]:
    stage = Stage((0, 0, -G), **TIGHTLY, **config)
    stage.ground()
    slot = stage.add("cube", scaled(BOX, 0.1), [(0, 0, 0.0508)])
    stage.run(60)
    return stage, slot


def heap(rng, frames: int = 0, **config) -> Stage:
    """Convex and other bodies thrown at each other over a floor: every kind of contact, some rubbing, some parting."""
    stage = Stage((0, 0, -G), d_hat=2e-3, **config)
    stage.ground()
    places = 0.25 * np.stack(np.meshgrid([-1, 0, 1], [-1, 0], [1, 2]), axis=-1).reshape(-1, 3)
    for k, (name, mesh) in enumerate({"box": BOX, "star": STAR, "torus": TORUS, "L": L_SHAPE}.items()):
        poses = [pose(p, random_rotation(rng)) for p in places[k::4]]
        speed = rng.normal(size=(len(poses), 3)) - 8 * places[k::4] * (1, 1, 0.5)
        stage.add(name, scaled(mesh, 0.17), poses, velocity=speed, spin=5 * rng.normal(size=(len(poses), 3)))
    stage.run(frames)
    return stage

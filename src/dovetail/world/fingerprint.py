"""What tells one scene from another: a digest of all that does not change while a world runs."""

from __future__ import annotations

import hashlib

import numpy as np

from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.surface import Shape
from dovetail.typing import Array

__all__ = ["contact_constants", "fingerprint"]

_BY_BODY = ("d_hat", "thickness", "is_round", "rolls", "rolling_axis", "material", "subscene", "self_collides")
_PLANES = ("plane_point", "plane_normal", "plane_material", "plane_subscene")
_MATERIALS = ("mu", "kappa", "enabled", "subscenes", "masked")


def fingerprint(arrays: dict[str, Array]) -> str:
    """Digest of the constant arrays of a system: equal for equal scenes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}:{array.dtype}:{array.shape};".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def contact_constants(scene: ContactScene) -> dict[str, Array]:
    """Surfaces body by body, half-planes and materials, by name."""
    found = {f"contact/{name}": np.asarray(getattr(scene, name)) for name in (*_BY_BODY, *_PLANES, *_MATERIALS)}
    surfaces = [_surface(scene, number, shape) for number, shape in enumerate(scene.shapes)]
    # by body: which bodies share a surface says nothing about the scene
    of_bodies = [surfaces[shape] if shape >= 0 else "" for shape in scene.shape_of.tolist()]
    found["contact/surfaces"] = np.array(of_bodies, "S64")
    return found


def _surface(scene: ContactScene, number: int, shape: Shape) -> str:
    """Digest of a surface and of the materials painted on it."""
    assert scene.vertex_material is not None
    vertices = slice(scene.vertex_start[number], scene.vertex_start[number + 1])
    return fingerprint(
        {
            **{name: getattr(shape, name) for name in ("vertices", "triangles", "patch", "edges")},
            "material": scene.vertex_material[vertices].astype(float),
        }
    )

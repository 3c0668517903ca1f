"""Bodies pulled towards a pose that an animator prescribes (16)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import builtin
from dovetail.checked import checked
from dovetail.constitution.base import Constraint, create_missing, mark
from dovetail.constitution.place import Place
from dovetail.errors import ArgumentType
from dovetail.geometry import SimplicialComplex
from dovetail.logger import Logger
from dovetail.typing import Array, ArrayLike

__all__ = ["SoftTransform", "SoftTransformConstraint"]


class SoftTransform(Constraint):
    """Pulls each constrained instance towards its `aim_transform`.

        E = ½ δqᵀ (η_p M_cm + η_a (M − M_cm)) δq,   M_cm = m J(c)ᵀJ(c),   δq = q − q_aim

    | where | attribute | unit | value |
    |---|---|---|---|
    | instances | `aim_transform` (Matrix4x4) | | the pose; starts as `transform` |
    | instances | `strength_ratio` (Vector2) | | (η_p, η_a), translation and the rest |
    | instances | `is_constrained` | | 1: pulled, 0: free (the default) |

    All are read every frame, after the animator. Fixed bodies ignore the pull. A body has one strength:
    where a motor or another constraint has set it before, it is kept, and a difference is logged as a
    warning.
    """

    uids = (16,)

    def check(self, geometry: Any, name: str = "") -> None:
        instances = geometry.instances
        place = Place(type(self).__name__, "instance", instances.size(), name)
        for i, strength in enumerate(instances.slot("strength_ratio").values):
            if not _is_strength(strength):
                raise place.error(f"has strength_ratio = {strength.tolist()}; give two finite numbers ≥ 0.", i)
        for i, aim in enumerate(instances.slot("aim_transform").values):
            if not np.isfinite(aim).all():
                raise place.error("has an aim_transform with entries that are not finite.", i)

    def _pull(self, sc: SimplicialComplex, strength_ratio: ArrayLike) -> None:
        place = Place(type(self).__name__, "instance", sc.instances.size())
        strength = np.broadcast_to(place.vector("strength_ratio", strength_ratio, 1, 2), 2).copy()
        if not _is_strength(strength):
            raise place.error(f"strength_ratio = {strength.tolist()}; give two numbers ≥ 0.")
        present = sc.instances.find("strength_ratio")
        if present is not None and not (present.values == strength).all():
            Logger.warn(
                f"{type(self).__name__}: the geometry already has strength_ratio = "
                f"{present.values[0].tolist()}, which is kept; write the attribute to make it "
                f"{strength.tolist()}."
            )
        mark(sc, self._uid, builtin.constraint_uids)
        create_missing(sc.instances, "strength_ratio", strength)
        create_missing(sc.instances, "is_constrained", 0)
        if sc.instances.find("aim_transform") is None:
            sc.instances.share("aim_transform", sc.transforms)


class SoftTransformConstraint(SoftTransform, uid=16):
    """The pull alone: an animator writes `aim_transform` and switches `is_constrained`."""

    @checked(ArgumentType)
    def apply_to(self, sc: SimplicialComplex, strength_ratio: ArrayLike = (100.0, 100.0)) -> None:
        """Let all instances of `sc` be pulled; `strength_ratio` is (η_p, η_a), or one number for both."""
        self._pull(sc, strength_ratio)


def _is_strength(strength: Array) -> bool:
    return bool(np.isfinite(strength).all() and (strength >= 0).all())

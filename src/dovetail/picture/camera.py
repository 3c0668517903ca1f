"""Cameras: where pictures are taken from, and where one stands so that everything is seen and nothing is cut off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dovetail.checked import number, numbers, shown
from dovetail.errors import ViewerError
from dovetail.io.cast import Cast
from dovetail.typing import Array, ArrayLike

__all__ = ["ASPECT", "FIELD_OF_VIEW", "Bounds", "Camera", "frame", "up_of"]

FIELD_OF_VIEW = np.deg2rad(35.0)
"""Vertical; a longer lens than viser's own keeps parallel edges parallel."""

ASPECT = 1.3
"""Width over height that is sure to be seen beside the panel of the viewer."""
_MARGIN = 1.12
_FROM = (0.62, -1.0, 0.48)  # to the right, in front, above


class Bounds(NamedTuple):
    """A box along the axes of the world [m]."""

    lower: Array
    upper: Array

    @classmethod
    def of(cls, points: Array) -> Bounds:
        """The smallest box around points (n, 3); a cube of 1 m around the origin where there are none."""
        if len(points) == 0:
            return cls(np.full(3, -0.5), np.full(3, 0.5))
        return cls(points.min(axis=0), points.max(axis=0))

    @property
    def centre(self) -> Array:
        middle: Array = (self.lower + self.upper) / 2
        return middle

    @property
    def size(self) -> float:
        """Length of the diagonal; never 0."""
        return float(np.linalg.norm(self.upper - self.lower)) or 1.0

    def joined(self, other: Bounds) -> Bounds:
        """The box around this one and what of the other one is within one size of it.

        What flies away does not make everything else tiny.
        """
        near_lower, near_upper = self.lower - self.size, self.upper + self.size
        return Bounds(
            np.minimum(self.lower, np.maximum(other.lower, near_lower)),
            np.maximum(self.upper, np.minimum(other.upper, near_upper)),
        )


@dataclass(frozen=True)
class Camera:
    """Where pictures are taken from.

    pos, look_at      where it stands and what it looks at [m]
    up                which way is up in the picture; None: against gravity
    field_of_view     from top to bottom [rad]
    on                a body that it is mounted on: pos, look_at and up are in the axes of the body then
    follow            a body that it goes along with, without turning: pos and look_at count from its centre of mass

    Bodies are handles of a Sim, or names.
    """

    pos: ArrayLike
    look_at: ArrayLike = (0.0, 0.0, 0.0)
    up: ArrayLike | None = None
    field_of_view: float = float(FIELD_OF_VIEW)
    on: Any = None
    follow: Any = None

    def placed(self, cast: Cast, transforms: Array) -> tuple[Array, Array]:
        """Its place (3,) in the world and its axes (3, 3): rows to the right, down and ahead."""
        eye, target = _vector("pos", self.pos), _vector("look_at", self.look_at)
        up = up_of(cast.gravity) if self.up is None else _vector("up", self.up)
        if self.on is not None and self.follow is not None:
            raise ViewerError("Camera: it is mounted on a body and follows one; give `on` or `follow`.")
        if self.on is not None:
            T = transforms[_number(cast, self.on)]
            eye, target = (T[:3, :3] @ point + T[:3, 3] for point in (eye, target))
            up = T[:3, :3] @ (np.array([0.0, 0.0, 1.0]) if self.up is None else up)
        elif self.follow is not None:
            k = _number(cast, self.follow)
            centre = transforms[k, :3, :3] @ cast.bodies[k].mass_center + transforms[k, :3, 3]
            eye, target = eye + centre, target + centre
        angle = number(self.field_of_view)
        if angle is None or not 0.01 <= angle <= 3.0:
            raise ViewerError(f"Camera: field_of_view = {shown(self.field_of_view)} rad; give 0.01 to 3.")
        ahead = target - eye
        distance = float(np.linalg.norm(ahead))
        if not distance > 0.0:
            raise ViewerError(f"Camera: it looks at the place where it stands, {shown(eye)} m; give another look_at.")
        right = np.cross(ahead, up)
        if not np.linalg.norm(right) > 1e-9 * distance * np.linalg.norm(up):  # it looks straight up or down
            right = np.cross(ahead, np.eye(3)[np.argmin(np.abs(ahead))])
        right, ahead = right / np.linalg.norm(right), ahead / distance
        return eye, np.stack([right, np.cross(ahead, right), ahead])


def _vector(what: str, value: ArrayLike) -> Array:
    """Three finite numbers."""
    given = numbers(value)
    if given is None or given.size != 3 or not np.isfinite(given).all():
        raise ViewerError(f"Camera: {what} = {shown(value)}; give three finite numbers.")
    return np.array(given, float).reshape(3)


def _number(cast: Cast, body: Any) -> int:
    """The number of a body by its handle or name."""
    found = getattr(body, "number", None)
    if isinstance(found, int) and 0 <= found < len(cast.bodies):
        return found
    for k, known in enumerate(cast.bodies):
        if known.name == body:
            return k
    names = ", ".join(f"'{known.name}'" for known in cast.bodies[:20])
    raise ViewerError(f"Camera: there is no body {shown(body)}; give a handle or one of {names}.")


def up_of(gravity: Array) -> Array:
    """The unit vector against gravity; z where there is none."""
    strength = float(np.linalg.norm(gravity))
    return -np.asarray(gravity, float) / strength if strength else np.array([0.0, 0.0, 1.0])


def frame(bounds: Bounds, up: Array, aspect: float = ASPECT) -> Camera:
    """The camera in front of the box, to its right and above, as near as the whole box can be seen from.

    aspect       width of the picture over its height
    """
    z = up / np.linalg.norm(up)
    x = np.cross([0.0, 1.0, 0.0], z) if abs(z[1]) < 0.9 else np.array([1.0, 0.0, 0.0])
    x = x / np.linalg.norm(x)
    y = np.cross(z, x)
    backward = _FROM[0] * x + _FROM[1] * y + _FROM[2] * z
    backward /= np.linalg.norm(backward)
    right = np.cross(z, backward)
    right /= np.linalg.norm(right)
    above = np.cross(backward, right)
    choice = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, 8).T
    corners = np.where(choice, bounds.upper, bounds.lower) - bounds.centre
    half = np.tan(FIELD_OF_VIEW / 2)
    depth = corners @ backward
    wide = np.abs(corners @ right) * _MARGIN / (half * aspect) + depth
    high = np.abs(corners @ above) * _MARGIN / half + depth
    distance = float(max(wide.max(), high.max())) or 1.0
    return Camera(bounds.centre + distance * backward, bounds.centre, z)

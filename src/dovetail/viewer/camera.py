"""Where the camera stands at first: so that everything is seen, and nothing is cut off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.typing import Array

__all__ = ["FIELD_OF_VIEW", "Bounds", "Camera", "frame"]

FIELD_OF_VIEW = np.deg2rad(35.0)
"""Vertical; a longer lens than viser's own keeps parallel edges parallel."""

_ASPECT = 1.3  # width over height that is sure to be seen beside the panel
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


class Camera(NamedTuple):
    """Where it stands and what it looks at [m], and which way is up."""

    position: Array
    look_at: Array
    up: Array


def frame(bounds: Bounds, up: Array) -> Camera:
    """The camera in front of the box, to its right and above, as near as the whole box can be seen from."""
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
    wide = np.abs(corners @ right) * _MARGIN / (half * _ASPECT) + depth
    high = np.abs(corners @ above) * _MARGIN / half + depth
    distance = float(max(wide.max(), high.max())) or 1.0
    return Camera(bounds.centre + distance * backward, bounds.centre, z)

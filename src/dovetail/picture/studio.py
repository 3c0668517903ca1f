"""The studio: bodies, planes and a sun, of which pictures are taken."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import ViewerError
from dovetail.io.cast import Cast
from dovetail.io.colors import linear, srgb
from dovetail.picture.camera import Bounds, Camera, frame, up_of
from dovetail.picture.mesh import drawn, is_closed, vertex_normals
from dovetail.typing import Array

__all__ = ["SUN", "Studio", "axes_about", "round_number"]

SUN = (-0.55, -0.60, 1.15)
"""Where the light comes from, with z up: from the left, in front, above."""

_SAMPLES = 2  # per pixel, each way
_TEXELS = 1024  # of the shadow's depth buffer, each way
_MOST_PIXELS = 4096  # each way
_LEVELS = np.round(255 * srgb(np.linspace(0.0, 1.0, 8192))).astype(np.uint8)


class Studio:
    """Bodies and planes of a cast; `picture` draws them at any transforms from any camera.

    bounds       where everything will happen: without a plane a floor is drawn below it; None: no floor
    """

    def __init__(self, cast: Cast, bounds: Bounds | None = None) -> None:
        self._cast, self._up = cast, up_of(cast.gravity)
        largest = max((Bounds.of(shape.vertices).size for shape in cast.shapes), default=1.0)
        looks = {id(look.shape): look.shape for body in cast.bodies for look in body.looks}
        meshes = {key: drawn(shape, 0.01 * largest) for key, shape in looks.items()}
        sides = {key: is_closed(shape) for key, shape in looks.items()}
        # fixed points are there for joints alone
        shown = [(k, look) for k, b in enumerate(cast.bodies) if b.is_seen or not b.fixed for look in b.looks]
        parts = [meshes[id(look.shape)] for _, look in shown]
        counts, faces = [len(mesh.vertices) for mesh in parts], [len(mesh.triangles) for mesh in parts]
        starts = np.cumsum([0, *counts])[: len(parts)]
        none, no_face = np.zeros((0, 3)), np.zeros((0, 3), np.int64)
        self._vertices = np.concatenate([none, *(mesh.vertices for mesh in parts)])
        self._normals = np.concatenate([none, *(vertex_normals(mesh) for mesh in parts)])
        self._triangles = np.concatenate([no_face, *(m.triangles + s for m, s in zip(parts, starts, strict=True))])
        self._owners = np.repeat(np.array([k for k, _ in shown], np.int64), counts)
        own = [(np.nan,) * 3 if look.color is None else look.color for _, look in shown]
        self._own = np.repeat(linear(np.array(own, float).reshape(-1, 3)), counts, axis=0)  # NaN where it is the body's
        self._one_sided = np.repeat([sides[id(look.shape)] for _, look in shown], faces).astype(np.bool_)
        self._planes = [(plane.point, plane.normal) for plane in cast.planes]
        if not self._planes and bounds is not None:
            lowest = float(np.minimum(bounds.lower * self._up, bounds.upper * self._up).sum())
            self._planes = [((lowest - 0.02 * bounds.size) * self._up, self._up)]
        self._far: _Far | None = None
        self._size = None if bounds is None else bounds.size  # by which the grid is chosen; it stays as it was once
        self.paint(np.array([body.color for body in cast.bodies]).reshape(-1, 3))

    def paint(self, colours: Array) -> None:
        """Give all bodies these colours (n, 3); what has a colour of its own keeps it."""
        self._colours = np.where(np.isnan(self._own), linear(colours)[self._owners], self._own)

    def points(self, transforms: Array) -> Array:
        """The vertices of all bodies in the world, (v, 3)."""
        from dovetail.picture.raster import place

        placed = np.empty_like(self._vertices)
        place(self._vertices, self._owners, np.ascontiguousarray(transforms), placed)
        return placed

    def camera(self, transforms: Array, width: int, height: int) -> Camera:
        """One that sees everything in a picture of this size; what moves, where fixed bodies are much larger."""
        _check(width, height)
        return frame(self._bounds(self.points(transforms)), self._up, width / height)

    def _bounds(self, points: Array) -> Bounds:
        """The box around all points; around those of bodies that can move where the fixed ones are much larger."""
        fixed = np.array([body.fixed for body in self._cast.bodies], bool)[self._owners]
        everything, moving = Bounds.of(points), Bounds.of(points[~fixed])
        return everything if fixed.all() or everything.size < 4 * moving.size else moving.joined(everything)

    # --- pictures -----------------------------------------------------------------------------------------------

    def picture(self, transforms: Array, camera: Camera, width: int, height: int) -> NDArray[np.uint8]:
        """The picture (height, width, 3) of bodies at transforms (n, 4, 4)."""
        from dovetail.picture.raster import Lights, Surface, place, shade

        points = self.points(transforms)
        depth, numbers, corners, rays = self._seen(points, transforms, camera, width, height, _SAMPLES)
        A = transforms[:, :3, :3]
        turned = np.zeros((len(A), 3, 4))
        turned[:, :, :3] = np.stack([np.cross(A[:, :, k - 2], A[:, :, k - 1]) for k in range(3)], axis=2)  # cofactors
        normals = np.empty_like(points)
        place(self._normals, self._owners, turned, normals)
        sun = np.stack(axes_about(self._up), axis=1) @ SUN
        sun /= np.linalg.norm(sun)
        self._size = self._size or self._bounds(points).size
        shadow, to_sun, texel = self._shadow(points, sun)
        surface = Surface(corners=corners, triangles=self._triangles, normals=normals, colours=self._colours)
        lights = Lights(
            up=self._up, sun=sun, rays=rays, to_sun=to_sun, bias=1.5 * texel, planes=self._grids(self._size),
            pixel=_SAMPLES * float(np.linalg.norm(rays[2])), known=0,
        )  # fmt: skip
        image, far = np.empty((height, width, 3), np.uint8), self._far
        assert far is not None
        if far.image is None and far.uses > 1:
            far.image = image.copy()
            shade(far.image, far.depth, far.numbers, shadow[:1, :1], _LEVELS, surface, lights)
        if far.image is not None:
            image[...], lights.known = far.image, 1
        shade(image, depth, numbers, shadow, _LEVELS, surface, lights)
        return image

    def depth(self, transforms: Array, camera: Camera, width: int, height: int) -> NDArray[np.float32]:
        """How far ahead of the camera what is seen is [m], (height, width); inf where there is nothing."""
        depth, *_ = self._seen(self.points(transforms), transforms, camera, width, height, 1)
        with np.errstate(divide="ignore"):
            return np.float32(1.0) / depth

    def bodies(self, transforms: Array, camera: Camera, width: int, height: int) -> NDArray[np.int32]:
        """The number of the body that is seen in each pixel, (height, width); −1 where there is none."""
        _, numbers, *_ = self._seen(self.points(transforms), transforms, camera, width, height, 1)
        owners = np.append(self._owners[self._triangles[:, 0]], -1).astype(np.int32)
        return owners[np.maximum(numbers, -1)]

    def _seen(
        self, points: Array, transforms: Array, camera: Camera, width: int, height: int, samples: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int32], Array, Array]:
        """Depth and number of the triangle at every sample, corners and rays as the kernels want them."""
        from dovetail.picture.raster import draw

        _check(width, height)
        eye, axes = camera.placed(self._cast, transforms)
        wide, high = width * samples, height * samples
        focus = high / 2 / np.tan(camera.field_of_view / 2)
        rays = np.stack([eye, axes[2] - (wide / 2 * axes[0] + high / 2 * axes[1]) / focus, *(axes[:2] / focus)])
        local = (points - eye) @ axes.T
        ahead = local[:, 2]
        corners = np.stack(
            [
                focus * local[:, 0] + wide / 2 * ahead,
                focus * local[:, 1] + high / 2 * ahead,
                ahead,
                np.ones_like(ahead),
            ],
            axis=1,
        )
        if self._far is None or not self._far.serves(rays, wide, high):
            self._far = _Far(self._planes, rays, wide, high)
        self._far.uses += 1
        depth, numbers = self._far.depth.copy(), self._far.numbers.copy()
        draw(corners, self._triangles, self._one_sided, depth, numbers)
        return depth, numbers, corners, rays

    def _shadow(self, points: Array, sun: Array) -> tuple[NDArray[np.float32], Array, float]:
        """The depth buffer of the sun, how a point gets there (3, 4), and the size of a texel [m].

        Texels are of few sizes and at multiples of them, so that shadows do not crawl when something moves.
        """
        from dovetail.picture.raster import draw

        axes = np.stack(axes_about(sun))
        local = points @ axes.T
        bounds = self._bounds(local)
        extent = float((bounds.upper - bounds.lower)[:2].max()) or 1.0
        texel = 2.0 ** (np.ceil(4 * np.log2(1.06 * extent / _TEXELS)) / 4)
        start = np.round(bounds.centre[:2] / texel) - _TEXELS // 2
        to_sun = np.concatenate([axes, np.zeros((3, 1))], axis=1)
        to_sun[:2] /= texel
        to_sun[:2, 3] = -start
        corners = np.stack([*(local[:, :2] / texel - start).T, np.ones(len(points)), local[:, 2]], axis=1)
        depth = np.full((_TEXELS, _TEXELS), -np.inf, np.float32)
        numbers = np.empty((_TEXELS, _TEXELS), np.int32)
        draw(corners, self._triangles, np.zeros(len(self._triangles), np.bool_), depth, numbers)
        return depth, to_sun, texel

    def _grids(self, size: float) -> Array:
        """Per plane the rows of `Lights.planes`."""
        found = np.zeros((len(self._planes), 3, 4))
        cell = round_number(size / 8)
        for k, (point, normal) in enumerate(self._planes):
            found[k, :2, :3] = np.stack(axes_about(normal)[:2]) / cell
            found[k, :2, 3] = -found[k, :2, :3] @ point
            found[k, 2] = *normal, 8 * size
        return found


def _check(width: int, height: int) -> None:
    if not (1 <= width <= _MOST_PIXELS and 1 <= height <= _MOST_PIXELS):
        raise ViewerError(f"picture: {width} × {height} pixels; give 1 to {_MOST_PIXELS} each way.")


class _Far:
    """What is behind all bodies: depth and number of the planes at every sample, while the camera stands still.

    n·(eye + ray/d) = n·p, so d = n·ray/(n·(p − eye)), which is linear in x and y.
    """

    def __init__(self, planes: list[tuple[Array, Array]], rays: Array, wide: int, high: int) -> None:
        self._rays = rays
        self.uses = 0
        self.image: NDArray[np.uint8] | None = None  # in full light, from the second picture on
        self.depth = np.zeros((high, wide), np.float32)
        self.numbers = np.full((high, wide), -1, np.int32)
        for k, (point, normal) in enumerate(planes):
            above = float(normal @ (point - rays[0]))
            if above < 0.0:  # from below it is not seen
                start, across, down = (rays[1:] @ normal) / above
                row = (start + across * (np.arange(wide) + 0.5)).astype(np.float32)
                d = row + (down * (np.arange(high) + 0.5)).astype(np.float32)[:, None]
                nearer = d > self.depth
                np.copyto(self.depth, d, where=nearer)
                self.numbers[nearer] = -2 - k

    def serves(self, rays: Array, wide: int, high: int) -> bool:
        """Whether it is what is seen along these rays."""
        return self.depth.shape == (high, wide) and np.array_equal(rays, self._rays)


def axes_about(z: Array) -> tuple[Array, Array, Array]:
    """Right-handed unit vectors with the third along z, the first along X where that is possible."""
    x = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 0.0, 1.0])
    y = np.cross(z, x)
    y /= np.linalg.norm(y)
    return np.cross(y, z), y, z


def round_number(x: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above x."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(max(k * power for k in (1, 2, 5) if k * power <= x * (1 + 1e-9)))

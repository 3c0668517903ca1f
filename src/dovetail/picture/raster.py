"""The kernels that draw: triangles into a depth buffer, and colours out of it.

A view maps a point to (x, y, w, v): it is seen at (x/w, y/w), counted in samples, and the depth buffer keeps the
interpolated d = v/w, larger where nearer. A camera has v = 1 and w the distance ahead, so d = 1/distance; the sun,
which looks along parallel rays, has w = 1 and v against the rays. Barycentric weights are taken in these homogeneous
coordinates, so what lies partly behind the camera needs no clipping.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8, integer, real
from dovetail.typing import Array, Indices

__all__ = ["NOTHING", "Lights", "Surface", "draw", "place", "shade"]

NOTHING = -1
"""Number of what is seen where no triangle is; below it are the planes, −2 for the first."""

_FIRST, _LAST = 0.5 + 1e-7, 0.5 - 1e-7  # samples are in the middle; on a common edge rounding must not lose them
_AMBIENT_ABOVE, _AMBIENT_BELOW, _SUN = 0.50, 0.26, 0.62  # light from the sky, from the ground, from the sun
_PLANE, _SKY = (0.80, 0.82, 0.85), (0.93, 0.95, 0.98)  # in linear light
_CELL, _SECTION = 0.10, 0.22  # how much darker the lines of the grid are, and every fifth of them
_LINE = 0.012  # half the width of a line of the grid, of its cell
_IN_SHADE = 0.55  # what the ground has of its brightness in the shade
_SOFT = 2  # texels to each side that the edge of a shadow is spread over


class Surface(Record):
    """Triangles as a camera sees them.

    corners (v, 4)      (x, y, w, v) of every vertex
    triangles (t, 3)
    normals (v, 3)      of the vertices, in the world; of any length
    colours (v, 3)      linear
    """

    corners: Array = f8(2)
    triangles: Indices = i8(2)
    normals: Array = f8(2)
    colours: Array = f8(2)


class Lights(Record):
    """Where light comes from, and what the camera's samples are in the world.

    up, sun (3,)      unit vectors towards the sky and the sun
    rays (4, 3)       a sample (x, y) at depth d is the point rays[0] + (rays[1] + x rays[2] + y rays[3])/d
    to_sun (3, 4)     a point of the world to column and row in the depth buffer of the sun, and its depth there
    bias              depth by which a surface must be below another to be in its shadow [m]
    planes (k, 3, 4)  per plane: two rows to coordinates of the grid, in cells; the normal, and where it fades away [m]
    pixel             width of a pixel at distance 1
    known             1 where the image has the planes in full light already
    """

    up: Array = f8(1)
    sun: Array = f8(1)
    rays: Array = f8(2)
    to_sun: Array = f8(2)
    bias: float = real()
    planes: Array = f8(3)
    pixel: float = real()
    known: int = integer()


@kernel
def place(points: Array, owners: Indices, maps: Array, placed: Array) -> None:
    """placed[v] = maps[owners[v]] @ (points[v], 1), rows of maps (n, r, 4)."""
    for v in range(len(points)):
        T = maps[owners[v]]
        for i in range(placed.shape[1]):
            placed[v, i] = T[i, 0] * points[v, 0] + T[i, 1] * points[v, 1] + T[i, 2] * points[v, 2] + T[i, 3]


@kernel
def _edge(corners: Array, p: int, q: int) -> tuple[float, float, float]:
    """The cross product of two corners (x, y, w): the line through them."""
    return (
        corners[p, 1] * corners[q, 2] - corners[p, 2] * corners[q, 1],
        corners[p, 2] * corners[q, 0] - corners[p, 0] * corners[q, 2],
        corners[p, 0] * corners[q, 1] - corners[p, 1] * corners[q, 0],
    )


@kernel
def draw(
    corners: Array, triangles: Indices, one_sided: Any, depth: NDArray[np.float32], numbers: NDArray[np.int32]
) -> None:
    """Put triangles into a depth buffer (h, w), and their numbers where they are nearest; backs of one-sided ones not.

    With the edges e_k opposite to the corners, e_k·(x, y, 1)/det is the weight of corner k divided by its w.
    """
    high, wide = depth.shape
    E = np.empty((3, 3))
    for t in range(len(triangles)):
        a = triangles[t, 0]
        for k in range(3):
            E[k, 0], E[k, 1], E[k, 2] = _edge(corners, triangles[t, (k + 1) % 3], triangles[t, (k + 2) % 3])
        det = corners[a, 0] * E[0, 0] + corners[a, 1] * E[0, 1] + corners[a, 2] * E[0, 2]
        if not (det < 0.0 or (det > 0.0 and not one_sided[t])):  # a front has det < 0
            continue
        x0, x1, y0, y1, ahead = 1e18, -1e18, 1e18, -1e18, True
        dx, dy, dc = 0.0, 0.0, 0.0
        for k in range(3):
            p = triangles[t, k]
            for j in range(3):
                E[k, j] /= det
            dx, dy, dc = dx + corners[p, 3] * E[k, 0], dy + corners[p, 3] * E[k, 1], dc + corners[p, 3] * E[k, 2]
            ahead = ahead and corners[p, 2] > 1e-9
            if ahead:
                x, y = corners[p, 0] / corners[p, 2], corners[p, 1] / corners[p, 2]
                x0, x1, y0, y1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y)
        if not ahead:  # where it reaches cannot be told by its corners
            x0, x1, y0, y1 = 0.0, float(wide), 0.0, float(high)
        first, last = max(0.0, np.ceil(x0 - _FIRST)), min(wide - 1.0, np.floor(x1 - _LAST))
        top, bottom = max(0.0, np.ceil(y0 - _FIRST)), min(high - 1.0, np.floor(y1 - _LAST))
        if not top <= bottom:  # what is not a number, or infinite, is not made an index
            continue
        for row in range(int(top), int(bottom) + 1):
            y = row + 0.5
            left, right = first, last
            for k in range(3):  # where the weight is not negative: E₀ x + c ≥ 0
                slope, c = E[k, 0], E[k, 1] * y + E[k, 2]
                if slope > 0.0:
                    left = max(left, np.ceil(-c / slope - _FIRST))
                elif slope < 0.0:
                    right = min(right, np.floor(-c / slope - _LAST))
                elif c < 0.0:
                    right = -1.0
            if not left <= right:
                continue
            d = dy * y + dc
            for column in range(int(left), int(right) + 1):
                here = np.float32(d + dx * (column + 0.5))
                if here > depth[row, column]:
                    depth[row, column] = here
                    numbers[row, column] = t


@kernel
def _lit(px: float, py: float, pz: float, shadow: NDArray[np.float32], lights: Lights) -> float:
    """Which part of the sun a point gets, 0 to 1; soft at the edges of shadows."""
    L = lights.to_sun
    x = L[0, 0] * px + L[0, 1] * py + L[0, 2] * pz + L[0, 3] - 0.5
    y = L[1, 0] * px + L[1, 1] * py + L[1, 2] * pz + L[1, 3] - 0.5
    room = len(shadow) - _SOFT - 2.0
    if not (_SOFT <= x < room and _SOFT <= y < room):
        return 1.0
    d = L[2, 0] * px + L[2, 1] * py + L[2, 2] * pz + L[2, 3] + lights.bias
    column, row = int(x), int(y)
    covered = 0
    for i in range(-1, 2):  # a few first: most points are wholly in the light or wholly in the shade
        for j in range(-1, 2):
            covered += shadow[row + i * _SOFT, column + j * _SOFT] > d
    if covered == 0 or covered == 9:
        return 1.0 - covered / 9.0
    fx, fy, dark = x - column, y - row, 0.0
    for i in range(-_SOFT, _SOFT + 2):
        across = 1.0 - fy if i == -_SOFT else fy if i == _SOFT + 1 else 1.0
        for j in range(-_SOFT, _SOFT + 2):
            if shadow[row + i, column + j] > d:
                dark += across * (1.0 - fx if j == -_SOFT else fx if j == _SOFT + 1 else 1.0)
    return 1.0 - dark / (2 * _SOFT + 1) ** 2


@kernel
def _line(g: float, width: float) -> float:
    """How much of a stretch `width` around g is on lines at whole numbers, drawn wide enough to be seen."""
    half = max(_LINE, 0.45 * width)
    reach = abs(g - np.floor(g + 0.5))
    part: float = min(max((half + 0.5 * width - reach) / width, 0.0), 1.0)
    return part * min(_LINE / half * 2.0, 1.0)


@kernel
def _bright(planes: Array, k: int, px: float, py: float, pz: float, width: float) -> float:
    """How bright the grid of plane k is at a point, where a pixel has a width [m]."""
    line, section = 0.0, 0.0
    for i in range(2):
        size = np.sqrt(planes[k, i, 0] ** 2 + planes[k, i, 1] ** 2 + planes[k, i, 2] ** 2)
        g = planes[k, i, 0] * px + planes[k, i, 1] * py + planes[k, i, 2] * pz + planes[k, i, 3]
        spread = max(width * size, 1e-6)
        line, section = max(line, _line(g, spread)), max(section, _line(g / 5.0, spread / 5.0))
    return 1.0 - max(_CELL * line, _SECTION * section)


@kernel
def _normal(x: float, y: float, number: int, surface: Surface) -> tuple[float, float, float]:
    """The unit normal of the side of a triangle that is seen, at a place of the picture."""
    corners, triangles = surface.corners, surface.triangles
    a, b, c = triangles[number, 0], triangles[number, 1], triangles[number, 2]
    nx, ny, nz = 0.0, 0.0, 0.0
    for _ in range(3):
        e = _edge(corners, b, c)
        weight = e[0] * x + e[1] * y + e[2]
        nx += weight * surface.normals[a, 0]
        ny += weight * surface.normals[a, 1]
        nz += weight * surface.normals[a, 2]
        a, b, c = b, c, a
    # the weights are those of the corners times det, which is negative for fronts and positive for backs
    scale = -1.0 / (np.sqrt(nx * nx + ny * ny + nz * nz) + 1e-300)
    return scale * nx, scale * ny, scale * nz


@kernel
def _seen(
    x: float,
    y: float,
    d: float,
    number: int,
    known: bool,
    shadow: NDArray[np.float32],
    surface: Surface,
    lights: Lights,
) -> tuple[float, float, float]:
    """The colour of what is seen at a place of the picture; negative where it is a plane in full sun and known."""
    if number == NOTHING:
        return _SKY
    ahead, rays = 1.0 / d, lights.rays
    rx = rays[1, 0] + x * rays[2, 0] + y * rays[3, 0]
    ry = rays[1, 1] + x * rays[2, 1] + y * rays[3, 1]
    rz = rays[1, 2] + x * rays[2, 2] + y * rays[3, 2]
    px, py, pz = rays[0, 0] + ahead * rx, rays[0, 1] + ahead * ry, rays[0, 2] + ahead * rz
    nx, ny, nz, towards = 0.0, 0.0, 0.0, 1.0
    if number > NOTHING:
        nx, ny, nz = _normal(x, y, number, surface)
        towards = nx * lights.sun[0] + ny * lights.sun[1] + nz * lights.sun[2]
        step = 1.5 * lights.bias  # off the surface, so that it does not shade itself
        px, py, pz = px + step * nx, py + step * ny, pz + step * nz
    lit = _lit(px, py, pz, shadow, lights) if towards > 0.0 else 0.0
    if number > NOTHING:
        upward = 0.5 + 0.5 * (nx * lights.up[0] + ny * lights.up[1] + nz * lights.up[2])
        light = _AMBIENT_BELOW + (_AMBIENT_ABOVE - _AMBIENT_BELOW) * upward + _SUN * max(towards, 0.0) * lit
        v = surface.triangles[number, 0]
        return light * surface.colours[v, 0], light * surface.colours[v, 1], light * surface.colours[v, 2]
    if known and lit == 1.0:
        return -1.0, -1.0, -1.0
    k, planes = -2 - number, lights.planes
    far = ahead * np.sqrt(rx * rx + ry * ry + rz * rz)
    slant = abs(rx * planes[k, 2, 0] + ry * planes[k, 2, 1] + rz * planes[k, 2, 2]) * ahead / far
    bright = _bright(planes, k, px, py, pz, lights.pixel * ahead / max(slant, 0.05))
    bright *= _IN_SHADE + (1.0 - _IN_SHADE) * lit
    near = np.exp(-((far / planes[k, 2, 3]) ** 2))
    return (
        _SKY[0] + near * (_PLANE[0] * bright - _SKY[0]),
        _SKY[1] + near * (_PLANE[1] * bright - _SKY[1]),
        _SKY[2] + near * (_PLANE[2] * bright - _SKY[2]),
    )


@kernel
def _level(light: float, top: int) -> int:
    """The nearest whole number from 0 to `top`."""
    return int(light + 0.5) if 0.0 <= light < top else top


@kernel
def shade(
    image: NDArray[np.uint8],
    depth: NDArray[np.float32],
    numbers: NDArray[np.int32],
    shadow: NDArray[np.float32],
    levels: NDArray[np.uint8],
    surface: Surface,
    lights: Lights,
) -> None:
    """The picture (h, w, 3) of a depth buffer with s × s samples for each pixel.

    A pixel in which one thing is seen is looked at once, in the middle; others at every sample. An image that is
    `known` to show the planes in full light keeps what it has where that is seen.

    shadow (m, m)     depth buffer of the sun
    levels (n,)       bytes of linear light from 0 to 1
    """
    high, wide, _ = image.shape
    s, top, known = len(depth) // high, len(levels) - 1, lights.known != 0
    for i in range(high):
        for j in range(wide):
            number, d, same = numbers[i * s, j * s], 0.0, True
            for a in range(i * s, (i + 1) * s):
                for b in range(j * s, (j + 1) * s):
                    same = same and numbers[a, b] == number
                    d += depth[a, b]
            if known and same and number == NOTHING:
                continue
            red, green, blue, looks = 0.0, 0.0, 0.0, 0
            for a in range(i * s, i * s + (1 if same else s)):
                for b in range(j * s, j * s + (1 if same else s)):
                    x, y, here = (j + 0.5) * s, (i + 0.5) * s, d / (s * s)
                    if not same:
                        x, y, here, number = b + 0.5, a + 0.5, float(depth[a, b]), numbers[a, b]
                    seen = _seen(x, y, here, number, known and same, shadow, surface, lights)
                    red, green, blue, looks = red + seen[0], green + seen[1], blue + seen[2], looks + 1
            if not red < 0.0:
                scale = top / looks
                image[i, j, 0] = levels[_level(red * scale, top)]
                image[i, j, 1] = levels[_level(green * scale, top)]
                image[i, j, 2] = levels[_level(blue * scale, top)]

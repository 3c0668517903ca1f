"""Round bodies: their mass against that of finer and finer meshes, and what `make_round` refuses."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.errors import GeometryError
from dovetail.geometry import make_round, trimesh
from dovetail.geometry.mass import moments
from dovetail.geometry.round import capsule_moments, cylinder_moments, round_core
from dovetail.sim import shapes


def meshed(make, *sizes):
    """M̂ and volume by Richardson's extrapolation over two meshes whose error falls as the square of their edges."""
    found = []
    for detail in (4, 5):
        sc = make("test", *sizes, detail)
        plain = trimesh(sc.positions.values, sc.triangles.topo.values)
        M, volume = moments(plain, 700.0)
        found.append(np.append(M.ravel(), volume))
    return (4 * found[1] - found[0]) / 3


@pytest.mark.parametrize(
    ("exact", "numeric"),
    [
        (lambda: capsule_moments(700.0, np.zeros((1, 3)), 0.3), lambda: meshed(shapes.sphere, 0.3)),
        (
            lambda: capsule_moments(700.0, np.array([[0, 0, -0.4], [0, 0, 0.4]]), 0.3),
            lambda: meshed(shapes.capsule, 0.3, 0.8),
        ),
        # the prism is by 1e-4 of its radius inside
        (lambda: cylinder_moments(700.0, 0.3 * (1 - 1e-4), 0.8), lambda: meshed(shapes.cylinder, 0.3, 0.8)),
    ],
    ids=["ball", "capsule", "cylinder"],
)
def test_moments_are_the_limit_of_finer_meshes(exact, numeric):
    M, volume = exact()
    limit = numeric()
    # what is left after the extrapolation: (edge/radius)⁴, 6e-6 for the sphere of detail 4
    np.testing.assert_allclose(np.append(M.ravel(), volume), limit, rtol=1e-5, atol=1e-5 * M[0, 0] * 0.09)


def test_moments_follow_the_place_and_direction_of_the_core():
    core = np.array([[0.1, -0.2, 0.3], [0.5, 0.4, -0.1]])
    M, _ = capsule_moments(700.0, core, 0.2)
    middle, axis = core.mean(axis=0), core[1] - core[0]
    upright, _ = capsule_moments(700.0, np.array([[0, 0, -0.5], [0, 0, 0.5]]) * np.linalg.norm(axis), 0.2)
    np.testing.assert_allclose(M[0, 1:], M[0, 0] * middle, rtol=1e-12)
    about = M[1:, 1:] - M[0, 0] * np.outer(middle, middle)
    np.testing.assert_allclose(np.linalg.eigvalsh(about), np.linalg.eigvalsh(upright[1:, 1:]), rtol=1e-10)
    e = axis / np.linalg.norm(axis)
    assert e @ about @ e == pytest.approx(upright[3, 3], rel=1e-10)


def test_a_round_body_is_written_into_attributes_and_may_be_written_again():
    sc = shapes.box("test", 1.0)
    assert round_core(sc) is None
    make_round(sc, 0.5, (0, 0, 1))
    points, radius = round_core(sc)
    assert radius == 0.5
    np.testing.assert_array_equal(points, [[0, 0, 1]])
    make_round(sc, 0.25, (0, 0, 0), (0, 0, 2))
    points, radius = round_core(sc.copy())
    assert radius == 0.25
    np.testing.assert_array_equal(points, [[0, 0, 0], [0, 0, 2]])


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan"), "x", None])
def test_a_radius_that_is_none_is_refused(radius):
    with pytest.raises(GeometryError, match=r"make_round: radius = .*give a (positive length|number)"):
        make_round(shapes.box("test", 1.0), radius)

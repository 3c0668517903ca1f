"""The reference values for joints computed with MSC ADAMS that other engines are tested against.

A body of 1 kg with inertia diag(0.04, 0.1, 0.1) kg·m², its centre 2 m from the joint along x, g = 9.80665 m/s² along
−z. The bars customary for dt = 0.5 ms are position 1e-3 m, reaction 2e-2 N, violation 1e-5 m; here bdf2 at 1 ms stays
far below them.
"""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import Bench, axis_angle, image

from dovetail.constitution import AffineBodyPrismaticJoint, AffineBodyRevoluteJoint

G = 9.80665
DT = 1e-3
INERTIA = (0.04, 0.1, 0.1)


def jointed(kind, p0, p1, dt=DT, method="bdf2", rotation=None, strength=1e4):
    """The body on a fixed base by one joint."""
    bench = Bench({"dt": dt, "integrator/type": method, "integrator/bdf2_start": "bdf1"}, gravity=(0, 0, -G))
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", inertia=INERTIA, at=(2, 0, 0), rotation=rotation)
    return bench, body, bench.join(kind, [base], [body], p0, p1, strength=strength)


@pytest.fixture(scope="module")
def pendulum():
    """Position, reaction and gap at every millisecond of five seconds."""
    bench, body, hinge = jointed(AffineBodyRevoluteJoint, (0, -0.5, 0), (0, 0.5, 0))
    seen = bench.run(5000, lambda: (*image(body, (0, 0, 0)), *hinge["reaction/force"][0], hinge["gap"][0]))
    return np.array(seen)


@pytest.mark.parametrize(
    ("second", "x", "z"),
    [(1, -0.892381, -1.789876), (2, -1.951117, -0.439479), (3, 1.869170, -0.711481), (5, -1.999684, -0.035559)],
)
def test_a_revolute_pendulum_is_where_adams_has_it(pendulum, second, x, z):
    # measured 2e-5 to 7e-5 m, falling with dt²
    assert pendulum[1000 * second - 1, :3] == pytest.approx((x, 0, z), abs=1e-4)


def test_a_revolute_pendulum_hangs_by_the_reaction_of_adams(pendulum):
    # measured 4e-4 N
    assert pendulum[999, 3:6] == pytest.approx((11.461238, 0, 23.227328), abs=1e-3)


def test_an_exact_hinge_carries_the_reaction_of_adams():
    bench, body, hinge = jointed(AffineBodyRevoluteJoint, (0, -0.5, 0), (0, 0.5, 0), strength=np.inf)
    gaps = bench.run(1000, lambda: max(hinge["gap"][0], hinge["misalignment"][0]))
    # measured 4e-4 N and 2e-5 m, as with a stiff penalty: what is left is bdf2's
    assert hinge["reaction/force"][0] == pytest.approx((11.461238, 0, 23.227328), abs=1e-3)
    assert image(body, (0, 0, 0)) == pytest.approx((-0.892381, 0, -1.789876), abs=1e-4)
    assert max(gaps) < 1e-12


def test_the_first_reaction_is_that_of_a_body_about_to_fall(pendulum):
    expected = G * 0.1 / (0.1 + 1.0 * 2.0**2)
    assert expected == pytest.approx(0.239187, abs=1e-6)
    # the first step ends (ω h)² ~ 1e-5 away from the start
    assert pendulum[0, 5] == pytest.approx(expected, rel=1e-4)


def test_the_hinge_stays_closed(pendulum):
    # mass 1 kg, load up to 30 N: f h²/(2K) with K = 2e4 kg is 7.5e-10 m
    assert pendulum[:, 6].max() < 1e-9


def test_a_body_on_a_vertical_slider_falls_freely():
    bench, body, slider = jointed(AffineBodyPrismaticJoint, (0, 0, 0), (0, 0, 1))
    bench.run(1000)
    # bdf2 started by one bdf1 step is g h²/2·(some 0.7) = 3e-6 m off a parabola
    assert image(body, (0, 0, 0)) == pytest.approx((2, 0, -4.903325), abs=1e-5)
    assert slider["distance"][0] == pytest.approx(-4.903325, abs=1e-5)
    assert slider["velocity"][0] == pytest.approx(-G, abs=1e-5)
    # the force that is missing to free fall is round-off of K/h² = 2e10 N/m times 5 m
    assert np.abs(slider["reaction/force"]).max() < 1e-4


@pytest.mark.parametrize("strength", [1e4, np.inf])
@pytest.mark.parametrize("method", ["bdf1", "bdf2"])
def test_a_slider_locked_across_gravity_carries_weight_and_lever(method, strength):
    """Along y, on a body turned by 90° about z as in the reference: 9.80665 N and 9.80665·2 N·m."""
    turned = axis_angle((0, 0, 1), np.pi / 2)
    bench, _, slider = jointed(AffineBodyPrismaticJoint, (0, 0, 0), (0, 1, 0), 0.01, method, turned, strength)
    bench.run(40)
    assert slider["reaction/force"][0] == pytest.approx((0, 0, 9.80665), abs=1e-6)
    # about the anchor the weight has the moment (2, 0, 0) × (0, 0, −9.80665) = 19.6133 y
    assert slider["reaction/torque"][0] == pytest.approx((0, -19.6133, 0), abs=1e-5)

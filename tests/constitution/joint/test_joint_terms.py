"""Joints as declared: the terms, on the rows of the frame, remove the motions they should and no others."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import constitution as c
from dovetail.constitution.joint.frame import anchors
from dovetail.constitution.laws import Limit, Spring
from dovetail.constitution.terms import (
    Angle,
    AxialForce,
    AxialTorque,
    Coincide,
    Compose,
    Projection,
    Slide,
)

TABLE = {
    c.AffineBodySphericalJoint: (Coincide("c"),),
    c.AffineBodyRevoluteJoint: (Coincide("x0"), Coincide("x1")),
    c.AffineBodyFixedJoint: (Coincide("c"), Coincide("t"), Coincide("n"), Coincide("b")),
    c.AffineBodyPrismaticJoint: (
        Slide("c", "t", "left"),
        Slide("c", "t", "right"),
        Coincide("n"),
        Coincide("b"),
    ),
    c.AffineBodyDrivingPrismaticJoint: (
        Compose(Spring("aim_distance"), Projection(owner="left")),
        Compose(Spring("aim_distance"), Projection(owner="right")),
    ),
    c.AffineBodyPrismaticJointLimit: (Compose(Limit(), Projection(owner="both")),),
    c.AffineBodyDrivingRevoluteJoint: (Compose(Spring("aim_angle"), Angle()),),
    c.AffineBodyRevoluteJointLimit: (Compose(Limit(), Angle()),),
}
REMOVED = {
    c.AffineBodySphericalJoint: 3,
    c.AffineBodyRevoluteJoint: 5,
    c.AffineBodyPrismaticJoint: 5,
    c.AffineBodyFixedJoint: 6,
}


@pytest.mark.parametrize(("cls", "terms"), TABLE.items())
def test_a_constitution_declares_the_terms_of_its_page(cls, terms):
    assert cls.terms == terms


def test_loads_name_the_attributes_that_their_class_writes(world_joint):
    force, torque = c.AffineBodyPrismaticJointExternalForce, c.AffineBodyRevoluteJointExternalForce
    assert force.loads == (AxialForce("external_force", "external_force/is_constrained", "t"),)
    assert torque.loads == (AxialTorque("external_torque", "external_torque/is_constrained", "x0", "x1"),)


@pytest.mark.parametrize("cls", [cls for cls in TABLE if cls not in REMOVED])
def test_a_law_names_the_attributes_that_its_class_writes(cls, world_joint):
    sc = world_joint(cls.base)
    cls().apply_to(sc, *((0.0, 1.0) if "Limit" in cls.__name__ else ()))
    for term in cls.terms:
        names = {p.attribute for p in term.law.parameters} | {term.law.switch, term.law.hold, term.law.effort}
        assert names - {None} <= set(sc.edges)
        assert {term.coordinate.attribute, term.coordinate.offset} <= set(sc.edges)


def state(T):
    return np.concatenate([T[None, :3, 3], T[:3, :3].T])


def rigid_motion(twist):
    """A pose moved by a small twist (translation, rotation vector), exactly a rotation."""
    angle = np.linalg.norm(twist[3:])
    a = twist[3:] / angle if angle else np.zeros(3)
    cross = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    T = np.eye(4)
    T[:3, :3] += np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    T[:3, 3] = twist[:3]
    return T


def residuals(cls, rows, Ti, Tj):
    """The vectors whose squares the declared energies sum up."""
    Q = state(Ti), state(Tj)

    def at(row, side):
        return rows[row][side, 0] @ Q[side]

    parts = []
    for term in cls.terms:
        if isinstance(term, Coincide):
            parts.append(at(term.row, 0) - at(term.row, 1))
        else:
            r = at(term.point, 1) - at(term.point, 0)
            parts.append(np.cross(r, at(term.axis, ("left", "right").index(term.owner))))
    return np.concatenate(parts)


def coordinate(cls, rows, Ti, Tj):
    Q = state(Ti), state(Tj)
    (ti, tj), (ni, nj), (bi, bj), (ci, cj) = ([rows[r][s, 0] @ Q[s] for s in (0, 1)] for r in "tnbc")
    if isinstance(cls.coordinate, Projection):
        return 0.5 * (cj - ci) @ (ti + tj)
    return np.arctan2(bi @ nj - ni @ bj, ni @ nj + bi @ bj)


@pytest.fixture
def placed(world_joint, pair):
    """placed(cls): rows of a joint between two bodies in general position, with the poses."""

    def build(cls):
        rng = np.random.default_rng(3)
        Ti, Tj = (rigid_motion(rng.normal(size=6)) for _ in range(2))
        sc = world_joint(cls)
        sc.vertices["position"] = rng.normal(size=(sc.vertices.size(), 3))
        return sc, anchors(sc, Ti[None], Tj[None]), Ti, Tj

    return build


@pytest.mark.parametrize("cls", REMOVED)
def test_a_joint_is_at_rest_where_it_was_made(cls, placed):
    _, rows, Ti, Tj = placed(cls)
    assert residuals(cls, rows, Ti, Tj) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("cls", REMOVED)
def test_moving_both_bodies_together_changes_nothing(cls, placed):
    _, rows, Ti, Tj = placed(cls)
    G = rigid_motion(np.array([1, 2, 3, 0.5, -0.7, 0.2]))
    assert residuals(cls, rows, G @ Ti, G @ Tj) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize(("cls", "removed"), REMOVED.items())
def test_a_joint_removes_relative_motions(cls, removed, placed):
    _, rows, Ti, Tj = placed(cls)
    h = 1e-6
    columns = [
        (residuals(cls, rows, Ti, rigid_motion(h * e) @ Tj) - residuals(cls, rows, Ti, rigid_motion(-h * e) @ Tj))
        / (2 * h)
        for e in np.eye(6)
    ]
    # central differences are exact to h² and to 1e-16/h; true singular values are of order one
    assert np.linalg.matrix_rank(np.array(columns), tol=1e-6) == removed


def test_the_right_body_turns_positively_about_the_axis(placed):
    sc, rows, Ti, Tj = placed(c.AffineBodyRevoluteJoint)
    P0, P1 = sc.positions.values
    t = (P1 - P0) / np.linalg.norm(P1 - P0)
    turn = rigid_motion(np.concatenate([np.zeros(3), 0.7 * t]))
    about = np.eye(4)
    about[:3, 3] = P0
    moved = about @ turn @ np.linalg.inv(about) @ Tj
    assert residuals(c.AffineBodyRevoluteJoint, rows, Ti, moved) == pytest.approx(0, abs=1e-14)
    assert coordinate(c.AffineBodyRevoluteJoint, rows, Ti, moved) == pytest.approx(0.7, abs=1e-14)


def test_the_right_body_slides_positively_along_the_axis(placed):
    sc, rows, Ti, Tj = placed(c.AffineBodyPrismaticJoint)
    P0, P1 = sc.positions.values
    t = (P1 - P0) / np.linalg.norm(P1 - P0)
    moved = rigid_motion(np.concatenate([0.7 * t, np.zeros(3)])) @ Tj
    assert residuals(c.AffineBodyPrismaticJoint, rows, Ti, moved) == pytest.approx(0, abs=1e-14)
    assert coordinate(c.AffineBodyPrismaticJoint, rows, Ti, moved) == pytest.approx(0.7, abs=1e-14)

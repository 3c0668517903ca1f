"""The frame of a joint and its material rows in both bodies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dovetail.constitution import (
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodySphericalJoint,
)
from dovetail.constitution.joint.frame import anchors, anchors_of, joint_frame, polar_rotation
from dovetail.constitution.place import Place
from dovetail.errors import ConstitutionError

EDGE_JOINTS = [AffineBodyRevoluteJoint, AffineBodyPrismaticJoint]
VERTEX_JOINTS = [AffineBodySphericalJoint, AffineBodyFixedJoint]
ROUNDING = 1e-14  # a handful of operations on numbers of order one

numbers = st.floats(-10, 10)
points = st.tuples(numbers, numbers, numbers).map(np.array)


def rotation(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


def poses(rng, n, stretch=None):
    T = np.tile(np.eye(4), (n, 1, 1))
    for k in range(n):
        T[k, :3, :3] = rotation(rng) @ (np.eye(3) if stretch is None else stretch)
        T[k, :3, 3] = rng.normal(size=3)
    return T


def carry(rows, T):
    """Where bodies at T carry material rows: row @ Q with Q = [p; columns of A]."""
    Q = np.concatenate([T[:, None, :3, 3], T[:, :3, :3].swapaxes(1, 2)], axis=1)
    return np.einsum("na,nai->ni", rows, Q)


@settings(deadline=None)
@given(P0=points, P1=points)
def test_a_joint_frame_is_right_handed_and_orthonormal(P0, P1):
    assume(np.linalg.norm(P1 - P0) > 1e-6)
    frame = np.stack(joint_frame(P0[None], P1[None]), axis=1)[0]
    # normalising divides the rounding of t by |t × e|, which is at least √(1 − 0.9²) = 0.44
    assert frame @ frame.T == pytest.approx(np.eye(3), abs=1e-14)
    assert np.linalg.det(frame) == pytest.approx(1, abs=1e-14)
    assert np.cross(frame[1], frame[2]) == pytest.approx(frame[0], abs=1e-14)
    assert frame[0] == pytest.approx((P1 - P0) / np.linalg.norm(P1 - P0), abs=1e-14)


def test_the_auxiliary_direction_is_x_unless_the_axis_is_near_it():
    t = np.array([[0, 0, 1], [1, 0, 0], [-1, 0, 0], [0.9, np.sqrt(0.19), 0], [0.91, np.sqrt(1 - 0.91**2), 0]])
    _, n, b = joint_frame(np.zeros_like(t), t)
    assert n == pytest.approx(np.array([[0, 1, 0], [0, 0, 1], [0, 0, -1], [0, 0, -1], [0, 0, 1]]), abs=ROUNDING)
    assert b[0] == pytest.approx([-1, 0, 0], abs=ROUNDING)


@pytest.mark.parametrize("cls", EDGE_JOINTS + VERTEX_JOINTS)
def test_both_bodies_carry_each_row_to_the_same_place(cls, world_joint):
    rng = np.random.default_rng(7)
    n = 5
    sc = world_joint(cls, n)
    sc.vertices["position"] = rng.normal(size=(sc.vertices.size(), 3))
    T = poses(rng, n), poses(rng, n)
    rows = anchors(sc, *T)
    assert tuple(rows) == cls.rows
    for name, both in rows.items():
        assert both.shape == (2, n, 4)
        left, right = carry(both[0], T[0]), carry(both[1], T[1])
        assert left == pytest.approx(right, abs=ROUNDING)
        assert (both[:, :, 0] == (1 if name in ("c", "x0", "x1") else 0)).all()
    x = sc.positions.values
    assert carry(rows["c"][1], T[1]) == pytest.approx(x[::2] if cls in EDGE_JOINTS else x, abs=ROUNDING)
    if cls in EDGE_JOINTS:
        assert np.array_equal(rows["c"], rows["x0"])
        assert carry(rows["x1"][0], T[0]) == pytest.approx(x[1::2], abs=ROUNDING)
        for name, direction in zip("tnb", joint_frame(x[::2], x[1::2]), strict=True):
            assert carry(rows[name][1], T[1]) == pytest.approx(direction, abs=ROUNDING)
    else:
        for name, axis in zip("tnb", np.eye(3), strict=True):
            assert carry(rows[name][0], T[0]) == pytest.approx(np.tile(axis, (n, 1)), abs=ROUNDING)


@pytest.mark.parametrize("cls", EDGE_JOINTS + VERTEX_JOINTS)
def test_directions_feel_only_the_rotation_of_a_stretched_body(cls, world_joint):
    rng = np.random.default_rng(8)
    sc = world_joint(cls)
    stretch = np.diag([1.0, 2.0, 0.5])
    T = poses(rng, 1, stretch)
    unstretched = T.copy()
    unstretched[:, :3, :3] = T[:, :3, :3] @ np.linalg.inv(stretch)
    stretched, plain = anchors(sc, T, T), anchors(sc, unstretched, unstretched)
    for name in "tnb":
        assert stretched[name] == pytest.approx(plain[name], abs=ROUNDING)
    assert carry(stretched["c"][0], T) == pytest.approx(carry(plain["c"][0], unstretched), abs=ROUNDING)


def test_the_rotation_of_a_stretched_pose_is_the_polar_one():
    rng = np.random.default_rng(9)
    A = np.array([rotation(rng) @ np.diag(rng.uniform(0.01, 10, 3)) for _ in range(50)])
    T = np.tile(np.eye(4), (50, 1, 1))
    T[:, :3, :3] = A
    U, _, Vt = np.linalg.svd(A)
    assert polar_rotation(Place("x", "joint", 50), "left", T) == pytest.approx(U @ Vt, abs=1e-13)


@pytest.mark.parametrize("cls", EDGE_JOINTS)
def test_the_local_form_takes_points_as_given_and_the_left_axis(cls, local_joint, pair):
    sc = local_joint(cls, 2)
    T = [np.tile(slot.geometry.transforms.values, (2, 1, 1)) for slot in pair]
    rows = anchors(sc, *T)
    assert rows["c"].tolist() == [[[1, 1, 0, 0]] * 2, [[1, -1, 0, 0]] * 2]
    assert rows["x1"].tolist() == [[[1, 1, 0, 1]] * 2, [[1, -1, 0, 1]] * 2]
    assert rows["t"].tolist() == [[[0, 0, 0, 1]] * 2] * 2


@pytest.mark.parametrize("cls", VERTEX_JOINTS)
def test_local_anchors_of_a_vertex_joint_are_as_given(cls, local_joint, pair):
    rows = anchors(local_joint(cls), *(slot.geometry.transforms.values for slot in pair))
    assert rows["c"].tolist() == [[[1, 1, 0, 0]], [[1, -1, 0, 0]]]


@pytest.mark.parametrize("cls", EDGE_JOINTS)
@pytest.mark.parametrize(
    ("tilt", "accepted"), [(0.99e-6, True), (1.01e-6, False), (0.3, False), (np.pi - 0.3, False), (np.pi, True)]
)
def test_local_axes_must_agree_to_a_microradian(cls, tilt, accepted, pair):
    left, right = pair
    axis = np.array([[np.sin(tilt), 0, np.cos(tilt)]])
    zero = np.zeros((1, 3))

    def create():
        return cls().create_geometry(zero, [[0, 0, 1]], zero, axis, [left], [0], [right], [0], [100.0])

    if accepted:
        create()
        return
    with pytest.raises(ConstitutionError, match=rf"{cls.__name__}: joint 0 has axes that differ by .* \[rad\]"):
        create()


@pytest.mark.parametrize("cls", EDGE_JOINTS)
def test_ends_of_the_right_axis_may_come_in_the_opposite_order(cls, body, pose):
    """As pages of the specification have them: left and right axes are then opposite in the world."""
    turned = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    left, right = body("left"), body("right", pose((1, 0, 0), turned))
    T = [slot.geometry.transforms.values for slot in (left, right)]
    ends = np.array([[0.1, 0.2, 0.3]]), np.array([[0.4, 0.1, 0.9]])
    mine = [(end - T[1][:, :3, 3]) @ turned for end in ends]
    found = []
    for r0, r1 in (mine, mine[::-1]):
        sc = cls().create_geometry(*ends, r0, r1, [left], [0], [right], [0], [100.0])
        found.append(anchors(sc, *T))
    for name in cls.rows:
        np.testing.assert_array_equal(found[0][name], found[1][name])


def test_a_point_that_one_body_gives_alone_is_that_of_both(body, pose):
    """Where it is in the world at the start; it was that of one body, and the other one had the vertex."""
    left, right = body("left"), body("right", pose((1, 0, 0)))
    T = [slot.geometry.transforms.values for slot in (left, right)]
    for side, local in (("l", (0.5, 0.0, 0.02)), ("r", (-0.5, 0.0, 0.02))):
        sc = AffineBodySphericalJoint().create_geometry([[0.5, 0.0, 0.0]], [left], [0], [right], [0], [100.0])
        sc.vertices.create(f"{side}_position", np.array(local))
        rows = anchors(sc, *T)["c"]
        assert rows[:, 0, 1:] == pytest.approx(np.array([(0.5, 0, 0.02), (-0.5, 0, 0.02)]), abs=ROUNDING)


@pytest.mark.parametrize("cls", EDGE_JOINTS)
def test_an_axis_that_one_body_gives_alone_is_that_of_both(cls, world_joint, body, pose):
    left, right = body("left"), body("right", pose((1, 0, 0)))
    T = [slot.geometry.transforms.values for slot in (left, right)]
    sc = world_joint(cls)
    sc.edges.create("r_position0", np.array([-0.5, 0.1, 0.0]))
    with pytest.raises(ConstitutionError, match=r"has r_position0 and no other end .* r_position0 and r_position1"):
        anchors(sc, *T)
    sc.edges.create("r_position1", np.array([-0.5, 0.1, 1.0]))
    rows = anchors(sc, *T)
    assert rows["x0"][:, 0, 1:] == pytest.approx(np.array([(0.5, 0.1, 0), (-0.5, 0.1, 0)]), abs=ROUNDING)
    assert rows["x1"][:, 0, 1:] == pytest.approx(np.array([(0.5, 0.1, 1), (-0.5, 0.1, 1)]), abs=ROUNDING)


@pytest.mark.parametrize("cls", EDGE_JOINTS)
def test_local_axes_are_compared_in_the_world(cls, body, pose):
    turned = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    left, right = body("left"), body("right", pose((1, 0, 0), turned))
    zero = np.zeros((1, 3))
    cls().create_geometry(zero, [[1, 0, 0]], zero, [[0, -1, 0]], [left], [0], [right], [0], [100.0])


@pytest.mark.parametrize("cls", EDGE_JOINTS)
def test_the_world_can_check_the_axes_again_and_name_the_joint(cls, local_joint, pair, pose):
    sc = local_joint(cls)
    left = pair[0].geometry.transforms.values
    turned = pose((1, 0, 0), [[0, -1, 0], [1, 0, 0], [0, 0, 1]])[None]
    tipped = pose((1, 0, 0), [[1, 0, 0], [0, 0, -1], [0, 1, 0]])[None]
    anchors(sc, left, turned, "knee")
    with pytest.raises(ConstitutionError, match=r"joint 0 of 'knee' has axes that differ by 1\.57 \[rad\]"):
        anchors(sc, left, tipped, "knee")


@pytest.mark.parametrize("cls", EDGE_JOINTS + VERTEX_JOINTS)
@pytest.mark.parametrize(
    ("diagonal", "flaw"),
    [
        ((-1.0, 1, 1), "the determinant -1"),
        ((0, 1, 1), "the determinant 0"),
        ((np.nan, 1, 1), "entries that"),
    ],
)
def test_a_mirrored_flat_or_lost_body_has_no_rotation(cls, diagonal, flaw, world_joint):
    sc = world_joint(cls)
    T = np.eye(4)[None]
    bad = np.diag([*diagonal, 1.0])[None]
    with pytest.raises(ConstitutionError, match=f"joint 0 of 'hip' connects a right body whose transform has {flaw}"):
        anchors(sc, T, bad, "hip")


def test_many_geometries_of_all_forms_are_taken_as_each_alone(world_joint, local_joint, pair):
    rng = np.random.default_rng(3)
    kinds = [*EDGE_JOINTS, *VERTEX_JOINTS]
    joints = [(world_joint(cls, n), f"world {cls.__name__}") for n, cls in enumerate(kinds * 2, start=1)]
    for sc, _ in joints:
        sc.vertices["position"] = rng.normal(size=(sc.vertices.size(), 3))
    sizes = [cls.elements(sc).size() for cls, (sc, _) in zip(kinds * 2, joints, strict=True)]
    T = np.stack([poses(rng, sum(sizes)), poses(rng, sum(sizes))])
    local = [(local_joint(cls), f"local {cls.__name__}") for cls in kinds]
    still = np.stack([np.tile(slot.geometry.transforms.values, (len(local), 1, 1)) for slot in pair])
    T = np.concatenate([T, still], axis=1)
    start = np.cumsum([0, *sizes, *(1 for _ in local)])
    for k, found in enumerate(anchors_of([*joints, *local], T)):
        sc, name = [*joints, *local][k]
        alone = anchors(sc, *T[:, start[k] : start[k + 1]], name)
        assert found.keys() == alone.keys()
        for row, values in alone.items():
            assert found[row] == pytest.approx(values, abs=ROUNDING)
    T[1, start[2]] = np.diag([-1.0, 1, 1, 1])
    with pytest.raises(
        ConstitutionError, match=f"{kinds[2].__name__}: joint 0 of 'world {kinds[2].__name__}' connects"
    ):
        anchors_of([*joints, *local], T)

"""Exact joints that hold something twice or contradict each other are found and named."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from joint_scenes import Bench

from dovetail.constitution import (
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodySphericalJoint,
)
from dovetail.errors import ConstitutionError
from dovetail.solver.joint.loops import loops
from dovetail.solver.joint.redundancy import redundancies

UP = np.array([0.0, 0.0, 0.1])


def cycles_share(pairs, first, second):
    """Whether two edges lie on a common cycle, by trying: no single node or edge parts them."""
    if first == second:
        return False
    edges = {k: set(pair) for k, pair in enumerate(pairs.tolist())}
    for cut in {node for pair in edges.values() for node in pair}:
        # splitting a node into one for each of its edges must leave the two connected, unless they share only it
        left = {k: pair - {cut} for k, pair in edges.items()}
        reached, front = {first}, {first}
        while front:
            front = {k for k in left for f in front if k not in reached and left[k] & left[f]}
            reached |= front
        if second not in reached:
            return False
    return True


@pytest.mark.parametrize("seed", range(20))
def test_loops_are_the_edges_that_share_cycles(seed):
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(3, 9))
    pairs = np.array([rng.choice(nodes, 2, replace=False) for _ in range(int(rng.integers(2, 13)))])
    found = {k: set(part.tolist()) for part in loops(nodes, pairs) for k in part.tolist()}
    for a, b in itertools.combinations(range(len(pairs)), 2):
        assert (b in found.get(a, set())) == cycles_share(pairs, a, b), (pairs, a, b)


def test_an_edge_from_a_node_to_itself_is_a_loop():
    assert [part.tolist() for part in loops(3, np.array([[0, 1], [2, 2], [1, 2]]))] == [[1]]


def test_trees_are_not_searched_for_loops(monkeypatch):
    """Which would take 9 s for a chain of a hundred thousand joints."""
    from dovetail.solver.joint import loops as module

    searched = []
    monkeypatch.setattr(module, "_search", lambda root, neighbours, number: searched.append(root) or [])
    chain = np.stack([np.arange(5), np.arange(1, 6)], axis=1)
    assert loops(6, chain) == [] and searched == []
    loops(9, np.concatenate([chain, [[6, 7], [7, 8], [8, 6]]]))
    assert set(searched) == {6, 7, 8}  # the search left out, every node of the ring begins one


def found(bench):
    simulation = bench.lowered()
    model = simulation.model
    bodies = model.bodies
    return redundancies(model.potential.exact, simulation.state.Q, bodies.mass, bodies.is_fixed)


def door(*strengths):
    """A door on two hinges with a common axis, one geometry each."""
    bench = Bench()
    frame = bench.box("frame", at=(-0.5, 0, 0), fixed=True)
    leaf = bench.box("leaf")
    for k, strength in enumerate(strengths):
        pin = np.array([-0.25, 0, 0.3 * k])
        bench.join(AffineBodyRevoluteJoint, [frame], [leaf], pin - UP, pin + UP, strength=strength, name=f"hinge {k}")
    return bench


def four_bar(offset=0.0, kinds=(AffineBodyRevoluteJoint,) * 4):
    """A parallelogram in the x–y plane; `offset` lengthens its last pin on the last bar alone."""
    bench = Bench()
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]])
    bars = [
        bench.box(f"bar {k}", at=(p + q) / 2, fixed=k == 0)
        for k, (p, q) in enumerate(zip(corners, np.roll(corners, -1, axis=0), strict=True))
    ]
    for k, kind in enumerate(kinds):
        bodies = [bars[k]], [bars[(k + 1) % 4]]
        pin = corners[(k + 1) % 4]
        points = [pin - UP, pin + UP] if kind is not AffineBodySphericalJoint else [pin]
        joined = bench.join(kind, *bodies, *points, strength=np.inf, name=f"pin {k}")
        if k == 3 and offset:
            edges = joined.slot.geometry.edges
            locals_ = [
                point - bar.geometry.transforms.values[0, :3, 3] for bar in (bars[3], bars[0]) for point in points
            ]
            locals_[1] = locals_[1] + [0, 0, offset]
            for name, point in zip(("l_position0", "l_position1", "r_position0", "r_position1"), locals_, strict=True):
                edges.create(name, np.zeros(3))
                edges[name] = point
    return bench


def test_a_tree_has_none():
    bench = Bench()
    links = bench.box("links", at=[(k, 0, 0) for k in range(5)])
    pins = np.array([[k + 0.5, 0, 0] for k in range(4)])
    bodies = [(links, k) for k in range(5)]
    bench.join(AffineBodyRevoluteJoint, bodies[:-1], bodies[1:], pins - UP, pins + UP, strength=np.inf)
    assert found(bench) == []


def test_two_hinges_on_one_axis_hold_it_twice():
    # four points of a line, two of which carry it
    (redundancy,) = found(door(np.inf, np.inf))
    assert redundancy.joints == (0, 1) and redundancy.surplus == 6 and redundancy.open == 0.0


def test_of_an_exact_and_a_yielding_hinge_neither_is_redundant():
    assert found(door(np.inf, 100.0)) == []


def test_a_planar_four_bar_holds_its_plane_twice():
    """Each bar carries the common direction of all pins to the next, so that the last pin finds it given: 3 rows."""
    (redundancy,) = found(four_bar())
    assert redundancy.joints == (0, 1, 2, 3) and redundancy.surplus == 3 and redundancy.open == 0.0


def test_a_four_bar_with_a_ball_in_one_corner_holds_nothing_twice():
    kinds = (AffineBodyRevoluteJoint, AffineBodyRevoluteJoint, AffineBodyRevoluteJoint, AffineBodySphericalJoint)
    assert found(four_bar(kinds=kinds)) == []


def test_a_pin_that_is_longer_on_one_bar_contradicts_the_loop():
    with pytest.raises(
        ConstitutionError, match=r"'pin 0', joint 0 of 'pin 1', .* contradict .* an opening of"
    ) as caught:
        four_bar(offset=0.01).lowered()
    assert "finite strength_ratio" in str(caught.value)


@pytest.mark.parametrize("kind", [AffineBodyFixedJoint, AffineBodyPrismaticJoint, AffineBodySphericalJoint])
def test_the_same_joint_twice_is_told_by_name(kind, caplog):
    bench = Bench()
    a, b = bench.box("a"), bench.box("b", at=(1, 0, 0))
    points = {AffineBodyFixedJoint: [], AffineBodyPrismaticJoint: [(0, 0, 0), (1, 0, 0)]}.get(kind, [(0.5, 0, 0)])
    for name in ("first", "second"):
        bench.join(kind, [a], [b], *points, strength=np.inf, name=name)
    with caplog.at_level("WARNING", "dovetail"):
        bench.lowered()
    assert "joint 0 of 'first' and joint 0 of 'second' between the same two bodies hold" in caplog.text


def test_a_redundant_loop_is_mentioned_without_a_warning(caplog):
    with caplog.at_level("INFO", "dovetail"):
        four_bar().lowered()
    (record,) = [record for record in caplog.records if "holds 3 motions twice" in record.getMessage()]
    assert record.levelname == "INFO"


@pytest.mark.parametrize("apart", [0.0, 0.01])
def test_a_joint_between_bodies_that_were_fixed_later_holds_nothing_or_is_refused(apart, caplog):
    bench = Bench()
    a, b = bench.box("a"), bench.box("b", at=(1, 0, 0))
    joined = bench.put(
        "ball",
        AffineBodySphericalJoint().create_geometry([(0.5, 0, 0)], [(-0.5, apart, 0)], [a], [0], [b], [0], np.inf),
    )
    for slot in (a, b):
        slot.geometry.instances["is_fixed"] = 1
    if apart:
        with pytest.raises(
            ConstitutionError, match=r"the exact joint 0 of 'ball' cannot be closed, it is open by 0.01"
        ):
            bench.lowered()
        return
    bench.box("c", at=(3, 0, 0))  # something that moves
    bench.run(2)
    assert np.array_equal(joined.geometry.vertices["reaction/force"], np.zeros((1, 3)))
    assert "twice" not in caplog.text

"""Steps that turn bodies in touch: where they lead, and what the books know of it."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import Stage, box

from dovetail.kernel.kernel import jit_enabled

SIZES = 0.1, 0.2, 0.1


def tilted(turn: float, share: float):
    """A box on an edge, and y that turns it about that edge along a straight line; y after it was swung.

    turn [rad] is that of the whole step, of which a share is free.
    """
    from dovetail.solver.contact.swing import swing

    stage = Stage()
    stage.ground()
    lean = 0.3
    c, s = np.cos(lean), np.sin(lean)
    R = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    corner = np.array([0.05, 0, -0.05])  # of the edge that it stands on, 0.5 mm over the ground
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, (0, 0, 5e-4 - (R @ corner)[2])
    stage.add("box", box(*SIZES), [T])
    probe = stage.probe()
    Q = probe.Q.copy()
    probe.energy(Q)
    assert probe.count == 2  # both ends of the edge
    rate = turn * np.array([[0, 0, 1], [0, 0, 0], [-1, 0, 0]])
    y = np.zeros((1, 12))
    y[0, 3:] = -(rate @ R).T.reshape(-1)
    y[0, :3] = (rate @ R) @ corner  # the edge stays where it is
    islands = probe.model.islands
    islands.guarded[:1] = islands.running[:1] = 1
    islands.size[:1], islands.alpha[:1] = 100.0, share
    swung = y.copy()
    assert swing(islands, probe.model.bodies.mass, probe.at.contacts, probe.count, Q, swung, probe.model.turns)
    assert probe.model.turns.all()
    return probe, Q, y, swung, corner


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_a_swung_step_stretches_nothing_and_leaves_the_contact_where_it_is(share):
    turn = 0.05
    _, Q, y, swung, corner = tilted(turn, share)

    def end(step):
        return Q[0] - share * step.reshape(4, 3)

    A, straight = end(swung)[1:], end(y)[1:]
    stretch = share**2 * turn**2  # of AAᵀ, on a straight way: closed form
    np.testing.assert_allclose(np.abs(straight @ straight.T - np.eye(3)).max(), stretch, rtol=1e-9)
    assert np.abs(A @ A.T - np.eye(3)).max() < 1.5 * stretch**2  # of the next order
    material = np.array([1.0, *corner])
    np.testing.assert_allclose(material @ end(swung), material @ end(y), atol=1e-15)


def test_the_books_know_how_far_a_swung_step_departs_from_a_straight_one():
    """No corner departs by more than the share of `bend`, from which follows what is near and who may meet."""
    corners = np.array([(1.0, x, y, z) for x in (-0.05, 0.05) for y in (-0.1, 0.1) for z in (-0.05, 0.05)])
    for turn in (0.01, 0.3, 0.6):
        for share in (1.0, 0.5, 0.1):
            probe, _, y, swung, _ = tilted(turn, share)
            probe.iteration.bound(y)
            bend = float(probe.contact.watch.bend[0])
            departs = np.linalg.norm(corners @ (share * (swung - y)).reshape(4, 3), axis=1).max()
            assert 0.1 * share * bend < departs / share <= bend  # departures go with the square of the share


def test_what_is_free_need_be_asked_again_only_of_bodies_whose_step_has_changed():
    """Shares are the same bits as if all were asked, whether the change or the first look bounds the step."""
    rng = np.random.default_rng(5)
    bounded = 0
    for _ in range(20):
        stage = Stage()
        T = np.tile(np.eye(4), (4, 1, 1))
        T[:, 0, 3] = 0.102 * np.arange(4)
        stage.add("box", box(0.1, 0.1, 0.1), list(T))
        probe = stage.probe()
        motion = np.zeros((4, 4, 3))
        motion[:, 0] = rng.uniform(-2e-3, 2e-3, (4, 3))
        probe.free_share(probe.Q, motion)
        islands, at = probe.model.islands, probe.iteration.at
        first, y, turned = islands.alpha.copy(), -motion.reshape(-1, 12), np.array([0, 1, 0, 0])
        y[1, 3:] += rng.uniform(-0.03, 0.03, 9)
        found = []
        for chosen in (islands.is_free, turned):
            islands.alpha[:] = first
            probe.contact.keep_apart(at, y, islands, chosen)
            found.append(islands.alpha[: islands.count].copy())
        np.testing.assert_array_equal(*found)
        bounded += bool((found[0] < first[: islands.count]).any())
    assert 0 < bounded < 20


@pytest.mark.skipif(not jit_enabled, reason="of compiled kernels")
def test_what_turns_bodies_needs_no_scipy():
    """Numba's sums over arrays bring SciPy along: a tenth of a second in the step of the first contact."""
    from dovetail.solver.contact.swing import swing

    tilted(0.2, 1.0)
    files = [swing._cache.find(signature) for signature in swing.overloads]
    assert files and not any(b"numba.np.arraymath" in path.read_bytes() for path in files if path is not None)

"""Gradients through contact and friction: boxes that fall on each other and slide, an arm that pushes a box."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import BOX, TETRAHEDRON, Stage, scaled
from gradient_check import TIGHT_TAPE, Problem
from joint_scenes import Bench
from scenes import pose, rotation

from dovetail.constitution import AffineBodyRevoluteJoint
from dovetail.errors import GradientError
from dovetail.geometry import label_surface

G = np.array([0.0, 0.0, -9.81])
TIGHT = {name.replace("/", "__"): value for name, value in TIGHT_TAPE.items()}


def pile(
    count=3, method="bdf1", mu=0.0, kappa=0.0, density=0.0, gravity=0.0, adaptive=False, memory=0, mesh=BOX, tilt=0.1,
    sizes=(0.0, 0.0), ground=0.0,
):  # fmt: skip
    """Boxes one above the other, askew, that begin to move; parameters are changes of logarithms."""
    stage = Stage(
        G + gravity, d_hat=0.01, dt=0.01, integrator__type=method, contact__friction__memory=memory,
        contact__eps_velocity=0.05, **TIGHT,
    )  # fmt: skip
    stage.material(0.4 * np.exp(mu), None if adaptive else 1e7 * np.exp(kappa))
    stage.ground(ground)
    for k in range(count):
        T = pose((0.1 * k, 0.05 * k, 0.135 + 0.28 * k))
        T[:3, :3] = np.eye(3) if k == 0 else rotation((1, 0.3, 0.2 * k), tilt)
        velocity = (0.5 - 0.2 * k, 0.1, -0.3 - 0.7 * k)
        stage.add(
            f"body {k}", scaled(mesh, 0.25 + sizes[k % 2]), [T], velocity=velocity, density=1000.0 * np.exp(density)
        )
    return stage.world


@pytest.mark.parametrize(
    "count, steps, more",
    [
        (1, 50, {}),
        (3, 12, {}),
        (3, 50, {}),
        (2, 10, {"adaptive": True}),
        (2, 10, {"method": "bdf2"}),
        (3, 12, {"method": "ctr", "memory": 1}),
        (2, 12, {"tilt": 0.01}),
    ],
)
def test_gradients_through_contact_are_those_of_the_program(count, steps, more):
    problem = Problem(lambda **changes: pile(count, **more, **changes), steps)
    found = problem.gradients()
    along = np.random.default_rng(1).normal(size=(count, 4, 3))
    # 50 steps of a pile amplify round-off in differences; the bar with frictional contact is 1e-5
    pairs = {
        "V": ((found.V * along).sum(), problem.slope(1e-6, dV=along)),
        "mu": (found.log_mu.sum(), problem.slope(1e-5, mu=1.0)),
        "density": (found.log_density.sum(), problem.slope(1e-5, density=1.0)),
        "gravity": (found.gravity @ (1, 2, 3), problem.slope(1e-5, gravity=np.array([1.0, 2.0, 3.0]))),
    }
    if not more.get("adaptive"):
        pairs["kappa"] = found.log_contact_kappa.sum(), problem.slope(1e-5, kappa=1.0)
    wrong = {name: both for name, both in pairs.items() if not abs(both[0] - both[1]) <= 1e-5 * abs(both[1]) + 1e-7}
    assert not wrong


def test_edges_points_and_faces():
    """Tetrahedra touch with edges and corners; a start that is moved at random takes part."""
    problem = Problem(lambda: pile(2, mesh=TETRAHEDRON), 15)
    found, along = problem.gradients(), np.random.default_rng(1).normal(size=(2, 4, 3))
    assert (found.Q * along).sum() == pytest.approx(problem.slope(1e-7, dQ=along), rel=1e-5)


@pytest.mark.parametrize("method", ["bdf1", "bdf2"])
def test_a_change_before_a_step_in_touch_has_the_same_effect_forwards_and_backwards(method):
    tape = pile(2, method).rollout(10)
    dQ, dV, dF, by_Q, by_V = np.random.default_rng(2).normal(size=(5, 2, 4, 3))
    for k in (6, 9):
        back, ahead = tape.step_vjp(k, by_Q, by_V), tape.step_jvp(k, dQ, dV, dF)
        found = (by_Q * ahead[0]).sum() + (by_V * ahead[1]).sum()
        expected = (back.Q * dQ).sum() + (back.V * dV).sum() + (back.forces[k] * dF).sum()
        assert found == pytest.approx(expected, rel=1e-7)  # differences of friction have nine digits


@pytest.mark.parametrize("mesh", [BOX, TETRAHEDRON])
def test_sizes_of_bodies_that_touch_and_the_height_of_the_ground(mesh):
    """Vertices of surfaces; a larger body is heavier, too. None begins at the very range of the ground."""

    def build(p=(0.0, 0.0, 0.0)):
        return pile(2, mesh=mesh, sizes=p[:2], ground=p[2] - 1e-3)

    problem = Problem(build, 12)
    tape = problem.tape()
    assert tape._frames[-1].contacts > 1
    by_p = tape.backward(problem.by_Q, problem.by_V, surfaces=True).design(build, np.zeros(3))
    for k in range(3):
        assert by_p[k] == pytest.approx(problem.slope(1e-6, p=np.eye(3)[k]), rel=1e-5), k
    with pytest.raises(GradientError, match=r"vertices of surfaces that touch \(ask backward for surfaces=True"):
        tape.backward(problem.by_Q).design(build, np.zeros(3))


def test_an_arm_pushes_a_box():
    def build(exact=True):
        bench = Bench(
            {"contact/enable": 1, "contact/d_hat": 5e-3, "dt": 0.01, "contact/friction/memory": 0, **TIGHT_TAPE},
            gravity=(0, 0, 0),
        )
        bench.scene.contact_tabular.default_model(0.3, 1e7)
        base = bench.box("base", (0.1, 0.1, 0.1), fixed=True)
        arm = bench.box("arm", (0.5, 0.05, 0.05), (0.4, 0, 0), kappa=1e7, spin=(0, 0, 3))
        box = bench.box("box", (0.1, 0.1, 0.1), (0.6, 0.09, 0.01), kappa=1e7, density=300.0)
        for slot in (base, arm, box):
            label_surface(slot.geometry)
        ends = (0.1, 0, -0.1), (0.1, 0, 0.1)
        bench.join(AffineBodyRevoluteJoint, [base], [arm], *ends, strength=np.inf, name="hinge")
        return bench.world

    problem = Problem(build, 12)
    tape = problem.tape()
    assert np.linalg.norm(tape.V[-1, 2, 0]) > 0.1  # it is struck
    found, spin = problem.gradients(), np.zeros((3, 4, 3))
    spin[1, 0], spin[1, 1:] = np.cross((0, 0, 1), (0.3, 0, 0)), np.cross((0, 0, 1), np.eye(3))
    assert np.nansum(found.V * spin) == pytest.approx(problem.slope(1e-5, dV=spin), rel=1e-5)


def test_a_smooth_rollout_of_any_scene_is_that_of_bdf1_without_memory():
    """The defaults of Sim are left for the steps that are recorded."""
    usual, plain = pile(2, "ctr", memory=1), pile(2)
    tape, other = usual.rollout(12, smooth=True), plain.rollout(12)
    assert usual.report.contacts > 0
    assert np.array_equal(tape.Q, other.Q) and np.array_equal(tape.V, other.V)
    by_Q = np.random.default_rng(0).normal(size=tape.Q.shape)
    assert np.array_equal(tape.backward(by_Q).V, other.backward(by_Q).V)
    usual.advance()
    assert usual._simulation.scheme.last.is_consistent and usual._simulation.contact.stick is not None


@pytest.mark.parametrize("smooth", [False, True])
def test_checkpoints_of_a_pile_are_computed_again_bit_for_bit(smooth):
    whole, parts = (pile(2, "ctr" if smooth else "bdf1", memory=int(smooth)) for _ in range(2))
    first, second = whole.rollout(11, smooth=smooth), parts.rollout(11, smooth=smooth, every=4)
    assert np.array_equal(first.Q, second.Q) and np.array_equal(first.V, second.V)
    by_Q = np.random.default_rng(0).normal(size=first.Q.shape)
    found = [tape.backward(by_Q, by_Q) for tape in (first, second)]
    for name in ("Q", "V", "forces", "log_mu", "log_density", "residual"):
        assert np.array_equal(getattr(found[0], name), getattr(found[1], name)), name
    for world in (whole, parts):  # which go on as if nothing had been computed again
        world.advance()
    assert np.array_equal(whole._simulation.state.Q, parts._simulation.state.Q)


@pytest.mark.parametrize("goes_back", [False, True])
def test_a_tape_leaves_contact_as_it_was(goes_back):
    first, second = pile(2), pile(2)
    tape = first.rollout(8)
    if goes_back:
        tape.backward(np.ones_like(tape.Q[0]))
    second.restore(first.state())
    for world in (first, second):
        for _ in range(5):
            world.advance()
        assert world.report.contacts > 0
    states = [world._simulation.state for world in (first, second)]
    assert np.array_equal(states[0].Q, states[1].Q) and np.array_equal(states[0].V, states[1].V)

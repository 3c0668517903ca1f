"""Gradients through steps of ctr in touch, as a `Sim` takes them: what rolls, slides, rests, leans, and walks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gradient_check import TIGHT_TAPE, Problem

from dovetail import Sim
from dovetail.errors import GradientError, SceneError
from dovetail.gradient.adjoint import Adjoint
from dovetail.gradient.sums import Sums

GAP = 9.5e-4  # [m] of bodies that begin in touch, of d̂ = 1 mm; nearer ones push themselves up by some 0.1 m/s


def sim(friction=0.5, ease_in=0):
    """Bodies that are put where they touch push themselves up."""
    return Sim(friction=friction, config={"contact/ease_in": ease_in, **TIGHT_TAPE})


def ball():
    """Begins to slide, and rolls in the end; the spin about the vertical pivots."""
    made = sim()
    made.ground()
    made.sphere(0.05, pos=(0, 0, 0.0499), velocity=(1.0, 0.2, 0), spin=(-4.0, 20.0, 1.0))
    return made


def resisted(lever=0.0):
    """The same ball on ground that resists rolling; the lever of that by its logarithm."""
    made = sim()
    made.ground(rolling_friction=3e-3 * np.exp(lever))
    made.sphere(0.05, pos=(0, 0, 0.0499), velocity=(1.0, 0.2, 0), spin=(-4.0, 20.0, 1.0))
    return made


def wheel():
    """A cylinder that rolls and leans into a curve."""
    made = sim()
    made.ground()
    made.cylinder(0.05, 0.02, pos=(0, 0, 0.05 + 9e-4), rot=np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0.0]]),
                  velocity=(0.5, 0, 0), spin=(0.1, 10.0, 0.3))  # fmt: skip
    return made


def box():
    made = sim(0.3)
    made.ground()
    made.box((0.2, 0.15, 0.05), pos=(0, 0, 0.025 + GAP), velocity=(1.0, 0.3, 0), spin=(0, 0, 2.0))
    return made


def rest():
    """Friction forces, and what is remembered of them, are zero, but not their derivatives."""
    made = sim()
    made.ground()
    made.box((0.2, 0.2, 0.1), pos=(0, 0, 0.05 + GAP))
    return made


def eased():
    """Boxes that begin so near that their ranges are made less, and grow back."""
    made = sim(ease_in=1)
    made.ground()
    for k in range(2):
        size, gap = 0.2 - 0.02 * k, 5e-4
        made.box((size, size, 0.1), pos=(3e-3 * k, 2e-3 * k, 0.05 + gap + k * (0.1 + gap)),
                 velocity=(0.3 * k, 0.1 * k, 0), spin=(0, 0, 0.3 * k))  # fmt: skip
    return made


def stack():
    made = sim()
    made.ground()
    for k in range(3):
        made.box((0.2 - 0.02 * k, 0.2 - 0.02 * k, 0.1), pos=(3e-3 * k, 2e-3 * k, 0.05 + GAP + k * (0.1 + GAP)),
                 velocity=(0.3 * k, 0.03 * k, 0), spin=(0, 0, 0.1 * k))  # fmt: skip
    return made


def tall():
    """A box that sways on its corners, so that barriers count as rigid."""
    made = sim()
    made.ground()
    made.box((0.1, 0.1, 1.2), pos=(0, 0, 0.6 + GAP), velocity=(0.03, 0.01, 0), spin=(-0.02, 0.05, 0))
    return made


def arm(drive=True):
    """Two links, of which the second slides down a wall with its end."""
    made = sim(0.3)
    made.box((0.02, 1, 2), pos=(0.36 + GAP, 0, 0), fixed=True)
    upper, lower = made.box((0.3, 0.04, 0.04), pos=(0.05, 0, 0.2)), made.box((0.15, 0.04, 0.04), pos=(0.275, 0, 0.2))
    made.revolute(None, upper, pos=(-0.1, 0, 0.2), axis=(0, 1, 0), damping=0.05, armature=2e-3)
    elbow = made.revolute(upper, lower, pos=(0.2, 0, 0.2), axis=(0, 1, 0), drive=0.3 if drive else None)
    if drive:
        elbow.drive.stiffness, elbow.drive.damping = 20.0, 0.1
        elbow.drive.max_effort, elbow.drive.max_velocity = 5.0, 0.5
    return made


def walker():
    """Four legs of two links with drives, which begin to walk off."""
    made, at = sim(0.8), {"velocity": (0.2, 0, 0)}
    made.ground()
    torso = made.box((0.3, 0.2, 0.08), pos=(0, 0, 0.32 + GAP), **at)
    for k, (x, y) in enumerate(((-0.1, -0.12), (-0.1, 0.12), (0.1, -0.12), (0.1, 0.12))):
        thigh = made.box((0.03, 0.03, 0.15), pos=(x, y, 0.225 + GAP), **at)
        shin = made.box((0.025, 0.025, 0.15), pos=(x, y, 0.075 + GAP), **at)
        hip = made.revolute(torso, thigh, pos=(x, y, 0.30 + GAP), axis=(0, 1, 0), drive=0.05 * (k - 1))
        knee = made.revolute(thigh, shin, pos=(x, y, 0.15 + GAP), axis=(0, 1, 0), drive=-0.04 * (k - 2))
        for joint in (hip, knee):
            joint.drive.stiffness, joint.drive.damping, joint.drive.max_effort = 60.0, 1.0, 40.0
    return made


def held(tape):
    """In how many steps something is held."""
    return sum(frame.methods.some_held for frame in tape._frames)


# Steps of differences: above 1e-12 m/s of round-off in starts with exact joints, below what ends the first slip of the
# ball and of the wheel a step earlier.
@pytest.mark.parametrize(
    "build, steps, dV, dQ",
    [
        (ball, 1, 1e-4, 1e-7),
        (ball, 50, 1e-5, None),  # by where it starts: the time at which it rolls jumps with that
        (resisted, 6, 1e-4, 1e-5),
        (wheel, 4, 1e-4, 1e-7),
        (box, 20, 1e-4, 1e-7),
        (rest, 3, 1e-5, None),
        (stack, 6, 1e-4, 1e-7),
        (tall, 14, 1e-5, 1e-8),
        (eased, 5, 1e-4, 1e-8),
        (arm, 6, 1e-4, 1e-6),
        (walker, 5, 1e-3, 1e-6),
    ],
)
def test_gradients_in_touch_are_those_of_the_program(build, steps, dV, dQ):
    problem = Problem(lambda: build().world, steps)
    tape = problem.tape()
    assert held(tape) == steps
    found = tape.backward(problem.by_Q, problem.by_V)
    # all that the adjoint knows of a step's start is computed anew, by other code: Newton's steps end where it says
    assert found.residual.max() < 1e-9
    along = np.random.default_rng(1).normal(size=problem.by_Q.shape[1:])
    along[~np.isfinite(found.V)] = 0.0
    wrong = {}
    for name, step in (("V", dV), ("Q", dQ)):
        if step is not None:
            value = float(np.nansum(getattr(found, name) * along))
            expected = problem.slope(step, **{f"d{name}": along})
            if not abs(value - expected) <= 1e-5 * abs(expected):
                wrong[name] = value, expected
    assert not wrong


def test_smooth_steps_after_others_know_nothing_of_their_rolling():
    made = ball()
    made.step(5)
    tape = made.rollout(4, smooth=True)
    tape.backward(np.ones_like(tape.Q), strict=True)  # else the end of a step is none to the adjoint


def test_a_box_at_rest_is_pushed_with_all_defaults():
    """It has come to rest before, and what it remembers of that takes part; it sticks first, then it slides."""
    made = Sim(config=TIGHT_TAPE)
    made.ground()
    crate = made.box((0.2, 0.2, 0.1), pos=(0, 0, 0.055), mass=1.0)
    crate.force = 0, 0, 0
    made.step(120)  # what is put down is eased in for up to a second
    start, steps, pushes = made.state, 12, np.linspace(1.0, 12.0, 12)
    by = np.random.default_rng(0).normal(size=(4, 3))

    def rollout(s=0.0):
        made.state = start

        def push(k):
            crate.force = (pushes[k] + s * np.cos(k), 0.3 * s, 0.0)

        return made.rollout(steps, push)

    def loss(s):
        return float((by * rollout(s).Q[-1, 0]).sum())

    tape = rollout()
    way = np.diff(tape.Q[:, 0, 0, 0])
    assert way[-1] > 5e-4 and way[:3].max() < 1e-5  # ε, within which what sticks is a spring
    found = tape.backward(by[None])
    along = np.stack([np.cos(np.arange(steps)), np.full(steps, 0.3), np.zeros(steps)], axis=1)
    rows = np.zeros((steps, 4, 3))
    rows[:, 0] = along
    wide, narrow = ((loss(h) - loss(-h)) / (2.0 * h) for h in (1e-2, 5e-3))
    assert (found.forces[:, 0] * rows).sum() == pytest.approx((4.0 * narrow - wide) / 3.0, rel=1e-5)


@pytest.mark.parametrize("build", [ball, box, arm, eased])
def test_a_change_before_a_step_in_touch_has_the_same_effect_forwards_and_backwards(build):
    tape = build().rollout(5)
    n, free = tape.Q.shape[1], (tape._simulation.model.bodies.is_free != 0)[:, None, None]
    dQ, dV, dF, by_Q, by_V = np.where(free, np.random.default_rng(2).normal(size=(5, n, 4, 3)), 0.0)
    for k in (0, 4):
        back = tape.step_vjp(k, by_Q, by_V)
        for q, v, f in np.eye(3):
            ahead = tape.step_jvp(k, q * dQ, v * dV, f * dF)
            found = (by_Q * ahead[0]).sum() + (by_V * ahead[1]).sum()
            expected = np.nansum(q * back.Q * dQ) + np.nansum(v * back.V * dV) + (f * back.forces[k] * dF).sum()
            # solutions with the matrix of contacts are differentiated by differences, which have seven digits
            assert found == pytest.approx(expected, rel=1e-6), (k, q, v, f)


@pytest.mark.parametrize("build", [ball, box])
def test_what_a_step_takes_from_the_past_term_by_term(build):
    """Momentum that was given, friction that slid, what rolled and what is remembered, each beside differences."""
    tape = build().rollout(6)
    frame, ends, rng = tape._frames[4], tape._reel.ends(4), np.random.default_rng(0)
    with Adjoint(tape._simulation, tape._parameters, Sums(tape._simulation, 6)) as adjoint:
        adjoint.at(4, frame, ends)
        grip, known, a = adjoint.grip, adjoint._later[0], adjoint.model.loads.accelerations(ends.Q)
        assert grip.half is not None and np.abs(grip.half.value).max() > 0.0
        outputs = (grip.V_start, grip.half, grip.pushes)
        by = [rng.normal(size=node.value.shape) for node in outputs]

        def value(s, name, along):
            past = frame.past if name == "V" else replace(frame.past, **{name: getattr(frame.past, name) + s * along})
            adjoint._held.at(4, replace(frame, past=past), ends.Q_before)
            made = adjoint._held.begin(known, ends.Q, ends.V + s * along if name == "V" else ends.V, a)
            made_of = made.V_start, made.half, made.pushes
            return sum((b * each.value).sum() for b, each in zip(by, made_of, strict=True))

        adjoint._held.back(grip, tuple(by), Sums(tape._simulation, 6))
        for name in ("V", "A", "pushed", "rubbing", "turn", "axis", "force"):
            base = ends.V if name == "V" else getattr(frame.past, name)
            along = rng.normal(size=base.shape) * (np.abs(base) + (name == "V"))
            if name == "pushed":
                along[:, 12] = 0.0  # how many contacts slide is a number
            if name == "rubbing":
                along[:, 15] = 0.0
            step = 1e-5
            wide, narrow = ((value(h, name, along) - value(-h, name, along)) / (2 * h) for h in (step, step / 2))
            expected = (4.0 * narrow - wide) / 3.0
            assert (getattr(grip, name).slope * along).sum() == pytest.approx(expected, rel=1e-6, abs=1e-7), name


def test_speed_and_brake_of_a_drive_in_touch():
    """An elbow that is too fast for its motor brakes, while the end of the arm slides along a wall."""
    made, steps = arm(), 5
    elbow = made.joints[-1]
    problem = Problem(lambda: made.world, steps)
    found = problem.gradients()
    attributes = elbow.slot.geometry.edges
    for name in ("drive/max_velocity", "drive/brake"):
        base = attributes[name].copy()

        def control(s, name=name, base=base):
            return lambda k: attributes.slot(name).edit().__setitem__(slice(None), base * (1.0 + s * (1.0 + 0.3 * k)))

        expected = problem.slope(1e-3, control=control)
        control(0.0)(0)
        value = float(found[elbow, name][:, 0] @ (base[0] * (1.0 + 0.3 * np.arange(steps))))
        # what exact joints leave of a start, 1e-12 m/s, is 1e-9 of a loss over differences of 1e-3
        assert abs(value - expected) <= 1e-5 * abs(expected) + 1e-8, name
        assert expected != 0.0


def test_checkpoints_in_touch_are_computed_again_bit_for_bit():
    whole, parts = box(), box()
    first, second = whole.rollout(5), parts.rollout(5, every=2)
    by_Q = np.random.default_rng(0).normal(size=first.Q.shape)
    found = [tape.backward(by_Q, by_Q) for tape in (first, second)]
    for name in ("Q", "V", "forces", "log_mu", "log_contact_kappa", "log_density"):
        assert np.array_equal(getattr(found[0], name), getattr(found[1], name)), name
    for made in (whole, parts):  # which go on as if nothing had been computed again
        made.step()
    assert np.array_equal(whole.bodies[-1].transform, parts.bodies[-1].transform)


def test_a_rollout_that_is_refused_is_taken_back():
    made = Sim(contact=False)
    rod = made.box((0.4, 0.05, 0.05), pos=(0.2, 0, 0))
    hinge = made.revolute(None, rod, pos=(0, 0, 0), axis=(0, 1, 0), drive=0.0)
    made.step(2)
    before = rod.transform

    def jump(k):
        hinge.drive.target = 0.5 * k

    with pytest.raises(GradientError, match=r"step 1 has a drive of .* on its way to a target that has jumped"):
        made.rollout(5, jump)
    assert made.frame == 2 and np.array_equal(rod.transform, before) and hinge.drive.target == 0.0


@pytest.mark.parametrize("ease_in", [0, 1])
def test_sizes_and_the_height_of_the_ground(ease_in):
    """Boxes that slide on each other and on the ground, under ctr with friction that remembers."""

    def build(p=(0.0, 0.0, 0.0)):
        made = sim(0.3, ease_in)
        made.ground(height=p[2])
        gap = 5e-4 if ease_in else GAP
        for k in range(2):
            size = (0.2 - 0.02 * k + p[0], 0.2 - 0.02 * k, 0.1 + p[1])
            made.box(size, pos=(3e-3 * k, 2e-3 * k, 0.05 + gap + k * (0.1 + gap)), velocity=(0.3 + 0.3 * k, 0.1, 0),
                     spin=(0, 0, 0.5))  # fmt: skip
        return made.world

    problem = Problem(build, 5)
    tape = problem.tape()
    assert held(tape) == 5
    by_p = tape.backward(problem.by_Q, problem.by_V, surfaces=True).design(build, np.zeros(3))
    # in height, what touches leaves the barriers' range after some micrometres; sideways differences need more
    for k, step in enumerate((1e-5, 1e-7, 1e-7)):
        assert by_p[k] == pytest.approx(problem.slope(step, p=np.eye(3)[k]), rel=1e-5), k


@pytest.mark.parametrize("config", [{}, {"integrator/type": "bdf1", "contact/friction/memory": 0}])
def test_sizes_beside_a_ball(config):
    """A ball rolls on a box that slides; by sizes of the box and the height of the ground, not by the radius."""

    def build(p=(0.0, 0.0, 0.0, 0.0)):
        made = Sim(friction=0.3, config={"contact/ease_in": 0, **TIGHT_TAPE, **config})
        made.ground(height=p[2])
        made.box((0.3 + p[0], 0.3, 0.1 + p[1]), pos=(0, 0, 0.05 + GAP), velocity=(0.2, 0.1, 0))
        at = (0.02, 0.01, 0.15 + 2 * GAP)
        made.sphere(0.05 + p[3], pos=at, velocity=(0.3, 0.1, 0), spin=(0.5, 4.0, 1.0))
        return made.world

    problem = Problem(build, 5)
    tape = problem.tape()
    assert all(frame.contacts for frame in tape._frames)
    found = tape.backward(problem.by_Q, problem.by_V, surfaces=True)
    by_p = found.design(lambda p: build([*p, 0.0]), np.zeros(3))
    for k, step in enumerate((1e-5, 1e-7, 1e-7)):
        assert by_p[k] == pytest.approx(problem.slope(step, p=np.eye(4)[k]), rel=1e-5), k
    with pytest.raises(GradientError, match=r"p\[3\] changes radii of spheres and capsules"):
        found.design(build, np.zeros(4))


def test_a_first_force_within_a_rollout_is_refused_by_name():
    made = Sim(contact=False)
    crate = made.box((0.1, 0.1, 0.1), pos=(0, 0, 1))
    made.step(3)
    home, at = made.home, crate.pos

    def push(k):
        crate.force = (1.0, 0, 0)

    with pytest.raises(SceneError, match=r"in the middle of a rollout.* first force, .* before the rollout"):
        made.rollout(3, push)
    assert made.frame == 3 and np.array_equal(crate.pos, at) and made.home is home
    crate.force = 0, 0, 0
    assert made.rollout(3, push).steps == 3

"""Bodies and joints that come and go between steps: what stays goes on as if nothing had happened."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail import AngleAxis, Sim
from dovetail.errors import SceneError, WorldError


def machine(**settings) -> Sim:
    """Things that slide, stick and stand; a driven pair with a gear, a wheel that turns, a soft slider, a hard stop."""
    sim = Sim(**settings)
    sim.ground()
    sim.box((1.0, 0.4, 0.05), pos=(-2, 0, 0.5), rot=AngleAxis(0.3, [0, 1, 0]), fixed=True, name="ramp")
    up = np.array([math.sin(0.3), 0, math.cos(0.3)])
    sim.box(0.1, pos=(-2, 0, 0.5) + 0.0755 * up, rot=AngleAxis(0.3, [0, 1, 0]), name="sticks")
    sim.box((0.4, 0.3, 0.2), pos=(0, 0, 0.1005), name="stands")
    sim.box(0.2, pos=(-1, 2, 0.1005), velocity=(3, 0, 0), name="slides")
    left, right = sim.box(0.1, pos=(1, 0, 1)), sim.box(0.1, pos=(1.2, 0, 1))
    one = sim.revolute(None, left, pos=(0.9, 0, 1), axis=(0, 1, 0), limit=(-2, 2), drive=0.3, name="one")
    two = sim.revolute(left, right, pos=(1.1, 0, 1), axis=(0, 1, 0), damping=0.1, friction=0.01, name="two")
    sim.couple(two, one, -0.5)
    wheel = sim.box(0.1, pos=(3, 0, 1), name="wheel")
    sim.revolute(None, wheel, pos=(3, 0, 1), axis=(0, 1, 0), motor=20.0, name="axle")
    sim.prismatic(None, sim.box(0.1, pos=(4, 0, 1)), axis=(0, 0, 1), exact=False, name="soft")
    rod = sim.box((0.3, 0.05, 0.05), pos=(5.15, 0, 1))
    sim.revolute(None, rod, pos=(5, 0, 1), axis=(0, 1, 0), limit=(-0.1, 0.5), hard=True, name="stop")
    return sim


JOINTS = ("one", "two", "axle", "soft", "stop")
TOUCHING = ("sticks", "stands", "slides", "box 3")


def poses(sim: Sim, touching: bool) -> np.ndarray:
    names = [b.name for b in sim.bodies if (b.name in TOUCHING) == touching and not b.name.startswith("extra")]
    return np.concatenate([sim[name].transform.ravel() for name in names])


def free_motion(sim: Sim) -> np.ndarray:
    """Of all that touches nothing: transforms, and coordinates over turns with their rates."""
    joints = [next(iter(sim[name].coordinates.values())) for name in JOINTS if name != "soft"]
    return np.concatenate([poses(sim, False), [c.value for c in joints], [c.velocity for c in joints]])


def forget_contacts(sim: Sim) -> None:
    """Have contacts looked for anew before the next step, which alone makes Newton's iterates others."""
    contact = sim.world._simulation.contact
    contact.watch.forget()


@pytest.mark.parametrize("integrator", ["ctr", "bdf2", "bdf1"])
def test_what_stays_goes_on_as_it_would_have(integrator):
    plain, changed = machine(integrator=integrator), machine(integrator=integrator)
    for sim in (plain, changed):
        sim.step(60)
    changed.reopen()
    forget_contacts(plain)
    for sim in (plain, changed):
        sim.step()
    # made anew without a change it is the same to round-off, friction that sticks and stops that are leant on included
    for touching in (False, True):
        assert np.abs(poses(plain, touching) - poses(changed, touching)).max() < 1e-12
    before = free_motion(changed)
    extra = changed.box(0.1, pos=(0, 5, 3), name="extra")
    other = changed.sphere(0.1, pos=(0.3, 5, 3), spin=(0, 1, 0), name="extra ball")
    changed.revolute(extra, other, pos=(0.15, 5, 3), axis=(0, 1, 0), name="extra hinge")
    assert np.array_equal(free_motion(changed), before)  # also while the world is open
    for steps in (1, 1, 10):
        for sim in (plain, changed):
            sim.step(steps)
        assert np.abs(free_motion(plain) - free_motion(changed)).max() < 1e-9
    changed.remove(extra)
    for sim in (plain, changed):
        sim.step(10)
    assert np.abs(free_motion(plain) - free_motion(changed)).max() < 1e-9
    # what touches is known to Newton's tolerance, 1e-3 m/s in a step of 0.01 s, and iterates differ with those around
    assert np.abs(poses(plain, True) - poses(changed, True)).max() < 1e-5
    assert changed.frame == plain.frame == 83 and changed.time == plain.time
    assert plain["axle"].angle > 2 * math.pi  # of which the turns are known
    assert np.isclose(plain["one"].drive.effort, changed["one"].drive.effort, rtol=1e-6)


def test_reactions_and_efforts_of_the_last_step_can_still_be_read():
    sim = machine()
    sim.step(20)

    def read() -> np.ndarray:
        found = [np.concatenate(sim[name].reaction) for name in JOINTS]
        return np.concatenate([*found, [sim["one"].drive.effort, sim["axle"].drive.effort]])

    before = read()
    assert np.abs(before).min(initial=np.inf, where=before != 0) < 1.0 < np.abs(before).max()
    sim.reopen()
    assert np.array_equal(read(), before)
    assert sim.world is not None and sim.started
    assert np.allclose(read(), before, rtol=1e-12, atol=1e-12)


def test_what_began_too_near_is_still_eased_in():
    sims = []
    for _ in range(2):
        sim = Sim()
        sim.ground()
        sim.box(0.1, pos=(0, 0, 0.05 + 1e-6), name="near")
        sim.step(10)
        sims.append(sim)
    sims[1].reopen()
    forget_contacts(sims[0])
    for sim in sims:
        sim.step(10)
    # with the whole range at once it would be thrown up by some d_hat = 1 mm within these steps
    assert abs(sims[0]["near"].pos[2] - sims[1]["near"].pos[2]) < 1e-9


def test_a_joint_is_made_where_the_bodies_are_now():
    sim = Sim(contact=False)
    rod = sim.box((0.6, 0.05, 0.05), pos=(0.3, 0, 1))
    hinge = sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0))
    everything = sim.mechanism()
    sim.step(30)
    assert np.allclose(everything.q, hinge.angle)
    tip = rod.point((0.3, 0, 0))
    link = sim.box((0.6, 0.05, 0.05), pos=np.add(tip, (0.3, 0, 0)), velocity=rod.velocity)
    elbow = sim.revolute(rod, link, pos=tip, axis=(0, 1, 0))
    before = hinge.angle
    assert elbow.angle == 0.0 and before > 0.3
    sim.step(50)
    assert max(hinge.gap, elbow.gap) < 1e-9  # exact: round-off of a metre
    assert np.allclose(rod.point((0.3, 0, 0)), link.point((-0.3, 0, 0)), atol=1e-9)
    assert len(sim.mechanism()) == 2 and np.allclose(everything.q, hinge.angle)  # that of before knows its joint still


def test_a_removed_body_takes_its_joints_and_their_couplings_along():
    sim = machine()
    sim.step(5)
    one, two, left = sim["one"], sim["two"], sim["one"].right
    sim.remove(left)
    assert [name for name in ("one", "two") if name in {joint.name for joint in sim.joints}] == []
    assert left not in sim.bodies and two.right in sim.bodies
    sim.step(20)
    assert two.right.pos[2] < 0.9  # it falls
    for late in (lambda: setattr(left, "pos", (0, 0, 5)), lambda: left.number, lambda: sim.mechanism(one)):
        with pytest.raises(SceneError, match=r"it was removed; make it anew|is not a joint of this Sim"):
            late()
    with pytest.raises(SceneError, match=r"is not in this Sim"):
        sim.remove(left)
    assert sim.box(0.1, pos=(0, 0, 5), name=left.name).name == left.name  # the name is free
    assert sim["wheel"].pos[2] == pytest.approx(1, abs=1e-9)


def test_what_would_intersect_is_refused_by_name_and_can_be_put_elsewhere():
    sim = Sim()
    sim.ground()
    crate = sim.box(0.4, pos=(0, 0, 0.2005), name="crate")
    sim.step(10)
    where = crate.pos
    late = sim.box(0.4, pos=(0.2, 0.1, 0.3), name="late")
    for _ in range(2):
        with pytest.raises(SceneError, match=r"cannot go on with what was added.*'crate'.*'late'.*intersect") as caught:
            sim.step()
        assert "\n" not in str(caught.value)
    assert sim.frame == 10 and np.array_equal(crate.pos, where)
    late.pos = (0, 0, 0.8)
    sim.step(100)
    assert sim.frame == 110 and late.pos[2] == pytest.approx(0.6, abs=3e-3)
    other = sim.box(0.4, pos=(0.2, 0.1, 0.3))
    sim.remove(other)
    sim.step()


def test_forces_limits_drives_and_resistance_may_come_late():
    sim = Sim(gravity=(0, 0, 0), contact=False)
    bodies = [sim.box(0.1, pos=(k, 0, 0)) for k in range(3)]
    hinge = sim.revolute(None, bodies[1], pos=bodies[1].pos, axis=(0, 0, 1))
    slider = sim.prismatic(None, bodies[2], axis=(1, 0, 0))
    sim.step(3)
    bodies[0].force, bodies[0].torque = (1, 0, 0), (0, 0, 1e-3)
    hinge.drive.target = 0.3
    slider.limit, slider.damping, slider.friction = (0.0, 0.1), 1.0, 0.1
    slider.force = 5.0
    sim.step(100)
    assert np.isclose(bodies[0].velocity[0], 1.0, rtol=1e-3) and bodies[0].spin[2] > 0.5
    assert np.isclose(hinge.angle, 0.3, atol=1e-3)
    assert slider.distance < 0.105


def test_reset_goes_to_where_something_was_added_and_older_states_are_refused():
    sim = Sim(contact=False)
    ball = sim.sphere(0.1)
    before = sim.state
    sim.step(10)
    sim.sphere(0.1, pos=(1, 0, 0))
    there = ball.pos
    sim.step(10)
    sim.reset()
    assert sim.frame == 10 and np.array_equal(ball.pos, there)
    with pytest.raises(WorldError, match="is of another scene"):
        sim.state = before


def test_a_recording_is_not_changed_under_way(tmp_path):
    sim = Sim(contact=False)
    sim.sphere(0.1)
    with sim.record(tmp_path / "a.dove"):
        sim.step()
        with pytest.raises(SceneError, match="in the middle of a recording; close it first"):
            sim.sphere(0.1, pos=(1, 0, 0))
    sim.sphere(0.1, pos=(1, 0, 0))
    sim.step()
    assert len(sim.bodies) == 2


def test_a_world_that_is_open_says_so():
    sim = machine()
    world = sim.world
    with pytest.raises(WorldError, match=r"World\.resume: there is nothing to go on with; call World\.reopen first"):
        world.resume()
    world.reopen()
    for call in (world.advance, world.retrieve, world.contacts):
        with pytest.raises(WorldError, match="open for changes"):
            call()
    assert world.resume()
    world.advance()


def test_a_picture_shows_what_was_added():
    sim = Sim(gravity=(0, 0, 0))
    sim.box(0.2)
    assert (sim.picture(32, 32, kind="bodies") <= 0).all()
    sim.box(0.2, pos=(0.5, 0, 0))
    assert (sim.picture(32, 32, kind="bodies") == 1).any()

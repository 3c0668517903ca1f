"""Many worlds: each as if it were alone, whatever the others do; states, resets, failures."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest
from world_machines import Y, arm, chain, lander, numbers_of

from dovetail import Sim, Worlds
from dovetail.errors import SceneError
from dovetail.kernel.kernel import jit_enabled
from dovetail.sim.mechanism import Mechanism

BUILDS = {"chain": (chain, {"contact": False}), "arm": (arm, {}), "lander": (lander, {})}
MANY = {
    "ctr": {"chain": (33, 3), "arm": (9, 4), "lander": (9, 4)},
    "bdf1": {"chain": (1, 1), "arm": (3, 2), "lander": (2, 1)},
    "bdf2": {"chain": (9, 4), "arm": (5, 1), "lander": (5, 3)},
}
"""How many worlds, on how many threads; `benchmarks/worlds.py --identity` has all of n = 1 … 300 on 1 … 4 threads."""


def alone(build, number, seed, steps, targets, **options):
    """What a world does in a Sim of its own: q and v after each step."""
    sim = Sim(**options)
    mechanism = build(sim, numbers_of(number, seed)) or sim.mechanism()
    found = []
    for _ in range(steps):
        if targets is not None:
            mechanism.target = targets[number]
        sim.step()
        found.append((mechanism.q, mechanism.v))
    return np.array(found)


@pytest.mark.parametrize("integrator", MANY)
@pytest.mark.parametrize("name", BUILDS)
def test_a_world_among_others_is_bit_identical_to_itself_alone(name, integrator):
    (build, options), (n, threads) = BUILDS[name], MANY[integrator][name]
    worlds = Worlds(build, n, seed=5, threads=threads, integrator=integrator, **options)
    targets = None if build is chain else np.linspace(-0.4, 0.4, n * len(worlds.names)).reshape(n, -1)
    found = []
    for _ in range(12):
        if targets is not None:
            worlds.target = targets
        worlds.step()
        found.append((worlds.q, worlds.v))
    found = np.array(found)
    for number in {0, n // 2, n - 1}:
        expected = alone(build, number, 5, 12, targets, integrator=integrator, **options)
        assert np.array_equal(found[:, :, number], expected)
    if n > 1:
        assert not np.array_equal(found[:, :, 0], found[:, :, 1])


def test_sixty_worlds_on_four_threads_do_what_each_does_alone():
    def build(sim, rng):
        rod = sim.box((0.3, 0.05, 0.05), pos=(0.15, 0, 1), mass=rng.uniform(0.5, 1.0))
        sim.revolute(None, rod, pos=(0, 0, 1), axis=Y, drive=0.0)

    worlds = Worlds(build, 60, seed=5, threads=4, contact=False)
    targets = np.linspace(-0.4, 0.4, 60)[:, None]
    worlds.target = targets
    worlds.step(4)
    again = np.array([worlds.q, worlds.v])
    for number in (0, 1, 7, 8, 30, 59):
        assert np.array_equal(again[:, number], alone(build, number, 5, 4, targets, contact=False)[-1])


def test_several_steps_at_once_are_as_many_steps():
    one, other = (Worlds(arm, 3, seed=1) for _ in range(2))
    one.target = other.target = 0.3
    one.step(7)
    for _ in range(7):
        other.step()
    assert np.array_equal(one.q, other.q) and np.array_equal(one.v, other.v)
    assert np.array_equal(one.effort, other.effort) and one.effort.shape == (3, 3)
    assert one.frame.tolist() == [7, 7, 7] and np.allclose(one.time, 0.07)


def test_targets_of_all_worlds_are_what_each_drive_is_told():
    worlds, others = (Worlds(arm, 2) for _ in range(2))
    values = np.arange(6.0).reshape(2, 3) / 10
    worlds.target = values
    for mechanism, row in zip(others.mechanisms, values, strict=True):
        mechanism.target = row
    assert np.array_equal(worlds.target, values) and np.array_equal(others.target, values)
    assert [c.drive.target for c in worlds.mechanisms[1].coordinates] == values[1].tolist()
    first = worlds.mechanisms[0].coordinates[0].drive
    first.target_velocity = 0.5  # a drive that runs at a speed is told to hold a position again
    worlds.target = 0.2
    assert first.target_velocity == 0.0 and first.stiffness > 0.0 and (worlds.target == 0.2).all()


def test_speeds_and_efforts_of_all_worlds_are_what_each_joint_is_told():
    worlds, others = (Worlds(arm, 2) for _ in range(2))
    values = np.arange(6.0).reshape(2, 3) / 10
    for _ in range(2):  # drives that hold positions are made to run, and then run
        worlds.target_velocity, worlds.effort = values, 2.0 * values
        for mechanism, row in zip(others.mechanisms, values, strict=True):
            mechanism.target_velocity, mechanism.effort = row, 2.0 * row
        for one, other in zip(worlds.mechanisms, others.mechanisms, strict=True):
            assert np.array_equal(one.settings, other.settings)
        values = values + 1.0
    with pytest.raises(SceneError, match=r"Worlds.effort = 'x'; give finite numbers"):
        worlds.effort = "x"


def test_a_reset_at_home_changes_nothing_and_home_cannot_be_written_to():
    worlds = Worlds(lander, 2)
    sim = worlds[1]
    version = sim.world.live.version
    home = sim.state.arrays
    worlds.step(3)
    worlds.reset()
    assert sim.world.live.version > version
    assert all(np.array_equal(sim.state.arrays[name], home[name], equal_nan=True) for name in home)
    version = sim.world.live.version
    worlds.reset()
    assert sim.world.live.version == version
    sim.bodies[0].velocity = (0, 0, 1)  # which is not home
    worlds.reset()
    assert sim.world.live.version > version and np.array_equal(sim.bodies[0].velocity, others_velocity(1))
    with pytest.raises(ValueError, match="read-only"):
        sim.home.arrays["state/Q"][:] = np.nan
    state = sim.state
    sim.home = state
    state.arrays["state/Q"][:] = np.nan  # too late to matter
    sim.step()
    sim.reset()
    assert np.isfinite(sim.bodies[0].pos).all()


def others_velocity(number):
    """Of the trunk of a lander at home."""
    return Worlds(lander, 2)[number].bodies[0].velocity


def test_states_go_back_bit_for_bit():
    worlds = Worlds(lander, 3)
    worlds.step(10)
    before = worlds.state
    worlds.step(5)
    first = worlds.q
    worlds.state = before
    worlds.step(5)
    assert np.array_equal(worlds.q, first)
    with pytest.raises(SceneError, match="a state for each of the 3 worlds"):
        worlds.state = before[:2]


def test_some_worlds_are_reset_and_the_others_go_on():
    worlds, others = Worlds(chain, 4, contact=False), Worlds(chain, 4, contact=False)
    worlds.step(6)
    others.step(6)
    q, v = np.full((2, 6), 0.1), np.full(6, -0.5)
    worlds.reset([3, 1], q=q, v=v)
    # coordinates are set to within what closing joints leaves, 1e-9
    assert np.allclose(worlds.q[[1, 3]], 0.1, atol=1e-8) and np.allclose(worlds.v[[1, 3]], -0.5, atol=1e-8)
    assert worlds.frame.tolist() == [6, 0, 6, 0]
    worlds.step(3)
    others.step(3)
    assert np.array_equal(worlds.q[[0, 2]], others.q[[0, 2]])
    again = Worlds(chain, 4, contact=False)
    again.reset(np.array([False, True, False, True]), q=q, v=v)
    again.step(3)
    assert np.array_equal(worlds.q[[1, 3]], again.q[[1, 3]])


def fragile(sim, rng):
    rod = sim.box((0.3, 0.05, 0.05), pos=(0.15, 0, 1), name="rod")
    sim.revolute(None, rod, pos=(0, 0, 1), axis=Y, name="hinge")
    rod.force = (0, 0, 0)


def test_a_world_that_fails_is_told_and_frozen_and_the_others_go_on(caplog):
    strict = {"newton/max_iter": 8, "extras/strict_mode/enable": 1}
    worlds, others = (Worlds(fragile, 4, threads=2, contact=False, config=strict) for _ in range(2))
    worlds.step(2)
    kept = worlds.q[2]
    worlds[2]["rod"].force = (0, 0, 1e9)  # eight iterations do not suffice for that
    worlds.step(3)
    assert list(worlds.failed) == [2] and "world 2 cannot go on" in caplog.text
    assert np.array_equal(worlds.q[2], kept) and worlds.frame.tolist() == [5, 5, 2, 5]
    others.step(5)
    assert np.array_equal(worlds.q[[0, 1, 3]], others.q[[0, 1, 3]])
    worlds[2]["rod"].force = (0, 0, 0)
    worlds.reset(2)
    worlds.step(5)
    assert not worlds.failed and np.array_equal(worlds.q[2], others.q[2])


def test_worlds_may_differ_in_structure():
    def build(sim, rng):
        fragile(sim, rng)
        if rng.integers(2):
            sim.ground()
            sim.box(0.1, pos=(2, 0, 0.06))
        return sim.mechanism(sim["hinge"])

    worlds = Worlds(build, 6, seed=1)
    assert len({len(sim.bodies) for sim in worlds}) == 2
    worlds.step(20)
    assert {len(contacts) > 0 for contacts in worlds.contacts} == {True, False}
    assert np.ptp(worlds.q) == 0.0  # what else stands there does not matter to the rod


def test_many_resets_and_steps_take_no_memory():
    worlds = Worlds(arm, 2)

    def some(count):
        for k in range(count):
            worlds.reset(k % 2, q=[0.1, 0.0, 0.1], v=0.0)
            worlds.step()

    some(20)
    tracemalloc.start()
    some(40)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    some(60)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # NumPy, Numba and kernel/threads.py keep small objects for later, which come to some 70 kB; 60 states would be 300
    assert grown < 30 * sum(array.nbytes for array in worlds[0].state.arrays.values())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Worlds(fragile, 0), "n = 0; give a whole number ≥ 1"),
        (lambda: Worlds(fragile, 2, seed=-1), "seed = -1"),
        (lambda: Worlds(fragile, 2, threads=0), "threads = 0"),
        (lambda: Worlds(5, 2), "build = 5; give a function"),
        (lambda: Worlds(lambda sim, rng: 5, 2), "build has returned 5 for world 0"),
        (lambda: Worlds(lambda sim, rng: (fragile(sim, rng), Worlds(fragile, 1).mechanisms[0])[1], 2), "for world 0"),
        (lambda: Worlds(fragile, 2).reset([2]), "numbers of worlds from 0 to 1"),
        (lambda: Worlds(fragile, 2).reset(q=[[1], [2], [3]]), r"as an array \(2, 1\)"),
        (lambda: setattr(Worlds(fragile, 2), "q", np.nan), r"Worlds.q = nan; give finite numbers"),
        (lambda: setattr(Worlds(fragile, 2), "target", "x"), r"Worlds.target = 'x'"),
        (lambda: Worlds(fragile, 2)["rod"], "give the number of a world"),
        (lambda: Worlds(fragile, 2).step(-1), "steps = -1"),
    ],
)
def test_nonsense_is_refused_in_a_paragraph(make, message):
    with pytest.raises(SceneError, match=message):
        make()


def test_a_world_that_does_not_exist_is_an_index_error_so_that_loops_end():
    worlds = Worlds(fragile, 2)
    assert [sim is worlds[k] for k, sim in enumerate(worlds)] == [True, True] and worlds[-1] is worlds[1]
    with pytest.raises(IndexError, match="there is no world 2; there are 2"):
        worlds[2]


@pytest.mark.skipif(not jit_enabled, reason="kernels read memory")
def test_arrays_are_read_where_they_lie_and_are_those_of_each_world(monkeypatch):
    """After steps, in marches and by themselves; after resets; and after a world was changed, made anew, that is."""
    worlds = Worlds(arm, 3)

    def require_equal():
        expected = {name: np.array([getattr(m, name) for m in worlds.mechanisms]) for name in ("q", "v", "effort")}
        with monkeypatch.context() as patched:
            patched.setattr(Mechanism, "q", property(lambda self: pytest.fail("one by one")))
            patched.setattr(Mechanism, "v", property(lambda self: pytest.fail("one by one")))
            patched.setattr(Mechanism, "effort", property(lambda self: pytest.fail("one by one")))
            for name, value in expected.items():
                np.testing.assert_array_equal(getattr(worlds, name), value, err_msg=name)

    require_equal()
    for change in (
        lambda: setattr(worlds, "target", 0.3),
        lambda: setattr(worlds, "effort", 0.2),
        lambda: worlds.reset(1, v=[[0.1, 0.0, 0.2]]),
        lambda: worlds[1].box((0.1, 0.1, 0.1), pos=(0, 3, 1), mass=1.0),
        lambda: setattr(worlds, "q", [0.1, 0.2, 0.3]),
    ):
        change()
        require_equal()
        worlds.step(4)
        require_equal()

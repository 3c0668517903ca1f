"""A world that several threads use: one after the other, each call as a whole, and no bit is another one."""

from __future__ import annotations

import copy
import os
import threading
import time
import warnings

import numpy as np
import pytest

from dovetail import Scene, Sim
from dovetail.worlds import Worlds

_SOON = 0.3  # [s] in which a thread that is not held back has begun and ended its call
_LONG = 60.0  # [s] in which every call ends, also where its kernels are compiled


def heap() -> Sim:
    """Four boxes that fall onto each other."""
    sim = Sim(dt=0.01)
    sim.ground()
    for k in range(4):
        sim.box(0.1, pos=(0.02 * k, 0, 0.06 + 0.12 * k))
    sim.step()
    return sim


def poses(sim: Sim) -> np.ndarray:
    return np.array([body.transform for body in sim.bodies])


READS = {
    "energy": lambda sim: sim.energy.total,
    "contacts": lambda sim: len(sim.contacts),
    "contact_force": lambda sim: sim.bodies[0].contact_force,
    "state": lambda sim: sim.state,
    "energies of the world": lambda sim: sim.world.energies(),
    "attributes": lambda sim: sim.world.retrieve(),
    "a step": lambda sim: sim.step(),
    "home": lambda sim: sim.reset(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_a_call_of_another_thread_waits_for_the_end_of_the_step(read):
    sim, done, within = heap(), threading.Event(), []

    def call() -> None:
        read(sim)
        done.set()

    thread = threading.Thread(target=call, daemon=True)

    @sim.before_step
    def begin() -> None:
        if not within:
            thread.start()
            within.append(done.wait(_SOON))

    sim.step()
    assert within == [False]
    assert done.wait(_LONG)
    thread.join(_LONG)


def test_threads_that_step_and_read_lose_no_frame_and_change_no_bit():
    alone, sim, errors, stop = heap(), heap(), [], threading.Event()
    alone.step(90)

    def guarded(function) -> threading.Thread:
        def run() -> None:
            try:
                function()
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def look() -> None:
        while not stop.is_set():
            for read in ("energy", "contacts", "contact_force", "state", "attributes"):
                READS[read](sim)

    reader, threads = guarded(look), [guarded(lambda: [sim.step() for _ in range(30)]) for _ in range(2)]
    sim.step(30)
    for thread in threads:
        thread.join(_LONG)
    stop.set()
    reader.join(_LONG)
    assert not errors
    assert sim.frame == alone.frame and np.array_equal(poses(sim), poses(alone))


def test_a_thread_that_waits_comes_in_between_two_steps():
    sim, frames = heap(), []
    thread = threading.Thread(target=lambda: frames.append((sim.energy.total, sim.frame)), daemon=True)
    thread.start()
    thread.join(_LONG)

    def look() -> None:
        frames.append((sim.energy.total, sim.frame))

    seen = threading.Thread(target=look, daemon=True)
    sim.before_step(lambda: None if seen.ident else seen.start())
    sim.step(100)
    assert frames[1][1] < sim.frame


def test_what_runs_within_a_step_may_use_the_world():
    sim, seen = heap(), []

    @sim.before_step
    def look() -> None:
        seen.append((sim.energy.total, len(sim.contacts), sim.bodies[3].pos[2], sim.world.frame()))
        sim.bodies[3].velocity = (0, 0, 0.1)

    sim.step(3)
    assert [frame for *_, frame in seen] == [1, 2, 3]


def test_a_step_that_is_interrupted_lets_others_go_on():
    sim, frames = heap(), []

    @sim.before_step
    def interrupt() -> None:
        if not frames:
            frames.append(sim.frame)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sim.step()
    thread = threading.Thread(target=sim.step, daemon=True)
    thread.start()
    thread.join(_LONG)
    assert sim.frame == frames[0] + 1


def test_many_worlds_are_stepped_by_one_thread_at_a_time():
    def build(sim: Sim, rng: np.random.Generator) -> None:
        rod = sim.box((0.6, 0.05, 0.05), pos=(0.3, 0, 1))
        sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), drive=rng.uniform(-1, 1))

    together, alone = Worlds(build, 3), Worlds(build, 3)
    threads = [threading.Thread(target=lambda: [together.step(2) for _ in range(50)], daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert np.isfinite(together.q).all() and np.isfinite(together[1].energy.total)
    alone.step(200)
    assert (together.frame == 200).all() and np.array_equal(together.q, alone.q)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_is_forked_between_two_steps():
    sim, stop = heap(), threading.Event()

    def run() -> None:
        while not stop.is_set():
            sim.step()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(0.1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Python, to processes with several threads
            child = os.fork()
        if child == 0:
            frame = sim.frame
            sim.step(3)
            os._exit(0 if sim.frame == frame + 3 and np.isfinite(sim.energy.total) else 1)
        deadline, ended = time.monotonic() + _LONG, 0
        while not ended and time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.01)
        if not ended:
            os.kill(child, 9)
            os.waitpid(child, 0)
        assert ended and status == 0
    finally:
        stop.set()
        thread.join(_LONG)


def test_a_copy_of_a_scene_has_a_lock_of_its_own():
    scene = Scene()
    assert copy.deepcopy(scene)._lock is not scene._lock

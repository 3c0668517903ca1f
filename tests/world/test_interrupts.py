"""Ctrl-C anywhere in a step: the last good frame stays, and what follows is what would have followed, bit for bit."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from scenes import add_boxes, assert_same_arrays, mixed_scene, pose, read_state, write_state

import dovetail
from dovetail import Sim, World
from dovetail.constitution import SoftTransformConstraint
from dovetail.kernel.kernel import jit_enabled

pytestmark = pytest.mark.skipif(not jit_enabled, reason="millions of instructions in kernels that are not compiled")
SOURCE = str(Path(dovetail.__file__).parent)
FRAMES = 14


def machine_on_the_ground() -> World:
    """Exact joints, a motor, ctr; a chain falls down, boxes slide and are hit: contacts begin, rub and end."""
    sim = Sim(dt=0.01)
    sim.ground()
    before, height = None, 0.12
    for k in range(3):
        link = sim.box((0.2, 0.04, 0.04), pos=(0.22 * k, 0, height), velocity=(0, 0, -1.5))
        if before is not None:
            sim.spherical(before, link, pos=(0.22 * k - 0.11, 0, height))
        before = link
    sim.box((0.1, 0.1, 0.1), pos=(0, 0.5, 0.0505), velocity=(1, 0, 0))
    sim.box((0.1, 0.1, 0.1), pos=(0.13, 0.52, 0.0505))
    wheel = sim.box((0.3, 0.05, 0.05), pos=(0.1, -0.5, 0.2))
    sim.revolute(None, wheel, pos=(0, -0.5, 0.2), axis=(0, 1, 0), motor=6.0)
    return sim.world


def mechanism_in_the_air() -> World:
    """A tree of exact hinges with a motor, a hard limit and damping, without contact."""
    sim = Sim(dt=0.01, contact=False)
    before = None
    for k in range(6):
        link = sim.box((0.2, 0.04, 0.04), pos=(0.22 * k + 0.11, 0, 0))
        options: dict[str, Any] = {1: {"motor": 2.0}, 3: {"limit": (-0.02, 0.1), "hard": True}, 4: {"damping": 0.1}}
        sim.revolute(before, link, pos=(0.22 * k, 0, 0), axis=(0, 1, 0), **options.get(k, {}))
        before = link
    return sim.world


def machine_that_stands() -> World:
    """A plate on driven legs at rest, whose steps are in one call."""
    sim = Sim(dt=0.003)
    sim.ground()
    plate = sim.box((0.5, 0.3, 0.05), pos=(0, 0, 0.26))
    for x in (-0.2, 0.2):
        sim.revolute(plate, sim.box((0.04, 0.3, 0.2), pos=(x, 0, 0.111)), pos=(x, 0, 0.22), axis=(0, 1, 0), drive=0.0)
    while sim.world._simulation.model.still.taken < 4:
        sim.step()
        assert sim.frame < 500
    return sim.world


def mixture(integrator: str) -> World:
    """Penalty joints with a drive and a limit, and a body that is drawn along a path."""
    scene = mixed_scene(integrator__type=integrator)
    drawn = add_boxes(
        scene, [(0, 9, 0)], name="drawn", applied=[lambda mesh: SoftTransformConstraint().apply_to(mesh, 50.0)],
        instances={"is_constrained": [1], "aim_transform": [pose((0, 9, 0))]},
    )  # fmt: skip

    def lead(info: Any) -> None:
        aim = drawn.geometry.instances["aim_transform"]
        aim[0] = pose((0.01 * info.frame() ** 2, 9, 0))
        drawn.geometry.instances["aim_transform"] = aim

    scene.animator.insert(scene.objects.find("drawn")[0], lead)
    world = World(dovetail.Engine("cpu"))
    world.init(scene)
    return world


WORLDS: dict[str, Callable[[], World]] = {
    "contact, exact joints, ctr": machine_on_the_ground,
    "exact tree, ctr": mechanism_in_the_air,
    "standing, ctr": machine_that_stands,
    "penalties, ctr": lambda: mixture("ctr"),
    "penalties, bdf2": lambda: mixture("bdf2"),
}


def advance(world: World) -> None:
    """A step; its length changes twice, once by so much that exact joints are weighed anew."""
    world.scene.config["dt"] = {6: 0.012, 7: 0.012}.get(world.frame(), 0.01 if world.frame() < 8 else 0.003)
    world.advance()


def everything(world: World) -> dict[str, np.ndarray]:
    """All that the next step depends on, and what is read."""
    energies = {f"energy/{name}": np.array(value) for name, value in world.energies().items()}
    return {**world.state().arrays, **energies, "time": np.array(world.time()), "frame": np.array(world.frame())}


class Moments:
    """Counts the instructions that Python runs in the package, and interrupts before one of them."""

    def __init__(self, interrupt_at: int = -1) -> None:
        self.count, self._at = 0, interrupt_at

    def __enter__(self) -> Moments:
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        frame.f_trace_opcodes = True  # which Python 3.12 does not do from here: there it is lines
        return self._instruction

    def _instruction(self, frame: FrameType, event: str, _: object) -> Any:
        if event in ("opcode", "line"):
            self.count += 1
            if self.count == self._at:
                raise KeyboardInterrupt
        return self._instruction


@pytest.mark.parametrize("make", WORLDS.values(), ids=WORLDS.keys())
def test_an_interrupt_before_any_instruction_leaves_the_last_good_frame(make, rng):
    """Seeded instructions, four in every step; all arrays are compared after each, and after the step."""
    undisturbed, frames, counts = make(), [], []
    frames.append(everything(undisturbed))
    for _ in range(FRAMES):
        with Moments() as moments:
            advance(undisturbed)
        counts.append(moments.count)
        frames.append(everything(undisturbed))
    world, interrupts = make(), 0
    first = world.frame()
    for n in range(FRAMES):
        # the last instructions, where a step is accepted, are few: they get moments of their own
        last = [max(counts[n] - int(rng.integers(0, most)), 1) for most in (700, 60)]
        places = [*rng.integers(1, counts[n], 2), *last]
        for place in places:
            if world.frame() > first + n:
                break  # the interrupt came when the step had been taken
            try:
                with Moments(int(place)):
                    advance(world)
            except KeyboardInterrupt:
                interrupts += 1
            assert_same_arrays(everything(world), frames[world.frame() - first])
        if world.frame() == first + n:
            advance(world)
        assert world.frame() == first + n + 1
        assert_same_arrays(everything(world), frames[n + 1])
    assert interrupts > 2 * FRAMES


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers that send signals are for Unix")
def test_an_interrupt_by_a_signal_leaves_the_last_good_frame(rng):
    """Sixty, at seeded times from the start of a step."""
    undisturbed, frames = machine_on_the_ground(), []
    for _ in range(FRAMES + 1):
        frames.append(everything(undisturbed))
        advance(undisturbed)
    world, interrupts, turns = machine_on_the_ground(), 0, 0
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        while interrupts < 60 and turns < 1000:
            turns += 1
            if world.frame() == FRAMES:
                world = machine_on_the_ground()
            try:
                signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(1e-4, 8e-3)))
                advance(world)
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            except KeyboardInterrupt:
                interrupts += 1
            assert_same_arrays(everything(world), frames[world.frame()])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert interrupts == 60


def test_what_an_animation_has_moved_stays_moved_and_is_seen_by_contact(monkeypatch):
    """A callback puts a box onto another one, and the step is broken off: the next one must know that they meet."""
    sim = Sim(dt=0.01)
    sim.ground()
    sim.box((0.1, 0.1, 0.1), pos=(0, 0, 0.0505))
    box = sim.box((0.1, 0.1, 0.1), pos=(5, 0, 0.5), velocity=(0, 0, -1))
    world = sim.world
    for _ in range(2):
        advance(world)  # candidates then cover the next step of where the boxes were

    def put(info: Any) -> None:
        if info.frame() == 3:
            write_state(world, transforms=[pose((0, 0, 0.1515))], first=1)

    world.scene.animator.insert(world.scene.objects.find(box.name)[0], put)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("dovetail.solver.contact.contact.Contact.record_motion", interrupt)
        advance(world)
    assert world.frame() == 2
    world.scene.animator.erase(world.scene.objects.find(box.name)[0].id())
    for _ in range(60):
        advance(world)
    heights = read_state(world)[0][:, 2, 3]
    assert heights[1] > heights[0] + 0.1, "it has not fallen through"

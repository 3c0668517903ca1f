"""How many steps may be asked for, and that any number of them can be interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import GradientError, SceneError
from dovetail.worlds import Worlds, rollout


def build(sim: Sim, rng: np.random.Generator) -> None:
    rod = sim.box((0.6, 0.05, 0.05), pos=(0.3, 0, 1))
    sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), drive=0.0)


@pytest.mark.parametrize("steps", [np.uint64(2**63), 2**63, 10**12 + 1, 2**64 - 1])
def test_more_steps_than_can_be_taken_are_refused(steps):
    sim, worlds = Sim(), Worlds(build, 2)
    sim.box(0.1)
    for call in (sim.step, sim.run, sim.rollout, worlds.step, lambda n: rollout(worlds, steps=n)):
        with pytest.raises(SceneError, match=r"steps = \d+; give 1,000,000,000,000 at most"):
            call(steps)
    with pytest.raises(GradientError, match="at most"):
        sim.world.rollout(steps)
    with pytest.raises(SceneError, match=r"steps = 1000000000000; 2 worlds of 1 coordinate need 4\.8e"):
        rollout(worlds, steps=10**12)
    assert sim.frame == 0 and (worlds.frame == 0).all()


LONG = """
import signal, time
import numpy as np
from dovetail import Sim
from dovetail.worlds import Worlds

def build(sim, rng):
    rod = sim.box((0.6, 0.05, 0.05), pos=(0.3, 0, 1))
    sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), drive=0.0)

worlds = Worlds(build, 40)
for steps in (300, 10):
    worlds.step(steps)  # all kernels are there then
print("ready", flush=True)
try:
    worlds.step(10**12)
except KeyboardInterrupt:
    frames = worlds.frame
    worlds.step()
    print("interrupted", (worlds.frame == frames + 1).all() and np.isfinite(worlds.q).all(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are not sent to processes there")
def test_any_number_of_steps_is_interrupted_within_a_second():
    process = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("ready")
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        told, _ = process.communicate(timeout=30.0)
    finally:
        process.kill()
    assert told.split() == ["interrupted", "True"]
    assert time.monotonic() - began < 5.0  # a second, and what a busy machine adds

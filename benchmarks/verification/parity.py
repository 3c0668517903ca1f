"""Trajectories recorded from libuipc, repeated."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

from dovetail import Engine, World
from verification.case import Case, Finding, test_module

__all__ = ["cases"]


def _differences(tests: Any, build: Any) -> list[float]:
    """Largest difference in an entry of any transform, frame by frame."""
    with np.load(tests.RECORDINGS / f"{build.__name__}.npz", allow_pickle=False) as file:
        recorded = dict(file)
    setup = build()
    world = World(Engine("cpu", tempfile.gettempdir()))
    world.init(setup.scene)
    found = []
    for frame in range(1, min(len(recorded["T0"]), setup.last_frame + 1)):
        world.advance()
        world.retrieve()
        found.append(
            max(
                float(np.abs(body.geometry.transforms.values - recorded[f"T{k}"][frame]).max())
                for k, body in enumerate(setup.bodies)
            )
        )
    return found


def cases(quick: bool) -> list[Case]:
    tests = test_module("parity/test_recordings")
    curves = {build.__name__: _differences(tests, build) for build in tests.SCENES}

    def draw(axes: Any) -> None:
        for name, curve in curves.items():
            axes.semilogy(0.01 * np.arange(1, len(curve) + 1), np.maximum(curve, 1e-17), lw=1, label=name)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("largest difference in a transform")
        axes.legend(fontsize=6, frameon=False, ncols=2)

    findings = [Finding(name, max(curve), tests.BOUNDS.get(name, tests.BOUND)) for name, curve in curves.items()]
    text = (
        "Nine scenes recorded with libuipc 0.0.29 at tight tolerances, bodies and joints, bdf1 and bdf2. Both programs "
        "minimise the same potential, so what is left is where their iterations stop. The chain tumbles: near motions "
        "part by a factor of a thousand in its 1.5 s, hence its wider bar."
    )
    return [Case("parity", "libuipc's trajectories", text, findings, draw)]

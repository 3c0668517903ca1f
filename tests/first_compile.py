"""What to compile before the first test, so that two workers do not compile the same kernels side by side.

Each worker takes steps of scenes of its own; it finds what the other one has compiled on disk.
"""

from __future__ import annotations

import os

import numpy as np

from dovetail import Sim
from dovetail.solver.kernel import cold, jit_enabled

__all__ = ["first_compile"]


def _chain(links: int, **options: object) -> Sim:
    sim = Sim(contact=False, **options)  # type: ignore[arg-type]
    last = sim.box(0.1, fixed=True)
    for k in range(links):
        link = sim.box((0.1, 0.02, 0.02), pos=(0.1 * k + 0.1, 0, 0))
        make = sim.revolute if k % 2 else sim.spherical
        make(last, link, pos=(0.1 * k + 0.05, 0, 0), **({"axis": (0, 1, 0)} if k % 2 else {}))
        last = link
    return sim


def _joints() -> None:
    for links in (3, 70):
        for integrator in ("ctr", "bdf1"):
            for exact in (True, False):
                _chain(links, integrator=integrator, exact=exact).step(3)


def _contact() -> None:
    for integrator in ("ctr", "bdf1"):
        sim = Sim(integrator=integrator)
        sim.ground()
        boxes = [sim.box(0.1, pos=(0.15 * k, 0, 0.06 + 0.12 * layer)) for k in range(3) for layer in range(2)]
        sim.sphere(0.05, pos=(0, 0.3, 0.06), spin=(1, 0, 0))
        sim.capsule(0.05, 0.1, pos=(0.2, 0.3, 0.12))
        arm = sim.box((0.3, 0.02, 0.02), pos=(1.0, 0, 0.05))
        hinge = sim.revolute(None, arm, pos=(0.85, 0, 0.05), axis=(0, 1, 0))
        hinge.limit = (-1.0, 1.0)
        sim.step(30)
        assert np.isfinite([box.pos for box in boxes]).all()


def first_compile() -> None:
    """Compile the share of this worker, where nothing is compiled yet."""
    share = {"gw0": _joints, "gw1": _contact}.get(os.environ.get("PYTEST_XDIST_WORKER", ""))
    if share is not None and jit_enabled and cold():
        share()

"""What a system without outer forces must keep."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.typing import Array
from verification.case import INTEGRATORS, ORDER, Case, Finding, test_module

__all__ = ["cases"]


def momentum(quick: bool) -> Case:
    tests = test_module("physics/test_joint_momentum")
    kinds = list(tests.JOINTS.values())
    findings = []
    for method in ("bdf1", "bdf2"):
        simulation = tests.cloud(kinds, method)
        mass, state = simulation.model.bodies.mass, simulation.state
        size = np.abs(mass @ state.V)[:, 0].sum()
        start = (mass @ state.V)[:, 0].sum(axis=0)
        worst = 0.0
        for frame in range(1, 21):
            simulation.advance(frame)
            worst = max(worst, float(np.abs((mass @ state.V)[:, 0].sum(axis=0) - start).max() / size))
        findings.append(Finding(f"change of linear momentum, {method}, 20 steps", worst, 1e-11))
    lost: dict[tuple[str, float], float] = {}
    for method in ("bdf1", "bdf2"):
        for dt in (0.02, 0.01, 0.005):
            simulation = tests.cloud(kinds, method, dt, moved=False)
            mass, state = simulation.model.bodies.mass, simulation.state
            start = tests.moment(mass, state.Q, state.V)
            for frame in range(round(0.2 / dt)):
                simulation.advance(frame + 1)
            change = np.linalg.norm(tests.moment(mass, state.Q, state.V) - start) / np.linalg.norm(start)
            lost[method, dt] = float(change)
        order = float(np.log2(lost[method, 0.01] / lost[method, 0.005]))
        expected = {"bdf1": 1.0, "bdf2": 2.0}[method]
        if method == "bdf1":
            findings.append(Finding(f"order of the loss of angular momentum, {method}", order, 0.3, "", expected))
        else:
            findings.append(Finding(f"angular momentum lost in 0.2 s, {method}, 5 ms", lost[method, 0.005], 1e-3))

    def draw(axes: Any) -> None:
        for method in ("bdf1", "bdf2"):
            axes.loglog([0.02, 0.01, 0.005], [lost[method, dt] for dt in (0.02, 0.01, 0.005)], "o-", ms=4, label=method)
        axes.set_xlabel("step [s]")
        axes.set_ylabel("angular momentum lost in 0.2 s")
        axes.legend(frameon=False)

    text = (
        "Eight free bodies in a ring with joints of every kind, drives and limits at work. Linear momentum is kept to "
        "round-off; angular momentum is changed by the integrator alone, with its order."
    )
    return Case("momentum", "Momentum", text, findings, draw)


def energy(quick: bool) -> Case:
    tests = test_module("physics/test_reference_pendulums")
    dt, seconds = 2e-3, 2.0 if quick else 4.0
    # what is released when both rods hang: m g (L/2 + 3L/2)
    scale = 9.81 * 2.0

    def changes(method: str, dt: float) -> Array:
        bench, _, _ = tests.rods(2, 1.0, dt, method)

        def total() -> float:
            found = bench.world.energies()
            return sum(value for name, value in found.items() if name != "friction_dissipated")

        curve = np.array(bench.run(round(seconds / dt), total))
        return (curve - curve[0]) / scale

    curves = {method: changes(method, dt) for method in INTEGRATORS}
    findings = []
    for method, change in curves.items():
        if ORDER[method] == 1:
            # what it takes out in the first half second, before the motions at two steps part
            half = [c[round(0.5 / h) - 1] for c, h in ((change, dt), (changes(method, dt / 2), dt / 2))]
            order = float(np.log2(half[0] / half[1]))
            findings.append(Finding(f"order of the energy that {method} takes out in 0.5 s", order, 0.1, "", 1.0))
        else:
            findings.append(Finding(f"energy of {method} after {seconds:g} s, change", float(change[-1]), 0.01))
        findings.append(Finding(f"energy of {method}, largest gain", max(0.0, float(change.max())), 1e-3))

    def draw(axes: Any) -> None:
        for method, curve in curves.items():
            axes.plot(dt * np.arange(1, len(curve) + 1), curve, lw=1, label=method)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("energy − start, share of 2 m g L")
        axes.legend(frameon=False)

    text = (
        "A double rod pendulum from the horizontal at dt = 2 ms. Implicit methods take energy out and must not put any "
        "in. A second-order one shall keep all but 1 % of it; what bdf1 loses shall fall with its order."
    )
    return Case("energy", "Energy", text, findings, draw)


def cases(quick: bool) -> list[Case]:
    return [momentum(quick), energy(quick)]

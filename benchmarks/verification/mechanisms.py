"""Mechanisms against reduced coordinates: IFToMM A03 to A05 and a slider-crank, with the orders of the integrators."""

from __future__ import annotations

from typing import Any

import numpy as np

from verification.case import Case, Finding, test_module
from verification.published import convergence

__all__ = ["cases"]

_TURNED = (
    15.81077119629904 + 0.0617138900142764
)  # [rad] of A03 at 0.03 s, from the Bari test set of problems for solvers


def _error(make: Any, place: Any, time: float, kappa: float) -> Any:
    """Distance from the reference as a function of step and integrator."""

    def measure(dt: float, method: str) -> float:
        bench, where = make(dt, method, kappa=kappa)
        bench.run(round(time / dt))
        return float(np.linalg.norm(where() - place(time)))

    return measure


def a03(quick: bool) -> Case:
    scenes = test_module("mechanisms")
    case = convergence(
        "a03", "IFToMM A03: Andrews' squeezing mechanism",
        "Seven steel bars of some centimetres, a torque and a stiff spring; exact joints, κ = 1e13 Pa, for what yields "
        "is off by more than dt does ([figures](choosing.md#shape-stiffness)). The crank turns by 8.2 rad in 0.02 s, "
        "which is compared with reduced coordinates, solved to ten digits; these agree with the published angle at "
        "0.03 s, when it has turned by 15.87 rad at up to 1,100 rad/s, to eight. Orders are within 0.2: bdf1 is off by "
        "0.5 rad still.",
        _error(scenes.squeezer, scenes.squeezer_place, 0.02, 1e13), [4e-5, 2e-5] if quick else [4e-5, 2e-5, 1e-5], 2e-3,
        unit="rad", spread=0.35 if quick else 0.2,
    )  # fmt: skip
    bench, where = scenes.squeezer(2e-5, kappa=1e13)
    bench.run(1500)
    # ∝ dt²: 1.3e-3 rad at this step
    case.findings.append(Finding("published angle at 0.03 s, ctr at 0.02 ms", float(where()[0] - _TURNED), 2e-3, "rad"))
    return case


def a04(quick: bool) -> Case:
    scenes = test_module("mechanisms")
    case = convergence(
        "a04", "IFToMM A04: Bricard's mechanism",
        "Five bars along the edges of a cube fall for a second on six exact hinges, which by a count of constraints "
        "could not move. The hinge P3 against reduced coordinates; κ = 1e12 Pa.",
        _error(scenes.bricard, scenes.bricard_place, 1.0, 1e12), [8e-3, 4e-3, 2e-3], 2e-5,
    )  # fmt: skip
    # 4 ms: ctr's own is 1.2e-5 m, bodies that yield leave 0.7e-5 m, and tolerances of 1e-3 m/s as much
    usual = _error(scenes.bricard, scenes.bricard_place, 1.0, 1e8)
    for n in (250, 640, 1000):
        case.findings.append(Finding(f"ctr with κ = 1e8 Pa at {1e3 / n:.3g} ms", usual(1 / n, "ctr"), 2.5e-5, "m"))
    return case


def a05(quick: bool) -> Case:
    scenes = test_module("mechanisms")
    return convergence(
        "a05", "IFToMM A05: a stiff flyball governor",
        "Two arms with balls of 5 kg swing out from a shaft that spins freely at 2π rad/s and lift a slider by springs "
        "of 8e5 N/m with dampers of 4e4 N·s/m; arms 30° below the horizontal and springs at rest in the beginning. "
        "The height of the slider at 0.25 s against reduced coordinates; exact joints, κ = 1e12 Pa.",
        _error(scenes.governor, scenes.governor_place, 0.25, 1e12), [0.25 / n for n in (31, 62, 124)], 2e-4,
    )  # fmt: skip


def slider_crank(quick: bool) -> Case:
    scenes = test_module("mechanisms")
    return convergence(
        "slider_crank", "A slider-crank",
        "Crank, rod and piston, let go with the crank at 60°. The place of the piston after 0.6 s against reduced "
        "coordinates; exact joints, κ = 1e11 Pa. Orders are within 0.2: steps of a millisecond are long for it.",
        _error(scenes.slider_crank, scenes.slider_crank_place, 0.6, 1e11), [4e-3, 2e-3, 1e-3], 1e-4, spread=0.2,
    )  # fmt: skip


def cases(quick: bool) -> list[Case]:
    return [a03(quick), a04(quick), a05(quick), slider_crank(quick)]

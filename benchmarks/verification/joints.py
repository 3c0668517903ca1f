"""How far joints give: gaps against step and strength, limits against theory, exact joints."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import numpy as np

from verification.case import REPOSITORY, Case, Finding, test_module

__all__ = ["cases"]


def _gap_script() -> Any:
    spec = importlib.util.spec_from_file_location("joint_gap", REPOSITORY / "docs" / "scripts" / "joint_gap.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["joint_gap"] = module
    spec.loader.exec_module(module)
    return module


def gaps(quick: bool) -> Case:
    script = _gap_script()
    strengths = (100.0, 1e3, 1e4)
    steps = (0.02, 0.01, 0.004)
    found = {dt: script.measure(dt, strengths) for dt in steps}
    share = {"spherical": 1.0, "fixed": 1.0, "revolute": 0.5, "prismatic": 0.5}
    findings = []
    for kind, part in share.items():
        ratios = [
            found[dt][kind, gamma] / (part * script._G * dt * dt / (2 * gamma)) for dt in steps for gamma in strengths
        ]
        worst = max(ratios, key=lambda ratio: abs(ratio - 1.0))
        findings.append(Finding(f"{kind}: gap ÷ theory, the worst of {len(ratios)}", worst, 0.01, "", 1.0))

    def draw(axes: Any) -> None:
        h = np.array(steps)
        for gamma in strengths:
            (line,) = axes.loglog(h, [found[dt]["spherical", gamma] for dt in steps], "o", ms=4, label=f"γ = {gamma:g}")
            axes.loglog(h, script._G * h * h / (2 * gamma), ":", color=line.get_color())
        axes.set_xlabel("step [s]; dotted: g h²/(2γ)")
        axes.set_ylabel("gap of a spherical joint [m]")
        axes.legend(frameon=False)

    text = (
        "A cube hangs on another by one joint. A joint of strength K = γ(m₁ + m₂) opens by m g h²/K, and by half of "
        "that where two of its terms share the load."
    )
    return Case("gap", "Joint gap against dt and γ", text, findings, draw)


def limits(quick: bool) -> Case:
    tests = test_module("physics/test_joint_limits")
    loads = np.array([1.0, 2.0, 5.0, 10.0, 20.0])
    strengths = np.array([1.0, 10.0, 100.0])
    load, strength = (grid.reshape(-1) for grid in np.meshgrid(loads, strengths))
    measured = {}
    findings = []
    for what, name in ((tests.SLIDE, "prismatic"), (tests.TURN, "revolute")):
        bench, joined = tests.loaded(what, -0.2, 0.3, strength, load, 0.29)
        bench.run(400)
        theory = tests.overshoot(0.5, strength, load)
        measured[name] = joined["limit/violation"].copy()
        worst = float(np.abs(measured[name] - theory).max())
        findings.append(Finding(f"{name}: overshoot − theory, the worst of {len(theory)}", worst, 1e-12, "m or rad"))

    def draw(axes: Any) -> None:
        for s in strengths:
            chosen = strength == s
            (line,) = axes.loglog(load[chosen], measured["prismatic"][chosen], "o", ms=4, label=f"s = {s:g}")
            axes.loglog(loads, tests.overshoot(0.5, s, loads), ":", color=line.get_color())
        axes.set_xlabel("load [N]; dotted: theory")
        axes.set_ylabel("overshoot [m]")
        axes.legend(frameon=False)

    text = "A constant load f presses a joint against its limit: x − u = w √(f h² w/(3 s)), w = u − l."
    return Case("limit", "Overshoot of limits", text, findings, draw)


def exact(quick: bool) -> Case:
    tests = test_module("physics/test_reference_chain")
    frames = 50 if quick else 100
    gammas = (1e2, 1e3, 1e4, 1e6, np.inf)
    largest = [float(tests.chain("bdf1", gamma, frames=frames)[1]) for gamma in gammas]
    tip = tests.chain("bdf1", np.inf)[0]
    distance = float(np.linalg.norm(tip - tests.reduced_tip(tests.affine_inertia)))
    findings = [
        Finding("gap of ten exact hinges through the crack of the whip", largest[-1], 1e-9, "m"),
        Finding("the same at γ = 100", largest[0], 1e-4, "m"),
        Finding("tip at 0.5 s against reduced coordinates", distance, 1e-4, "m"),
    ]

    def draw(axes: Any) -> None:
        axes.bar(range(len(gammas)), np.maximum(largest, 1e-17), color="#457b9d")
        axes.set_xticks(range(len(gammas)), [f"{gamma:g}" for gamma in gammas])
        axes.set_yscale("log")
        axes.set_xlabel("strength_ratio γ")
        axes.set_ylabel("largest gap [m]")

    text = (
        "Ten hinged links whip round from the horizontal at dt = 10 ms. With `strength_ratio` = inf the hinges hold by "
        "multipliers; the motion is that of backward Euler in the angles of the links."
    )
    return Case("exact", "Exact joints", text, findings, draw)


def cases(quick: bool) -> list[Case]:
    return [gaps(quick), limits(quick), exact(quick)]

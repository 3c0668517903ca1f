"""Mechanisms with published solutions: ADAMS, IFToMM A01 and A02, the four-bar, the double pendulum."""

from __future__ import annotations

from typing import Any

import numpy as np

from verification.case import INTEGRATORS, Case, Finding, draw_orders, order_findings, test_module

__all__ = ["cases", "convergence"]

_ADAMS = {1: (-0.892381, -1.789876), 2: (-1.951117, -0.439479), 3: (1.869170, -0.711481), 5: (-1.999684, -0.035559)}


def adams(quick: bool) -> Case:
    tests = test_module("physics/test_reference_adams")
    bench, body, hinge = tests.jointed(tests.AffineBodyRevoluteJoint, (0, -0.5, 0), (0, 0.5, 0))
    seconds = 2 if quick else 5
    seen = np.array(
        bench.run(
            1000 * seconds,
            lambda: (*tests.image(body, (0, 0, 0)), *hinge["reaction/force"][0], hinge["gap"][0]),
        )
    )
    findings = []
    for second, (x, z) in _ADAMS.items():
        if second <= seconds:
            distance = float(np.linalg.norm(seen[1000 * second - 1, :3] - (x, 0.0, z)))
            findings.append(Finding(f"position at {second} s", distance, 1e-3, "m"))
    reaction = float(np.linalg.norm(seen[999, 3:6] - (11.461238, 0.0, 23.227328)))
    findings += [
        Finding("reaction at 1 s", reaction, 2e-2, "N"),
        Finding("gap of the hinge", float(seen[:, 6].max()), 1e-5, "m"),
    ]

    def draw(axes: Any) -> None:
        time = 1e-3 * np.arange(1, len(seen) + 1)
        axes.plot(time, seen[:, 0], lw=1, label="x")
        axes.plot(time, seen[:, 2], lw=1, label="z")
        for second, place in _ADAMS.items():
            if second <= seconds:
                axes.plot([second, second], place, "k.", ms=5)
        axes.set_xlabel("time [s]; dots: ADAMS")
        axes.set_ylabel("centre [m]")
        axes.legend(frameon=False)

    text = (
        "A revolute pendulum computed with MSC ADAMS. The bars are those that other engines use against it at "
        "dt = 0.5 ms; here bdf2 runs at 1 ms."
    )
    return Case("adams", "ADAMS: a revolute pendulum", text, findings, draw)


def _errors(measure: Any, steps: list[float]) -> dict[str, list[float]]:
    return {method: [float(measure(dt, method)) for dt in steps] for method in INTEGRATORS}


def convergence(
    name: str, title: str, text: str, measure: Any, steps: list[float], bar: float, unit: str = "m", spread: float = 0.1
) -> Case:
    """Orders of all integrators from errors measure(dt, method), within `spread`, and the error of bdf2 in the end."""
    errors = _errors(measure, steps)
    findings = order_findings(errors, spread)
    findings.append(Finding(f"error of bdf2 at {steps[-1]:.3g} s", errors["bdf2"][-1], bar, unit))
    return Case(name, title, text, findings, lambda axes: draw_orders(axes, steps, errors, f"error [{unit}]"))


def a01(quick: bool) -> Case:
    tests = test_module("physics/test_reference_pendulums")
    return convergence(
        "a01", "IFToMM A01: a simple pendulum", "The position after 1 s against the published one; γ = 1e4.",
        lambda dt, method: tests.a01_errors(dt, method)[0], [4e-3, 2e-3, 1e-3], 5e-5,
    )  # fmt: skip


def a02(quick: bool) -> Case:
    tests = test_module("physics/test_reference_four_bars")
    case = convergence(
        "a02", "IFToMM A02: four-bars through a singular position",
        "Two four-bars in a row fold flat twice in 2 s, where the mechanism could change its branch. The position "
        "after 1 s against the published one; γ = 1e4.",
        lambda dt, method: tests.a02(dt, method)[0][0], [4e-3, 2e-3, 1e-3] if quick else [2e-3, 1e-3, 5e-4], 1e-4,
    )  # fmt: skip
    errors, gap = tests.a02(1e-3, "bdf2", until=2.0)
    case.findings += [
        Finding("error of bdf2 at 2 s", float(errors[1]), 2e-4, "m"),
        Finding("gap", float(gap), 1e-8, "m"),
    ]
    return case


def double_pendulum(quick: bool) -> Case:
    tests = test_module("physics/test_reference_pendulums")
    return convergence(
        "double_pendulum", "A double rod pendulum",
        "The tip after 1 s of a chaotic swing from the horizontal, against the exact solution; γ = 1e4.",
        lambda dt, method: tests.double_errors(dt, method)[1], [2e-3, 1e-3] if quick else [2e-3, 1e-3, 5e-4], 5e-5,
    )  # fmt: skip


def four_bar(quick: bool) -> Case:
    tests = test_module("physics/test_reference_four_bars")
    crank, rocker, gap = tests.four_bar(100.0, 200 if quick else 400)
    exact = tests.rocker_angle(crank)
    error = np.rad2deg(np.angle(np.exp(1j * (rocker - exact))))

    def draw(axes: Any) -> None:
        order = np.argsort(crank)
        axes.plot(np.rad2deg(crank[order]), np.rad2deg(exact[order]), "k:", label="Freudenstein")
        axes.plot(np.rad2deg(crank[order]), np.rad2deg(rocker[order]), lw=1, label="dovetail")
        axes.set_xlabel("crank [°]")
        axes.set_ylabel("rocker [°]")
        axes.legend(frameon=False)

    findings = [
        Finding("rocker angle", float(np.abs(error).max()), 0.1, "°"),
        Finding("gap of the loop", float(gap.max()), 1e-3, "m"),
    ]
    text = (
        "A crank-rocker driven through a turn at γ = 100 and dt = 10 ms, against Freudenstein's equation. The bars "
        "are the ones Newton sets itself at dt = 0.2 ms."
    )
    return Case("four_bar", "Kinematics of a four-bar", text, findings, draw)


def cases(quick: bool) -> list[Case]:
    return [adams(quick), a01(quick), a02(quick), four_bar(quick), double_pendulum(quick)]

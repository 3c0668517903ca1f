"""Friction against Coulomb's law."""

from __future__ import annotations

from typing import Any

import numpy as np

from verification.case import Case, Finding, test_module

__all__ = ["cases"]


def cases(quick: bool) -> list[Case]:
    tests = test_module("physics/test_contact_friction")
    slope = float(np.tan(tests.ANGLE))
    frames = 80
    motions = {mu: tests.speeds(mu, frames) for mu in (0.4, 0.45, 0.49, 0.495, 0.505, 0.51, 0.55)}
    findings = []
    for mu, v in motions.items():
        if mu < slope:
            expected = tests.G * (np.sin(tests.ANGLE) - mu * np.cos(tests.ANGLE))
            found = (v[-1] - v[-31]) / (30 * tests.DT)
            findings.append(
                Finding(f"acceleration at μ = {mu:g}", float(found), 0.01 * expected, "m/s²", float(expected))
            )
        else:
            findings.append(Finding(f"speed at μ = {mu:g}", float(v[-1]), tests.EPS, "m/s"))

    def draw(axes: Any) -> None:
        for mu, v in motions.items():
            axes.plot(tests.DT * np.arange(1, frames + 1), v, lw=1, label=f"μ = {mu:g}")
        axes.set_xlabel("time [s]")
        axes.set_ylabel("speed downhill [m/s]")
        axes.legend(frameon=False)

    text = (
        "A cube on a slope of tan α = 0.5 slides where μ < 0.5, with g(sin α − μ cos α), and sticks where μ > 0.5; "
        "both are seen 1 % from there. Friction is smoothed below `contact/eps_velocity` = 0.01 m/s: what sticks "
        "creeps more slowly than that."
    )
    return [Case("friction", "Friction on a slope", text, findings, draw)]

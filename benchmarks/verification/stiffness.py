"""Stiff contact and stiff shapes beside small loads."""

from __future__ import annotations

from typing import Any

from verification.case import Case, Finding, test_module

__all__ = ["cases"]

RATES, STIFF = (30.0, 45.0, 60.0, 80.0, 100.0), (1e8, 1e9, 1e10)


def cases(quick: bool) -> list[Case]:
    return [_slabs(quick), _machines(quick), _spin(quick)]


def _slabs(quick: bool) -> Case:
    tests = test_module("physics/test_contact_stiffness")
    steps = (0.01, 0.002) if quick else (0.01, 0.005, 0.002, 0.001)
    found = {mass: [tests.on_a_slab(mass, dt) for dt in steps] for mass in (2e3, 1e5)}
    findings = []
    for mass, slides in found.items():
        for dt, slide in zip(steps, slides, strict=True):
            what = f"slab of {mass / 1e3:g} t, dt {1e3 * dt:g} ms"
            findings.append(Finding(f"{what}: way", slide.way, 0.01 * tests.WAY, "m", tests.WAY))
            findings.append(Finding(f"{what}: mean force over weight", slide.mean, 0.005, "", 1.0))
    for kappa in (1e12, 1e13, 1e14):
        slide = tests.on_given_contact(kappa, 0.01)
        findings.append(Finding(f"κ = {kappa:g} Pa given: way", slide.way, 0.01 * tests.WAY, "m", tests.WAY))

    def draw(axes: Any) -> None:
        for mass, slides in found.items():
            ways = [abs(slide.way / tests.WAY - 1) for slide in slides]
            axes.loglog([1e3 * dt for dt in steps], ways, "o-", lw=1, label=f"slab of {mass / 1e3:g} t")
        axes.set_xlabel("dt [ms]")
        axes.set_ylabel("error of the way")
        axes.legend(frameon=False)

    text = (
        "A crate of 5 kg slides with 2 m/s, μ = 0.3, on a slab that slides freely: in half a second as far as on the "
        "ground, pressed by its weight. Contact is as stiff as the lighter body needs; where it is given stiffer than "
        "that, on the ground, the last step of Newton's method changes its force by a hundredth of the weight at most."
    )
    return Case("heavy_slabs", "A crate on heavy slabs", text, findings, draw)


def _machines(quick: bool) -> Case:
    tests = test_module("physics/test_contact_stiffness")
    findings = []
    for dt in (0.005,) if quick else (0.005, 0.002, 0.001):
        middle, amplitude = tests.on_a_belt(dt)
        findings.append(Finding(f"belt of 10 t, dt {1e3 * dt:g} ms: mean place over μmg/k", middle, 0.02, "", 1.0))
        findings.append(Finding("amplitude over V/ω", amplitude, 0.02, "", 1.0))
    for dt in (0.005,) if quick else (0.01, 0.005, 0.002, 0.001):
        way, largest = tests.on_a_shaken_plate(dt)
        bar = 0.05 if dt == 0.01 else 0.02  # a reversal is found within a step: 2 % of half a period at 10 ms
        findings.append(Finding(f"plate of 1 t, dt {1e3 * dt:g} ms: way over μgT²/16", way, bar, "", 1.0))
        findings.append(Finding("largest force over weight", largest, 0.02, "", 1.0))
    for drum in (1.0, 680.0):
        for mu in (0.2, 0.4):
            for dt in (0.01,) if quick else (0.01, 0.005, 0.002):
                what = f"capstan, drum of {drum:g} kg, μ = {mu:g}, dt {1e3 * dt:g} ms: pull over e^−μπ"
                findings.append(Finding(what, tests.capstan(dt, drum, mu), 0.02, "", 1.0))
    text = (
        "A block on a spring (1 kg, 100 N/m, μ = 0.3) is taken along by a belt until it slips, and swings about μmg/k "
        "with the amplitude V/ω. A cube on a plate that is shaken with 3 μg slides to and fro by μgT²/16. A chain of "
        "48 links of 1 g half around a drum that turns holds 1 kg with e^μπ times its weight."
    )
    return Case("heavy_machines", "Belt, shaken plate and capstan", text, findings)


def _spin(quick: bool) -> Case:
    tests = test_module("physics/test_contact_stiffness")
    pairs = [(60.0, 1e10), (100.0, 1e9)] if quick else [(rate, kappa) for kappa in STIFF for rate in RATES]
    findings = []
    for rate, kappa in pairs:
        drift = tests.spun(rate, kappa) - 1.0
        findings.append(Finding(f"{rate:g} rad/s, κ = {kappa:g} Pa: drift of the energy", drift, 1e-3))
    text = (
        "A free ball of 0.1 m spins for 10 s at dt 0.01 s, by up to one radian a step. What the last step of Newton's "
        "method leaves of the stress turns with the body, and works in every step."
    )
    return Case("stiff_spin", "Stiff bodies that spin", text, findings)

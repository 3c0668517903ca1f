"""Measures what the stiffness κ of bodies leaves of two mechanisms; the table of docs/choosing.md.

    python docs/scripts/stiffness.py

IFToMM A03, Andrews' squeezing mechanism of steel bars that turns 2.5 times in 0.03 s, against the published angle, and
A04, Bricard's mechanism that falls for 1 s, against reduced coordinates; exact joints, ctr. The scenes are those of the
tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from mechanisms import bricard, bricard_place, squeezer

from dovetail.world.strain import strains

__all__ = ["STIFFNESSES", "measure", "render"]

STIFFNESSES = (1e8, 1e9, 1e10)
_TURNED = 15.81077119629904 + 0.0617138900142764  # [rad], published


def measure(make, dt, frames, true, kappa):
    """Error in the end, and the largest entry of |AᵀA − 1| of any body in any frame."""
    bench, where = make(dt, "ctr", kappa)
    largest = bench.run(frames, lambda: strains(bench.world._simulation.state.Q).max())
    return float(np.linalg.norm(where() - true)), max(largest)


def render() -> str:
    lines = [
        "| κ [Pa] | A03: largest strain | A03: error, of 15.9 rad | A04: largest strain | A04: error of a point |",
        "|---|---|---|---|---|",
    ]
    for kappa in STIFFNESSES:
        angle, strain = measure(squeezer, 2e-5, 1500, _TURNED, kappa)
        way, other = measure(bricard, 2e-3, 500, bricard_place(1.0), kappa)
        lines.append(f"| {kappa:.0e} | {strain:.1e} | {angle:.2g} rad | {other:.1e} | {1e6 * way:.1f} µm |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(render())

"""Bodies of the solver without a scene, for tests of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.solver.bodies import ORTHO, Bodies

__all__ = ["plain_bodies"]


def plain_bodies(mass: np.ndarray, **given: Any) -> Bodies:
    """Free, dynamic bodies with the moments (n, 4, 4), the OrthoPotential and no gravity, but for what is given."""
    n = len(mass)
    usual = {
        "stiffness": np.ones(n), "model": np.full(n, ORTHO), "is_fixed": np.zeros(n), "is_dynamic": np.ones(n),
        "external_kinetic": np.zeros(n), "gravity": np.zeros((n, 3)), "centre": np.zeros((n, 3)),
        "half": np.ones((n, 3)),
    }  # fmt: skip
    return Bodies(mass=mass, **{**usual, **given})

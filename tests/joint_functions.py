"""Functions of joints called by themselves, with random arguments, and differences to compare with."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.solver.joint.function import COORDINATES, ENERGIES, LAWS, EnergyFunction
from dovetail.world.lower import joints as _built_in  # noqa: F401  registers the functions

__all__ = [
    "FD_TOL",
    "PARALLEL",
    "STEP",
    "close",
    "coordinates",
    "energies",
    "laws",
    "over",
    "parameters_of",
    "phi",
    "psi",
    "rows_of",
    "sample",
    "slopes",
    "x_of",
]

STEP = 1e-5
# central differences: truncation STEP² = 1e-10 times third derivatives, round-off 1e-16/STEP = 1e-11, both times values
# of order 1 to 100
FD_TOL = 1e-7


def _parallel(F, p, exact, g, H):
    """ψ = K/2 |u × v|², an energy as users write them: the package's own joints are rows and laws."""
    K = p[0]
    uu = F[0] * F[0] + F[1] * F[1] + F[2] * F[2]
    vv = F[3] * F[3] + F[4] * F[4] + F[5] * F[5]
    uv = F[0] * F[3] + F[1] * F[4] + F[2] * F[5]
    for a in range(3):
        u, v = F[a], F[3 + a]
        g[a] = K * (vv * u - uv * v)
        g[3 + a] = K * (uu * v - uv * u)
        for b in range(3):
            same = 1.0 if a == b else 0.0
            H[6 * a + b] = K * (vv * same - v * F[3 + b])
            H[6 * (3 + a) + 3 + b] = K * (uu * same - u * F[b])
            mixed = u * F[3 + b] - uv * same
            if exact > 0.0:
                mixed += u * F[3 + b] - v * F[b]
            H[6 * a + 3 + b] = K * mixed
            H[6 * (3 + b) + a] = K * mixed
    c0 = F[1] * F[5] - F[2] * F[4]
    c1 = F[2] * F[3] - F[0] * F[5]
    c2 = F[0] * F[4] - F[1] * F[3]
    return 0.5 * K * (c0 * c0 + c1 * c1 + c2 * c2)


PARALLEL = EnergyFunction("parallel", _parallel, (True, True, False, True, True), 2, ("K [kg]",))


def over(registry, name="function", more=()):
    """Every function of a registry that the package itself defines, and more."""
    own = [f for f in registry.values() if f.function.__module__.startswith("dovetail.")] + list(more)
    return pytest.mark.parametrize(name, own, ids=[f.name for f in own])


energies, coordinates, laws = over(ENERGIES, more=[PARALLEL]), over(COORDINATES), over(LAWS)


def slopes(f, x):
    """Central differences of f (scalar or array) by every entry of x."""
    columns = []
    for k in range(len(x)):
        e = np.zeros(len(x))
        e[k] = STEP
        columns.append((np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * STEP))
    return np.array(columns)


def close(found, expected):
    scale = max(1.0, np.abs(expected).max())
    return np.abs(found - expected).max() <= FD_TOL * scale


def psi(function, F, p, exact=1.0):
    n = len(F)
    g, H = np.zeros(n), np.zeros(n * n)
    value = function.function(F, p, exact, g, H)
    return value, g, H.reshape(n, n)


def x_of(function, F):
    n = len(F)
    dx, d2x = np.zeros(n), np.zeros(n * n)
    value = function.function(F, 1.0, dx, d2x)
    return value, dx, d2x.reshape(n, n)


def phi(function, x, p):
    d = np.zeros(3)
    return function.function(x, p, d), d[0], d[1]


def parameters_of(function, rng):
    """Random parameters in ascending order, so that a lower bound is below an upper one."""
    return np.sort(rng.uniform(0.5, 2, len(function.parameters)))


def sample(function, seed):
    """Random rows F with parameters, for energies."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=3 * function.rows), parameters_of(function, rng)


def rows_of(function, seed):
    """Random rows F, for coordinates."""
    return np.random.default_rng(seed).normal(size=3 * function.rows)

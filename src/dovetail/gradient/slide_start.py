"""Slides at a consistent start, as a function of their rows F = (u, v) and of the rates of these; its derivatives.

The function is the part of ℓ (start.py) that slides have, with J(y) = y_u × v + u × y_v along a motion y,

    penalties   K (J(μ₂)·(C − J x) − J(μ₁)·J V̂) + curvature·μ₂          (row_algebra.py, curve_rows)
    exact       −m₁·J(μ₁) − ν₁·J V̂ − m₂·J(μ₂) + ν₂·(2h² u̇ × v̇ − J x)    across v

It is analytic, so that complex steps differentiate it to round-off.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.gradient.rows import stacked
from dovetail.gradient.vectors import across, cross, dot
from dovetail.solver.joint.rows import Rows
from dovetail.typing import Array

__all__ = ["slide_adjoints"]

_STEP = 1e-30


def _J(F: Any, y: Any) -> Any:
    return cross(y[..., 0, :], F[..., 1, :]) + cross(F[..., 0, :], y[..., 1, :])


def _penalty(F: Any, rate: Any, h: float, motions: Any) -> Any:
    """For K = 1."""
    mu1, V, mu2, x = motions
    u, v = F[..., 0, :], F[..., 1, :]
    total = dot(_J(F, mu2), cross(u, v) - _J(F, x)) - dot(_J(F, mu1), _J(F, V))
    value = across(v, _J(F, rate) / (F * F).sum(axis=(-1, -2))[..., None])
    kept = h * (rate - np.stack([cross(v, value), cross(value, u)], axis=-2))
    bend = cross(kept[..., 0, :], kept[..., 1, :])
    return total + 2.0 * (dot(bend, _J(F, mu2)) + dot(_J(F, kept), _J(kept, mu2)))


def _exact(F: Any, rate: Any, h: float, motions: Any, held: list[Array]) -> Any:
    mu1, V, mu2, x = motions
    m1, m2, nu1, nu2 = held
    v = F[..., 1, :]
    bend = 2.0 * h * h * cross(rate[..., 0, :], rate[..., 1, :])
    along = [across(v, each) for each in (_J(F, mu1), _J(F, V), _J(F, mu2), bend - _J(F, x))]
    return dot(nu2, along[3]) - dot(m1, along[0]) - dot(nu1, along[1]) - dot(m2, along[2])


def _stiff(F: Any, motions: Any) -> Any:
    """Exact slides as penalties across v, with K = 1: −J(μ₁)·J V̂."""
    v = F[..., 1, :]
    return -dot(across(v, _J(F, motions[0])), across(v, _J(F, motions[1])))


def slide_adjoints(
    rows: Rows, h: float, motions: tuple[Array, ...], rate: Array, held: list[Array] | None, Q: Array, Q_bar: Array,
    V_bar: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Q_bar, V_bar (n, 4, 3) += derivatives by Qₙ and the rate of curvatures; those by K (e,) of penalties and by W.

    motions (4, n, 4, 3) are μ₁, V̂, μ₂, x; held are m₁, m₂, ν₁, ν₂ of exact slides, None where these are penalties too.
    """
    # what ℓ depends on: F, the rates of it along V̂ in curvatures, and along the four motions
    states = [stacked(rows, each) for each in (Q, rate, *motions)]
    steps = 1j * _STEP * np.eye(36).reshape(36, 1, 6, 2, 3)
    n, K = rows.exact, rows.K[: rows.exact]
    F, dF, *y = (rows.W @ state + steps[:, :, i] for i, state in enumerate(states))
    penalty = _penalty(F[:, :n], dF[:, :n], h, [each[:, :n] for each in y])
    others = [each[:, n:] for each in y]
    exact = rows.K[n:] * _stiff(F[:, n:], others) if held is None else _exact(F[:, n:], dF[:, n:], h, others, held)
    slopes = np.concatenate([K * penalty, exact], axis=1).imag.T.reshape(-1, 6, 2, 3) / _STEP
    for out, by in ((Q_bar, slopes[:, 0]), (V_bar, slopes[:, 1])):
        back = np.einsum("kmi,kmx->kix", rows.W, by)
        np.add.at(out, rows.left, back[:, :4])
        np.add.at(out, rows.right, back[:, 4:])
    W_bar = sum(slopes[:, i] @ state.swapaxes(1, 2) for i, state in enumerate(states))
    return np.asarray(penalty[0].real), np.asarray(W_bar)

"""Bodies as if they were rigid, as formulas that have derivatives (formulas.py): twins of solver/rigid.py and its kin.

With S the second moments about the centre of mass, a_i rows 1 to 3 of Q, and I = tr(Σ S_ij a_i a_jᵀ) − Σ S_ij a_i a_jᵀ,

    rigid      A ↦ (A₀ + Σ c_i A_i,  Σ S_ij a_i × A_j)             c = M̂₀ᵢ/m
    rows_of    (a, τ) ↦ rows t × a_k,  a − Σ c_k t × a_k          I t = ½ Σ a_k × (τ × a_k)
    spin_of    V ↦ ω,  I ω = Σ S_ij a_i × V_j
"""

from __future__ import annotations

import numpy as np

from dovetail.gradient.formulas import Node, cross, custom, divided, joined, summed
from dovetail.typing import Array

__all__ = ["Moments", "axes_of", "inverse_of"]


def inverse_of(mass: Node) -> Node:
    """M⁻¹ (n, 4, 4)."""
    found: Array = np.asarray(np.linalg.inv(mass.value), np.float64)
    return custom(
        (mass,), found, lambda bar: (-found.swapaxes(1, 2) @ bar @ found.swapaxes(1, 2),),
        lambda dm: -found @ dm @ found,
    )  # fmt: skip


def _transposed(x: Node) -> Node:
    return custom((x,), x.value.swapaxes(-1, -2), lambda bar: (bar.swapaxes(-1, -2),), lambda a: a.swapaxes(-1, -2))


class Moments:
    """Bodies with moments M̂ (n, 4, 4) at Q (n, 4, 3)."""

    def __init__(self, mass: Node, Q: Node) -> None:
        first = mass[:, :1, 1:]
        self.m, self.centre = mass[:, 0, :1], first / mass[:, :1, :1]
        self.S = mass[:, 1:, 1:] - _transposed(first) @ self.centre
        self.a = Q[:, 1:]
        world = _transposed(self.a) @ (self.S @ self.a)
        eye = np.eye(3)
        trace = summed(summed(world * eye, 1), 1)[:, None, None]
        self.inertia = trace * eye - world

    def carried(self, rows: Node) -> Node:
        """What rows (n, 4, 3) do at the centre of mass (n, 3)."""
        return rows[:, 0] + (self.centre @ rows[:, 1:])[:, 0]

    def torque(self, rows: Node) -> Node:
        """Σ S_ij a_i × rows_j (n, 3)."""
        return summed(cross(self.a, self.S @ rows[:, 1:]), 1)

    def rigid(self, A: Node) -> Node:
        return joined([self.carried(A), self.torque(A)])

    def spin_of(self, V: Node) -> Node:
        return divided(self.torque(V), self.inertia)

    def rows_of(self, w: Node) -> Node:
        turns = summed(cross(self.a, 0.5 * cross(w[:, None, 3:], self.a)), 1)
        rows = cross(divided(turns, self.inertia)[:, None], self.a)
        return joined([w[:, None, :3] - self.centre @ rows, rows], axis=1)

    def norm(self, mass: Node, rows: Node) -> Node:
        """‖rows‖²_M (n,)."""
        return summed(summed(rows * (mass @ rows), 1), 1)

    def twisted(self, inverse: Node, torque: Node) -> Node:
        """M⁻¹(½τ × a_k on row k) (n, 4, 3)."""
        rows = 0.5 * cross(torque[:, None], self.a)
        return inverse[:, :, 1:] @ rows


def axes_of(Q: Node, axis: Array) -> Node:
    """Unit axes (n, 3) in the world of axes in bodies; 0 of those that have none."""
    along = (axis[:, None] @ Q[:, 1:])[:, 0]
    length = np.sqrt((along.value**2).sum(axis=1, keepdims=True))
    has = length > 0.0
    safe = np.where(has, length, 1.0)
    unit = along.value / safe

    def turned(change: Array) -> Array:
        return np.where(has, (change - unit * (unit * change).sum(axis=1, keepdims=True)) / safe, 0.0)

    return custom((along,), unit, lambda bar: (turned(bar),), turned)

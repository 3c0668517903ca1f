"""Contacts of a state as formulas that have derivatives (formulas.py): gaps, loads, and what barriers resist.

Closest points move with the bodies, G dα = −B·dQ (touching.py). s_e = r·r_e with constant weights has the derivative
B_e, so that α = −G⁻¹(s − s⁰) has the right one, and everything else follows from c + Σ α_e c_e.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dovetail.gradient.barriers import add_forms, require_blocks
from dovetail.gradient.formulas import Graph, Node, add_up, custom, divided, dot, gathered, joined, unary
from dovetail.gradient.sums import Sums
from dovetail.gradient.surfaces import add_row_shapes
from dovetail.gradient.touching import Touching
from dovetail.solver.blocks import Blocks
from dovetail.solver.contact.kinds import D_HAT, KAPPA, KIND, POINT_PLANE, SHAPE, THICKNESS, X0
from dovetail.solver.contact.scene import ContactScene
from dovetail.typing import Array, Indices

__all__ = ["Closest", "Form", "across", "image", "moved_on", "spread"]


def image(c: Any, bodies: Indices, X: Any) -> Node:
    """c (k, 8) on the rows of two bodies each, of X (n, 4, 3): (k, 3). One of c and X is a node, or both."""
    rows = gathered(X, bodies) if isinstance(X, Node) else np.where((bodies >= 0)[:, :, None, None], X[bodies], 0.0)
    found: Node = (c[:, None, :4] @ rows[:, 0])[:, 0] + (c[:, None, 4:] @ rows[:, 1])[:, 0]
    return found


def moved_on(c: Node, some: Indices, body: Indices, side: int, d: Node, Q: Node) -> Node:
    """c (k, 8) of points that lie by d (s, 3) farther on the bodies (s,) of a side of some contacts."""
    xi = (1.0 - 2.0 * side) * divided(d, gathered(Q, body)[:, 1:])
    pad = np.zeros((len(some), 1)), np.zeros((len(some), 4))
    parts = [pad[0], xi, pad[1]] if side == 0 else [pad[1], pad[0], xi]
    return c + add_up(joined(parts), some, len(c.value))


def across(n: Any, v: Node) -> Node:
    """v without its part along unit vectors n."""
    found: Node = v - n * dot(n, v)
    return found


def _slopes_of_barrier(D: Array, thickness: Array, d_hat: Array) -> tuple[list[Array], list[Array]]:
    """b and its first three derivatives by D, for κ = 1 (solver/contact/barrier.py); derivatives of three by d̂."""
    inner, outer = thickness**2, (thickness + d_hat) ** 2
    x, gap, whole = D - outer, D - inner, outer - inner
    log, ratio = np.log(gap / whole), x / gap
    by_D = [
        -x * x * log,
        -x * (2.0 * log + ratio),
        -(2.0 * log + 4.0 * ratio - ratio**2),
        -(6.0 - 6.0 * ratio + 2.0 * ratio**2) / gap,
    ]
    by_outer = [
        2.0 * x * log + x * x / whole,
        2.0 * log + 2.0 * ratio + 2.0 * x / whole,
        2.0 / whole + (4.0 - 2.0 * ratio) / gap,
    ]
    return by_D, [2.0 * (thickness + d_hat) * by for by in by_outer]


class Form(NamedTuple):
    """Σ c cᵀ ⊗ M of contacts: nodes c (k, 8), with the sign of their body, and M (k, 3, 3)."""

    bodies: Indices
    c: Node
    M: Node

    def work(self, x: Array, y: Array) -> Node:
        """c x·M c y (k, 1) for motions x, y (n, 4, 3)."""
        along = image(self.c, self.bodies, y)
        return dot(image(self.c, self.bodies, x), (self.M @ along[:, :, None])[:, :, 0])

    def add(self, share: float, blocks: Blocks) -> None:
        """Add it to blocks, where c and M have gone on by a share of their change."""
        require_blocks(blocks, self.bodies)
        c, M = (each.value + share * each.change for each in (self.c, self.M))
        add_forms(self.bodies, np.ascontiguousarray(c), np.ascontiguousarray(M), blocks)


class Closest:
    """Contacts t at Q.

    bodies (k, 2)                   −1 for a half-plane
    c (k, 8), r (k, 3), D (k, 1)    nodes: weights with the sign of their body, gap, its square
    n (k, 3), d (k, 1)              nodes: unit normal, and distance
    log_kappa (k, 1)                node: a change of the logarithm of κ
    reach (k, 1)                    node: d̂
    given, shift                    nodes: c, c₁, c₂ (k, 8) that they come from, and points of half-planes (k, 3)
    scale (k, 1)                    node: m h²κ
    """

    def __init__(self, graph: Graph, t: Touching, scene: ContactScene, Q: Node) -> None:
        self.t, self.bodies, self.Q = t, t.bodies, Q
        on_plane = (t.pairs[:, KIND] == POINT_PLANE)[:, None]
        self.given, self.shift = (
            [graph.of(each) for each in (t.c, t.c_e[:, 0], t.c_e[:, 1])],
            graph.of(np.zeros_like(t.r)),
        )
        fixed, *rates = (image(each, t.bodies, Q) for each in self.given)
        # the gap to a half-plane has no part along it; elsewhere this is what it is
        gaps = joined([dot(fixed, rate) for rate in rates])
        alpha = -(t.inverse @ (gaps - gaps.value)[:, :, None])[:, :, 0]
        self.c = self.given[0] + alpha[:, :1] * self.given[1] + alpha[:, 1:] * self.given[2]
        self.d_value = np.sqrt(t.D)[:, None]
        n = t.r / self.d_value
        moved = image(self.c, t.bodies, Q)
        moved = moved - moved.value - np.where(on_plane, 1.0, 0.0) * self.shift
        self.r = t.r + moved - np.where(on_plane, 1.0, 0.0) * across(n, moved)
        self.D = dot(self.r, self.r)
        self.d = unary(self.D, self.d_value, 0.5 / self.d_value)
        self.n = self.r / self.d
        self.log_kappa = graph.of(np.zeros((t.count, 1)))
        numbers = t.numbers
        self.reach = graph.of(numbers[:, D_HAT, None])
        self._b, self._by_reach = _slopes_of_barrier(t.D[:, None], numbers[:, THICKNESS, None], self.reach.value)
        # κ of adaptive contacts is a multiple of 1/d̂²
        shrinks = np.where(numbers[:, KAPPA, None] < 0.0, -2.0 / self.reach.value, 0.0)
        kappa = t.kappa[:, None] * (1.0 + self.log_kappa)
        self.kappa: Node = kappa * unary(self.reach, np.ones_like(shrinks), shrinks)
        self.scale: Node = self.kappa * self._mollifiers(scene)

    def _mollifiers(self, scene: ContactScene) -> Any:
        """m (k, 1) of edges that are nearly parallel, 1 for all else."""
        t = self.t
        bent = np.flatnonzero(t.slope > 0.0)
        self.bent, self.edges = bent, np.zeros((len(bent), 2, 8))
        if not len(bent):
            return t.weight[:, None]
        for side in range(2):
            base = scene.x_base[t.bodies[bent, side]]
            ends = [scene.V[t.pairs[bent, X0 + 2 * side + i] - base] for i in range(2)]
            self.edges[:, side, 4 * side + 1 : 4 * side + 4] = ends[1] - ends[0]
        u, v = (image(self.edges[:, side], t.bodies[bent], self.Q) for side in range(2))
        self.uv = u, v
        self.crossed = dot(u, u) * dot(v, v) - dot(u, v) * dot(u, v)
        of_bent = unary(self.crossed, t.weight[bent, None], t.slope[bent, None])
        plain = np.where(t.slope > 0.0, 0.0, t.weight)[:, None]
        return plain + add_up(of_bent, bent, t.count)

    def tell_shapes(self, scene: ContactScene, sums: Sums) -> None:
        """Gradients by vertices and half-planes, if they are asked for."""
        if sums.vertices is not None:
            by = np.stack([each.slope for each in self.given], axis=1)
            add_row_shapes(self.t, scene, by, self.shift.slope, sums.vertices, sums.planes)

    def slope_of_barrier(self, order: int) -> Node:
        """b or a derivative of it by D (k, 1)."""
        by_D, by_reach = self._b[order + 1], self._by_reach[order]
        return custom(
            (self.D, self.reach), self._b[order], lambda bar: (bar * by_D, bar * by_reach),
            lambda dD, dr: dD * by_D + dr * by_reach,
        )  # fmt: skip

    def pushes(self) -> Node:
        """λ h² (k, 1)."""
        return -2.0 * self.d * self.slope_of_barrier(1) * self.scale

    def load(self, mu: Array, log_mu: Node) -> Node:
        """μλ h² (k, 1), with a change of the logarithm of μ (k,)."""
        return mu[:, None] * (1.0 + log_mu) * self.pushes()

    def bends(self, rigour: Node) -> Form:
        """What Newton's method has of the Hessian of barriers, q² r rᵀ, each as often as rigour (k, 1) says."""
        q = rigour * self.scale * (4.0 * self.slope_of_barrier(2) + 2.0 * self.slope_of_barrier(1) / self.D)
        q = q * ((q.value > 0.0) & (self.t.weight[:, None] >= 1e-6))
        return Form(self.bodies, self.c, q[:, :, None] * (self.r[:, :, None] * self.r[:, None]))

    def forces(self, n: int) -> Node:
        """The gradient of all barriers, rows (n, 4, 3)."""
        t = self.t
        by = 2.0 * self.scale * self.slope_of_barrier(1) * self.r
        found = spread(self.c, by, t.bodies, n)
        if not len(self.bent):
            return found
        u, v = self.uv
        b = self.slope_of_barrier(0)
        width = t.numbers[self.bent, SHAPE, None]
        slope = unary(self.crossed, t.slope[self.bent, None], -2.0 / width**2)
        pull = 2.0 * gathered(self.kappa, self.bent) * gathered(b, self.bent) * slope
        first, second = dot(v, v) * u - dot(u, v) * v, dot(u, u) * v - dot(u, v) * u
        for side, along in enumerate((first, second)):
            found = found + spread(self.edges[:, side], pull * along, t.bodies[self.bent], n)
        return found


def spread(c: Any, F: Node, bodies: Indices, n: int) -> Node:
    """Σ c ⊗ F on the rows (n, 4, 3) of the bodies of contacts, c (k, 8), F (k, 3)."""
    rows = joined([(c[:, :4, None] * F[:, None])[:, None], (c[:, 4:, None] * F[:, None])[:, None]], axis=1)
    return add_up(rows, bodies, n)

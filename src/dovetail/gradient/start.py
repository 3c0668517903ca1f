"""Adjoint of a consistent start, with which steps of ctr begin; its equations are those of solver/consistent.py.

    P V̂ + Jᵀm₁ = M Vₙ − drift/h,   J V̂ = 0            P x + Jᵀm₂ = r(Qₙ, V̂ + ½hφf),   J x = bend,   Â = −x/h²

with the filter P(Qₙ) = M + f·shapes + joints + laws. The adjoints μ₁, ν₁ and μ₂, ν₂ of both systems solve the same
matrices, and the start passes on the derivatives of

    ℓ = μ₁·(M Vₙ − drift/h − P V̂ − Jᵀm₁) − ν₁·J V̂ + μ₂·(r − P x − Jᵀm₂) + ν₂·(bend − J x)

by Qₙ, Vₙ, V̂ and all parameters, which bodies, slides and laws have each for themselves. ½hφf is there in touch alone
(held.py), where Vₙ stands for what touching makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dovetail.gradient.frame import Frame
from dovetail.gradient.law_start import coordinate_adjoints, start_adjoints
from dovetail.gradient.laws import bend_adjoints, steps_of
from dovetail.gradient.linear import AdjointSystem
from dovetail.gradient.potential import entry_rates
from dovetail.gradient.rows import points_back
from dovetail.gradient.slide_start import slide_adjoints
from dovetail.gradient.start_bodies import StartBodies, hand_on, momentum_back
from dovetail.gradient.sums import Sums
from dovetail.solver.assembly.start import scatter, set_momentum, turn_to_acceleration
from dovetail.solver.consistent import filter_of
from dovetail.solver.joint.law_start import curve_laws
from dovetail.solver.joint.laws import Laws
from dovetail.solver.joint.row_algebra import curve_rows
from dovetail.typing import Array, Flags, Indices

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Begun", "StartAdjoint"]

MU1, X1, MU2, X2, VN, VHAT, VALUE, YIELDS, BEND, NUMBERS = range(10)
"""Columns of the adjoints of a coordinate: of its rates along six motions, of its value, of its compliance, and of its
second rate along V̂."""


@dataclass(slots=True)
class Begun:
    """A start: its bodies (n,), V̂ and x, multipliers m₁, m₂ (r, 3), and the acceleration a (n, 4, 3) by loads.

    V_before, half    what stands for Vₙ, and ½hφf (n, 4, 3) in touch
    weight            of laws (m,) in P
    """

    active: Indices
    V: Array
    x: Array
    m: tuple[Array, Array]
    a: Array
    V_before: Array
    half: Array | None = None
    weight: Array | None = None

    def acceleration(self, h: float) -> Array:
        """Â (n, 4, 3)."""
        found: Array = self.x.reshape(self.V.shape) / (-h * h)
        return found


class StartAdjoint:
    """Consistent starts of a simulation, forwards and back; by_laws are adjoints of parameters of laws in the last."""

    def __init__(self, simulation: Simulation, system: AdjointSystem, is_place: Flags) -> None:
        self._model, self._system, self._is_place = simulation.model, system, is_place
        self._bodies, laws = StartBodies(simulation.model), simulation.model.potential.laws
        self.by_laws = np.zeros(0 if laws is None else len(laws.p))

    def begin(self, frame: Frame, Q: Array, V: Array, a: Array, half: Array | None = None) -> Begun:
        """The start of a step from Q, V with the accelerations a by gravity and loads; for half see `Begun`."""
        model, h = self._model, frame.h
        potential, start, blocks = model.potential, model.start, self._system.blocks
        active = model.bodies.is_free * frame.methods.starts
        start.begin(Q, V, frame.methods.held, h, frame.ratio)
        known = filter_of(model, active)
        g, mass, exact = blocks.g, model.bodies.mass, potential.exact
        set_momentum(mass, active, start.V, h, start.drift, g)
        x1, m1 = self._system.solve(g, active)
        scatter(active, x1.reshape(-1, 12), 1.0, start.V)
        V_hat = start.V.copy()
        if half is not None:
            start.V += half
        np.copyto(g, known.gradient)
        turn_to_acceleration(mass, active, start.filtered, h, a, Q, start.V, g)
        curve_rows(potential.slides, start.V, h, g)
        if potential.laws is not None:
            curve_laws(potential.laws, start, active, known.weight, g)
        if exact is not None:
            exact.add_curvature(h, Q, start.V, g)
        x2, m2 = self._system.solve(g, active)
        self._system.swap()
        weight = None if potential.laws is None else potential.laws.weight.copy()
        return Begun(active, V_hat, x2, (m1, m2), a.copy(), V, half, weight)

    def back(
        self, k: int, frame: Frame, begun: Begun, Q: Array, V_bar: Array, A_bar: Array, start_bar: Array,
        exerted_bar: Array, sums: Sums,
    ) -> tuple[Array, Array, Array, Array]:  # fmt: skip
        """Adjoints of Qₙ, Vₙ, the accelerations at Qₙ and ½hφf (n, 4, 3), from those of V̂ and Â; start_bar (c,) is that
        of what rate laws take for xₙ, exerted_bar (m,) of S of laws with caps. It is the start that was begun last;
        V_bar is overwritten.
        """
        h, V, active, system, mass = frame.h, begun.V_before, begun.active, self._system, self._model.bodies.mass
        Q_bar, Vn_bar, half_bar, unused, a_bar = np.zeros((5, *Q.shape))
        system.recall(Q, active)
        self.by_laws.fill(0.0)
        x_bar = A_bar * (-1.0 / (h * h))
        if exerted_bar.any():
            self._exerted_back(begun, Q, h, exerted_bar, V_bar, x_bar)
        mu2, nu2 = system.solve(x_bar, active)
        # ℓ is linear in its adjoints: first what the second system asks of V̂ too, then the first
        by_Vn, bars = (Vn_bar, half_bar), (start_bar, exerted_bar)
        self._pull(k, frame, begun, (Q, V), (None, None, mu2, nu2), bars, sums, (Q_bar, *by_Vn))
        hand_on(active, half_bar, V_bar, Vn_bar)
        mu1, nu1 = system.solve(V_bar, active)
        self._pull(k, frame, begun, (Q, V), (mu1, nu1, None, None), None, sums, (Q_bar, Vn_bar, unused))
        momenta = (V, begun.V, begun.x, begun.a)
        momentum_back(mass, active, h, momenta, (mu1, mu2), Vn_bar, a_bar, sums.constant["mass"])
        return Q_bar, Vn_bar, a_bar, half_bar

    def _exerted_back(
        self, begun: Begun, Q: Array, h: float, exerted_bar: Array, V_bar: Array, x_bar: Array
    ) -> None:  # fmt: skip
        """V_bar, x_bar += what S of laws with caps depends on by the rates along V̂ and x, which ℓ has not."""
        laws = self._model.potential.laws
        assert laws is not None and begun.weight is not None
        c, carried = laws.coordinates, exerted_bar * begun.weight
        J = c.derivatives(Q, begun.V)[1]
        for side, bodies in enumerate((c.left, c.right)):
            along = J[laws.of, side].reshape(-1, 4, 3) * carried[:, None, None]
            np.add.at(V_bar, bodies[laws.of], -along / h)
            np.add.at(x_bar, bodies[laws.of], 0.5 * along / (h * h))

    def filter_adjoint(
        self, k: int, frame: Frame, Q: Array, V: Array, active: Indices, mu: Array, y: Array, sums: Sums,
        with_laws: bool = False, rows: tuple[Array, Array] | None = None,
    ) -> Array:  # fmt: skip
        """Derivative by Qₙ (n, 4, 3) of −μ·P y, in which exact joints are as stiff as they are in the matrix.

        `with_laws` P has φ″ of laws at Qₙ in it, as they were last linearised. With m and ν of `rows` exact joints are
        obeyed: of −μ·(P y + Jᵀm) − ν·J y.
        """
        Q_bar: Array = np.zeros_like(Q)
        zero, exact = np.zeros_like(Q), self._model.potential.exact
        none = np.zeros((0, 3)) if exact is None else np.zeros_like(exact.restraint)
        m, nu = (none, none) if rows is None else rows
        begun, out = Begun(active, y, zero, (m, none), zero, V), (Q_bar, np.zeros_like(Q), np.zeros_like(Q))
        adjoints, stiff = (mu, nu, None, None), rows is None
        self._pull(k, frame, begun, (Q, V), adjoints, None, sums, out, stiff, with_laws, drifts=False)
        sums.constant["mass"] -= np.einsum("bix,bjx->bij", mu, y)
        return Q_bar

    def _pull(
        self, k: int, frame: Frame, begun: Begun, ends: tuple[Array, Array],
        adjoints: tuple[Array | None, Array | None, Array | None, Array | None],
        law_bars: tuple[Array, Array] | None, sums: Sums, out: tuple[Array, Array, Array], stiff: bool = False,
        with_laws: bool = False, drifts: bool = True,
    ) -> None:  # fmt: skip
        """`out` += derivatives of ℓ by Qₙ, Vₙ and the rate of curvatures (n, 4, 3), sums += those by parameters.

        adjoints are μ₁, ν₁, μ₂, ν₂; None for those of a system that does not count. For law_bars see `back`. Without
        `drifts` the momentum of targets has no part in it. `stiff`: exact joints count as penalties; for `with_laws`
        see `filter_adjoint`.
        """
        h, (Q, V), (Q_bar, _, V_bar), by = frame.h, ends, out, sums.constant
        potential, rate = self._model.potential, begun.V if begun.half is None else begun.V + begun.half
        points, slides, exact = potential.points, potential.slides, potential.exact
        mu1, nu1, mu2, nu2 = adjoints
        systems = (mu1, begun.V, begun.m[0], nu1), (mu2, begun.x, begun.m[1], nu2)
        self._bodies.pull(begun.active, h, mu1, (mu2, rate), (begun.V, begun.x), Q, (Q_bar, V_bar), sums)
        for second, (mu, y, m, nu) in enumerate(systems):
            if mu is not None and nu is not None and points.count:
                penalties = points.count if stiff else points.exact
                W_bar, K_bar = by["points/W"], by["points/K"]
                points_back(points, penalties, bool(second), (mu, y), (m, nu), Q, Q_bar, W_bar, K_bar)
        if not slides.count and potential.laws is None and (exact is None or not exact.combined.count):
            return
        none = np.zeros((0, 3)) if exact is None else np.zeros_like(exact.restraint)
        parts = [*begun.m, none if nu1 is None else nu1, none if nu2 is None else nu2]
        motions = tuple(np.zeros_like(Q) if each is None else each for each in (mu1, begun.V, mu2, begun.x))
        first = points.count - points.exact
        after = first + slides.count - slides.exact
        if slides.count:
            held = [part[first:after] for part in parts]
            K_bar, W_bar = slide_adjoints(slides, h, motions, rate, None if stiff else held, Q, Q_bar, V_bar)
            by["slides/K"] += K_bar
            by["slides/W"] += W_bar
        combined = None if stiff else [part[after:, 0] for part in parts]
        self._coordinates(k, frame, (*motions, V, rate), combined, (drifts, with_laws), Q, law_bars, sums, out)

    def _add_bends(self, laws: Laws, bars: Array, Y: Array, p_bar: Array, steps: Array) -> None:
        """bars (c, 10) −= derivatives of Σ s φ″ (∇x·μ₁)(∇x·V̂), p_bar ← minus those by parameters."""
        c, some, flat = laws.coordinates, laws.acting, Y.reshape(len(Y), -1, 12)
        mu, y = (
            (laws.J[:, 0] * each[c.left[some]] + laws.J[:, 1] * each[c.right[some]]).sum(axis=1) for each in flat[:2]
        )
        by_x = np.zeros(len(some))
        p_bar[:] = 0.0
        bend_adjoints(laws, steps, -mu * y, by_x, p_bar)
        for column, value in ((MU1, -laws.bend * y), (X1, -laws.bend * mu), (VALUE, by_x)):
            bars[some, column] += value

    def _coordinates(
        self, k: int, frame: Frame, motions: tuple[Array, ...], parts: list[Array] | None, counts: tuple[bool, bool],
        Q: Array, law_bars: tuple[Array, Array] | None, sums: Sums, out: tuple[Array, Array, Array],
    ) -> None:  # fmt: skip
        """The part of laws and of rows on coordinates; motions are μ₁, V̂, μ₂, x, Vₙ and that of curvatures.

        Without `parts`, rows count as penalties. Whether drifts and φ″ of laws count.
        """
        model, h, (drifts, with_laws) = self._model, frame.h, counts
        exact, laws = model.potential.exact, model.potential.laws
        if laws is not None:
            c = laws.coordinates
        elif exact is not None and exact.combined.count:
            c = exact.combined.entries.coordinates
        else:
            return
        bars = np.zeros((c.count, NUMBERS))
        Y = np.stack(motions)
        if laws is not None:
            p_bar = np.zeros((3, len(laws.p)))
            steps = np.stack([steps_of(p, self._is_place) for p in (laws.p, *laws.past)])
            smooth, held, inverse = frame.methods.smooth, frame.methods.held, model.bodies.mass_inverse
            exerted_bar = np.zeros(laws.count) if law_bars is None else law_bars[1]
            start_adjoints(
                laws, h, frame.ratio, inverse, (smooth, held), drifts, steps, Q, Y, exerted_bar, bars, p_bar
            )  # fmt: skip
            self.by_laws += p_bar[0]
            starts = smooth[c.left] & smooth[c.right]
            if law_bars is not None:
                bars[:, VALUE] += law_bars[0]
                bars[:, VHAT] += np.where(starts, 0.5 * h * law_bars[0], 0.0)
            for back in range(3):
                sums.law_steps[k + 2 - back] += p_bar[back]
            if with_laws:
                self._add_bends(laws, bars, Y, p_bar[0], steps[0])
                sums.law_steps[k + 2] += p_bar[0]
        if exact is not None and exact.combined.count and parts is None:
            rows = exact.combined
            e, w = rows.entries, rows.weight
            for column, motion in ((MU1, motions[1]), (X1, motions[0])):
                along = np.zeros(rows.count)
                np.add.at(along, e.group, w * entry_rates(e, motion))
                np.add.at(bars[:, column], e.of, -(rows.K * along)[e.group] * w)
        elif exact is not None and exact.combined.count:
            assert parts is not None
            rows = exact.combined
            e, w = rows.entries, rows.weight
            m1, m2, nu1, nu2 = (part[e.group] * w for part in parts)
            for column, value in ((MU1, -m1), (X1, -nu1), (MU2, -m2), (X2, -nu2), (BEND, h * h * nu2)):
                np.add.at(bars[:, column], e.of, value)
            by_row = [part[e.group] for part in parts]
            rates = [entry_rates(e, each) for each in motions[:4]]
            by_weight = by_row[3] * (h * h * c.derivatives(Q, motions[5])[2][e.of] - rates[3])
            by_weight -= by_row[0] * rates[0] + by_row[2] * rates[1] + by_row[1] * rates[2]
            sums.steps["combined/weight"][k] += by_weight
        by = sums.constant
        coordinate_adjoints(c, model.bodies.mass_inverse, bars, Q, Y, *out, by["mass"], by["coordinates/W"])

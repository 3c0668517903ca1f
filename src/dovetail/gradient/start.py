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
from dovetail.gradient.rows import stacked
from dovetail.gradient.slide_start import slide_adjoints
from dovetail.gradient.start_bodies import StartBodies
from dovetail.gradient.sums import Sums
from dovetail.solver.assembly.start import set_momentum, turn_to_acceleration
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
    """

    active: Indices
    V: Array
    x: Array
    m: tuple[Array, Array]
    a: Array
    V_before: Array
    half: Array | float = 0.0


class StartAdjoint:
    """Consistent starts of a simulation, forwards and back."""

    def __init__(self, simulation: Simulation, system: AdjointSystem, is_place: Flags) -> None:
        self._model, self._system, self._is_place = simulation.model, system, is_place
        self._bodies = StartBodies(simulation.model)

    def begin(self, frame: Frame, Q: Array, V: Array, a: Array, half: Array | float = 0.0) -> Begun:
        """The start of a step from Q, V with the accelerations a by gravity and loads; for half see `Begun`."""
        model, h = self._model, frame.h
        potential, start, blocks = model.potential, model.start, self._system.blocks
        active = model.bodies.is_free * frame.methods.starts
        start.begin(Q, V, frame.methods.held, h, frame.ratio)
        known = filter_of(model, active)
        g, mass, exact = blocks.g, model.bodies.mass, potential.exact
        set_momentum(mass, active, start.V, h, start.drift, g)
        x1, m1 = self._system.solve(Q, g, active)
        start.V[active != 0] = x1[active != 0]
        V_hat = start.V.copy()
        start.V += half
        np.copyto(g, known.gradient)
        turn_to_acceleration(mass, active, start.filtered, h, a, Q, start.V, g)
        curve_rows(potential.slides, start.V, h, g)
        if potential.laws is not None:
            curve_laws(potential.laws, start, known.weight, g)
        if exact is not None:
            exact.add_curvature(h, Q, start.V, g)
        x2, m2 = self._system.solve(Q, g, active, scaled=False)
        if exact is not None:
            exact.begin_start()
        return Begun(active, V_hat, x2, (m1, m2), a.copy(), V, half)

    def back(
        self, k: int, frame: Frame, begun: Begun, Q: Array, V_bar: Array, A_bar: Array, start_bar: Array, sums: Sums
    ) -> tuple[Array, Array, Array, Array]:
        """Adjoints of Qₙ, Vₙ, the accelerations at Qₙ and ½hφf (n, 4, 3), from those of V̂ and Â; start_bar (c,) is that
        of what rate laws take for xₙ.
        """
        model, h, V = self._model, frame.h, begun.V_before
        bodies, system = model.bodies, self._system
        on = (begun.active != 0)[:, None, None]
        start = model.start
        start.begin(Q, V, frame.methods.held, h, frame.ratio)
        filter_of(model, begun.active)
        mu2, nu2 = system.solve(Q, np.where(on, -A_bar / (h * h), 0.0), begun.active)
        zero = np.zeros_like(mu2)
        # first what V̂ is asked by the second system, then μ₁, with which all else is linear
        Q_bar, V_bar, Vn_bar = np.zeros_like(Q), np.where(on, V_bar, 0.0), np.where(on, 0.0, V_bar)
        _, of_V = self._pull(k, frame, begun, (Q, V), (zero, None, mu2, nu2), start_bar, None, Vn_bar)
        half_bar = np.where(on, of_V, 0.0)
        V_bar += half_bar
        mu1, nu1 = system.solve(Q, V_bar, begun.active)
        of_Q, _ = self._pull(k, frame, begun, (Q, V), (mu1, nu1, mu2, nu2), start_bar, sums, Vn_bar)
        Q_bar += of_Q
        Vn_bar += bodies.mass @ mu1
        mass = np.einsum("bix,bjx->bij", mu1, V - begun.V) - np.einsum("bix,bjx->bij", mu2, begun.x + h * h * begun.a)
        sums.constant["mass"] += mass * on
        return Q_bar, Vn_bar, np.where(on, -h * h * (bodies.mass @ mu2), 0.0), half_bar

    def filter_adjoint(
        self, k: int, frame: Frame, Q: Array, V: Array, active: Indices, mu: Array, y: Array, sums: Sums,
        with_laws: bool = False,
    ) -> Array:  # fmt: skip
        """Derivative by Qₙ (n, 4, 3) of −μ·P y, in which exact joints are as stiff as they are in the matrix.

        `with_laws` P has φ″ of laws at Qₙ in it, as they were last linearised.
        """
        zero, nothing = np.zeros_like(Q), np.zeros_like(Q)
        exact = self._model.potential.exact
        none = np.zeros((0, 3)) if exact is None else np.zeros_like(exact.restraint)
        begun = Begun(active, y, zero, (none, none), zero, V)
        start_bar = np.zeros(self._model.potential.laws.coordinates.count if self._model.potential.laws else 0)
        of_Q, _ = self._pull(
            k, frame, begun, (Q, V), (mu, none, zero, none), start_bar, sums, nothing, stiff=True, with_laws=with_laws
        )
        sums.constant["mass"] -= np.einsum("bix,bjx->bij", mu, y)
        return of_Q

    def _pull(
        self, k: int, frame: Frame, begun: Begun, ends: tuple[Array, Array],
        adjoints: tuple[Array, Array | None, Array, Array], start_bar: Array, sums: Sums | None, Vn_bar: Array,
        stiff: bool = False, with_laws: bool = False,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Derivatives of ℓ by Qₙ and V̂ (n, 4, 3), Vn_bar += those by Vₙ, and by parameters; without `sums` V̂ alone.

        `stiff`: exact joints count as penalties; for `with_laws` see `filter_adjoint`.
        """
        model, h, (Q, V) = self._model, frame.h, ends
        potential = model.potential
        mu1, nu1, mu2, nu2 = adjoints
        motions, rate = (mu1, begun.V, mu2, begun.x), begun.V + begun.half
        Q_bar, V_bar = self._bodies.pull(begun.active, h, motions, rate, Q, sums)
        points, slides, exact = potential.points, potential.slides, potential.exact
        n = points.count if stiff else points.exact
        if n and sums is not None:
            K = points.K[:n, None]
            W = points.W[:, 0]
            images = [np.einsum("ki,kix->kx", W, stacked(points, X))[:n] for X in (*motions, Q)]
            pull = np.einsum("ki,kx->kix", W[:n], K * images[2])
            np.add.at(Q_bar, points.left[:n], pull[:, :4])
            np.add.at(Q_bar, points.right[:n], pull[:, 4:])
            d1, x1, d2, x2, at = images
            sums.constant["points/K"] += (d2 * (at - x2) - d1 * x1).sum(axis=1)[: points.exact]
            Y1, Z1, Y2, Z2, at_Q = (stacked(points, X)[:n] for X in (*motions, Q))
            by = ((K * (at - x2), Y2), (K * d2, at_Q - Z2), (-K * x1, Y1), (-K * d1, Z1))
            sums.constant["points/W"][:n, 0] += sum(np.einsum("kx,kix->ki", each, state) for each, state in by)
        first = points.count - points.exact
        after = first + slides.count - slides.exact
        parts = [np.zeros((0, 3))] * 4 if exact is None else [*begun.m, np.zeros_like(nu2) if nu1 is None else nu1, nu2]
        if first and sums is not None:
            of_points = zip(parts, (motions[0], motions[2], motions[1], motions[3]), strict=True)
            sums.constant["points/W"][points.exact :, 0] -= sum(
                np.einsum("kx,kix->ki", part[:first], stacked(points, each)[points.exact :]) for part, each in of_points
            )
        if slides.count:
            held = [part[first:after] for part in parts]
            K_bar, W_bar = slide_adjoints(slides, h, motions, rate, None if stiff else held, Q, Q_bar, V_bar)
            if sums is not None:
                sums.constant["slides/K"] += K_bar
                sums.constant["slides/W"] += W_bar
        combined = None if stiff else [part[after:, 0] for part in parts]
        self._coordinates(
            k, frame, (*motions, V, rate), combined, with_laws, Q, start_bar, sums, (Q_bar, Vn_bar, V_bar)
        )
        return Q_bar, V_bar

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
        self, k: int, frame: Frame, motions: tuple[Array, ...], parts: list[Array] | None, with_laws: bool, Q: Array,
        start_bar: Array, sums: Sums | None, out: tuple[Array, Array, Array],
    ) -> None:  # fmt: skip
        """The part of laws and of rows on coordinates; motions are μ₁, V̂, μ₂, x, Vₙ and that of curvatures.

        Without `parts`, rows count as penalties.
        """
        model, h = self._model, frame.h
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
            steps = np.stack([steps_of(laws, p, self._is_place) for p in (laws.p, *laws.past)])
            smooth = frame.methods.smooth
            start_adjoints(laws, h, frame.ratio, model.bodies.mass_inverse, smooth, steps, Q, Y, bars, p_bar)
            starts = smooth[c.left] & smooth[c.right]
            bars[:, VALUE] += start_bar
            bars[:, VHAT] += np.where(starts, 0.5 * h * start_bar, 0.0)
            if sums is not None:
                for back in range(3):
                    sums.law_steps[k + 2 - back] += p_bar[back]
            if with_laws:
                self._add_bends(laws, bars, Y, p_bar[0], steps[0])
                assert sums is not None
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
            if sums is not None:
                by_row = [part[e.group] for part in parts]
                rates = [entry_rates(e, each) for each in motions[:4]]
                by_weight = by_row[3] * (h * h * c.derivatives(Q, motions[5])[2][e.of] - rates[3])
                by_weight -= by_row[0] * rates[0] + by_row[2] * rates[1] + by_row[1] * rates[2]
                sums.steps["combined/weight"][k] += by_weight
        unused = np.zeros_like(Q)
        Q_bar, Vn_bar, V_bar = out
        mass_bar, W_bar = np.zeros_like(model.bodies.mass), np.zeros_like(c.W)
        coordinate_adjoints(
            c, model.bodies.mass_inverse, bars, Q, Y, Q_bar, unused if sums is None else Vn_bar, V_bar, mass_bar, W_bar
        )
        if sums is not None:
            sums.constant["mass"] += mass_bar
            sums.constant["coordinates/W"] += W_bar

"""Parameters of a machine from how it was seen to move: Gauss–Newton, with intervals of confidence.

    minimise ½ Σ (y(p) − data)²/σ²        p ← p − (JᵀJ)⁻¹Jᵀr

y(p) is what `measure` reads off a rollout of build(p), J its derivative by p. Parameters are few and data many, so J is
taken forwards, by differences of rollouts, which are solved to tolerances far below the differences. Steps and bounds
are those of scipy.optimize.least_squares. With N data, the covariance of p is s²(JᵀJ)⁻¹, s² = Σ r²/(N − len p).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from dovetail.checked import LARGEST, checked, numbers, shown
from dovetail.errors import GradientError, SolverError
from dovetail.fit.report import write_report
from dovetail.typing import Array, ArrayLike, Flags

__all__ = ["Identified", "identify"]

_STEP = 1e-4
"""Of a parameter in differences, beside its size: rollouts are exact to some 1e-8, differences to the square of it."""


@dataclass
class Identified:
    """What `identify` has found.

    | | |
    |---|---|
    | `p` | the parameters |
    | `interval` (n, 2) | in which each of them lies with the given confidence, if the model is right |
    | `covariance` (n, n) | of their errors |
    | `noise` | standard deviation of the data from the model |
    | `fitted`, `data` | what the model gives, and what was measured |
    | `unknown` | parameters, or combinations of them, that the data say nothing about, in words |
    | `rollouts` | how many were computed |
    """

    names: list[str]
    p: Array
    interval: Array
    covariance: Array
    noise: float
    fitted: Array
    data: Array
    confidence: float
    rollouts: int
    message: str
    unknown: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        rows = [
            f"{name} = {value:.6g}, from {low:.6g} to {high:.6g}"
            for name, value, (low, high) in zip(self.names, self.p, self.interval, strict=True)
        ]
        rows.append(f"data are {self.noise:.3g} from the model; {self.rollouts} rollouts; {self.message}")
        return "\n".join(rows + self.unknown)

    def report(self, path: str | PathLike[str]) -> None:
        """Write a page with parameters, intervals, and plots of data and model: one HTML file that needs no other."""
        write_report(path, self)


@checked(GradientError)
def identify(
    build: Callable[[Array], Any],
    p: ArrayLike,
    data: ArrayLike,
    measure: Callable[[Any], ArrayLike],
    *,
    steps: int | None = None,
    controls: Callable[[Any, int], Any] | None = None,
    names: Sequence[str] | None = None,
    bounds: ArrayLike | None = None,
    confidence: float = 0.95,
    smooth: bool = False,
) -> Identified:
    """Parameters for which a machine moves as it was measured to.

    | argument | what it is |
    |---|---|
    | `build(p)` | makes the `Sim` or `World` with parameters p, as it was at the start of the measurement |
    | `p` | a first guess |
    | `data` | what was measured, an array of any shape; NaN where nothing was |
    | `measure(tape)` | what the model gives for it, read off the `Tape` of a rollout, in the same shape |
    | `steps` | of the rollout; one less than the rows of data unless given |
    | `controls(sim, k)` | called before step k with what build made |
    | `names`, `bounds` | of parameters |
    | `smooth` | for machines in contact, see `Sim.rollout`; the model is then another one by that much |
    """
    from scipy.optimize import least_squares

    guess, seen = (np.atleast_1d(np.array(numbers(given))) for given in (p, data))
    if not (np.abs(guess) <= LARGEST).all() or (np.abs(seen) > LARGEST).any():
        raise GradientError(f"identify: p = {shown(p)}, data = {shown(data)}; give finite numbers, NaN for no data.")
    if not 0.0 < confidence < 1.0:
        raise GradientError(f"identify: confidence = {confidence}; give a number between 0 and 1.")
    if steps is not None and steps < 0:
        raise GradientError(f"identify: steps = {steps}; give 0 or more.")
    count = len(guess)
    titles = [f"p[{k}]" for k in range(count)] if names is None else list(names)
    limits = np.array([(-np.inf, np.inf)] * count if bounds is None else numbers(bounds))
    if guess.ndim != 1 or len(titles) != count or limits.shape != (count, 2):
        raise GradientError(
            f"identify: {guess.shape} parameters, {len(titles)} names, bounds {limits.shape}; give as many of each."
        )
    if not ((limits[:, 0] <= guess) & (guess <= limits[:, 1])).all():
        k = int(np.argmin((limits[:, 0] <= guess) & (guess <= limits[:, 1])))
        raise GradientError(f"identify: {titles[k]} = {guess[k]:g} is not within its bounds {limits[k].tolist()}.")
    known, length = np.isfinite(seen), len(seen) - 1 if steps is None else steps
    if known.sum() <= count:
        raise GradientError(f"identify: {int(known.sum())} data for {count} parameters; give more than these.")
    made = 0

    def residual(x: Array) -> Array:
        nonlocal made
        made += 1
        model = build(x.copy())
        if not callable(getattr(model, "rollout", None)):
            raise GradientError(f"identify: build has returned {shown(model)}; return a Sim or a World.")
        step = None if controls is None else (lambda k: controls(model, k))
        given = measure(model.rollout(length, step, smooth=smooth))
        fitted = numbers(given)
        if fitted is None:
            raise GradientError(f"identify: measure gives {shown(given)}; return an array of numbers.")
        if fitted.shape != seen.shape:
            raise GradientError(f"identify: measure gives an array {fitted.shape}, and data are {seen.shape}.")
        if not (np.abs(fitted[known]) <= LARGEST).all():
            raise GradientError("identify: measure gives numbers that are not finite; narrow the bounds.")
        off: Array = (fitted - seen)[known]
        return off

    def jacobian(x: Array) -> Array:
        found = np.zeros((int(known.sum()), count))
        for k in range(count):
            h = _STEP * max(abs(x[k]), 1e-3 * abs(guess[k]), 1e-6)
            low, high = max(x[k] - h, limits[k, 0]), min(x[k] + h, limits[k, 1])
            ends = [np.where(np.arange(count) == k, value, x) for value in (low, high)]
            found[:, k] = (residual(ends[1]) - residual(ends[0])) / (high - low)
        return found

    try:
        found = least_squares(residual, guess, jacobian, bounds=limits.T, x_scale="jac", xtol=1e-9, ftol=1e-12)
    except SolverError as error:
        raise GradientError(f"identify: a rollout cannot be computed; narrow the bounds. {error}") from error
    return _told(found, titles, seen, known, confidence, made)


def _told(found: Any, names: list[str], seen: Array, known: Flags, confidence: float, made: int) -> Identified:
    from scipy.stats import t as student

    freedom = int(known.sum()) - len(found.x)
    variance = 2.0 * found.cost / freedom
    scale = np.linalg.norm(found.jac, axis=0)
    scale[scale == 0.0] = 1.0
    values, vectors = np.linalg.eigh((found.jac / scale).T @ (found.jac / scale))
    blind = values < 1e-10 * max(values.max(), 1e-300)
    covariance = np.full_like(vectors, np.inf)  # also where the fit is perfect
    if not blind.any():
        covariance = variance * ((vectors / values) @ vectors.T) / np.outer(scale, scale)
    half = student.ppf(0.5 + 0.5 * confidence, freedom) * np.sqrt(np.diag(covariance))
    unknown = []
    for vector in vectors[:, blind].T:
        parts = [name for name, share in zip(names, vector, strict=True) if abs(share) > 0.1]
        unknown.append(f"the data do not tell {' and '.join(parts)}" + (" apart" if len(parts) > 1 else ""))
    fitted = seen.copy()
    fitted[known] = seen[known] + found.fun
    fitted[~known] = np.nan
    return Identified(
        names, found.x, np.column_stack([found.x - half, found.x + half]), covariance, float(np.sqrt(variance)), fitted,
        seen, confidence, made, str(found.message), unknown,
    )  # fmt: skip

"""Gradients of rollouts of many worlds, in coordinates: by where they begin, and by controls.

A world has a tape of its own. A loss is one of coordinates and rates after each step, and what it depends on is told in
the same words, arrays with a row for each world; `worlds[i]` has everything else by name, of world i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dovetail.checked import numbers, shown
from dovetail.errors import SceneError
from dovetail.sim.mechanism import Mechanism
from dovetail.typing import Array, ArrayLike

if TYPE_CHECKING:
    from dovetail.gradient import Gradients, Tape
    from dovetail.sim.coordinate import Coordinate

__all__ = ["WorldGradients", "gradients_of"]


@dataclass(frozen=True)
class WorldGradients:
    """dL by what a rollout of n worlds was given.

    | | | |
    |---|---|---|
    | `q`, `v` | (n, k) | by coordinates and rates at the start |
    | `controls` | (n, rows, k) | by controls; the last row stands for all steps that follow, too |
    | `worlds` | n | of each world, by the names of docs/gradients.md |
    """

    q: Array
    v: Array
    controls: Array
    worlds: list[Gradients]


def gradients_of(
    tapes: Sequence[Tape], mechanisms: Sequence[Mechanism], by: tuple[ArrayLike | None, ArrayLike | None], control: str,
    rows: int, strict: bool,
) -> WorldGradients:  # fmt: skip
    """Gradients of a loss with the derivatives `by` q and v (n, steps, k) after each step."""
    n, k, steps = len(tapes), len(mechanisms[0]), tapes[0].steps
    given = [_given(name, each, (n, steps, k)) for name, each in zip(("dL_dq", "dL_dv"), by, strict=True)]
    q, v, controls, found = np.zeros((n, k)), np.zeros((n, k)), np.zeros((n, rows, k)), []
    for i, (tape, mechanism) in enumerate(zip(tapes, mechanisms, strict=True)):
        by_q, by_v = (np.concatenate([np.zeros((1, k)), each[i]]) for each in given)
        names = [(c.joint.name, c.name) for c in mechanism.coordinates]
        found.append(
            tape.backward(
                dL_dx={name: by_q[:, j : j + 1] for j, name in enumerate(names)},
                dL_drate={name: by_v[:, j : j + 1] for j, name in enumerate(names)},
                strict=strict,
            )
        )
        T, W = mechanism._state.lifted(tape.Q[0], tape.V[0])
        Q_bar, V_bar = (np.nan_to_num(each) for each in (found[-1].Q, found[-1].V))  # of fixed bodies, which stay
        q[i] = np.einsum("bix,kbix->k", Q_bar, T) + np.einsum("bix,kbix->k", V_bar, W)
        v[i] = np.einsum("bix,kbix->k", V_bar, T)
        for j, c in enumerate(mechanism.coordinates if rows else ()):
            each = found[-1][c.joint.name, _attribute(c, control)][:, 0]
            controls[i, : rows - 1, j] = each[: rows - 1]
            controls[i, rows - 1, j] = each[rows - 1 :].sum()
    return WorldGradients(q, v, controls, found)


def _attribute(c: Coordinate, control: str) -> str:
    """What a control of a coordinate is called among the attributes of its joint."""
    if control == "effort":
        return "external_force" if c.unit == "m" else "external_torque"
    return c.named(f"drive/{control}")


def _given(name: str, value: ArrayLike | None, shape: tuple[int, ...]) -> Array:
    if value is None:
        return np.zeros(shape)
    found = numbers(value)
    if found is None or found.shape != shape or not np.isfinite(found).all():
        raise SceneError(f"Trajectories.backward: {name} = {shown(value)}; give finite numbers as an array {shape}.")
    return found

"""Rollouts: what many worlds do from given states under given controls, without changing them.

After `mujoco.rollout`: a batch of initial states, a batch of controls with one row for each step, and out come arrays
(n, steps, k), whose row t is the state after step t + 1. A world that cannot go on repeats its last state and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.checked import LARGEST, checked, numbers, shown, step_count
from dovetail.errors import SceneError
from dovetail.messages import counted
from dovetail.sim.mechanism import Mechanism
from dovetail.typing import Array, ArrayLike, Indices
from dovetail.world.world_state import WorldState
from dovetail.worlds.gradients import WorldGradients, gradients_of
from dovetail.worlds.worlds import Worlds, numbered

if TYPE_CHECKING:
    from dovetail.gradient import Tape

__all__ = ["Trajectories", "rollout"]

_CONTROLS = ("target", "target_velocity", "effort")


@dataclass(frozen=True)
class Trajectories:
    """What `rollout` has computed.

    | | | |
    |---|---|---|
    | `q`, `v` | (n, steps, k) | coordinates [rad or m] and rates after each step |
    | `effort` | (n, steps, k) | what drives, torques and forces exerted in each step [N·m or N] |
    | `steps` | (n,) | how many steps were computed; what follows in the arrays repeats the last state |
    | `failed` | | by number of the world, why it could not go on |
    | `tapes` | | of each world, where they were asked for; see docs/gradients.md |
    """

    q: Array
    v: Array
    effort: Array
    steps: Indices
    failed: dict[int, str]
    tapes: list[Tape] = field(default_factory=list)
    _given: tuple[list[Mechanism], str, int] = ([], "", 0)

    def backward(
        self, dL_dq: ArrayLike | None = None, dL_dv: ArrayLike | None = None, strict: bool = False
    ) -> WorldGradients:
        """Gradients of a loss with these derivatives by q and v, (n, steps, k), of all worlds.

        With `strict` a step that Newton's method has left too much of is an error; else a warning says so.
        """
        if not self.tapes:
            raise SceneError("Trajectories.backward: nothing was recorded; call rollout with gradients=True.")
        mechanisms, control, rows = self._given
        return gradients_of(self.tapes, mechanisms, (dL_dq, dL_dv), control, rows, strict)


@checked(SceneError)
def rollout(
    worlds: Worlds | Callable[..., Any],
    initial_state: ArrayLike | Sequence[WorldState] | None = None,
    controls: ArrayLike | None = None,
    *,
    steps: int | None = None,
    control: str = "target",
    gradients: bool = False,
    smooth: bool = False,
    **options: Any,
) -> Trajectories:
    """Run worlds from initial states under controls, and leave them as they were.

    worlds          `Worlds`, or the `build` to make them with: `options` are then those of `Worlds`
    initial_state   q and v side by side, (n, 2k) or (2k,) for all; or a `WorldState` for each; by default home
    controls        (n, steps, k), or (steps, k) for all: what is set before each step, by default nothing
    steps           needed without controls; with fewer rows of controls, the last one stays
    control         what controls are: "target", "target_velocity" or "effort"
    gradients       record what `Trajectories.backward` needs; steps are then as accurate as tapes ask for, and a world
                    that cannot go on, or has no gradients, is an error
    smooth          record steps as bdf1 with friction that remembers nothing, which are cheaper and do not jump

    Equal arguments give equal bits: what worlds did before does not matter, but for settings such as targets that no
    control sets. A batch of one world after the other is the same as all at once.
    """
    given = None if controls is None else numbers(controls)
    state: Any = initial_state if _are_states(initial_state) else numbers(initial_state)
    if not isinstance(worlds, Worlds):
        sizes = [len(state)] if _are_states(state) or np.ndim(state) == 2 else []
        sizes += [len(given)] if given is not None and given.ndim == 3 else []
        worlds = Worlds(worlds, max(sizes, default=1), **options)
    elif options:
        raise SceneError(f"rollout: {', '.join(options)} cannot be chosen for worlds that are there; leave it out.")
    n, k = len(worlds), len(worlds.names)
    if control not in _CONTROLS:
        raise SceneError(f"rollout: control = {shown(control)}; give one of {', '.join(_CONTROLS)}.")
    rows = _controls(given, controls, n, k)
    count = rows.shape[1] if steps is None else steps
    if steps is None and controls is None:
        raise SceneError("rollout: steps = None; say how many, 0 or more, or give controls.")
    count = step_count("rollout", count)
    if control != "effort" and rows.shape[1]:
        _require_drives(worlds)
    with worlds._lock, _unchanged(worlds):
        _begin(worlds, state, initial_state)
        if gradients:
            return _record(worlds, rows, control, count, smooth)
        return _run(worlds, rows, control, count)


def _are_states(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and len(given) > 0 and all(isinstance(s, WorldState) for s in given)


def _controls(found: Array | None, controls: Any, n: int, k: int) -> Array:
    """(n, steps, k)"""
    if controls is None:
        return np.zeros((n, 0, k))
    if (
        found is None or found.ndim not in (2, 3) or found.shape[-1] != k or (found.ndim == 3 and len(found) != n)
        or not (np.abs(found) <= LARGEST).all()
    ):  # fmt: skip
        raise SceneError(
            f"rollout: controls = {shown(controls)}; give finite numbers as an array ({n}, steps, {k}), or "
            f"(steps, {k}) for all worlds."
        )
    return np.broadcast_to(found, (n, *found.shape[-2:]))


def _require_drives(worlds: Worlds) -> None:
    for number, mechanism in enumerate(worlds.mechanisms):
        for name in [n for n, c in zip(mechanism.names, mechanism.coordinates, strict=True) if not c.drive.present][:1]:
            raise SceneError(
                f"rollout: '{name}' of world {number} has no drive to be given targets; make it with "
                'drive=…, leave it out of the mechanism, or take control="effort".'
            )


@contextmanager
def _unchanged(worlds: Worlds) -> Iterator[None]:
    """Have states, failures and controls afterwards as they are now."""
    state, failed = worlds.state, dict(worlds.failed)
    settings = [mechanism.settings for mechanism in worlds.mechanisms]
    try:
        yield
    finally:
        worlds.state = state
        worlds.failed.update(failed)
        for mechanism, kept in zip(worlds.mechanisms, settings, strict=True):
            mechanism.settings = kept


def _begin(worlds: Worlds, state: Any, given: Any) -> None:
    """Bring the worlds to their initial states."""
    n, k = len(worlds), len(worlds.names)
    if given is None:
        worlds.reset()
    elif _are_states(state):
        worlds.state = state
    else:
        if not isinstance(state, np.ndarray) or state.shape not in ((n, 2 * k), (2 * k,)):
            raise SceneError(
                f"rollout: initial_state = {shown(given)}; give q and v side by side as an array ({n}, {2 * k}), or "
                f"({2 * k},) for all worlds, or a WorldState for each of them."
            )
        rows = np.broadcast_to(state, (n, 2 * k))
        worlds.reset(q=rows[:, :k], v=rows[:, k:])


def _room(n: int, steps: int, k: int) -> Array:
    """For q, v and efforts, (3, n, steps, k)."""
    try:
        return np.zeros((3, n, steps, k))
    except (MemoryError, ValueError):  # or more than an address can tell
        raise SceneError(
            f"rollout: steps = {steps}; {counted(n, 'world')} of {counted(k, 'coordinate')} need "
            f"{24e-9 * n * steps * k:.3g} GB for that, which this machine has not; take fewer."
        ) from None


def _run(worlds: Worlds, rows: Array, control: str, steps: int) -> Trajectories:
    n, k = len(worlds), len(worlds.names)
    q, v, effort = _room(n, steps, k)
    done = np.zeros(n, np.int64)
    for t in range(steps):
        if t < rows.shape[1]:
            setattr(worlds, control, rows[:, t])
        worlds.step()
        done += [number not in worlds.failed for number in range(n)]
        q[:, t], v[:, t], effort[:, t] = worlds.q, worlds.v, worlds.effort
    return Trajectories(q, v, effort, done, dict(worlds.failed))


def _record(worlds: Worlds, rows: Array, control: str, steps: int, smooth: bool) -> Trajectories:
    """One world after the other, each with a tape."""
    n, k, tapes = len(worlds), len(worlds.names), []
    q, v, effort = _room(n, steps, k)
    for number, (sim, mechanism) in enumerate(zip(worlds, worlds.mechanisms, strict=True)):

        def keep(t: int, number: int = number, mechanism: Mechanism = mechanism) -> None:
            """What step t has led to."""
            q[number, t], v[number, t], effort[number, t] = mechanism.q, mechanism.v, mechanism.effort

        def controls(t: int, number: int = number, mechanism: Mechanism = mechanism, keep: Any = keep) -> None:
            if t:
                keep(t - 1)
            if t < rows.shape[1]:
                setattr(mechanism, control, rows[number, t])

        with numbered(number):
            tapes.append(sim.rollout(steps, controls, smooth=smooth))
        if steps:
            keep(steps - 1)
    given = worlds.mechanisms, control, min(rows.shape[1], steps)
    return Trajectories(q, v, effort, np.full(n, steps), {}, tapes, given)

"""A rollout as a function of arrays, with its vector–Jacobian product: what adapters to other programs are made of.

f = RolloutFunction(sim, 50, ["V", (hinge, "external_torque")])
Q, V, tape = f(V0, torques)
by_V0, by_torques = f.pull(tape, dL_dQ, dL_dV)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from dovetail.errors import GradientError
from dovetail.typing import Array, ArrayLike

if TYPE_CHECKING:
    from dovetail.gradient import Gradients, Tape
    from dovetail.world.simulation import Simulation
    from dovetail.world.world import World

__all__ = ["Input", "RolloutFunction"]

Input = str | tuple[Any, str]
"""The name of an input: "Q", "V", "forces", "p", or (joint, attribute)."""


class RolloutFunction:
    """States Q, V (T + 1, n, 4, 3) of a rollout of T steps, as a function of its inputs.

    | input | shape | |
    |---|---|---|
    | "Q", "V" | (n, 4, 3) | state at the start, fixed bodies without V; without it that in which the world is now |
    | "forces" | (T, n, 4, 3) | generalised forces on bodies in each step [N, N·m] |
    | (joint, attribute) | (T, k) or (k,) | an attribute of its k joints, in each step or the same in all |
    | "p" | as `p` | what a scene is built from: then `source` is a function of it that gives a World or Sim |

    Every call begins where the world was when the function was made. Gradients by poses of fixed bodies are NaN: none
    is known. A drive or torque that is switched off has none either, and 0 is told.
    """

    def __init__(
        self, source: Any, steps: int, inputs: Sequence[Input], *, p: ArrayLike | None = None, every: int = 0,
        smooth: bool = False,
    ) -> None:  # fmt: skip
        self._build: Callable[[Array], Any] | None = source if "p" in inputs else None
        self.inputs, self._steps, self._every, self._smooth = list(inputs), steps, every, smooth
        for name in self.inputs:
            if isinstance(name, str) and name not in ("Q", "V", "forces", "p"):
                raise GradientError(
                    f"RolloutFunction: there is no input '{name}'; give 'Q', 'V', 'forces', 'p' or (joint, attribute)."
                )
        if self._build is not None and p is None:
            raise GradientError("RolloutFunction: 'p' is an input; give `p`, numbers that the scene can be built from.")
        made = source if self._build is None else self._build(np.array(p, float))
        self._shape_of_p = np.asarray(0.0 if p is None else p).shape
        self._given: WeakKeyDictionary[Tape, list[Array]] = WeakKeyDictionary()
        self._world: World = getattr(made, "world", made)
        self._start = self._world.state()
        self.shape: tuple[int, ...] = (steps + 1, *_of(self._world).state.Q.shape)
        """Of Q, and of V."""

    def __call__(self, *values: ArrayLike) -> tuple[Array, Array, Tape]:
        """Q and V of the rollout, and its tape."""
        if len(values) != len(self.inputs):
            raise GradientError(f"RolloutFunction: {len(values)} values for {len(self.inputs)} inputs.")
        given = [np.array(each, float) for each in values]
        world = self._begin(given)
        simulation = _of(world)
        writers = [self._writer(simulation, name, value) for name, value in zip(self.inputs, given, strict=True)]

        def controls(k: int) -> None:
            for write in writers:
                if write is not None:
                    write(k)

        try:
            tape = world.rollout(self._steps, controls, every=self._every, smooth=self._smooth)
        finally:
            if "forces" in self.inputs:
                simulation.pushes.set(np.zeros(0, np.int64), np.zeros((0, 4, 3)))
        self._given[tape] = given
        return tape.Q, tape.V, tape

    def pull(self, tape: Tape, dL_dQ: ArrayLike | None, dL_dV: ArrayLike | None) -> list[Array]:
        """Gradients by all inputs, of the shapes that they had in the call that made the tape."""
        given = self._given.get(tape)
        if given is None:
            raise GradientError("RolloutFunction.pull: the tape is of another function; give one that a call has made.")
        found = tape.backward(dL_dQ, dL_dV)
        return [self._gradient(found, name, value) for name, value in zip(self.inputs, given, strict=True)]

    def _begin(self, given: list[Array]) -> World:
        """The world at the start of a rollout."""
        if self._build is not None:
            p = given[self.inputs.index("p")]
            if p.shape != self._shape_of_p:
                raise _wrong("p", p, str(self._shape_of_p))
            made = self._build(p.copy())
            world: World = getattr(made, "world", made)
        else:
            world = self._world
            world.restore(self._start)
        simulation = _of(world)
        Q, V = (given[self.inputs.index(name)] if name in self.inputs else None for name in ("Q", "V"))
        for name, value in (("Q", Q), ("V", V)):
            if value is not None and value.shape != simulation.state.Q.shape:
                raise _wrong(name, value, str(simulation.state.Q.shape))
        if V is not None:
            V = np.where((simulation.model.bodies.is_free != 0)[:, None, None], V, 0.0)
        if Q is not None or V is not None:
            simulation.write_state("RolloutFunction", np.arange(simulation.model.bodies.count), Q, V)
        return world

    def _writer(self, simulation: Simulation, name: Input, value: Array) -> Callable[[int], None] | None:
        """What writes an input before step k."""
        if name == "forces":
            n = simulation.model.bodies.count
            if value.shape != (self._steps, n, 4, 3):
                raise _wrong(name, value, str((self._steps, n, 4, 3)))
            everyone = np.arange(n)
            return lambda k: simulation.pushes.set(everyone, np.ascontiguousarray(value[k]))
        if isinstance(name, str):
            return None
        joint, attribute = name
        called = joint if isinstance(joint, str) else joint.name
        entries = [e for e in simulation.joints.lowered.geometries if e.slot.object_name == called]
        if len(entries) != 1 or attribute not in entries[0].elements:
            raise GradientError(f"RolloutFunction: there is no ('{called}', '{attribute}') that could be written to.")
        elements, count = entries[0].elements, entries[0].count
        if value.shape not in ((self._steps, count), (count,)):
            raise _wrong(name, value, f"({self._steps}, {count}) or ({count},)")

        def write(k: int) -> None:
            elements[attribute] = value[k] if value.ndim == 2 else value

        return write

    def _gradient(self, found: Gradients, name: Input, value: Array) -> Array:
        if name == "Q":
            return found.Q + found.Q_before
        if name == "V":
            return np.nan_to_num(found.V + found.V_before)  # fixed bodies have none
        if name == "forces":
            return found.forces
        if name == "p":
            assert self._build is not None
            return found.design(self._build, value)
        steps = found[name[0], name[1]]
        return steps if value.ndim == 2 else np.asarray(steps.sum(axis=0))


def _of(world: World) -> Simulation:
    simulation = world._simulation
    if simulation is None:
        raise GradientError("RolloutFunction: the world has no scene yet; call World.init(scene) first.")
    return simulation


def _wrong(name: Input, value: Array, wanted: str) -> GradientError:
    said = f"'{name}'" if isinstance(name, str) else f"of '{name[1]}'"
    return GradientError(f"RolloutFunction: the input {said} has the shape {value.shape}; give {wanted}.")

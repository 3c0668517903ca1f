"""Rollouts in JAX: a function of arrays that `jax.grad` goes through, also under `jit`.

    from dovetail.jax import rollout
    f = RolloutFunction(sim, 50, ["V", (hinge, "external_torque")])
    jax.grad(lambda torques: loss(*rollout(f, V0, torques)))(torques)

Everything is computed in NumPy, in double precision, by a callback; results have the type of the first array. The way
back computes the rollout again, unless it is the one that was computed last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.differentiable import RolloutFunction
from dovetail.errors import MissingExtra
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.gradient import Tape

__all__ = ["rollout"]


class _Host:
    """What JAX calls: it knows the last rollout."""

    def __init__(self, function: RolloutFunction) -> None:
        self._function = function
        self._last: tuple[list[Array], Tape] | None = None

    def forward(self, *values: Any) -> tuple[Array, Array]:
        given = [np.asarray(each) for each in values]
        Q, V, tape = self._function(*given)
        self._last = [each.copy() for each in given], tape
        return tuple(each.astype(given[0].dtype) for each in (Q, V))  # type: ignore[return-value]  # two of them

    def back(self, values: Any, by_states: Any) -> tuple[Array, ...]:
        given = [np.asarray(each) for each in values]
        if self._last is None or not all(map(np.array_equal, given, self._last[0])):
            self.forward(*given)
        assert self._last is not None
        found = self._function.pull(self._last[1], *(np.asarray(each, float) for each in by_states))
        return tuple(by.astype(each.dtype) for by, each in zip(found, given, strict=True))


def rollout(function: RolloutFunction, *values: Any) -> tuple[Any, Any]:
    """Q and V (T + 1, n, 4, 3) of a rollout, as a function of at least one array, in the order of its inputs."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError as error:
        raise MissingExtra("dovetail.jax: JAX is not installed; run: pip install jax") from error
    host, given = _Host(function), [jnp.asarray(each) for each in values]

    def call(*arrays: Any) -> Any:
        like = jax.ShapeDtypeStruct(function.shape, arrays[0].dtype)
        return jax.pure_callback(host.forward, (like, like), *arrays)

    def pull(arrays: Any, by_states: Any) -> Any:
        like = tuple(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in arrays)
        return jax.pure_callback(host.back, like, arrays, by_states)

    run = jax.custom_vjp(call)
    run.defvjp(lambda *arrays: (call(*arrays), arrays), pull)
    found: tuple[Any, Any] = run(*given)
    return found

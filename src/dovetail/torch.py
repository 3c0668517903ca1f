"""Rollouts in PyTorch: a function of tensors that `backward` goes through.

    from dovetail.torch import rollout
    f = RolloutFunction(sim, 50, ["V", (hinge, "external_torque")])
    Q, V = rollout(f, V0, torques)
    loss(Q, V).backward()

Everything is computed in NumPy, in double precision; results have the type and place of the first tensor.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dovetail.differentiable import RolloutFunction
from dovetail.errors import MissingExtra

__all__ = ["rollout"]


@cache
def _function() -> Any:
    try:
        import torch
        from torch.autograd.function import once_differentiable
    except ImportError as error:
        raise MissingExtra("dovetail.torch: PyTorch is not installed; run: pip install torch") from error

    class Rollout(torch.autograd.Function):  # type: ignore[misc]  # without torch it is Any
        @staticmethod
        def forward(ctx: Any, function: RolloutFunction, *tensors: Any) -> Any:
            Q, V, ctx.tape = function(*(each.detach().cpu().numpy() for each in tensors))
            ctx.function, ctx.like = function, [(each.dtype, each.device) for each in tensors]
            dtype, device = ctx.like[0] if ctx.like else (torch.float64, torch.device("cpu"))
            return tuple(torch.as_tensor(each, dtype=dtype, device=device) for each in (Q, V))

        @staticmethod
        @once_differentiable  # type: ignore[untyped-decorator]  # the same
        def backward(ctx: Any, dQ: Any, dV: Any) -> Any:
            by_states = (each.detach().cpu().numpy().astype(float) for each in (dQ, dV))
            found = ctx.function.pull(ctx.tape, *by_states)
            return None, *(
                torch.as_tensor(np.ascontiguousarray(each), dtype=dtype, device=device)
                for each, (dtype, device) in zip(found, ctx.like, strict=True)
            )

    return Rollout


def rollout(function: RolloutFunction, *tensors: Any) -> tuple[Any, Any]:
    """Q and V (T + 1, n, 4, 3) of a rollout, as a function of tensors in the order of its inputs."""
    found: tuple[Any, Any] = _function().apply(function, *tensors)
    return found

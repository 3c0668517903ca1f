"""A step that is refused as a whole is taken in parts: as 2, 4 or 8 shorter ones, all of them or none.

One that takes too many iterations is taken as a whole with all of them, where shorter ones cannot be taken either.

What was written to attributes acts in all parts. What the last step is asked for afterwards, as forces of contacts, is
that of the last part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dovetail.errors import SolverError, StepTooLong
from dovetail.solver.step import StepReport

__all__ = ["taken_in_parts"]

_PARTS = (2, 4, 8)


def taken_in_parts(
    step: Callable[[float, bool], StepReport], go_back: Callable[[], None], h: float, error: SolverError
) -> StepReport:
    """What has happened in all parts of a step of length h [s]; raises `error`, as the whole did, if none can be taken.

    step(h, is_patient) takes one, the last ones with all iterations; `go_back` leads to the start of the whole again.
    """
    for parts in (*_PARTS, 1) if isinstance(error, StepTooLong) else _PARTS:
        go_back()
        try:
            return _together(h, [step(h / parts, parts in (1, _PARTS[-1])) for _ in range(parts)])
        except SolverError:
            continue
    raise error


def _together(h: float, reports: list[StepReport]) -> StepReport:
    first, last = reports[0], reports[-1]
    return replace(
        last,
        dt=h,
        iterations=sum(each.iterations for each in reports),
        restarts=max(each.restarts for each in reports),
        halvings=sum(each.halvings for each in reports),
        converged=all(each.converged for each in reports),
        at_floor=any(each.at_floor for each in reports),
        contacts=first.contacts,
        friction_loss=sum(each.friction_loss for each in reports),
        bdf1_bodies=max(each.bdf1_bodies for each in reports),
        parts=len(reports),
    )

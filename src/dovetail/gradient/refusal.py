"""What a tape does not differentiate is refused by name, before a wrong gradient could come of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.errors import GradientError
from dovetail.gradient.frame import Frame

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["refuse_scene", "refuse_step"]


def refuse_scene(simulation: Simulation, smooth: bool) -> None:
    """Refuse a scene that cannot be differentiated, whatever its steps will be; `smooth` ones are taken as bdf1."""
    tolerances, lowered = simulation.tolerances, simulation.joints.lowered
    if tolerances.early_exit >= 0:
        _refuse("newton/semi_implicit/enable = 1: its steps end before a minimum; set it to 0")
    if tolerances.substeps > 1:
        _refuse("animator substeps; set them to 1")
    if simulation.articulations.contributions:
        _refuse("external articulations (UID 24), which another model moves; leave them out")
    if not smooth and simulation.scheme.integrator.is_consistent and lowered.terms:
        names = ", ".join(f"'{terms.function.name}'" for terms in lowered.terms)
        _refuse(f"the integrator ctr with energies of users ({names}); use integrator/type = bdf1 or bdf2")


def refuse_step(simulation: Simulation, k: int, frame: Frame, last: Frame | None) -> None:
    """Refuse step k of a tape if it was taken in a way that cannot be differentiated; `last` is the one before it."""
    methods, where = frame.methods, f"step {k} has "
    if methods.is_consistent and simulation.model.potential.soft_transforms.count:
        _refuse(where + "soft transforms under the integrator ctr; use integrator/type = bdf1 or bdf2")
    report = simulation.last[1]
    if report is not None and report.parts > 1:
        _refuse(where + f"been taken in {report.parts} parts, since as a whole it was refused; choose a smaller dt")
    if simulation.model.contact is not None and simulation.model.contact.firmness.some:
        _refuse(where + "contacts that are firmer than usual, since they were squeezed; choose a smaller dt")
    changed = frame.ratio != 1.0
    if changed and (methods.is_consistent or methods.method.looks_back):
        _refuse(where + f"another dt than the step before it, under {methods.method.name}; keep dt, or use bdf1")
    if last is not None and any(
        not np.array_equal(now, before) for now, before in zip(frame.switches, last.switches, strict=True)
    ):
        held = [
            use.entry.slot.object_name
            for use, now, before in zip(simulation.joints.lowered.law_uses, frame.switches, last.switches, strict=False)
            if use.word.hold is not None and not np.array_equal(now, before)
        ]
        if held:
            _refuse(where + f"a drive of '{held[0]}' that begins to hold what its joint has come to; switch it before")
    if simulation.joints.on_the_way:
        name = simulation.joints.on_the_way[0]
        _refuse(
            where + f"a drive of '{name}' on its way to a target that has jumped; give it gains of its own, or set "
            "drive/acceleration to infinity"
        )
    if any(getattr(load, "dropped", 0) for load in simulation.joints.lowered.loads):
        _refuse(where + "a torque on a body that is flat, which is dropped; give the body a thickness")


def _refuse(what: str) -> None:
    raise GradientError(f"Tape: gradients are not known of what this rollout has: {what}.")

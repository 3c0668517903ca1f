"""What of contact goes from step to step: what a dump holds, what a step leaves, how a broken-off one is undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.assembly import Assembly
from dovetail.solver.contact.chosen import Chosen
from dovetail.solver.contact.ease import Ease
from dovetail.solver.contact.firmness import Firmness
from dovetail.solver.contact.friction import Frictions
from dovetail.solver.contact.readback import Struck, Survey
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.stick import Stick
from dovetail.solver.contact.threat import Threats
from dovetail.solver.contact.uses import Counted
from dovetail.solver.contact.watch import Watch
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.blow import Blow

__all__ = ["UNKNOWN", "ContactHistory"]

UNKNOWN = None, 0.0, 0
"""Friction: of which contacts, for which step length, how many rows."""


class ContactHistory:
    """The part of `Contact` that steps hand on to each other.

    watch, stick, ease     who is near whom; where friction sticks; ranges of pairs that are eased
    firmness               of bodies whose contacts were squeezed
    struck                 of blows that the last step has ended with
    """

    found_for: tuple[Array | None, float] = Counted()  # type: ignore[assignment]  # before a step begins
    frozen: tuple[object, float, int] = Counted()  # type: ignore[assignment]
    scene: ContactScene
    watch: Watch
    stick: Stick | None
    ease: Ease | None
    firmness: Firmness
    friction: Frictions
    struck: Struck | None
    found: ActiveContacts
    mass: Array
    owner: Indices
    Q_start: Array
    gone_to: object
    count_at_start: int
    h2: float

    def contacts(self) -> ActiveContacts:
        """Room for the contacts of a state."""
        return ActiveContacts(np.zeros((self.scene.x_count, 3)), len(self.owner))

    def arrays(self) -> dict[str, Array]:
        """What outlives a step."""
        parts = (self.watch, self.stick, self.ease, self.firmness)
        found = {name: array for part in parts if part is not None for name, array in part.arrays().items()}
        found["contact/struck"] = np.zeros((0, 12)) if self.struck is None else self.struck.forces
        return found

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        for part in (self.watch, self.stick, self.ease, self.firmness):
            if part is not None:
                part.restore(arrays)
        forces = arrays["contact/struck"]
        self.struck = Struck(forces.copy()) if len(forces) else None
        self._renew()

    def commit(self, Q: Array, h: float) -> tuple[float, Array]:
        """The step of length h has led to Q; returns the work done against friction [J], and what slides (n, 16).

        Rows of its forces on bodies [N, N·m]; Σ d × F, d how far the points that they act on have gone [N·m]; in how
        many contacts.
        """
        force, work = self.friction.slips(self.Q_start, Q)
        rubbing = self.friction.on_bodies(self.Q_start, Q, h)
        if self.stick is not None:
            self.stick.commit(self.friction, force, Q, h)
        if self.ease is not None:
            self.ease.commit(h)
        return work / (h * h), rubbing

    def arrive(self, Q: Array, state: Array) -> None:
        """What the last step has led to, Q, is the state from now on."""
        if self.found_for[0] is Q:
            self.found_for = state, self.found_for[1]
        self.friction.arrive(Q, state)

    def keep(self) -> Callable[[], None]:
        """A function that goes back to what is known now of who is near whom; nothing has rubbed then."""
        count_at_start, struck = self.count_at_start, self.struck
        parts = [part.keep() for part in (self.watch, self.stick, self.ease, self.firmness) if part is not None]

        def undo() -> None:
            for part in parts:
                part()
            self.count_at_start, self.struck = count_at_start, struck
            self._renew()

        return undo

    def _renew(self) -> None:
        """Forget what belongs to a single step, with the room for it, which may have been growing."""
        self.h2, self.gone_to, self.found, self.found_for = 0.0, None, self.contacts(), (None, 0.0)
        self.frozen, bodies = UNKNOWN, len(self.owner)
        self.friction, self.assembly = Frictions(self.mass), Assembly(bodies)
        self.chosen, self.threats = Chosen(), Threats(bodies)

    def strike(
        self, survey: Survey, blow: Blow, chosen: Indices, along: Array, forces: Array, G: Array, h: float
    ) -> None:
        """In a blow contacts have pushed with forces [N] (m, 3) besides, along n, t₁, t₂, G h² (n, 12) on bodies."""
        self.struck = survey.after_blows(blow, chosen, along, forces, G, h)

    def release(
        self, s: ActiveContacts, chosen: Indices, borne: Array, parts: Array, h: float
    ) -> tuple[Indices, Array]:
        """The blow at some contacts (m,) is over: they push as they are borne [N] from now on, or part [m/s].

        Returns pairs (k, 2) that have a range of their own by that, and their shares (k,).
        """
        if self.ease is None or not len(chosen):
            return np.zeros((0, 2), np.int64), np.zeros(0)
        found = self.ease.release(self.scene, s, chosen, borne, parts, h)
        self.apply_ranges(self.watch, 0.0)
        self.found_for, self.frozen, self.gone_to = (None, 0.0), UNKNOWN, None
        return found

    def apply_ranges(self, watch: Watch, h: float) -> None:
        """Give candidates that a look has found the ranges of eased pairs, after a further time h."""
        if self.ease is not None:
            watch.candidates = self.ease.applied(self.scene, watch.candidates, h)

"""What a step works on: bodies with the energies between them, guards, loads, and the solvers for all of it.

`Model` knows nothing of scenes. The world fills it once, refreshes parameters of its laws, contributions and loads
after the animator, and hands it to `step`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.kernel.buffers import Buffers
from dovetail.solver.contact.contact import Contact
from dovetail.solver.contribution import Start
from dovetail.solver.directions import Choice, Directions
from dovetail.solver.guard import Guard
from dovetail.solver.islands import Islands
from dovetail.solver.joint.combined import mark_pulled
from dovetail.solver.joint.stops import Stops
from dovetail.solver.load.load import Load
from dovetail.solver.load.loads import Loads
from dovetail.solver.lone import LoneBodies
from dovetail.solver.potential import Potential
from dovetail.solver.quiet import Quiet
from dovetail.solver.stance import Stance
from dovetail.solver.still import Still
from dovetail.typing import Array, Flags, Indices

__all__ = ["Model"]


class Model:
    """Bodies, potential, guards and loads, which are constant, and what solves for them.

    bodies, potential, loads
    contact, stops        the guards, None where there is none
    islands, directions   who moves together, and how Newton's direction is found
    all_exact             whether every free body is on an exact joint
    start                 room for a consistent start
    lone                  bodies that nothing is tied to
    quiet, stance         steps in which nothing but joints and laws acts; starts of what touches something
    still                 steps of machines that stand
    always_bdf1 (n,)      bodies that a step of ctr takes as bdf1: without inertia of their own, quasi-static, moved by
                          an articulation
    never_held (n,)       bodies that take a step in touch as bdf1: users' energies know of no forces but their own
    """

    def __init__(self, potential: Potential, loads: Sequence[Load] = (), choice: Choice = "auto") -> None:
        bodies = potential.bodies
        self.bodies, self.potential = bodies, potential
        self.contact: Contact | None = potential.contact
        stops = None if potential.laws is None else Stops(potential.laws, bodies.count)
        self.stops = stops if stops is not None and stops.count else None
        self.guards: list[Guard] = [guard for guard in (self.contact, self.stops) if guard is not None]
        self.islands: Islands = potential.islands
        self.directions = Directions(potential, self.islands, choice)
        self.loads = Loads(loads, bodies)
        self.all_exact = bool(self.islands.on_exact_joint[bodies.is_free != 0].all())
        self.without_inertia = np.flatnonzero(bodies.external_kinetic != 0)
        self.buffers, self.start_buffers = Buffers(bodies.count, 4, 3), Buffers(bodies.count, 4, 3)
        self.start = Start(bodies.mass_inverse, potential.row_count)
        self.whole, self.share = np.ones(bodies.count), np.ones(bodies.count)  # of a step, by body
        self.way = np.zeros((bodies.count, 12))  # to the guess
        self.fixed = np.flatnonzero(bodies.is_fixed)
        self.turns = np.zeros(bodies.count, np.int64)  # whose step was changed (contact/swing.py)
        without_start = (bodies.external_kinetic != 0) | (bodies.is_dynamic == 0)
        without_start[np.concatenate([other.needs_bdf1() for other in potential.others])] = True
        if potential.laws is not None:
            without_start[potential.laws.without_step] = True
        self.always_bdf1 = self.islands.mechanisms_of(without_start)
        with_terms = np.zeros(bodies.count, np.bool_)
        for other in potential.others:
            with_terms[other.pairs()] = True
        self.never_held = self.islands.mechanisms_of(with_terms)
        self.nobody = np.zeros(bodies.count, np.bool_)
        self.untouched = np.zeros((bodies.count, 19)), np.zeros((potential.row_count, 3))
        self.unrubbed = np.zeros((bodies.count, 16))
        self.lone = LoneBodies(potential)
        self.quiet, self.stance = Quiet(self), Stance(self)
        self.still = Still(self)

    def prepare(self, h: float, weight: Array) -> None:
        """Start a step of length h; weight (n,) is c of the kinetic terms."""
        self.directions.prepare(h, self.potential.prepare(h, weight))
        if self.potential.exact is not None:
            self.potential.exact.begin(h)

    def knocked(self, Q: Array, h: float) -> Flags:
        """Bodies (n,) at Q that are in contact or at a hard limit, with all that joints connect to them."""
        touched = self.nobody
        for guard in self.guards:
            found = guard.touched(Q, h)
            if np.count_nonzero(found):
                touched = touched | found
        return touched if touched is self.nobody else self.islands.mechanisms_of(touched)

    @property
    def pulled(self) -> Flags:
        """Bodies (n,) on exact rows whose targets have moved since the last step, with all that joints connect to."""
        exact = self.potential.exact
        if exact is None or not exact.combined.count:
            return self.nobody
        found = self.nobody.copy()
        return self.islands.mechanisms_of(found) if mark_pulled(exact.combined, found) else self.nobody

    def commit(self, h: float, converged: bool) -> None:
        """A step of length h was taken."""
        self.directions.export_multipliers()
        self.potential.soft_transforms.commit()
        if self.potential.exact is not None:
            self.potential.exact.commit(h, converged)

    def invalidate(self, moved: Indices) -> None:
        """Bodies were changed from outside, and these were moved."""
        self.allow_gaps()
        if self.contact is not None:
            self.contact.forget(moved)

    def allow_gaps(self) -> None:
        """Until the end of the step exact joints may be open, and merits count that."""
        if self.potential.exact is not None:
            self.potential.exact.allow_gaps()
            self.directions.export_multipliers()

    def arrays(self) -> dict[str, Array]:
        """What the next step depends on besides the state: where contacts were looked for, the layout of the blocks."""
        targets = {"soft_transforms/past": self.potential.soft_transforms.past}
        if self.contact is None:
            return targets
        return {
            **targets,
            **self.contact.arrays(),
            "contact/blocks": self.directions.touching.astype(float),
            "contact/age": np.array(
                [
                    float(self.directions.age),
                    float(self.directions.blocks.laid_out),
                    float(self.contact.count_at_start),
                    self.contact.watch.headroom,
                    self.contact.watch.pair_headroom,
                ]
            ),
        }

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        self.potential.soft_transforms.restore(arrays["soft_transforms/past"])
        if self.contact is not None:
            self.contact.restore(arrays)
            age, laid_out, self.contact.count_at_start = arrays["contact/age"][:3].astype(int).tolist()
            self.contact.watch.headroom, self.contact.watch.pair_headroom = arrays["contact/age"][3:].tolist()
            self.directions.restore(arrays["contact/blocks"].astype(np.int64), age, bool(laid_out))

"""Contact: its energy at a state, and the guard that keeps every step free of intersections.

begin              candidates for a step of length h, contacts and friction at its start
at                 active contacts of a state, and their energy
assemble           derivatives of barrier and friction there
cover, couple, free_share, record_motion     see guard.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.contact.active import ActiveContacts, find_active
from dovetail.solver.contact.assembly import Assembly, assemble
from dovetail.solver.contact.barrier import adaptive
from dovetail.solver.contact.candidates import Candidates, update_positions
from dovetail.solver.contact.ccd import KEEP, TIGHTEN, free_share
from dovetail.solver.contact.chosen import Chosen
from dovetail.solver.contact.ease import Ease
from dovetail.solver.contact.firmness import Firmness
from dovetail.solver.contact.friction import Frictions, slide_on
from dovetail.solver.contact.history import UNKNOWN, ContactHistory
from dovetail.solver.contact.kinds import A, B
from dovetail.solver.contact.known import reaching
from dovetail.solver.contact.motion import record_motion
from dovetail.solver.contact.partners import NOBODY, bodies_of_others, new_contacts, pressing
from dovetail.solver.contact.readback import Struck, Survey
from dovetail.solver.contact.roll import Turning
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.steady import mark_pushes
from dovetail.solver.contact.stick import Stick
from dovetail.solver.contact.threat import NUMBER, SEPARATE, Threats, couple
from dovetail.solver.contact.watch import Watch
from dovetail.solver.islands import Islands, mark_pairs
from dovetail.solver.linear.ordering import sorted_rows
from dovetail.typing import Array, Flags, Indices

if TYPE_CHECKING:
    from dovetail.solver.potential import Evaluation

__all__ = ["Contact"]

_SOON = 1.5  # pairs nearer than so many ranges of the barrier get a block, before they touch


class Contact(ContactHistory):
    """All contacts of a system: constants, the watch over candidates, and friction of the present step."""

    def __init__(
        self, scene: ContactScene, is_fixed: Indices, mass: Array, weight: Array, centre: Array, half: Array,
        eps_velocity: float, friction: bool, memory: bool = False, ease: Ease | None = None,
        weld: Indices | None = None,
    ) -> None:  # fmt: skip
        self.scene, bodies, self.uses = scene, len(is_fixed), np.zeros(1, np.int64)
        self.is_free = np.ascontiguousarray(np.asarray(is_fixed) == 0, np.int64)
        self.owner = np.where(self.is_free != 0, np.arange(bodies), -1)
        self.mass, self.eps_velocity = np.where(self.is_free != 0, mass, 0.0), eps_velocity
        self.weight = np.where(self.is_free != 0, weight, 0.0)  # m|g| [N]
        self.weld = np.arange(bodies) if weld is None else weld  # bodies of a weld have the number of one of them
        by_weld: Array = np.bincount(self.weld, self.mass, bodies).astype(float)
        self.borne_by = by_weld[self.weld]  # mass of each body's weld
        self.has_friction = friction
        self.watch, self.friction = Watch(scene, is_fixed, centre, half), Frictions(self.mass)
        self.turning = Turning(turn=np.zeros((bodies, 3)), axis=np.zeros((bodies, 3)))
        self.stick, self.ease, self.firmness = Stick() if friction and memory else None, ease, Firmness(bodies)
        self.assembly, self.chosen, self.threats = Assembly(bodies), Chosen(), Threats(bodies)
        self.found_for, self.frozen, self.h2, self.count_at_start = (None, 0.0), UNKNOWN, 0.0, 0
        self.Q_start: Array = np.zeros((bodies, 4, 3))
        # at the start of the step: pairs of bodies that touch; numbers of those that press on each other
        self.touching_at_start: Indices = np.zeros((0, 2), np.int64)
        self.pressing_at_start = NOBODY
        self.struck: Struck | None = None  # of blows that the last step has ended with
        self.gone_to: object = None  # what the watch has gone to
        self.found, self.stiffness, self.E_found, self.E_start = self.contacts(), *np.zeros((3, bodies))
        self.E_before = np.zeros(bodies)  # E_start before the ranges of eased pairs grow
        self.borne = np.zeros(bodies)  # h² m|g|
        self.everything, self.whole, self._nobody = np.ones(bodies, np.int64), np.ones(bodies), np.zeros(bodies, bool)
        self.covered = self.whole  # share of the last step of each island that budgets covered, 1 if none is short

    @property
    def candidates(self) -> Candidates:
        """Pairs of features that may touch."""
        return self.watch.candidates

    def forget(self, moved: Indices) -> None:
        """Bodies were changed from outside: nothing is known of what is near, and nothing has rubbed.

        Contacts of bodies that were moved stick no more.
        """
        self.watch.forget()
        if self.stick is not None:
            self.stick.forget(moved)
        if self.ease is not None:
            self.ease.forget(moved)
        self.friction.count, self.found_for, self.struck = 0, (None, 0.0), None

    # ---- the energy ------------------------------------------------------------------------------------------

    def begin(self, at: Evaluation, y: Array, h: float, islands: Islands) -> bool:
        """Start a step of length h from a state that is expected to be −y; False where surfaces intersect already.

        Its contacts, E_start (n,) ← those at the state with the energies of the barrier; friction is frozen there.
        """
        Q, surveyed, E = at.Q, self.found_for, self.E_start
        E.fill(0.0)
        self._start(Q, h)
        if self.ease is not None:
            self.ease.begin()
        self.watch.update_candidates(Q, y, islands, self.whole, self.count_at_start, self.everything)
        self.apply_ranges(self.watch, 0.0)
        self.friction.count = 0
        assert at.contacts is not None
        if self.is_clear:
            at.contacts.count, at.contacts.candidates, self.count_at_start = 0, self.watch.candidates, 0
            self.touching_at_start, self.pressing_at_start = at.contacts.pairs, NOBODY
            self.E_before.fill(0.0)
            self.firmness.forget()
            return True
        if surveyed[0] is Q and surveyed[1] == h and self.found.candidates is self.watch.candidates:
            at.contacts, self.found, self.gone_to = self.found, at.contacts, self.found
            active, fine = at.contacts, True
            E += self.E_found
        else:
            active = at.contacts
            fine = self._find(self.watch, Q, active, self.everything, E, self.stiffness, self.h2)
        if fine and self.firmness.relax(active):
            self._find_anew(Q, 0.0, active, E)
        if fine and self.ease is not None and self.ease.look(self.scene, active, islands.mechanism, self.h2):
            self._find_anew(Q, 0.0, active, E)
        self.count_at_start = active.count
        self.E_before[:] = E
        if fine and self.frozen[0] is active and self.frozen[1] == h:
            self.friction.count = self.frozen[2]
        elif fine:
            self._freeze(Q, h, active)
        self.frozen = UNKNOWN
        if fine and self.ease is not None and len(self.ease.pairs):
            self._find_anew(Q, h, active, E)  # friction has the loads that the last step has ended with
            if self.ease.hold_back(self.scene, active, h):
                self._find_anew(Q, h, active, E)
        self.touching_at_start, self.pressing_at_start = active.pairs.copy(), NOBODY
        if self.ease is not None:
            self.pressing_at_start = pressing(active, self.ease.weight, self.h2)
        return fine

    def _start(self, Q: Array, h: float) -> None:
        """Forget the last step."""
        self.found_for, self.Q_start, self.struck = (None, 0.0), Q, None
        if h * h != self.h2:
            self.h2 = h * h
            self.stiffness, self.borne = self.firmness.begin(adaptive(self.borne_by, h)), self.h2 * self.weight
        if self.watch.looks or self.watch.ahead:
            self.watch.looks, self.watch.ahead = self.watch.ahead, 0

    def begin_clear(self, Q: Array, h: float) -> bool:
        """Start a step of length h at Q, if nothing was near anything in the last one; whether that was so.

        `begin` has to follow where the step turns out not to be covered.
        """
        if not self.is_idle:
            return False
        self._start(Q, h)
        self.firmness.forget()
        self.count_at_start = 0
        return True

    def commit_clear(self, h: float) -> None:
        """A step of length h was taken in which nothing was near anything."""
        if self.stick is not None:
            self.stick.clear()
        if self.ease is not None:
            self.ease.commit(h)

    def _find_anew(self, Q: Array, h: float, active: ActiveContacts, E: Array) -> None:
        """active, E ← the same contacts with the ranges of eased pairs after a further time h."""
        self.frozen = UNKNOWN
        self.apply_ranges(self.watch, h)
        E.fill(0.0)
        self._find(self.watch, Q, active, self.everything, E, self.stiffness, self.h2)

    def _find(
        self, watch: Watch, Q: Array, active: ActiveContacts, runs: Indices, E: Array, stiffness: Array, h2: float
    ) -> bool:
        self.gone_to = active if watch is self.watch else None
        return find_active(
            watch, watch.candidates, self.scene, stiffness, h2, Q, runs, self.owner, self.chosen, active, E
        )  # fmt: skip

    @property
    def is_clear(self) -> bool:
        """Whether nothing is near anything: there are no candidates, no friction, and nothing goes unseen."""
        return self.friction.count == 0 and len(self.watch.candidates.pairs) == 0 and not self.watch.is_short

    def at(self, Q: Array, active: ActiveContacts, unconverged: Indices, E: Array) -> None:
        """active ← contacts at Q of bodies that have not converged (n,), E (n,) += their energies with friction.

        Infinite where a gap is closed.
        """
        if self.is_clear:
            active.count, active.candidates = 0, self.watch.candidates
            return
        if not self._find(self.watch, Q, active, unconverged, E, self.stiffness, self.h2):
            E += math.inf
            return
        self.add_friction_energy(Q, unconverged, E)

    def add_friction_energy(self, Q: Array, unconverged: Indices, E: Array) -> None:
        """E (n,) += μλ f₀ at Q."""
        if self.friction.count:
            self.friction.add_energy(self.Q_start, Q, unconverged, self.owner, E)

    def assemble(self, Q: Array, s: ActiveContacts, active: Indices, blocks: Blocks) -> None:
        """Add the derivatives of barrier and friction at Q, where the contacts are s, of active bodies."""
        if s.count or self.friction.count:
            assemble(s, self.scene, self.friction, self.Q_start, Q, active, blocks, self.assembly)

    def press(self, Q: Array, h: float) -> ActiveContacts:
        """The contacts at Q before a step of length h begins there; nothing has rubbed yet."""
        self.friction.count = 0
        return self._at(Q, h)

    def is_new(self, s: ActiveContacts) -> Flags:
        """Whether the bodies of each of the contacts s (k,) did not press on each other at the start of the step."""
        return new_contacts(s, self.pressing_at_start.pairs)

    def changed(self, Q: Array, h: float) -> Flags:
        """Bodies (n,) that touch others at Q, where the step of length h leads, than at its start."""
        now = self.touching_at_start[:0] if self.is_idle else self._at(Q, h).pairs
        return bodies_of_others(now, self.touching_at_start, self._nobody)

    def return_to(self, Q: Array, Q_from: Array, islands: Islands) -> None:
        """Bodies go straight back from Q_from to Q, the start of the step, which is taken again.

        That motion uses up budgets as any other does, or candidates at the start would not be complete.
        """
        islands.by_joints()
        islands.alpha[: islands.count] = 1.0
        self.watch.update_candidates(
            Q_from, (Q_from - Q).reshape(-1, 12), islands, self.whole, self.count_at_start, self.everything
        )
        self.record_motion(islands)
        if self.watch.is_short:  # not all of the way may be covered
            self.watch.forget()
        self.apply_ranges(self.watch, 0.0)  # ranges have grown in the step that is taken again
        self.found_for, self.gone_to = (None, 0.0), None

    def _at(self, Q: Array, h: float) -> ActiveContacts:
        """The contacts at Q, which need not be looked for where that was done last."""
        return self.found if self.found_for[0] is Q and self.found_for[1] == h else self._look(Q, h)

    def add_resistance(
        self, Q: Array, Q_before: Array, h: float, s: ActiveContacts, active: Indices, rigour: Array, blocks: Blocks
    ) -> None:
        """Add the Hessian of barriers s, each as often as rigour (n + 1,) says, and of friction after a step to Q."""
        self._freeze(Q, h, s)
        friction = self.friction
        self.Q_start, kept = Q, (friction.carried.copy(), friction.aim.copy())
        slide_on(friction, friction.count, self.stick is not None, Q_before, Q)
        kappa, s.kappa = s.kappa, s.kappa[: s.count] * rigour[s.bodies[: s.count]].max(axis=1)
        self.assemble(Q, s, active, blocks)
        s.kappa, friction.carried[:], friction.aim[:] = kappa, *kept
        if not self.scene.some_roll:  # which is known only once the step begins
            self.frozen = s, h, friction.count
        friction.count = 0

    def drag(self, Q: Array, V: Array, h: float, s: ActiveContacts) -> Array:
        """Forces of friction (n, 16) at Q, as those of `commit`, on bodies that move with V in the contacts s."""
        self.turning.turn.fill(0.0)
        self._freeze(Q, h, s)
        Q_before = Q - h * V
        found = self.friction.on_bodies(Q_before, Q, h)
        self.friction.count = 0
        return found

    def _freeze(self, Q: Array, h: float, s: ActiveContacts) -> None:
        """Friction ← that of the contacts s at Q, for a step of length h."""
        if self.has_friction:
            self.friction.epsilon = self.eps_velocity * h
            self.friction.freeze(s, self.scene, Q, self.turning)
            if self.stick is not None:
                self.stick.begin(self.friction, Q, h)

    def acts_on(self, s: ActiveContacts, out: Indices) -> None:
        """out (n,) ← 1 for bodies in one of the contacts s, or that friction acts on."""
        for pairs in (s.pairs, self.friction.pairs):
            mark_pairs(pairs, len(pairs), out)

    def touching(self, s: ActiveContacts) -> Indices:
        """Body pairs (k, 2) that may need a block in this step: lagged friction, what is or may soon be in contact."""
        # the watch may be blind, and another one have found s
        near = reaching(self.candidates, s.X, self.watch.path, _SOON)
        pairs = np.concatenate([self.candidates.pairs[near, A : B + 1], s.pairs, self.friction.pairs])
        one, other = pairs[pairs[:, 1] >= 0].T
        start, second = sorted_rows(len(self.owner), np.minimum(one, other), np.maximum(one, other))
        return np.stack([np.repeat(np.arange(len(self.owner)), np.diff(start)), second], axis=1)

    def fits(self, s: ActiveContacts, blocks: Blocks) -> bool:
        """Whether the block system has a place for every active contact and lagged friction."""
        return blocks.has(s.pairs) and blocks.has(self.friction.pairs)

    # ---- the guard -------------------------------------------------------------------------------------------

    def go_to(self, at: Evaluation) -> ActiveContacts:
        """Have the watch at a state that was evaluated; its contacts."""
        assert at.contacts is not None
        if self.gone_to is not at.contacts and not self.is_clear:
            self.watch.go_to(at.Q)
            self.gone_to = at.contacts
        return at.contacts

    def cover(self, at: Evaluation, y: Array, islands: Islands, share: Array, commits: Indices | None = None) -> None:
        s = self.go_to(at)
        if self.watch.update_candidates(at.Q, y, islands, share, self.count_at_start, commits):
            self.apply_ranges(self.watch, math.sqrt(self.h2))
            update_positions(self.watch.vertices, self.scene.V, at.Q, s.X)

    def look_anew(self, Q: Array, islands: Islands) -> None:
        """Bodies are put to Q, on no way that was covered: look for candidates there."""
        self.watch.forget()
        self.watch.update_candidates(Q, np.zeros((len(Q), 12)), islands, self.whole, self.count_at_start)

    def couple(self, at: Evaluation, y: Array, islands: Islands) -> None:
        if not self.is_clear:
            self._couple(at, y, islands, 0)

    def number(self, at: Evaluation, y: Array, islands: Islands) -> bool:
        """Number the islands of the step −y where joints and contact alone make them; as `Islands.number`."""
        count, revived = divmod(self._couple(at, y, islands, SEPARATE | NUMBER), 2)
        islands.are_by_joints, islands.count = False, count
        return revived != 0

    def _couple(self, at: Evaluation, y: Array, islands: Islands, also: int) -> int:
        s, watch, friction = self.go_to(at), self.watch, self.friction
        counts = s.count, friction.count, watch.is_short
        return couple(watch.candidates, self.scene, s, watch, islands, y, friction.runs, self.threats, counts, also)

    def free_share(self, at: Evaluation, y: Array, islands: Islands) -> None:
        self.covered, asked, everyone = self.whole[: islands.count], TIGHTEN | KEEP, islands.is_free
        if self.watch.is_short:
            self.keep_apart(at, y, islands, everyone, TIGHTEN)
            self.covered, asked = islands.alpha[: islands.count].copy(), KEEP
        self.keep_apart(at, y, islands, everyone, asked)

    def foresee(self, at: Evaluation, y: Array, islands: Islands, short: float) -> None:
        """Say whether the step −y changes forces too much to be the last one, and expect the friction it leads to.

        Steps are `short` below this length [m].
        """
        mark_pushes(self.go_to(at), self.borne, self.mass, islands, y, short)
        self.friction.foresee(y, islands, short)

    def keep_apart(self, at: Evaluation, y: Array, islands: Islands, chosen: Indices, asked: int = KEEP) -> None:
        """islands.alpha ← at most what of the step −y keeps gaps of chosen bodies (n,) open, or is covered (ccd.py)."""
        s, watch = self.go_to(at), self.watch
        free_share(watch.candidates, self.scene, s.X, watch, islands, y, chosen, asked)

    def record_motion(self, islands: Islands) -> None:
        record_motion(self.watch, islands)

    @property
    def is_idle(self) -> bool:
        """Whether nothing was near anything in the last step, and nobody was moved since."""
        return self.is_clear and not self.watch.is_blind

    def touched(self, Q: Array, h: float) -> Flags:
        return self._nobody if self.is_idle else self.in_touch(self._at(Q, h))

    def in_touch(self, s: ActiveContacts) -> Flags:
        """Bodies (n,) in one of the contacts s."""
        touched = np.zeros(len(self.owner), np.int64)
        mark_pairs(s.bodies, s.count, touched)
        return touched != 0

    # ---- read-back ---------------------------------------------------------------------------------------------

    def survey(self, Q: Array, Q_start: Array, h: float) -> Survey:
        """All contacts at Q, where a step of length h from Q_start has led; the next step is not affected."""
        active = self._at(Q, h)
        energy = float(self.E_found.sum())
        return Survey(self.scene, active, energy, self.friction, Q, Q_start, self.assembly, self.struck)

    def _look(self, Q: Array, h: float) -> ActiveContacts:
        """All contacts at Q for steps of length h; who asks for the same again finds them."""
        watch = self.watch.query(Q) if self.watch.is_blind else self.watch
        if watch is not self.watch:
            self.apply_ranges(watch, 0.0)
        self.E_found.fill(0.0)
        self.found_for = (Q, h) if self.find(watch, Q, h, self.found, self.E_found) else (None, 0.0)
        return self.found

    def find(self, watch: Watch, Q: Array, h: float, active: ActiveContacts, E: Array) -> bool:
        """active, E (n,) ← all contacts at Q of a step of length h by the candidates of a watch, and energies."""
        stiffness = self.stiffness if h * h == self.h2 else adaptive(self.borne_by, h) * self.firmness.of
        return self._find(watch, Q, active, self.everything, E, stiffness, h * h)

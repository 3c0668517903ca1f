"""Contacts of the present frame: where bodies touch, how hard, and the net force on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dovetail.checked import checked
from dovetail.errors import WorldError
from dovetail.solver.bodies import Bodies
from dovetail.solver.contact.contact import Contact
from dovetail.solver.contact.readback import ContactList
from dovetail.solver.state import State
from dovetail.typing import Indices
from dovetail.world.attribute_writer import AttributeWriter
from dovetail.world.lower.bodies import BodyTable
from dovetail.world.lower.contacts import surface_of

__all__ = ["ContactReadback", "Contacts", "no_contacts"]


@dataclass(frozen=True)
class Contacts(ContactList):
    """The contacts of a frame as arrays; len(contacts) is how many there are.

        contacts = world.contacts()
        hardest = contacts.normal_force.argmax()
        print(contacts.names(hardest), contacts.point[hardest])

    Contacts that rubbed in the step but have parted since come last, with no normal force.

    | array | shape | unit | |
    |---|---|---|---|
    | point | (k, 3) | m | midway between the closest points of the surfaces |
    | normal | (k, 3) | | of length 1, from body b to body a |
    | gap | (k,) | m | distance less the least that both may have: their thickness, for round bodies the radii less d̂ |
    | normal_force | (k,) | N | ≥ 0: pushes body a along the normal, b against it |
    | friction_force | (k, 3) | N | on body a; the opposite acts on b |
    | bodies | (k, 2) | | numbers of a and b, as in AffineBodyStateAccessorFeature; b = −1 for a half-plane |
    | plane | (k,) | | number of the half-plane, −1 where b is a body |
    """

    _name: Callable[[int], str] = field(repr=False)
    _plane_names: list[str] = field(repr=False)

    def __len__(self) -> int:
        return len(self.gap)

    @checked(WorldError)
    def names(self, k: int) -> tuple[str, str]:
        """The two sides of contact k: object, instance, geometry."""
        if not -len(self) <= k < len(self):
            raise WorldError(f"Contacts.names: there are {len(self)} contacts, there is no contact {k}.")
        a, b = self.bodies[k].tolist()
        other = self._name(b) if b >= 0 else f"half-plane '{self._plane_names[self.plane[k]]}'"
        return self._name(a), other


class ContactReadback:
    """Reads contacts of a simulation and writes `contact/force` [N] and `contact/torque` [N·m] of all instances.

    Torques are about the centre of mass. Both count what the last step balanced: the barrier at its end, and friction.
    """

    def __init__(self, table: BodyTable, bodies: Bodies, contact: Contact, plane_names: list[str]) -> None:
        self._table, self._contact, self._plane_names = table, contact, plane_names
        self._centre = bodies.mass[:, 0, 1:] / bodies.mass[:, 0, :1]
        for entry in table.geometries:
            for name in ("contact/force", "contact/torque"):
                if entry.geometry.instances.find(name) is None:
                    entry.geometry.instances.create(name, np.zeros(3))
        instances = [entry.geometry.instances for entry in table.geometries]
        self._writer = AttributeWriter()
        self._force, self._torque = (self._writer.ask(instances, f"contact/{what}") for what in ("force", "torque"))

    @cached_property
    def vertex_numbers(self) -> Indices:
        """Number of every surface vertex in the scene: global_vertex_offset + instance · vertices + vertex.

        −1 for the core of a round body, which is no vertex of its mesh.
        """
        numbers = [np.zeros(0, np.int64)]
        for entry in self._table.geometries:
            surface = surface_of(entry)
            if surface is None:
                continue
            first = int(entry.geometry.meta.slot("global_vertex_offset").values[0])
            starts = first + entry.geometry.vertices.size() * np.arange(entry.count)
            own = starts[:, None] + surface.used
            numbers.append(own.reshape(-1) if len(surface.used) else np.full(entry.count * len(surface.vertices), -1))
        return np.concatenate(numbers)

    def contacts(self, state: State, h: float) -> Contacts:
        """All contacts at the state."""
        found = self._contact.survey(state.Q, state.Q_before, h).listing(h)
        return Contacts(**vars(found), _name=self._table.name, _plane_names=self._plane_names)

    def retrieve(self, state: State) -> None:
        """Write the net forces of the last step; zero before the first."""
        h = state.dt_before
        force = torque = np.zeros((self._table.count, 3))
        if h > 0.0:
            force, torque = self._contact.survey(state.Q, state.Q_before, h).net_forces(self._centre, h)
        self._writer.put(self._force, force)
        self._writer.put(self._torque, torque)
        self._writer.write()


def no_contacts(name: Callable[[int], str]) -> Contacts:
    """The list of a world without contact."""
    lists: dict[str, Any] = {
        "point": np.zeros((0, 3)),
        "normal": np.zeros((0, 3)),
        "gap": np.zeros(0),
        "normal_force": np.zeros(0),
        "friction_force": np.zeros((0, 3)),
        "bodies": np.zeros((0, 2), np.int64),
        "plane": np.zeros(0, np.int64),
    }
    return Contacts(**lists, _name=name, _plane_names=[])

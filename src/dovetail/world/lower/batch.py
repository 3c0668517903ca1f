"""Joints of several geometries gathered under one declaration: their stencils, and the values of their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from dovetail.constitution.terms import Parameter, Stenciled
from dovetail.solver.joint.stencil import Stencils
from dovetail.typing import Array, Indices
from dovetail.world.lower.lowered import JointGeometry, stencils_of

__all__ = ["Batch", "parameter_values"]


class Batch:
    """Stencils of several joint geometries under one declaration."""

    def __init__(self) -> None:
        self._entries: list[tuple[JointGeometry, Indices, Stenciled]] = []
        self.count = 0

    def add(self, entry: JointGeometry, declared: Stenciled, chosen: Indices | None = None) -> slice:
        """Append the joints of a geometry, or those chosen; the rows they get."""
        joints = np.arange(entry.count) if chosen is None else chosen
        self._entries.append((entry, joints, declared))
        rows = slice(self.count, self.count + len(joints))
        self.count += len(joints)
        return rows

    def stencils(self, m: int = 0) -> Stencils:
        """All of them; m is how many rows each has, if there may be none."""
        if not self._entries:
            return Stencils.none(m)
        return Stencils(
            np.concatenate([entry.left[joints] for entry, joints, _ in self._entries]),
            np.concatenate([entry.right[joints] for entry, joints, _ in self._entries]),
            np.concatenate(list(self._weights())),
            np.concatenate([entry.offset + joints for entry, joints, _ in self._entries]),
        )

    def _weights(self) -> Iterator[Array]:
        """W of all of them, in order; those of one declaration that follow each other at once."""
        for declared, group in groupby(self._entries, key=lambda entry: entry[2]):
            entries, chosen = [], []
            first = 0
            for entry, joints, _ in group:
                entries.append(entry)
                chosen.append(first + joints)
                first += entry.count
            yield stencils_of(entries, declared)[np.concatenate(chosen)]


def parameter_values(entry: JointGeometry, parameter: Parameter) -> Array:
    """Values of one parameter of every joint of a geometry; 0 for now where it depends on the step."""
    if parameter.value is not None:
        return np.full(entry.count, parameter.value)
    if not parameter.attribute:
        return np.zeros(entry.count)
    values: Array = entry.elements.slot(parameter.attribute).values.astype(float)
    return values * entry.mass if parameter.times_mass else values

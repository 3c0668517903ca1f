"""Energies of a `Sim` by name, and their sums."""

from __future__ import annotations

__all__ = ["Energy"]


class Energy(dict[str, float]):
    """Energies [J] by name, as `World.energies` gives them, with the sums that plots want."""

    @property
    def kinetic(self) -> float:
        return self["kinetic"]

    @property
    def potential(self) -> float:
        """Gravity, and what is stored in shapes, joints, soft transforms and contacts."""
        return sum(value for name, value in self.items() if name not in ("kinetic", "friction_dissipated"))

    @property
    def total(self) -> float:
        """Kinetic and potential energy; friction takes from it what `friction_dissipated` counts."""
        return self.kinetic + self.potential

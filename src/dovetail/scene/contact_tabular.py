"""Contact materials: which pairs collide, with how much friction and how stiff a barrier."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dovetail.builtin import adaptive
from dovetail.checked import checked, number, shown
from dovetail.errors import SceneError
from dovetail.scene.pair_table import Element, ModelCollection, PairTable

__all__ = ["ContactElement", "ContactModel", "ContactModelCollection", "ContactTabular"]


class ContactElement(Element):
    """A contact material; `apply_to(geometry)` writes the meta attribute `contact_element_id`."""

    attribute = "contact_element_id"


class ContactModelCollection(ModelCollection):
    """The rows of a contact table: `topo`, `friction_rate`, `resistance` [Pa], `is_enabled`."""


@dataclass(frozen=True, slots=True)
class ContactModel:
    """What holds between two contact elements, as it was when asked for."""

    _topo: tuple[int, int]
    _friction_rate: float
    _resistance: float
    _is_enabled: bool
    _config: tuple[tuple[str, float], ...] = ()

    def topo(self) -> NDArray[np.int32]:
        """The two elements' numbers, shape (2, 1), smaller first."""
        return np.array(self._topo, np.int32).reshape(2, 1)

    def friction_rate(self) -> float:
        """Coulomb friction coefficient μ."""
        return self._friction_rate

    def resistance(self) -> float:
        """Barrier stiffness κ [Pa]; negative means adaptive."""
        return self._resistance

    def is_enabled(self) -> bool:
        return self._is_enabled

    def config(self) -> dict[str, Any]:
        """Further settings of the pair that are not zero, see `ContactTabular`."""
        return dict(self._config)


class ContactTabular(PairTable[ContactElement]):
    """The contact materials of a scene and what holds between each two; other pairs use the default model.

    Initially the default model has μ = 0.5, κ = 1e9 Pa and is enabled. `config` may have

    | | | |
    |---|---|---|
    | rolling_friction | m | lever c: rolling is resisted by a torque of c times the normal force at most |
    | restitution | | share e ≤ 1 of the speed of an impact, along the normal, that bodies part with |

    which are attributes of the rows as soon as a pair has them; other keys, of libuipc scripts, are not read.
    """

    element_class = ContactElement

    def __init__(self) -> None:
        super().__init__({"friction_rate": 0.5, "resistance": 1e9, "is_enabled": 1})
        self._default_is_users = False

    @property
    def default_is_users(self) -> bool:
        """Whether the user has ever set the default model."""
        return self._default_is_users

    @default_is_users.setter
    @checked(SceneError)
    def default_is_users(self, value: bool) -> None:
        self._default_is_users = bool(value)

    @checked(SceneError)
    def insert(
        self,
        L: ContactElement,
        R: ContactElement,
        friction_rate: float,
        resistance: float,
        enable: bool = True,
        config: Mapping[str, Any] | None = None,
    ) -> int:
        """Set what holds between L and R, in either order; returns the row. An earlier row is replaced."""
        who = f"ContactTabular: between {shown(L)} and {shown(R)}"
        row, extra = _row(who, friction_rate, resistance, enable), _extra(who, config or {})
        for name, value in extra.items():
            if value and self._rows.find(name) is None:
                self._rows.create(name, 0.0)
        row.update({name: value for name, value in extra.items() if self._rows.find(name) is not None})
        index = self._insert(L, R, row)
        if index == 0:
            self._default_is_users = True
        return index

    @overload
    def default_model(self) -> ContactModel: ...
    @overload
    def default_model(
        self,
        friction_rate: float,
        resistance: float,
        enable: bool = True,
        config: Mapping[str, Any] | None = None,
    ) -> None: ...
    @checked(SceneError)
    def default_model(
        self,
        friction_rate: float | None = None,
        resistance: float | None = None,
        enable: bool = True,
        config: Mapping[str, Any] | None = None,
    ) -> ContactModel | None:
        """Without arguments: the default model. With: set it, also for pairs not defined otherwise."""
        if friction_rate is None and resistance is None:
            return self.at(0, 0)
        if friction_rate is None or resistance is None:
            raise SceneError("ContactTabular.default_model: give both friction_rate and resistance [Pa].")
        default = self.default_element()
        self.insert(default, default, friction_rate, resistance, enable, config)
        return None

    def at(self, i: int, j: int) -> ContactModel:
        """What holds between elements i and j, in either order."""
        pair = self._pair_at(i, j)
        row = self._row_of.get(pair, 0)
        friction_rate, resistance, is_enabled = (
            self._rows.slot(name).values[row] for name in ("friction_rate", "resistance", "is_enabled")
        )
        further = {name: self._rows.find(name) for name in _EXTRAS}
        config = [(name, float(slot.values[row])) for name, slot in further.items() if slot and slot.values[row]]
        return ContactModel(pair, float(friction_rate), float(resistance), bool(is_enabled), tuple(config))

    def contact_models(self) -> ContactModelCollection:
        """All rows as attributes; `view(contact_models().find("resistance"))[row]` edits one."""
        return ContactModelCollection(self._rows)

    def table(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """μ, κ and enabled between all elements: three symmetric N x N arrays. Checks all rows again.

        κ < 0 means adaptive; the default model is until the user gives one.
        """
        friction_rates, resistances = (self._rows.slot(name).values for name in ("friction_rate", "resistance"))
        on = self._rows.slot("is_enabled").values
        for row, (i, j) in enumerate(self._rows.slot("topo").values):
            who = f"ContactTabular: between {self._elements[i]!r} and {self._elements[j]!r}"
            _row(who, friction_rates[row], resistances[row], bool(on[row]))
        shape = (self.element_count(), self.element_count())
        default = self.default_model()
        mu = self._spread("friction_rate", np.full(shape, default.friction_rate()))
        stiffness = default.resistance() if self._default_is_users else adaptive
        kappa = self._spread("resistance", np.full(shape, stiffness))
        kappa[0, 0] = stiffness
        enabled = self._spread("is_enabled", np.full(shape, default.is_enabled()))
        return mu, kappa, enabled

    def extras(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rolling friction [m] and restitution between all elements: symmetric N x N arrays. Checks all rows."""
        found = []
        for name in _EXTRAS:
            slot, table = self._rows.find(name), np.zeros((self.element_count(), self.element_count()))
            if slot is not None:
                for row, (i, j) in enumerate(self._rows.slot("topo").values):
                    who = f"ContactTabular: between {self._elements[i]!r} and {self._elements[j]!r}"
                    _extra(who, {name: slot.values[row]})
                table = self._spread(name, np.full_like(table, slot.values[0]))
            found.append(table)
        return found[0], found[1]


_EXTRAS = {"rolling_friction": math.inf, "restitution": 1.0}  # and the most that they may be


def _extra(who: str, config: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for name, most in _EXTRAS.items():
        value = number(config.get(name, 0.0))
        if value is None or not (math.isfinite(value) and 0.0 <= value <= most):
            raise SceneError(
                f"{who}: {name} = {shown(config[name])}; give "
                + ("a lever of rolling friction >= 0 [m]." if most > 1.0 else "a number from 0 to 1.")
            )
        found[name] = value
    return found


def _row(who: str, friction_rate: float, resistance: float, enable: bool) -> dict[str, Any]:
    try:
        mu, kappa = float(friction_rate), float(resistance)
    except (TypeError, ValueError):
        raise SceneError(
            f"{who}: friction_rate = {shown(friction_rate)} and resistance = {shown(resistance)} must be numbers."
        ) from None
    if not (math.isfinite(mu) and mu >= 0):
        raise SceneError(f"{who}: friction_rate = {mu:g} is not a friction coefficient; give a number >= 0.")
    if not math.isfinite(kappa) or (kappa == 0 and enable):
        raise SceneError(
            f"{who}: resistance = {kappa:g} [Pa] is not a stiffness; give a number > 0, builtin.adaptive, or "
            "enable=False to let the two pass through each other."
        )
    return {"friction_rate": mu, "resistance": kappa, "is_enabled": int(bool(enable))}

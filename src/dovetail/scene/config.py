"""A scene's configuration: one value per key of the schema, checked when it is written.

Two forms of the same values:

    scene.config["newton/max_iter"] = 50                  # plain values, checked at once
    view(scene.config().find("newton/max_iter"))[:] = 50  # libuipc's form, checked by World.init
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dovetail.checked import numbers, shown
from dovetail.errors import ConfigError
from dovetail.geometry.attribute import AttributeSlot
from dovetail.geometry.collection import AttributeCollection
from dovetail.scene.config_schema import KEYS, RULES, Interval, Key

__all__ = ["ConfigAttributes"]

_ATTRIBUTE_TYPES = {"number": "F64", "integer": "I32", "vector3": "Vector3", "string": "string"}
_INT32 = range(-(2**31), 2**31)


class ConfigAttributes:
    """The configuration of one scene; called, it returns itself, so `scene.config()` is `scene.config`."""

    def __init__(self, overrides: Mapping[str, Any] | None = None) -> None:
        self._attributes = AttributeCollection("scene config", 1)
        self._owner: str | None = None
        for name, key in KEYS.items():
            default = np.array(key.default) if key.type == "vector3" else key.default
            self._attributes.create(name, default)
        if overrides is not None:
            for name, value in _leaves(overrides).items():
                self[name] = value
        self.validate()

    def __call__(self) -> ConfigAttributes:
        return self

    # --- plain values -------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Any:
        """Value of a key: float, int, str, or for gravity a read-only (3,) array."""
        value = self._slot(name).values[0]
        return value if KEYS[name].type == "vector3" else _plain(value)

    def __setitem__(self, name: str, value: Any) -> None:
        key = _known(name)
        checked = _checked(name, key, value)
        if self._owner is not None and key.effect != "each frame":
            raise ConfigError(
                f"Scene config: '{name}' was read when {self._owner} was initialised and cannot change any "
                "more; set it before World.init."
            )
        self._slot(name).edit()[0] = checked

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in KEYS

    def __iter__(self) -> Iterator[str]:
        return iter(KEYS)

    def __len__(self) -> int:
        return len(KEYS)

    def validate(self, name: str | None = None) -> None:
        """Check the value of one key, or of all and what they must satisfy together; raises ConfigError."""
        if name is not None:
            self._check(name)
            return
        for present in self._attributes:
            _known(present)
        for known in KEYS:
            self._check(known)
        values = {known: self[known] for known in KEYS}
        for rule in RULES:
            wrong = rule(values)
            if wrong is not None:
                raise ConfigError(f"Scene config: {wrong}")

    def freeze(self, owner: str) -> None:
        """From now on `owner` has read the configuration; only keys that are read each frame may change."""
        self._owner = owner

    # --- libuipc's form -----------------------------------------------------------------------------------

    def find(self, name: str) -> AttributeSlot | None:
        """Slot of length 1, or None."""
        return self._attributes.find(name)

    def create(self, name: str, value: Any) -> AttributeSlot:
        """Add an attribute. A name that is not a key of the schema makes `validate` and World.init raise."""
        return self._attributes.create(name, value)

    def destroy(self, name: str) -> None:
        """Remove an attribute. A missing key makes `validate` and World.init raise."""
        self._attributes.destroy(name)

    def share(self, name: str, slot: AttributeSlot) -> None:
        """Let `name` alias another slot until one of them is written."""
        self._attributes.share(name, slot)

    def to_json(self) -> dict[str, Any]:
        return self._attributes.to_json()

    def __repr__(self) -> str:
        return json.dumps(self.to_json(), indent=4)

    @property
    def attributes(self) -> AttributeCollection:
        """The collection that stores the values (for files and snapshots)."""
        return self._attributes

    def _slot(self, name: str) -> AttributeSlot:
        _known(name)
        slot = self._attributes.find(name)
        if slot is None:
            raise ConfigError(f"Scene config: '{name}' was destroyed; create it again or make a new Scene.")
        wanted = _ATTRIBUTE_TYPES[KEYS[name].type]
        if slot.type_name() != wanted or slot.size() != 1:
            raise ConfigError(
                f"Scene config: '{name}' holds {slot.size()} x {slot.type_name()} instead of one {wanted}; "
                "write its value instead of replacing the attribute."
            )
        return slot

    def _check(self, name: str) -> None:
        _checked(name, _known(name), self._slot(name).values[0])


def _known(name: str) -> Key:
    key = KEYS.get(name) if isinstance(name, str) else None
    if key is None:
        raise ConfigError(_unknown(name))
    return key


def _unknown(given: object) -> str:
    name = given if isinstance(given, str) else shown(given)
    members = [key for key in KEYS if key.startswith(f"{name}/")]
    if members:
        return (
            f"Scene config: '{name}' is a group, not a value; give a dictionary with some of "
            + ", ".join(key.removeprefix(f"{name}/") for key in members)
            + "."
        )
    # A leaf given without its group ("d_hat") is nearer to "contact/d_hat" than letters can tell.
    same_leaf = [key for key in KEYS if key.rsplit("/", 1)[-1] == str(name).rsplit("/", 1)[-1]]
    near = difflib.get_close_matches(str(name), KEYS, n=1, cutoff=0.0 if not same_leaf else 0.75)
    return f"Scene config: there is no key '{name}'; did you mean '{(near or same_leaf)[0]}'?"


def _leaves(overrides: Mapping[str, Any], group: str = "") -> dict[str, Any]:
    """Flatten nested dictionaries to {"a/b/c": value}; flat keys may stand at any level, the last counts."""
    if not isinstance(overrides, Mapping):
        raise ConfigError(
            f"Scene config: expected a dictionary such as Scene.default_config(), got {shown(overrides)}."
        )
    leaves: dict[str, Any] = {}
    for part, value in overrides.items():
        name = f"{group}{part}"
        if isinstance(value, Mapping) and name not in KEYS:
            if not any(key.startswith(f"{name}/") for key in KEYS) and not value:
                raise ConfigError(_unknown(name))
            leaves |= _leaves(value, f"{name}/")
        else:
            _known(name)
            leaves[name] = value
    return leaves


def _checked(name: str, key: Key, value: Any) -> Any:
    """The value as it is stored, or a ConfigError that says what is allowed."""
    candidate = _coerced(key, value)
    if candidate is not None and _is_allowed(key, candidate):
        return candidate
    wanted = f"three finite numbers [x, y, z] [{key.unit}]" if key.type == "vector3" else key.allowed_text()
    raise ConfigError(f"Scene config: '{name}' = {shown(_plain(value))} is not allowed; give {wanted}.")


def _coerced(key: Key, value: Any) -> Any:
    """The value in the key's type without loss, or None."""
    if key.type == "vector3":
        return _vector3(value)
    value = _plain(value)
    if key.type == "string":
        return value if isinstance(value, str) else None
    if isinstance(value, bool) and isinstance(key.allowed, Interval):
        return None  # True is a flag, not the number 1
    if key.type == "number":
        try:
            return float(value) if isinstance(value, (int, float)) else None
        except OverflowError:  # an integer beyond 1e308
            return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return int(value) if isinstance(value, int) and value in _INT32 else None


def _vector3(value: Any) -> np.ndarray[Any, Any] | None:
    array = numbers(value)
    if array is None or array.shape not in {(3,), (3, 1)} or np.asarray(value).dtype == np.bool_:
        return None
    return array.reshape(3).astype(np.float64)


def _is_allowed(key: Key, value: Any) -> bool:
    return bool(np.isfinite(value).all()) if key.type == "vector3" else value in key.allowed


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays of one element as Python values; everything else unchanged."""
    if isinstance(value, (np.generic, np.ndarray)) and value.size == 1:
        return value.item()
    return value

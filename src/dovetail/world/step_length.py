"""The length of a step, if steps can be computed with it."""

from __future__ import annotations

from dovetail.errors import ConfigError
from dovetail.scene.config import ConfigAttributes
from dovetail.scene.config_schema import Interval

__all__ = ["step_length"]

_RANGE = Interval(1e-12, 1e12, False, False)  # energies are multiplied and divided by its square


def step_length(config: ConfigAttributes) -> float:
    """The time step h [s] as it is in the config now."""
    h = float(config["dt"])
    if h not in _RANGE:
        config.validate("dt")
        raise ConfigError(f"Scene config: no step can be computed with 'dt' = {h:g} [s]; give a number {_RANGE} [s].")
    return h

"""Every key of a scene's configuration: default, type, allowed values, unit and meaning, in one table."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["KEYS", "RULES", "Interval", "Key", "config_schema", "default_config"]


class Interval(NamedTuple):
    """A range of numbers; each end may belong to it or not."""

    low: float
    high: float
    low_open: bool
    high_open: bool

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, (int, float)):
            return False
        above = value > self.low if self.low_open else value >= self.low
        below = value < self.high if self.high_open else value <= self.high
        return above and below

    def __str__(self) -> str:
        if self.low == -math.inf and self.high == math.inf:
            return "that is finite"
        if self.high == math.inf:
            return f"{'>' if self.low_open else '>='} {self.low:g}"
        left, right = "(" if self.low_open else "[", ")" if self.high_open else "]"
        return f"in {left}{self.low:g}, {self.high:g}{right}"


_POSITIVE = Interval(0, math.inf, True, True)
_NOT_NEGATIVE = Interval(0, math.inf, False, True)
_AT_LEAST_ONE = Interval(1, math.inf, False, True)
_ANY = Interval(-math.inf, math.inf, True, True)
_FRACTION = Interval(0, 1, False, False)
_POSITIVE_FRACTION = Interval(0, 1, True, False)
_OPEN_FRACTION = Interval(0, 1, True, True)


class Key(NamedTuple):
    """One entry of the configuration.

    type     "number" (float64), "integer" (int32), "vector3" ([[x], [y], [z]]) or "string"
    allowed  an Interval for numbers, a tuple of choices for flags, modes and strings
    effect   "each frame": read again every frame; "at init": read by World.init; "none": accepted so that
             libuipc scripts run (it concerns a GPU or a method that is not part of dovetail), does nothing
    """

    default: Any
    type: str
    allowed: Interval | tuple[Any, ...]
    unit: str
    meaning: str
    effect: str = "at init"

    def allowed_text(self) -> str:
        if isinstance(self.allowed, Interval):
            unit = f" [{self.unit}]" if self.unit else ""
            return f"{'an integer' if self.type == 'integer' else 'a number'} {self.allowed}{unit}"
        if len(self.allowed) == 1:
            return f"only {self.allowed[0]!r}"
        return "one of " + ", ".join(repr(choice) for choice in self.allowed)


def _flag(default: int, meaning: str, effect: str = "at init") -> Key:
    return Key(default, "integer", (0, 1), "", meaning, effect)


def _number(default: float, allowed: Interval, unit: str, meaning: str, effect: str = "at init") -> Key:
    return Key(default, "number", allowed, unit, meaning, effect)


def _integer(default: int, allowed: Interval, meaning: str, effect: str = "at init") -> Key:
    return Key(default, "integer", allowed, "", meaning, effect)


def _choice(choices: tuple[str, ...], meaning: str, effect: str = "at init") -> Key:
    """The first choice is the default."""
    return Key(choices[0], "string", choices, "", meaning, effect)


_BROAD_PHASES = ("info_stackless_bvh", "info_stackless_bvh_v0", "stackless_bvh", "linear_bvh")

# fmt: off
KEYS: dict[str, Key] = {
    "dt": _number(
        0.01, _POSITIVE, "s", "Time step h: the time one call of World.advance covers.", "each frame"),
    "gravity": Key([[0.0], [-9.8], [0.0]], "vector3", _ANY, "m/s²",
                   "Acceleration of every body; an instance attribute `gravity` overrides it."),
    "integrator/type": _choice(("bdf1", "bdf2", "ctr"),
        "Implicit Euler, the second-order backward difference, or the consistent trapezoidal rule."),
    "integrator/bdf2_start": _choice(("libuipc", "bdf1"),
        "First step of bdf2: as libuipc does it (the past state is the initial one), or one bdf1 step."),
    "integrator/bdf2_contact": _choice(("bdf1", "libuipc"),
        "Steps of bdf2 in contact or at a hard limit, and the next: bdf1, or bdf2 as in libuipc, which gains energy."),
    "cfl/enable": _flag(
        0, "Bound a Newton step by half the contact distance over the fastest contact vertex.", "none"),

    "newton/max_iter": _integer(
        1024, _AT_LEAST_ONE, "Newton iterations after which a step counts as stalled."),
    "newton/min_iter": _integer(
        0, _NOT_NEGATIVE, "Convergence is accepted only from this iteration index on."),
    "newton/use_adaptive_tol": Key(0, "integer", (0,), "", "Reserved.", "none"),
    "newton/velocity_tol": _number(1e-3, _POSITIVE, "m/s",
        "Converged when no vertex coordinate moves by more than this times dt in a full Newton step."),
    "newton/velocity_tol_relative": _number(0.0, _ANY, "1/s",
        "If > 0: velocity_tol is this times the diagonal of the scene."),
    "newton/transrate_tol": _number(1e-2, _NOT_NEGATIVE, "1/s",
        "Converged when no entry of a body's 3x3 affine part changes by more than this times dt."),
    "newton/direction": _choice(
        ("auto", "sweep", "net", "factor", "conjugate"),
        "how Newton's direction is found: for each mechanism by the quickest way, or by one way where it fits.",
    ),
    "newton/ccd_tol": _number(1.0, _POSITIVE_FRACTION, "",
        "Converged only if collision detection allows at least this fraction of the full step."),
    "newton/semi_implicit/enable": _flag(0, "End a frame early once full steps are free of collisions."),
    "newton/semi_implicit/beta_tol": _number(
        1e-3, _FRACTION, "", "Early end when Π(1 − α) falls below this."),
    "newton/semi_implicit/K_min": _integer(
        6, _NOT_NEGATIVE, "Iteration index from which Π(1 − α) is formed."),

    "linear_system/solver": _choice(("fused_pcg", "linear_pcg"),
        "libuipc's iterative GPU solvers; here each Newton system is factorised.", "none"),
    "linear_system/tol_rate": _number(
        1e-3, _OPEN_FRACTION, "", "GPU: residual that ends the solver.", "none"),
    "linear_system/check_interval": _integer(
        5, _AT_LEAST_ONE, "GPU: iterations between residual checks.", "none"),
    "linear_system/use_cuda_graph": Key(
        1, "integer", (0, 1, 2), "", "GPU: how kernels are launched.", "none"),
    "linear_system/fem_preconditioner": _choice(
        ("diag", "mas"), "GPU: finite-element preconditioner.", "none"),
    "line_search/max_iter": _integer(8, _AT_LEAST_ONE, "How often a Newton step may be halved."),
    "line_search/report_energy": _flag(0, "Log the energies seen by the line search.", "none"),

    "contact/enable": _flag(1, "Bodies push each other away before they touch."),
    "contact/constitution": Key("ipc", "string", ("ipc",), "",
        "Contact model: the IPC barrier (libuipc's augmented Lagrangian 'al-ipc' is not part of dovetail)."),
    "contact/d_hat": _number(0.01, _POSITIVE, "m",
        "Distance below which two surfaces repel; a meta attribute `d_hat` overrides it per geometry."),
    "contact/d_hat_relative": _number(0.0, _ANY, "", "If > 0: d_hat is this times the scene's diagonal."),
    "contact/eps_velocity": _number(
        0.01, _POSITIVE, "m/s", "Sliding speed above which friction is fully kinetic."),
    "contact/eps_velocity_relative": _number(
        0.0, _ANY, "1/s", "If > 0: eps_velocity is this times the diagonal."),
    "contact/friction/enable": _flag(1, "Friction between bodies in contact."),
    "contact/friction/memory": _flag(
        0, "1: contacts that stick keep their force from step to step and hold; 0: they creep, as in libuipc."),
    "contact/ease_in": _flag(
        0, "1: bodies that are put nearer than they would rest part slowly; 0: they are thrown apart, as in libuipc."),
    "contact/set_apart": _flag(
        0, "1: bodies that touch where they are put are set 0.1 d_hat apart; 0: that is refused, as in libuipc."),
    "contact/joint_neighbours": _flag(
        1, "1: bodies that share a joint collide with each other; 0: they do not."),
    "contact/adaptive/min_kappa": _number(
        1e8, _POSITIVE, "Pa", "libuipc: smallest adaptive κ; here it follows from mass and dt.", "none"),
    "contact/adaptive/init_kappa": _number(
        1e9, _POSITIVE, "Pa", "Adaptive contact stiffness without contacts.", "none"),
    "contact/adaptive/max_kappa": _number(1e11, _POSITIVE, "Pa", "Largest adaptive contact stiffness.", "none"),
    "contact/adaptive/kappa_eval_scale": _number(1e-16, _POSITIVE, "",
        "Squared distance, in squared scene diagonals, where libuipc weighs its stiffness.", "none"),
    "contact/al-ipc/mu_scale_mode": _choice(("per_vertex", "diag_norm"), "al-ipc: penalty estimate.", "none"),
    "contact/al-ipc/mu_scale_diag_norm": _number(0.1, _POSITIVE, "", "al-ipc: scale of 'diag_norm'.", "none"),
    "contact/al-ipc/mu_scale_fem": _number(5e7, _POSITIVE, "", "al-ipc: scale for finite elements.", "none"),
    "contact/al-ipc/mu_scale_abd": _number(1e5, _POSITIVE, "", "al-ipc: scale for affine bodies.", "none"),
    "contact/al-ipc/toi_threshold": _number(0.1, _POSITIVE_FRACTION, "", "al-ipc: time of impact.", "none"),
    "contact/al-ipc/alpha_lower_bound": _number(1e-6, _POSITIVE_FRACTION, "", "al-ipc: least step.", "none"),
    "contact/al-ipc/decay_factor": _number(0.3, _OPEN_FRACTION, "", "al-ipc: decay of penalties.", "none"),
    "collision_detection/method": _choice(_BROAD_PHASES, "GPU: how close pairs are found.", "none"),

    "joint/angle": _choice(("wrapped", "multi_turn"),
        "What a revolute joint's `angle` reports: in (−π, π], or counted over full turns."),
    "joint/exact": _flag(
        0, "1: all joints hold exactly, as those with strength_ratio = inf always do; 0: the others yield."),

    "threads/count": _integer(
        0, _NOT_NEGATIVE, "Threads of a step; 0: DOVETAIL_THREADS, or as many as there are processors. Results are "
        "bit-identical for any number."),
    "threads/grain": _number(
        500.0, _POSITIVE, "µs",
        "Work from which on a step is large; in large ones threads share work of one kind from a fifth of it on."),

    "sanity_check/enable": _flag(1, "Look for intersecting or inverted bodies in World.init."),
    "sanity_check/mode": _choice(("normal", "quiet"), "normal: also write the offending surfaces to files."),
    "diff_sim/enable": Key(
        0, "integer", (0,), "", "Differentiable simulation is not part of dovetail.", "none"),
    "extras/debug/dump_surface": _flag(0, "Write the surface at every Newton iteration.", "none"),
    "extras/debug/dump_linear_system": _flag(
        0, "Write the matrix and right-hand side of every Newton system.", "none"),
    "extras/debug/dump_linear_pcg": _flag(0, "GPU: write the vectors of the iterative solver.", "none"),
    "extras/debug/dump_mas_matrices": _flag(0, "GPU: write the finite-element preconditioner.", "none"),
    "extras/strict_mode/enable": _flag(
        0, "A step that reaches an iteration limit raises instead of warning."),
}
# fmt: on


def _kappa_order(values: dict[str, Any]) -> str | None:
    low, start, high = (values[f"contact/adaptive/{name}_kappa"] for name in ("min", "init", "max"))
    if low <= start <= high:
        return None
    return (
        "contact/adaptive needs min_kappa <= init_kappa <= max_kappa, got "
        f"{low:g}, {start:g}, {high:g} [Pa]; put them in order."
    )


def _iteration_order(values: dict[str, Any]) -> str | None:
    least, most = values["newton/min_iter"], values["newton/max_iter"]
    if least <= most:
        return None
    return f"newton/min_iter = {least} is larger than newton/max_iter = {most}; lower it or raise max_iter."


RULES: tuple[Callable[[dict[str, Any]], str | None], ...] = (_iteration_order, _kappa_order)
"""What several keys must satisfy together: each rule returns what is wrong, or None."""


def default_config() -> dict[str, Any]:
    """Return a fresh nested dictionary of all defaults."""
    config: dict[str, Any] = {}
    for name, key in KEYS.items():
        *groups, leaf = name.split("/")
        place = config
        for group in groups:
            place = place.setdefault(group, {})
        place[leaf] = copy.deepcopy(key.default)
    return config


def config_schema() -> dict[str, Any]:
    """Return the table as plain data: {"entries": {key: {default, type, unit, effect, ...}}}."""
    entries: dict[str, Any] = {}
    for name, key in KEYS.items():
        entry: dict[str, Any] = {
            "default": copy.deepcopy(key.default),
            "type": key.type,
            "unit": key.unit,
            "effect": key.effect,
            "description": key.meaning,
        }
        if isinstance(key.allowed, Interval):
            low, high, low_open, high_open = key.allowed
            if low > -math.inf:
                entry["exclusiveMinimum" if low_open else "minimum"] = low
            if high < math.inf:
                entry["exclusiveMaximum" if high_open else "maximum"] = high
        else:
            entry["enum"] = list(key.allowed)
        entries[name] = entry
    return {"entries": entries}

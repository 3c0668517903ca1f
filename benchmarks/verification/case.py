"""A check: what is compared with what, numbers with their bars, a picture."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["INTEGRATORS", "ORDER", "Case", "Finding", "order_findings", "test_module"]

REPOSITORY = Path(__file__).parents[2]


def test_module(path: str) -> ModuleType:
    """A module of the tests, whose scenes are run here again: "physics/test_reference_adams"."""
    tests = REPOSITORY / "tests"
    if str(tests) not in sys.path:
        sys.path.insert(0, str(tests))
    name = "verified_" + path.replace("/", "_")
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, tests / f"{path}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@dataclass(frozen=True)
class Finding:
    """A number and its bar: at most `bar`, or within `bar` of `expected` where that is given."""

    what: str
    value: float
    bar: float
    unit: str = ""
    expected: float | None = None

    @property
    def met(self) -> bool:
        """False also where the value is no number."""
        distance = abs(self.value) if self.expected is None else abs(self.value - self.expected)
        return bool(distance <= self.bar)

    def cells(self) -> list[str]:
        unit = f" {self.unit}" if self.unit else ""
        bar = f"≤ {self.bar:.3g}{unit}" if self.expected is None else f"{self.expected:.6g} ± {self.bar:.3g}{unit}"
        value = f"{self.value:.3g}" if self.expected is None else f"{self.value:.6g}"
        return [self.what, f"{value}{unit}", bar, "met" if self.met else "**missed**"]


@dataclass
class Case:
    """One section of the page. `draw(axes)` makes the picture."""

    name: str
    title: str
    text: str
    findings: list[Finding] = field(default_factory=list)
    draw: Callable[[Any], None] | None = None


def _integrators() -> dict[str, int]:
    """Order in time of the integrators that a scene can choose."""
    from dovetail import Scene

    orders = {"bdf1": 1, "bdf2": 2, "ctr": 2}
    choices = Scene.config_schema()["entries"]["integrator/type"]["enum"]
    return {name: order for name, order in orders.items() if name in choices}


ORDER = _integrators()
INTEGRATORS = tuple(ORDER)


def order_findings(errors: dict[str, list[float]], spread: float) -> list[Finding]:
    """Observed orders log₂(e(h)/e(h/2)) between the two finest steps, each half of the one before."""
    import math

    return [
        Finding(f"order of {method}", math.log2(found[-2] / found[-1]), spread, "", float(ORDER[method]))
        for method, found in errors.items()
    ]


def draw_orders(axes: Any, steps: list[float], errors: dict[str, list[float]], quantity: str) -> None:
    """Errors against the step, with a line of the order expected."""
    for (method, found), mark in zip(errors.items(), "os^", strict=False):
        (line,) = axes.loglog(steps, found, mark + "-", ms=4, label=method)
        slope = [found[-1] * (h / steps[-1]) ** ORDER[method] for h in steps]
        axes.loglog(steps, slope, ":", color=line.get_color(), lw=0.8)
    axes.set_xlabel("step [s]; dotted: order of the integrator")
    axes.set_ylabel(quantity)
    axes.legend(frameon=False)

"""Writes docs/config.md, the table of all scene configuration keys, from `Scene.config_schema()`.

python docs/scripts/config_page.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dovetail
from dovetail import Scene

__all__ = ["PAGE", "render"]

PAGE = Path(__file__).parents[1] / "config.md"

_HEAD = """\
# Scene configuration

<!-- Written by docs/scripts/config_page.py from Scene.config_schema(); run it after a change there. -->

`Scene(config)` takes any part of this table, nested or flat; what is not given keeps its default:

```python
from dovetail import Scene

scene = Scene({"dt": 0.005, "newton": {"max_iter": 50}, "integrator/type": "bdf2"})
scene.config["gravity"] = [0.0, 0.0, -9.8]
print(scene.config["newton/max_iter"], scene.config["newton/velocity_tol"])
```

An unknown key, or a value of the wrong type or out of range, is an error that names the nearest key or what is allowed.
libuipc's forms work as well: `Scene.default_config()` gives the nested dictionary, `scene.config().find("dt")` a slot
of length one.

**Read** says when a value counts. *each frame*: it may change while a world runs. *at init*: `World.init` reads
it once, and a later change through `scene.config[...]` is refused. *not used*: the key exists so that libuipc's
scripts run; it concerns a GPU, or a method that is not part of dovetail. *not yet*: checked and stored, but
nothing reads it so far; the meaning is the one it will have.
"""

_GROUPS = {
    "": "Time and space",
    "integrator": "Integrator",
    "newton": "Newton's method",
    "line_search": "Line search",
    "linear_system": "Linear system",
    "joint": "Joints",
    "contact": "Contact",
    "collision_detection": "Collision detection",
    "cfl": "Step filter",
    "threads": "Threads",
    "sanity_check": "Sanity checks",
    "extras": "Debugging and strictness",
    "diff_sim": "Differentiation",
}
_WORLD = Path(dovetail.__file__).parent / "world"


def _allowed(entry: dict[str, Any]) -> str:
    if "enum" in entry:
        return ", ".join(f"`{choice}`" for choice in entry["enum"])
    lows = {"minimum": "≥", "exclusiveMinimum": ">"}
    highs = {"maximum": "≤", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {entry[name]:g}" for name, sign in {**lows, **highs}.items() if name in entry]
    return ", ".join(bounds) or "finite"


def _default(entry: dict[str, Any]) -> str:
    value = entry["default"]
    if entry["type"] == "vector3":
        return "`[" + ", ".join(f"{component:g}" for (component,) in value) + "]`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _read(name: str, entry: dict[str, Any], sources: str) -> str:
    """When the key counts; a key that no source of the world mentions has no effect so far."""
    if entry["effect"] == "none":
        return "*not used*"
    # lengths and speeds are read together with their relative form: scaled(config, "contact/d_hat", …)
    forms = (f'"{name}"', f'scaled(config, "{name.removesuffix("_relative")}"')
    is_read = any(form in sources for form in forms) or len(entry.get("enum", "..")) == 1
    return entry["effect"] if is_read else "*not yet*"


def render() -> str:
    """The text of the page."""
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted(_WORLD.rglob("*.py")))
    groups: dict[str, list[str]] = {group: [] for group in _GROUPS}
    for name, entry in Scene.config_schema()["entries"].items():
        group = name.split("/")[0] if "/" in name else ""
        cells = (
            f"`{name}`",
            _default(entry),
            _allowed(entry),
            entry["unit"],
            _read(name, entry, sources),
            entry["description"].replace("|", "\\|"),
        )
        groups[group].append("| " + " | ".join(cells) + " |")
    parts = [_HEAD]
    for group, rows in groups.items():
        if not rows:
            continue
        parts.append(f"## {_GROUPS[group]}\n")
        parts.append("| key | default | allowed | unit | read | meaning |\n|---|---|---|---|---|---|")
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    print(f"wrote {PAGE}")

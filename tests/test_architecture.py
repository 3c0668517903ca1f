"""The shape of the source tree: layers, public names, docstrings, sizes, and what loading must never do."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import dovetail

SOURCE = Path(dovetail.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

# layer → the layers it may import; what is neither here nor in SHARED stands outside and may import all of them
LAYERS = {
    "geometry": {"geometry"},
    "constitution": {"constitution", "geometry"},
    "scene": {"scene", "constitution", "geometry"},
    "kernel": {"kernel"},
    "solver": {"solver", "kernel"},
    "gradient": {"gradient", "solver", "kernel"},
    "world": {"world", "scene", "constitution", "geometry", "solver", "kernel", "gradient"},
}
SHARED = {
    "builtin",
    "checked",
    "errors",
    "files",
    "interpreter",
    "logger",
    "messages",
    "resident_thread",
    "timer",
    "typing",
    "unit",
    "values",
    "world_lock",
}
"""Modules beside the layers that every layer may use; they use no layer."""

HEAVY = {"numba", "llvmlite", "scipy", "trimesh", "meshio", "rich", "viser"}
MOST_LINES = 400
STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)  # and what else has them inside


def dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports(path: Path, at_load: bool = False) -> set[str]:
    """Dotted names that a module imports, but for type checking; `at_load` leaves out those inside functions."""
    found: set[str] = set()
    todo: list[ast.AST] = [tree(path)]
    while todo:
        node = todo.pop()
        if for_types_only(node) or (at_load and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{dotted(path)}: imports are absolute"
            module = node.module or ""
            found |= {f"{module}.{alias.name}" for alias in node.names}
        todo += (child for child in ast.iter_child_nodes(node) if isinstance(child, STATEMENTS))
    return found


def part(name: str) -> str:
    """What of dovetail a dotted name belongs to: a layer, a shared module, or '' for others."""
    pieces = name.split(".")
    return pieces[1] if pieces[0] == "dovetail" and len(pieces) > 1 else ""


def test_a_module_imports_only_layers_below_its_own():
    wrong = []
    for path in MODULES:
        own = part(dotted(path))
        if own in LAYERS or own in SHARED:
            allowed = SHARED | LAYERS.get(own, set())
            used = {name for name in imports(path) if name.startswith("dovetail") and part(name) not in allowed}
            wrong += [f"{dotted(path)} imports {name}" for name in sorted(used)]
    assert not wrong
    assert all((SOURCE / layer / "__init__.py").exists() for layer in LAYERS)


def test_readers_of_robots_know_neither_sims_nor_worlds():
    readers = [SOURCE / "robot" / f"{name}.py" for name in ("description", "paths", "urdf", "xml")]
    allowed = SHARED | {"robot", "geometry", "doctor"}
    used = {name for path in readers for name in imports(path) if name.startswith("dovetail")}
    assert not [name for name in sorted(used) if part(name) not in allowed or name.startswith("dovetail.robot.build")]


def test_only_kernels_and_the_solver_need_heavy_packages_to_load():
    wrong = []
    for path in MODULES:
        if part(dotted(path)) not in ("kernel", "solver"):
            used = {name for name in imports(path, at_load=True) if name.split(".")[0] in HEAVY}
            wrong += [f"{dotted(path)}: import {name} inside the functions that use it" for name in sorted(used)]
    assert not wrong


def test_importing_dovetail_loads_no_heavy_package():
    code = f"import sys, dovetail; print(sorted({HEAVY!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_module_says_what_it_is():
    assert not [dotted(path) for path in MODULES if not ast.get_docstring(tree(path))]


def literal_all(path: Path) -> list[str] | None:
    for node in tree(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    return None


def in_order(name: str) -> tuple[int, list[object]]:
    """Ruff's order of `__all__`: CONSTANTS, Classes, the rest; numbers in names compared as numbers."""
    kind = 0 if len(name) > 1 and name.isupper() else 1 if name[0].isupper() else 2
    return kind, [(0, int(run)) if run.isdigit() else (1, run) for run in re.findall(r"\d+|\D", name)]


def test_public_names_are_listed_in_order_and_exist():
    wrong = []
    for path in MODULES:
        names = literal_all(path)
        if names is None:
            # a package that only groups modules has a docstring and nothing else
            if path.name != "__init__.py" or len(tree(path).body) > 1:
                wrong.append(f"{dotted(path)} has no __all__")
            continue
        if names != sorted(set(names), key=in_order):
            wrong.append(f"{dotted(path)}: __all__ is not sorted or repeats a name")
        loaded = importlib.import_module(dotted(path))
        wrong += [f"{dotted(path)} has no '{name}'" for name in names if not hasattr(loaded, name)]
    assert not wrong


def test_no_file_is_too_long():
    lines = {dotted(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert not {name: count for name, count in lines.items() if count > MOST_LINES}


def test_nothing_can_execute_what_a_file_says():
    """Loading a scene or a dump must not run code: no pickle, eval or exec anywhere.

    But for compiled kernels, in the user's own cache: machine code, which is loaded in order to be run.
    """
    unsafe_modules = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
    unsafe_calls = {"eval", "exec", "compile", "__import__"}
    wrong = []
    for path in [path for path in MODULES if dotted(path) != "dovetail.kernel.files"]:
        wrong += [f"{dotted(path)} imports {name}" for name in imports(path) if name.split(".")[0] in unsafe_modules]
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            safe = any(word.arg == "allow_pickle" and ast.unparse(word.value) == "False" for word in node.keywords)
            if called in unsafe_calls or (called in ("np.load", "numpy.load") and not safe):
                wrong.append(f"{dotted(path)}, line {node.lineno}: {called}")
    assert not wrong


def test_what_is_private_to_numba_is_named_in_one_file():
    """A release may move it: `kernel/numba_private.py` says what for, and which test notices."""
    for path in MODULES:
        if path.name == "numba_private.py":
            continue
        for node in ast.walk(tree(path)):
            named = []
            if isinstance(node, ast.ImportFrom):
                named = [node.module or ""]
            elif isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "numba":
                named = [f"numba.{node.attr}"]
            private = [name for name in named if name.startswith(("numba.core", "numba.np", "numba.misc"))]
            assert not private, f"{path} takes {private} itself; take it from kernel/numba_private.py"

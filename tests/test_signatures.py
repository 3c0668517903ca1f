"""Functions take few arguments: arrays that belong together are one record (kernel/record.py)."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "dovetail"
MOST = 12
"""Positional arguments that one can still tell apart at a call; `self` counts, what must be named does not."""


def signatures(tree: ast.AST) -> list[tuple[str, int, int]]:
    """Name, line and number of positional arguments of every function, methods, inner functions and lambdas too."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    return [(getattr(n, "name", "lambda"), n.lineno, len(n.args.posonlyargs) + len(n.args.args)) for n in functions]


def test_no_function_takes_more_than_twelve_positional_arguments():
    files = sorted(SOURCES.rglob("*.py"))
    assert len(files) > 100
    found = [
        f"{path.relative_to(SOURCES)}:{line} {name} takes {count}"
        for path in files
        for name, line, count in signatures(ast.parse(path.read_text(encoding="utf-8")))
        if count > MOST
    ]
    assert not found, "\n".join(found)


def test_arguments_of_all_kinds_of_functions_are_counted():
    code = """
def plain(a, b=1, /, c=2, *rest, named, **more): pass
class C:
    async def method(self, a): return lambda x, y, z: x
"""
    assert sorted(signatures(ast.parse(code))) == [("lambda", 4, 3), ("method", 4, 2), ("plain", 2, 3)]

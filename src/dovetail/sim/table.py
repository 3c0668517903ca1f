"""How handles show themselves: short numbers, and tables for notebooks."""

from __future__ import annotations

from html import escape

import numpy as np

from dovetail.typing import ArrayLike

__all__ = ["html_table", "spell"]


def spell(values: ArrayLike) -> str:
    """A number or a vector with four digits; what is round-off beside the largest is 0."""
    numbers = np.atleast_1d(np.asarray(values, float))
    scale = float(np.abs(numbers).max(initial=0.0))
    texts = [f"{v:.4g}" if abs(v) > 1e-12 * scale else "0" for v in numbers]
    return texts[0] if np.ndim(values) == 0 else f"({', '.join(texts)})"


def html_table(title: str, rows: list[tuple[str, str]]) -> str:
    """A table with a title and two columns."""
    lines = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table><caption>{escape(title)}</caption>{lines}</table>"

"""Sums over the twelve numbers of a body as emitted code, in two registers; whoever uses it says the same in loops.

Compilers leave these loops as they are, because arrays might overlap. Factors are numbers of an array, one for each
place in the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.kernel.emit import Emitter, Number, emitted

__all__ = ["commit_of_one", "move_of_one", "predict_of_one"]

_SIZE = 12
_WIDE = 8


def _summed(e: Emitter, factors: tuple[int, int], terms: Sequence[int], out: int, total: Callable[..., Number]) -> None:
    """Array `out` at body b ← total(factors, rows of the arrays `terms` there); b is the first argument.

    `factors` says in which array these are, and how many.
    """
    start = e.times(e.index(0), _SIZE)
    rest = e.plus(start, e.integer(_WIDE))
    wide = [e.wide(f) for f in e.scalars(factors[0], e.integer(0)).list(0, factors[1])]
    narrow = [e.shuffled(f, f, [0, 1, 2, 3]) for f in wide]
    first = total(wide, *[e.rows(k, start, _SIZE).at(0) for k in terms])
    second = total(narrow, *[e.fours(k, rest, _SIZE).at(0) for k in terms])
    e.rows(out, start, _SIZE).put(0, first)
    e.fours(out, rest, _SIZE).put(0, second)


@emitted("b, factors, a, Q, V, out")
def predict_of_one(e: Emitter) -> None:
    """out[b] ← f₀ a + (f₁ Q + f₂ V)."""
    _summed(e, (1, 3), (2, 3, 4), 5, lambda f, a, Q, V: f[0] * a + (f[1] * Q + f[2] * V))


@emitted("b, factors, y, Q, out")
def move_of_one(e: Emitter) -> None:
    """out[b] ← Q − f₀ y."""
    _summed(e, (1, 1), (2, 3), 4, lambda f, y, Q: Q - f[0] * y)


@emitted("b, factors, new, Q, Q_tilde, V, Q_out, V_out, A_out")
def commit_of_one(e: Emitter) -> None:
    """V_out[b] ← (f₀ new + f₁ Q) f₂ + f₃ V;   A_out[b] ← f₄ (new − Q̃);   Q_out[b] ← new.

    Positions are subtracted before they are scaled, by which nothing of their difference is lost.
    """

    def rates(f: list[Any], new: Any, Q: Any, V: Any) -> Any:
        return (f[0] * new + f[1] * Q) * f[2] + f[3] * V

    _summed(e, (1, 5), (2, 3, 5), 7, rates)
    _summed(e, (1, 5), (2, 4), 8, lambda f, new, Q_tilde: f[4] * (new - Q_tilde))
    _summed(e, (1, 5), (2,), 6, lambda _, new: new)

"""Derivatives of formulas on arrays: what a formula did is kept in a graph, and gone through from its end or its start.

    graph = Graph()
    x = graph.of(array)
    y = dot(x, x)                    # kept as it is computed
    graph.pull((y, by_y))            # x.bar += ∂(by_y · y)/∂x
    graph.push((x, along))           # y.dot ← ∂y/∂x along

Where a value has its derivative by another rule, a barrier or the solution of a linear system, `unary` and `custom` put
it in. Numbers that are no nodes of the graph are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail.gradient import vectors
from dovetail.typing import Array, Flags, Indices

__all__ = [
    "Graph",
    "Node",
    "add_up",
    "cross",
    "custom",
    "divided",
    "dot",
    "gathered",
    "joined",
    "reshaped",
    "root",
    "summed",
    "unary",
    "value_of",
    "where",
]

Pull = Callable[[Array], Sequence["Array | None"]]
Push = Callable[..., Array]


def value_of(x: Any) -> Array:
    """The numbers of a node, or of a constant."""
    return x.value if isinstance(x, Node) else np.asarray(x, float)


def _fit(bar: Array, shape: tuple[int, ...]) -> Array:
    """A derivative by what was repeated along axes, summed over these."""
    if bar.shape == shape:
        return bar
    while bar.ndim > len(shape):
        bar = bar.sum(axis=0)
    for axis, size in enumerate(shape):
        if size == 1 and bar.shape[axis] != 1:
            bar = bar.sum(axis=axis, keepdims=True)
    return bar


class Node:
    """An array that a graph knows, the derivative `bar` by it, that along a direction, `dot`, and how both go on."""

    __slots__ = ("bar", "dot", "graph", "parts", "pull", "push", "value")
    __array_ufunc__ = None  # arrays leave operators to nodes

    def __init__(
        self, graph: Graph, value: Array, parts: Sequence[Any] = (), pull: Pull | None = None, push: Push | None = None
    ) -> None:
        self.graph, self.value, self.parts, self.pull, self.push = graph, value, parts, pull, push
        self.bar: Array | None = None
        self.dot: Array | None = None
        graph.nodes.append(self)

    def add(self, bar: Array) -> None:
        """bar += one part of it."""
        bar = _fit(bar, self.value.shape)
        self.bar = bar if self.bar is None else self.bar + bar  # never in place: others may have the same

    @property
    def slope(self) -> Array:
        """The derivative by it, zero where nothing depends on it."""
        return np.zeros_like(self.value) if self.bar is None else self.bar

    @property
    def change(self) -> Array:
        """The derivative along a direction, zero where it does not depend on that."""
        return np.zeros_like(self.value) if self.dot is None else self.dot

    def __add__(self, other: Any) -> Node:
        return custom((self, other), self.value + value_of(other), lambda bar: (bar, bar), lambda a, b: a + b)

    __radd__ = __add__

    def __neg__(self) -> Node:
        return custom((self,), -self.value, lambda bar: (-bar,), lambda a: -a)

    def __sub__(self, other: Any) -> Node:
        return custom((self, other), self.value - value_of(other), lambda bar: (bar, -bar), lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Node:
        return custom((self, other), value_of(other) - self.value, lambda bar: (-bar, bar), lambda a, b: b - a)

    def __mul__(self, other: Any) -> Node:
        a, b = self.value, value_of(other)
        return custom((self, other), a * b, lambda bar: (bar * b, bar * a), lambda da, db: da * b + a * db)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Node:
        return _over(self, other)

    def __rtruediv__(self, other: Any) -> Node:
        return _over(other, self)

    def __matmul__(self, other: Any) -> Node:
        """Products of many matrices."""
        return _times(self, other)

    def __rmatmul__(self, other: Any) -> Node:
        return _times(other, self)

    def __getitem__(self, at: Any) -> Node:
        """A part, by slices, numbers and None."""

        def pull(bar: Array) -> tuple[Array]:
            whole = np.zeros_like(self.value)
            whole[at] = bar
            return (whole,)

        return custom((self,), self.value[at], pull, lambda a: a[at])


class Graph:
    """Nodes in the order in which they were computed."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def of(self, value: Array) -> Node:
        """A node that nothing was computed for."""
        return Node(self, np.asarray(value, float))

    def pull(self, *seeds: tuple[Node, Array], after: int = 0) -> None:
        """Go through what was computed, from nodes with given derivatives, back to node number `after`."""
        for node, bar in seeds:
            node.add(bar)
        for node in reversed(self.nodes[after:]):
            if node.pull is not None and node.bar is not None:
                bar, node.bar = node.bar, None
                for part, by in zip(node.parts, node.pull(bar), strict=True):
                    if isinstance(part, Node) and by is not None:
                        part.add(by)

    def push(self, *seeds: tuple[Node, Array]) -> None:
        """Find the derivatives of all nodes along a direction, in which these change by what is given, others not."""
        for node in self.nodes:
            node.dot = None
        for node, dot in seeds:
            node.dot = dot
        for node in self.nodes:
            if node.push is None or all(not isinstance(part, Node) or part.dot is None for part in node.parts):
                continue
            changes = (part.change if isinstance(part, Node) else np.zeros(np.shape(part)) for part in node.parts)
            node.dot = np.broadcast_to(node.push(*changes), node.value.shape)

    def free(self) -> None:
        """Nothing is asked of it any more: nodes know their graph and it knows them, which only this undoes at once."""
        self.nodes.clear()


def custom(parts: Sequence[Any], value: Array, pull: Pull, push: Push) -> Node:
    """A value of parts; pull turns the derivative by it into those by the parts, None where there is none.

    push turns changes of the parts into that of the value.
    """
    for part in parts:
        if isinstance(part, Node):
            return Node(part.graph, value, parts, pull, push)
    raise TypeError("a formula of constants alone has no graph")


def unary(x: Node, value: Array, slope: Array) -> Node:
    """A function of each number of x, whose values and derivatives are known."""
    return custom((x,), value, lambda bar: (bar * slope,), lambda a: a * slope)


def root(x: Node) -> Node:
    """√x, with the derivative 0 at 0."""
    value = np.sqrt(x.value)
    return unary(x, value, np.divide(0.5, value, out=np.zeros_like(value), where=value > 0.0))


def _over(one: Any, other: Any) -> Node:
    a, b = value_of(one), value_of(other)
    return custom((one, other), a / b, lambda bar: (bar / b, -bar * a / (b * b)), lambda da, db: (da - a / b * db) / b)


def _times(a: Any, b: Any) -> Node:
    x, y = value_of(a), value_of(b)
    return custom(
        (a, b), x @ y, lambda bar: (bar @ y.swapaxes(-1, -2), x.swapaxes(-1, -2) @ bar),
        lambda dx, dy: dx @ y + x @ dy,
    )  # fmt: skip


def dot(a: Any, b: Any) -> Node:
    """a·b over the last axis, which stays as one of length 1."""
    x, y = value_of(a), value_of(b)
    return custom(
        (a, b), (x * y).sum(axis=-1, keepdims=True), lambda bar: (bar * y, bar * x),
        lambda dx, dy: (dx * y + x * dy).sum(axis=-1, keepdims=True),
    )  # fmt: skip


def cross(a: Any, b: Any) -> Node:
    """a × b over the last axis."""
    x, y = np.broadcast_arrays(value_of(a), value_of(b))
    return custom(
        (a, b), vectors.cross(x, y), lambda bar: (vectors.cross(y, bar), vectors.cross(bar, x)),
        lambda dx, dy: vectors.cross(np.broadcast_to(dx, x.shape), y) + vectors.cross(x, np.broadcast_to(dy, y.shape)),
    )  # fmt: skip


def summed(x: Node, axis: int) -> Node:
    """The sum along an axis, which goes."""
    shape = x.value.shape
    return custom(
        (x,), x.value.sum(axis=axis), lambda bar: (np.broadcast_to(np.expand_dims(bar, axis), shape),),
        lambda dx: dx.sum(axis=axis),
    )  # fmt: skip


def _totals(rows: Array, at: Indices, count: int) -> Array:
    """(count, …): sums of rows whose number `at` is the same; negative ones do not count."""
    known, shape = at >= 0, rows.shape[at.ndim :]
    size = int(np.prod(shape))
    places = at[known][:, None] * size + np.arange(size)
    found: Array = np.bincount(places.ravel(), rows[known].ravel(), count * size).astype(float)
    return found.reshape(count, *shape)


def gathered(x: Node, at: Indices) -> Node:
    """x[at] along the first axis, for numbers `at` of any shape; 0 where they are negative."""
    mask, count = (at >= 0).reshape(at.shape + (1,) * (x.value.ndim - 1)), len(x.value)

    def rows(values: Array) -> Array:
        return np.where(mask, values[at], 0.0)

    return custom((x,), rows(x.value), lambda bar: (_totals(bar, at, count),), rows)


def add_up(x: Node, at: Indices, count: int) -> Node:
    """(count, …): sums of x over the rows whose number `at` is the same; negative ones do not count."""
    mask = (at >= 0).reshape(at.shape + (1,) * (x.value.ndim - at.ndim))

    def total(rows: Array) -> Array:
        return _totals(rows, at, count)

    return custom((x,), total(x.value), lambda bar: (np.where(mask, bar[at], 0.0),), total)


def joined(parts: Sequence[Any], axis: int = -1) -> Node:
    """Arrays end to end along an axis."""
    values = [value_of(part) for part in parts]
    ends = np.cumsum([value.shape[axis] for value in values])[:-1]
    return custom(
        parts, np.concatenate(values, axis=axis), lambda bar: np.split(bar, ends, axis=axis),
        lambda *changes: np.concatenate(changes, axis=axis),
    )  # fmt: skip


def reshaped(x: Node, *shape: int) -> Node:
    """The same numbers, in order, in an array of another shape."""
    old = x.value.shape
    return custom((x,), x.value.reshape(shape), lambda bar: (bar.reshape(old),), lambda a: a.reshape(shape))


def where(condition: Flags, a: Any, b: Any) -> Node:
    """a where a condition holds, which is no part of the derivative, b elsewhere."""

    def chosen(one: Array, other: Array) -> Array:
        return np.where(condition, one, other)

    nothing = np.zeros(())
    return custom(
        (a, b), chosen(value_of(a), value_of(b)), lambda bar: (chosen(bar, nothing), chosen(nothing, bar)), chosen
    )


def divided(d: Any, N: Any) -> Node:
    """x (…, 3) with x N = d, for N (…, 3, 3)."""
    inverse = np.linalg.inv(value_of(N))
    x: Array = (value_of(d)[..., None, :] @ inverse)[..., 0, :]

    def pull(bar: Array) -> tuple[Array, Array]:
        by_d = (inverse @ bar[..., None])[..., 0]
        return by_d, -x[..., :, None] * by_d[..., None, :]

    def push(dd: Array, dN: Array) -> Array:
        moved = dd - (x[..., None, :] @ dN)[..., 0, :]
        found: Array = (moved[..., None, :] @ inverse)[..., 0, :]
        return found

    return custom((d, N), x, pull, push)

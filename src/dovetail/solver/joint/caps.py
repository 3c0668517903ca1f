"""Caps in Newton's method: which part of a law with a cap it takes for all of it.

The slope φ′ of a drive is a line that goes up to its cap and is constant from there on, often within less than the
tolerances of a step. A step −y takes one of these parts for all of φ′. It leads to the minimum where that is the part
at its end too,

    |φ′(x − ∇x·y) − (φ′(x) − φ″ ∇x·y)| ≤ ε h²f,

and only then it can be the last one: otherwise Newton's method would end with any effort between −f and f. The next
step takes the part at its end. Where it has leapt from one constant part to the other one, it would do so again on its
way back: it takes the line instead, also where that exceeds the cap, and ends on it or on the right side of it. A step
of ctr that begins below the cap begins with the line, others with what is nearer.

Parts are chosen by what a whole step finds, so such steps are taken whole, whatever the energy does. Where that does
not end soon, energies decide again: at its strongest a drive then has the curvature of the parabola that touches φ at x
and has its minimum where the line is zero. φ is nowhere above it, so that a step never raises it; but Newton's method
then ends within its tolerances, as it does elsewhere.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.islands import Islands
from dovetail.solver.joint.function import call_law
from dovetail.solver.joint.laws import CONSTANT, LINE, PARABOLA, Laws, part_at
from dovetail.typing import Array

__all__ = ["mark_bends"]

_PART = 1e-8  # of a cap, up to which efforts are known
_ROUND_OFF = 1e-15  # relative, or in metres or radians, of what a coordinate is computed from
_PATIENCE = 8  # steps that are taken whole


@kernel
def mark_bends(laws: Laws | None, s: Islands, y: Array) -> None:
    """bends ← islands that the step −y (n, 12) does not lead to the minimum, from where laws were linearised."""
    for m in range(s.count):
        s.bends[m] = 0
    if laws is None:
        return
    c, d, room = laws.coordinates, np.zeros(3), np.empty(laws.longest + 1)
    for m in laws.capped:
        i = laws.row[m]
        k, J, x = laws.acting[i], laws.J[i], laws.x[i]
        left, right = c.left[k], c.right[k]
        island = s.of[right] if s.of[right] >= 0 else s.of[left]
        if island < 0 or not s.running[island]:
            continue
        way = 0.0
        for e in range(12):
            way += J[0, e] * y[left, e] + J[1, e] * y[right, e]
        call_law(laws.address[m], x, laws.p, laws.at[m], d)
        strongest, before = d[1] == 0.0, d[0]
        slope, bend = d[0], d[1]
        if strongest and laws.part[m] != CONSTANT:
            slope, bend = part_at(laws, m, x, slope, room, d)
        call_law(laws.address[m], x - way, laws.p, laws.at[m], d)
        leaps = strongest and d[1] == 0.0 and d[0] != before
        h, cap, share = laws.p[laws.step[m]], laws.p[laws.exerted[m] - 1], laws.p[laws.exerted[m] + 1]
        least = _PART * h * h * cap * share + _ROUND_OFF * max(bend, d[1]) * max(abs(x), 1.0)
        if abs(d[0] - (slope - bend * way)) <= least:
            continue
        s.bends[island] = 1
        laws.part[m] = LINE if leaps else CONSTANT
    for m in range(s.count):
        s.bent[m] += s.bends[m]
        if s.bent[m] > _PATIENCE:
            s.bends[m] = 0
    for m in laws.capped:
        k = laws.acting[laws.row[m]]
        island = s.of[c.right[k]] if s.of[c.right[k]] >= 0 else s.of[c.left[k]]
        if island >= 0 and s.bent[island] > _PATIENCE:
            laws.part[m] = PARABOLA

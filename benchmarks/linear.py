"""Linear solvers: python benchmarks/linear.py

Grids of bodies, each with a stiff contact to all of its 26 neighbours: the worst case for a factor. Milliseconds to
factor and solve, directly and by conjugate gradients with an incomplete factor, interleaved, least of three.
"""

from __future__ import annotations

import time
from itertools import product

import numpy as np

from dovetail.solver.blocks import Blocks


def grid(n: int) -> np.ndarray:
    number = np.arange(n**3).reshape(n, n, n)
    pairs = []
    for step in product((-1, 0, 1), repeat=3):
        if step > (0, 0, 0):
            here = tuple(slice(max(0, -s), n - max(0, s)) for s in step)
            there = tuple(slice(max(0, s), n + min(0, s)) for s in step)
            pairs.append(np.stack([number[here].reshape(-1), number[there].reshape(-1)], axis=1))
    return np.concatenate(pairs)


def fill(blocks: Blocks, pairs: np.ndarray, stiffness: float = 100.0) -> None:
    rng = np.random.default_rng(0)
    blocks.D[:], blocks.U[:] = np.eye(12), 0.0
    for a, b in pairs:
        u, v = rng.normal(size=(2, 12))
        row, column = blocks.position[a], blocks.position[b]
        blocks.D[row] += stiffness * np.outer(u, u)
        blocks.D[column] += stiffness * np.outer(v, v)
        blocks.U[blocks.block_of(a, b)] = -stiffness * (np.outer(u, v) if row < column else np.outer(v, u))


def main() -> None:
    print("bodies   blocks   factor's   direct ms   conjugate ms")
    for n in (5, 7, 10):
        pairs = grid(n)
        cases = [Blocks(np.zeros(n**3, np.int64), pairs, iterate) for iterate in (False, True)]
        times = np.full(2, np.inf)
        for _ in range(3):
            for k, blocks in enumerate(cases):
                fill(blocks, pairs)
                b = np.random.default_rng(1).normal(size=blocks.g.shape)
                begin = time.process_time()
                blocks.factor()
                blocks.solve(b)
                times[k] = min(times[k], time.process_time() - begin)
        counts = len(pairs), len(cases[0].column)
        note = "" if not cases[1].direct else "  (direct here too: few bodies)"
        print(
            f"{n**3:6d} {counts[0]:8d} {counts[1]:10d} {1e3 * times[0]:11.2f} {1e3 * times[1]:14.2f}{note}", flush=True
        )


if __name__ == "__main__":
    main()

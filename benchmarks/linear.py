"""Linear solvers: python benchmarks/linear.py

Grids of bodies, each with a stiff contact to all of its 26 neighbours: the worst case for a factor. Milliseconds to
factor and solve, directly and by conjugate gradients with an incomplete factor, interleaved, least of three.

Nets of plates joined by balls: the same by blocks of 12×12 and by the forces in the points, with millions of
multiply–adds of the factor. What a core can do at most is told by a product of large matrices.
"""

from __future__ import annotations

import time
from itertools import product

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.joint.rows import Rows
from dovetail.solver.joint.stencil import Stencils
from dovetail.solver.linear.ordering import flipped


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
    rng, place = np.random.default_rng(0), np.empty(1, np.int64)
    blocks.D[:], blocks.U[:] = np.eye(12), 0.0
    for a, b in pairs:
        u, v = rng.normal(size=(2, 12))
        blocks.D[a] += stiffness * np.outer(u, u)
        blocks.D[b] += stiffness * np.outer(v, v)
        blocks.locate(np.array([a]), np.array([b]), place)
        if place[0] >= 0:
            blocks.U[place[0]] = -stiffness * np.outer(u, v)
        else:
            blocks.U[flipped(place[0])] = -stiffness * np.outer(v, u)


def net(side: int) -> np.ndarray:
    number = np.arange(side * side).reshape(side, side)
    right, down = (np.stack(pair, axis=-1) for pair in ((number[:-1], number[1:]), (number[:, :-1], number[:, 1:])))
    return np.concatenate([right.reshape(-1, 2), down.reshape(-1, 2)])


def compare_nets() -> None:
    print("\nplates   blocks: work, factor, solve (ms)   forces: work, factor, solve (ms)")
    rng = np.random.default_rng(0)
    for side in (10, 20, 30, 50):
        pairs, n = net(side), side * side
        W, K = rng.normal(size=(len(pairs), 8)), np.full(len(pairs), 100.0)
        cases = [Blocks(np.zeros(n, np.int64), pairs), Blocks(np.zeros(n, np.int64), pairs[:0])]
        cases[1].restructure(pairs[:0], pairs)
        stencils = Stencils(pairs[:, 0], pairs[:, 1], W[:, None], np.arange(len(pairs)))
        points, everyone = Rows(stencils, K, Stencils.none(1)), np.ones(n, np.int64)
        times = np.full((2, 2), np.inf)
        for blocks in cases:
            points.add_constant(blocks)
        for _ in range(5):
            for k, blocks in enumerate(cases):
                blocks.D[:], blocks.U[:] = np.eye(12) + blocks.base_D, blocks.base_U
                b = rng.normal(size=blocks.g.shape)
                begin = time.process_time()
                blocks.factor(everyone)
                middle = time.process_time()
                blocks.solve(everyone, b)
                times[k] = np.minimum(times[k], (middle - begin, time.process_time() - middle))
        work = cases[0].structure.work(12).sum() / 1e6, cases[1].net.structure.work(3).sum() / 1e6
        (f, s), (g, t) = 1e3 * times
        print(f"{n:6d} {work[0]:13.1f} {f:9.2f} {s:9.2f} {work[1]:14.2f} {g:9.2f} {t:9.2f}", flush=True)
    A = rng.normal(size=(800, 800))
    A @ A
    begin = time.process_time()
    A @ A
    print(f"product of large matrices: {800**3 / (time.process_time() - begin) / 1e9:.0f} · 10⁹ multiply–adds a second")


def main() -> None:
    print("bodies   blocks   factor's   direct ms   conjugate ms")
    for n in (5, 7, 10):
        pairs = grid(n)
        cases = [Blocks(np.zeros(n**3, np.int64), pairs) for _ in range(2)]
        cases[1].restructure(pairs, may_iterate=np.ones(n**3, np.bool_), always=True)
        everyone = np.ones(n**3, np.int64)
        times = np.full(2, np.inf)
        for _ in range(3):
            for k, blocks in enumerate(cases):
                fill(blocks, pairs)
                b = np.random.default_rng(1).normal(size=blocks.g.shape)
                begin = time.process_time()
                blocks.factor(everyone)
                blocks.solve(everyone, b)
                times[k] = min(times[k], time.process_time() - begin)
        counts = len(pairs), len(cases[0].column)
        print(f"{n**3:6d} {counts[0]:8d} {counts[1]:10d} {1e3 * times[0]:11.2f} {1e3 * times[1]:14.2f}", flush=True)


if __name__ == "__main__":
    main()
    compare_nets()

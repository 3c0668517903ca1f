"""Studies: the same program run for many cases, on all cores or on a cluster, with a table that survives anything.

    sweep(run, cases, "study.jsonl")      runs what is not in the table yet, writes each result as it comes
    grid(mass=[1, 2], mu=[0.1, 0.2, 0.4])  cases: all combinations

What is sent to a worker is a description (a function, by name, and the numbers of a case), never a live world.
"""

from __future__ import annotations

from dovetail.study.cases import grid
from dovetail.study.sweep import sweep
from dovetail.study.workers import ray_executor

__all__ = ["grid", "ray_executor", "sweep"]

"""dovetail side by side with other engines: the same scenes, stepped in turns, judged by one independent measure.

    python -m dovetail.bench --quick --out docs/benchmarks

scene, scenes          what is simulated, as plain arrays that no engine owns
engines                how each engine builds and steps such a scene; one that is not installed is skipped
worker, interleave     a process per engine, stepped in turns, so that a busy machine slows all of them alike
measure, penetration   joint gaps, energies and overlaps from poses alone, the same for all
startup                time to import and to the first step, memory
tables, plots, page    what is written

A time is processor time of one thread.
"""

from __future__ import annotations

from dovetail.bench.comparison import SIZES, run

__all__ = ["SIZES", "run"]

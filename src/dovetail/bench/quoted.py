"""Figures of libuipc 0.0.29 on an NVIDIA H200, measured elsewhere: another machine, quoted for the order of magnitude.

Milliseconds per step, mean over 20 to 250 frames at default tolerances. Its chains, nets and piles are those of this
comparison, the piles with d_hat = 1 cm; its wrecking ball is its own scene of the same size.
"""

from __future__ import annotations

__all__ = ["LIBUIPC"]

LIBUIPC = {
    "chain 10": 6.1,
    "chain 100": 11.3,
    "chain 1000": 36.2,
    "chain 10000": 28.6,
    "net 100": 11.9,
    "net 900": 20.1,
    "pile 3³": 6.2,
    "pile 5³": 9.0,
    "pile 10³": 36.1,
    "wrecking ball": 46.6,
}

"""Symmetric 3×3 matrices, given by their diagonal (x, y, z) and entries (xy, xz, yz): cheap bounds on eigenvalues."""

from __future__ import annotations

from dovetail.kernel.kernel import kernel

__all__ = ["gershgorin", "positive_definite"]


@kernel
def positive_definite(x: float, y: float, z: float, xy: float, xz: float, yz: float) -> bool:
    """Sylvester's criterion: all leading minors are positive."""
    minor = x * y - xy * xy
    determinant = x * (y * z - yz * yz) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz)
    return x > 0.0 and minor > 0.0 and determinant > 0.0


@kernel
def gershgorin(x: float, y: float, z: float, xy: float, xz: float, yz: float) -> float:
    """A number that no eigenvalue is below; exact for diagonal matrices."""
    return min(x - abs(xy) - abs(xz), y - abs(xy) - abs(yz), z - abs(xz) - abs(yz))

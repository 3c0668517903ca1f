"""Sanity checks before a simulation starts, and their report."""

from dovetail.world.sanity.checker import SanityChecker
from dovetail.world.sanity.message import SanityCheckMessage, SanityCheckResult

__all__ = ["SanityCheckMessage", "SanityCheckResult", "SanityChecker"]

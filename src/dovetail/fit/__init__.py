"""Numbers that fit: parameters from measured motion (`identify`), controls and designs for a purpose (`optimise`)."""

from __future__ import annotations

from dovetail.fit.identification import Identified, identify
from dovetail.fit.optimisation import Optimum, optimise

__all__ = ["Identified", "Optimum", "identify", "optimise"]

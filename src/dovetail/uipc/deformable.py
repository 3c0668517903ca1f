"""Names of what libuipc has and dovetail does not: they can be imported, and say so when they are used."""

from __future__ import annotations

from typing import Any, NoReturn

from dovetail.errors import ConstitutionError

__all__ = ["MISSING", "absent"]

MISSING = (
    "ARAP",
    "DiscreteShellBending",
    "ElasticModuli",
    "ElasticModuli2D",
    "Empty",
    "FiniteElementConstitution",
    "FiniteElementExternalForce",
    "FiniteElementExternalVertexForce",
    "FiniteElementExtraConstitution",
    "HookeanSpring",
    "InterPrimitiveConstitution",
    "KirchhoffRodBending",
    "NeoHookeanPattern",
    "NeoHookeanShell",
    "Particle",
    "PlasticDiscreteShellBending",
    "SoftPositionConstraint",
    "SoftVertexEdgeStitch",
    "SoftVertexStitch",
    "SoftVertexTriangleStitch",
    "StableNeoHookean",
    "StrainLimitingBaraffWitkinShell",
    "StrainPlasticDiscreteShellBending",
    "StressPlasticDiscreteShellBending",
)
"""Constitutions of deformable bodies in `uipc.constitution`."""


class _Absent(type):
    """A class that says why it is missing when it is called or asked for anything."""

    what: str

    def __call__(cls, *given: Any, **named: Any) -> NoReturn:
        raise ConstitutionError(cls.what)

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ConstitutionError(cls.what)


def absent(name: str, why: str = "") -> type:
    """A class by that name which raises when it is used."""
    reason = why or (
        "it is for deformable bodies, and dovetail has affine bodies only; remove those bodies from the script, make "
        "them affine with AffineBodyConstitution (AffineBodyShell, AffineBodyRod), or run it with libuipc on a GPU"
    )
    return _Absent(name, (), {"what": f"{name}: {reason}.", "__doc__": f"{name}: {reason}."})

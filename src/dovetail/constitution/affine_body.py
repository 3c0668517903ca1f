"""Affine bodies: what makes a mesh a body that translates, rotates and, stiffly, deforms as a whole.

    OrthoPotential (1)   E = κ V ‖A Aᵀ − I‖²_F
    ARAP (2)             E = κ V ‖A − R‖²_F,   R the polar rotation of A

A body maps a material point x̄ to x = A x̄ + p. Its mass enters through three moments of the mesh as it is
modelled (instance transforms and their scale do not count):

    m = ∫ρ dV,   m c = ∫ρ x̄ dV,   S = ∫ρ x̄ x̄ᵀ dV
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

import numpy as np

from dovetail.checked import checked, shown
from dovetail.constitution.arguments import bind
from dovetail.constitution.base import IConstitution, create_missing, fill, mark
from dovetail.constitution.place import Place
from dovetail.errors import ArgumentType, ConstitutionError, GeometryError
from dovetail.geometry import SimplicialComplex
from dovetail.geometry.affine_body import build_abd_mass_matrix, from_rigid_body, to_rigid_body
from dovetail.geometry.create import pointcloud
from dovetail.geometry.mass import moments
from dovetail.typing import Array, ArrayLike

__all__ = ["AffineBody", "AffineBodyConstitution"]

_POTENTIALS = {"OrthoPotential": 1, "ARAP": 2}
_ADVICE = {
    "open": " An AffineBodyShell may be open.",
    "inward": " On the surface of tetrahedra, flip_inward_triangles before extract_surface does it.",
    "flat": " That is AffineBodyShell or AffineBodyRod.",
}


class AffineBody(IConstitution):
    """Shared by solid, shell and rod: the choice of potential, and the attributes of a body.

    | where | attribute | unit | value |
    |---|---|---|---|
    | meta | `volume`, `mass_density` | m³, kg/m³ | |
    | meta | `abd_mass`, `abd_mass_x_bar`, `abd_mass_x_bar_x_bar` | kg, kg·m, kg·m² | m, m c, S |
    | meta | `mass`, `mass_center`, `inertia` | kg, m, kg·m² | the same as of a rigid body, about c |
    | meta | `dof_offset`, `dof_count` | | −1, 0; filled at world.init |
    | meta | `self_collision` | | 0 |
    | instances | `kappa` | Pa | stiffness of the shape |
    | instances | `is_fixed` | | 1: never moves |
    | instances | `is_dynamic` | | 0: forgets its velocity each step |
    | instances | `external_kinetic` | | 1: no kinetic energy; someone else supplies it |
    | instances | `velocity` | 1/s, m/s | rate of change of the 4×4 transform |

    Optional, read if present: instances `gravity` (Vector3, m/s²) instead of the scene's.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__(config)
        potential = self._config["name"]
        if potential not in _POTENTIALS:
            raise ConstitutionError(
                f"{type(self).__name__}: unknown potential {shown(potential)}; "
                f"config['name'] is one of {', '.join(map(repr, _POTENTIALS))}."
            )
        self._uid = _POTENTIALS[potential]

    @staticmethod
    def default_config() -> dict[str, Any]:
        return {"name": "OrthoPotential"}

    def check(self, geometry: Any, name: str = "") -> None:
        kappa = geometry.instances.slot("kappa").values
        Place(type(self).__name__, "instance", len(kappa), name).positive("kappa", kappa, "Pa")

    def _place(self) -> Place:
        return Place(type(self).__name__, "body", 1)

    def _positive(self, what: str, value: float, unit: str) -> float:
        """One finite number > 0 that concerns the body as a whole."""
        number = float(self._place().vector(what, value, 1, unit=unit)[0])
        if not number > 0:
            raise self._place().error(f"{what} = {number:g} [{unit}]; give a number > 0.")
        return number

    def _write(self, sc: SimplicialComplex, kappa: float, M_hat: Array, volume: float) -> None:
        m, mc, S = float(M_hat[0, 0]), M_hat[1:, 0].copy(), M_hat[1:, 1:].copy()
        _, c, inertia = to_rigid_body(m, mc, S)
        smallest = np.linalg.eigvalsh(S - m * (c @ c.T))[0]
        # Moving the origin to c cancels digits of S: below this, `smallest` is round-off of zero.
        if not smallest > 8 * np.finfo(float).eps * np.trace(S):
            raise self._place().error(
                f"the second moments about the centre of mass have the eigenvalue {smallest:.3g} [kg·m²], "
                "so some motion would have no mass; give the body extent in all three directions "
                "(a rigid body's inertia must obey the triangle inequality)."
            )
        meta, instances = sc.meta, sc.instances
        mark(sc, self._uid)
        fill(meta, "volume", volume)
        fill(meta, "mass_density", m / volume)
        fill(meta, "abd_mass", m)
        fill(meta, "abd_mass_x_bar", mc)
        fill(meta, "abd_mass_x_bar_x_bar", S)
        fill(meta, "mass", m)
        fill(meta, "mass_center", c)
        fill(meta, "inertia", inertia)
        create_missing(meta, "dof_offset", -1)
        create_missing(meta, "dof_count", 0)
        create_missing(meta, "self_collision", 0)
        fill(instances, "kappa", kappa)
        create_missing(instances, "is_fixed", 0)
        create_missing(instances, "is_dynamic", 1)
        create_missing(instances, "external_kinetic", 0)
        create_missing(instances, "velocity", np.zeros((4, 4)))


class AffineBodyConstitution(AffineBody, uid=(1, 2)):
    """A solid body, from a tetrahedral mesh or a closed triangle mesh, or by its mass matrix.

    `AffineBodyConstitution({"name": "ARAP"})` chooses the other potential. `kappa` [Pa] is the stiffness of
    the shape: 1e8 keeps a body of everyday size rigid to the eye.
    """

    @overload
    def apply_to(self, sc: SimplicialComplex, kappa: float, mass_density: float = 1000.0) -> None: ...

    @overload
    def apply_to(self, sc: SimplicialComplex, kappa: float, mass: ArrayLike, volume: float) -> None: ...

    @checked(ArgumentType)
    def apply_to(self, sc: SimplicialComplex, kappa: float, *given: Any, **named: Any) -> None:
        """Make every instance of `sc` a body.

        By density [kg/m³] the moments are integrated over the mesh. By `mass` (12×12, in libuipc's order
        [p, rows of A]) and `volume` [m³] they are taken as given, and the mesh may be anything.
        """
        who = f"{type(self).__name__}.apply_to(sc, kappa, ...)"
        arguments = bind(who, (("mass_density",), ("mass", "volume")), given, named, optional=(1, 0))
        stiffness = self._positive("kappa", kappa, "Pa")
        if "mass" in arguments:
            volume = self._positive("volume", arguments["volume"], "m³")
            self._write(sc, stiffness, self._moments_of(arguments["mass"]), volume)
        else:
            density = self._positive("mass_density", arguments.get("mass_density", 1000.0), "kg/m³")
            self._write(sc, stiffness, *self._integrate(sc, density))

    @overload
    def create_proxy(
        self, kappa: float, mass: float, mass_center: ArrayLike, inertia: ArrayLike, volume: float
    ) -> SimplicialComplex: ...

    @overload
    def create_proxy(self, kappa: float, abd_mass: ArrayLike, volume: float) -> SimplicialComplex: ...

    def create_proxy(self, kappa: float, *given: Any, **named: Any) -> SimplicialComplex:
        """A body without a mesh: one point at the origin that carries mass and inertia.

        Either as a rigid body, `mass` [kg], `mass_center` [m], `inertia` (3×3 about the centre, kg·m²), or
        by its 12×12 mass matrix; `volume` [m³] scales the stiffness of the shape.
        """
        forms = (("mass", "mass_center", "inertia", "volume"), ("abd_mass", "volume"))
        arguments = bind(f"{type(self).__name__}.create_proxy(kappa, ...)", forms, given, named)
        stiffness = self._positive("kappa", kappa, "Pa")
        volume = self._positive("volume", arguments["volume"], "m³")
        if "abd_mass" in arguments:
            M_hat = self._moments_of(arguments["abd_mass"])
        else:
            M_hat = self._moments_of_rigid(arguments["mass"], arguments["mass_center"], arguments["inertia"])
        proxy = pointcloud(np.zeros((1, 3)))
        self._write(proxy, stiffness, M_hat, volume)
        return proxy

    def _integrate(self, sc: SimplicialComplex, density: float) -> tuple[Array, float]:
        if sc.dim() < 2:
            body = "AffineBodyRod" if sc.dim() == 1 else "create_proxy or a mass matrix"
            raise self._place().error(
                f"a mesh of {('points', 'lines')[sc.dim()]} has no volume to integrate; use {body}."
            )
        try:
            return moments(sc, density)
        except GeometryError as error:
            problem = str(error).removeprefix("mass of a solid: ")
            advice = next((hint for flaw, hint in _ADVICE.items() if flaw in problem), "")
            raise self._place().error(f"{problem}{advice}") from None

    def _moments_of(self, mass_matrix: ArrayLike) -> Array:
        """M̂ (4×4) of a 12×12 mass matrix over q = [p, a₁, a₂, a₃]: m = M₀₀, m c = M₃₋₅,₀, S = M₃₋₅,₃₋₅."""
        M = self._place().array("the mass matrix", mass_matrix)
        if M.shape != (12, 12):
            raise self._place().error(f"the mass matrix has shape {M.shape}; give (12, 12), or leave out volume.")
        if not np.isfinite(M).all():
            raise self._place().error("the mass matrix has entries that are not finite.")
        self._positive("mass M[0, 0]", M[0, 0], "kg")
        rounding = 1e-9 * np.abs(M).max()  # matrices printed with ten digits pass
        asymmetry = np.abs(M - M.T).max()
        if asymmetry > rounding:
            raise self._place().error(
                f"the mass matrix is not symmetric: M − Mᵀ has an entry of {asymmetry:.3g}; use (M + Mᵀ)/2."
            )
        expected = build_abd_mass_matrix(M[0, 0], M[3:6, 0], M[3:6, 3:6])
        row, column = np.unravel_index(np.abs(M - expected).argmax(), M.shape)
        if abs(M - expected)[row, column] > rounding:
            raise self._place().error(
                f"the mass matrix is not that of an affine body: M[{row}, {column}] = {M[row, column]:g}, "
                f"while m = M[0, 0], m c = M[3:6, 0] and S = M[3:6, 3:6] make it {expected[row, column]:g}; "
                "use geometry.affine_body.build_abd_mass_matrix."
            )
        return _assemble(M[0, 0], M[3:6, 0], (M[3:6, 3:6] + M[3:6, 3:6].T) / 2)

    def _moments_of_rigid(self, mass: float, mass_center: ArrayLike, inertia: ArrayLike) -> Array:
        m = self._positive("mass", mass, "kg")
        center = self._place().vector("mass_center", mass_center, 3, unit="m")
        J = self._place().vector("inertia", inertia, 9, unit="kg·m²").reshape(3, 3)
        if np.abs(J - J.T).max() > 1e-9 * np.abs(J).max():
            raise self._place().error(f"inertia = {J.tolist()} [kg·m²] is not symmetric; use (I + Iᵀ)/2.")
        M = from_rigid_body(m, center, (J + J.T) / 2)
        return _assemble(m, M[3:6, 0], M[3:6, 3:6])


def _assemble(m: float, mc: Array, S: Array) -> Array:
    """M̂ (4×4) = ∫ρ (1, x̄)(1, x̄)ᵀ dV."""
    first = mc.reshape(3, 1)
    return np.block([[np.array([[m]]), first.T], [first, S]])

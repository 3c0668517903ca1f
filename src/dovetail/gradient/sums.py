"""What an adjoint adds up: gradients by the arrays that the solver works with, over the steps of a rollout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.gradient.bodies import BodySums
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Sums", "lowered_arrays"]


class Sums:
    """Gradients by solver arrays.

    constant    by name: arrays that a scene is lowered to and that stay as they are; `bodies` are those of bodies
    steps       by name: (T, …) by parameters of each of the T steps
    law_steps   (T + 2, ·) by parameters of laws, those of the two steps before the first one too
    log_mass    (n,) by the logarithm of a body's mass, of what is neither inertia nor a parameter of a joint
    log_pull    (n,) the same of soft transforms, which are weighed by it
    log_mu, log_contact_kappa, log_rolling, log_restitution (m, m)   by the logarithms of friction, stiffness, levers of
                rolling friction and restitution of pairs of contact elements i ≤ j
    vertices (v, 3), planes (p, 3)     by vertices of surfaces, in their bodies, and points of half-planes; None unless
                asked for
    residual    (T,) what Newton's method has left of each step, |H⁻¹g|/h [m/s, 1/s]
    """

    def __init__(self, simulation: Simulation, steps: int, surfaces: bool = False) -> None:
        bodies, potential = simulation.model.bodies, simulation.model.potential
        lowered = simulation.joints.lowered
        self.constant = {name: np.zeros_like(array) for name, array in lowered_arrays(simulation).items()}
        n = bodies.count
        self.bodies = BodySums(**{name: self.constant[name] for name in BodySums.fields})
        self.steps: dict[str, Array] = {"forces": np.zeros((steps, n, 4, 3))}
        for k, load in enumerate(lowered.loads):
            self.steps[f"load {k}"] = np.zeros((steps, len(load.values)))
        if potential.laws is not None:
            self.law_steps = np.zeros((steps + 2, len(potential.laws.p)))
            self.steps["laws"] = self.law_steps[2:]
        for k, terms in enumerate(lowered.terms):
            self.steps[f"terms {k}"] = np.zeros((steps, *terms.p.shape))
        if potential.exact is not None:
            combined = potential.exact.combined
            self.steps["combined/weight"] = np.zeros((steps, len(combined.weight)))
            self.steps["combined/target"] = np.zeros((steps, len(combined.target)))
        if lowered.couplings is not None and lowered.couplings.soft is not None:
            groups = lowered.couplings.soft.entries.groups
            for name in ("strength", "ratio", "offset"):
                self.steps[f"soft/{name}"] = np.zeros((steps, groups))
        self.steps["soft transform/aim"] = np.zeros((steps, n, 4, 3))
        self.constant["soft transform/B"] = np.zeros((n, 4, 4))
        materials = 0 if simulation.contact is None else len(simulation.contact.scene.mu)
        self.log_mu, self.log_contact_kappa, self.log_rolling, self.log_restitution = np.zeros(
            (4, materials, materials)
        )
        self.vertices: Array | None = None
        self.planes = np.zeros((0, 3))
        if simulation.contact is not None and surfaces:
            scene = simulation.contact.scene
            self.vertices, self.planes = np.zeros_like(scene.V), np.zeros_like(scene.plane_point)
        self.log_mass, self.log_pull, self.residual = np.zeros(n), np.zeros(n), np.zeros(steps)


def lowered_arrays(simulation: Simulation) -> dict[str, Array]:
    """Arrays of the solver that a scene is lowered to, by name."""
    bodies, potential = simulation.model.bodies, simulation.model.potential
    lowered = simulation.joints.lowered
    found = {
        "mass": bodies.mass, "stiffness": bodies.stiffness, "gravity": bodies.gravity,
        "points/W": potential.points.W, "points/K": potential.points.K[: potential.points.exact],
        "slides/W": potential.slides.W, "slides/K": potential.slides.K[: potential.slides.exact],
        "coordinates/W": lowered.coordinates.W,
    }  # fmt: skip
    found |= {f"load {k}/W": load.stencils.W for k, load in enumerate(lowered.loads)}
    found |= {f"terms {k}/W": terms.stencils.W for k, terms in enumerate(lowered.terms)}
    return found

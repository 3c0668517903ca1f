"""Gradients by anything that a scene is built from: anchors and axes of joints, sizes, densities, gains, places.

A scene is lowered to arrays of the solver, and a tape has the gradients by these. What a number p of the user's does to
them is found by building the scene twice, with p a little more and a little less; nothing is simulated for that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.checked import LARGEST, numbers, shown
from dovetail.errors import GradientError
from dovetail.gradient.sums import Sums, lowered_arrays
from dovetail.typing import Array, ArrayLike, Flags

if TYPE_CHECKING:
    from dovetail.gradient.frame import Frame
    from dovetail.world.simulation import Simulation

__all__ = ["design_gradient"]

_STEP = 1e-5  # of p, beside 1 or |p|: lowering is smooth and knows no round-off but its own


def design_gradient(
    build: Callable[[Array], Any], p: ArrayLike, simulation: Simulation, frames: list[Frame], sums: Sums,
    start: tuple[Array, Array],
) -> Array:  # fmt: skip
    """dL/dp (like p) for a function `build` of p that gives a world or Sim, as it was at the start of the rollout."""
    given = numbers(p)
    if given is None or not (np.abs(given) <= LARGEST).all():
        raise GradientError(f"Gradients.design: p = {shown(p)}; give finite numbers, as build takes them.")
    at = given.copy()
    base = _arrays(_simulation(build(at.copy())))
    if {name: a.shape for name, a in base.items()} != {name: a.shape for name, a in _arrays(simulation).items()}:
        raise GradientError("Gradients.design: build(p) is another scene than that of the rollout; give the same.")
    weights = _weights(base, frames, sums, start)
    out = np.zeros(at.shape)
    for index in np.ndindex(*at.shape):
        step, arrays = _STEP * max(1.0, abs(float(at[index]))), []
        for sign in (1.0, -1.0):
            moved = at.copy()
            moved[index] += sign * step
            arrays.append(_arrays(_simulation(build(moved))))
        for name, weight in weights.items():
            change = (arrays[0][name] - arrays[1][name]) / (2.0 * step)
            acts = np.abs(change) > 1e-9 * (1.0 + np.abs(base[name]))
            if (acts & np.isnan(weight)).any():
                _refuse(name, index)
            out[index] += float((np.where(acts, change, 0.0) * np.nan_to_num(weight)).sum())
    return out


def _simulation(made: Any) -> Simulation:
    """What a world or Sim runs on."""
    world = getattr(made, "world", made)
    found: Simulation | None = getattr(world, "_simulation", None)
    if found is None or not hasattr(found, "joints"):
        raise GradientError(f"Gradients.design: build has returned {shown(made)}; return a Sim, or a world after init.")
    found.refresh(found.dt)
    return found


def _arrays(simulation: Simulation) -> dict[str, Array]:
    """Everything that a rollout depends on, as it is before the first step."""
    found = {name: array.copy() for name, array in lowered_arrays(simulation).items()}
    found["Q"], found["V"] = simulation.state.Q.copy(), simulation.state.V.copy()
    lowered, potential = simulation.joints.lowered, simulation.model.potential
    if potential.laws is not None:
        p = potential.laws.p.copy()
        known = np.concatenate([potential.laws.start, potential.laws.step, potential.laws.exerted])
        p[known[known >= 0]] = 0.0
        found["laws"] = np.where(np.isfinite(p), p, 0.0)
    found |= {f"load {k}": load.values.copy() for k, load in enumerate(lowered.loads)}
    found |= {f"terms {k}": terms.p.copy() for k, terms in enumerate(lowered.terms)}
    if potential.exact is not None:
        found["combined/weight"] = potential.exact.combined.weight.copy()
        found["combined/target"] = potential.exact.combined.target.copy()
    found |= _pulls(simulation)
    found["log mass"] = np.log(simulation.model.bodies.mass[:, 0, 0])
    if simulation.contact is not None:
        scene = simulation.contact.scene
        found["surfaces"], found["half-planes"] = (
            scene.V.copy(),
            np.concatenate([scene.plane_point, scene.plane_normal]),
        )
        found["thickness"] = scene.thickness.copy()
        found["log mu"] = np.log(np.maximum(np.triu(scene.mu), 1e-300))
        found["log contact kappa"] = np.log(np.maximum(np.triu(scene.kappa), 1e-300))
    return found


def _pulls(simulation: Simulation) -> dict[str, Array]:
    """Forces on bodies, soft transforms and soft couplings."""
    n, soft = simulation.model.bodies.count, simulation.model.potential.soft_transforms
    found = {"forces": np.zeros((n, 4, 3)), "soft transform/aim": np.zeros((n, 4, 3))}
    found["soft transform/B"] = np.zeros((n, 4, 4))
    for forces in (simulation.forces, simulation.pushes):
        forces.add(simulation.state.Q, found["forces"])
    found["soft transform/aim"][soft.bodies], found["soft transform/B"][soft.bodies] = soft.aim, soft.weights
    couplings = simulation.joints.lowered.couplings
    if couplings is not None and couplings.soft is not None:
        _, weight, offset = couplings.equations()
        found["soft/ratio"], found["soft/offset"] = -weight[~couplings.is_exact, 1], offset[~couplings.is_exact]
        found["soft/strength"] = couplings.soft.entries.M.reshape(-1, 2, 2)[:, 0, 0].copy()
    return found


def _weights(base: dict[str, Array], frames: list[Frame], sums: Sums, start: tuple[Array, Array]) -> dict[str, Array]:
    """Gradients by these arrays, NaN where they are not known."""
    found = {**sums.constant, "Q": start[0], "V": start[1], "log mass": sums.log_mass}
    for name in base:
        if name in sums.steps:
            found[name] = sums.steps[name].sum(axis=0)
    loads = sum(name.startswith("load ") and not name.endswith("/W") for name in base)
    for place in range(loads):
        name = f"load {place}"
        found[name] = np.where(_written(base[name], place, frames), np.nan, found[name])
    for name, place in (("forces", 0), ("soft transform/aim", 2)):
        owners = [frame.given[-3:][place] for frame in frames]
        if any(not _same(owner, owners[0]) for owner in owners):  # written to in the rollout
            found[name] = np.full_like(found[name], np.nan)
    if "laws" in base:
        found["laws"] = np.where(_written(base["laws"], loads, frames), np.nan, sums.law_steps.sum(axis=0))
    if "surfaces" in base:
        unknown = np.nan if any(frame.contacts for frame in frames) else 0.0
        found |= {name: np.full_like(base[name], unknown) for name in ("surfaces", "half-planes", "thickness")}
        if sums.vertices is not None:
            found["surfaces"], found["half-planes"][: len(sums.planes)] = sums.vertices, sums.planes
        found["log mu"], found["log contact kappa"] = sums.log_mu, sums.log_contact_kappa
    return found


def _same(first: list[Array], second: list[Array]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def _written(base: Array, place: int, frames: list[Frame]) -> Flags:
    """Which parameters were written to in the rollout, so that they are not those that the scene was built with."""
    found = np.zeros(base.shape, np.bool_)
    for frame in frames:
        given = frame.given[place]
        found |= np.isfinite(given) & (base != 0.0) & (np.abs(given - base) > 1e-9 * np.abs(base))
    return found


def _refuse(name: str, index: tuple[int, ...]) -> None:
    asked = "ask backward for surfaces=True"
    what = {
        "Q": "poses of fixed bodies",
        "V": "velocities of fixed bodies",
        "surfaces": f"vertices of surfaces that touch ({asked}; nearly parallel edges have none)",
        "half-planes": f"half-planes that are touched ({asked}; those that turn have none)",
        "thickness": "radii of spheres and capsules, or the thickness of other surfaces, that touch",
        "laws": "parameters of drives, limits or dampers that controls have written to",
    }
    said = what.get(name, f"'{name}'")
    raise GradientError(
        f"Gradients.design: p[{', '.join(map(str, index))}] changes {said}; no gradient by that is known."
    )

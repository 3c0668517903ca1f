"""A step of Newton's method that changes stresses or forces of contacts too much is not the last one."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import boxes_in_touch
from scenes import add_boxes, new_scene

from dovetail.solver.contact.barrier import barrier
from dovetail.solver.contact.kinds import D_HAT, THICKNESS
from dovetail.solver.contact.steady import mark_pushes
from dovetail.solver.convergence import settle
from dovetail.solver.steady import SHARE, mark_stresses
from dovetail.world.simulation import Simulation

H, RATE_TOL, LONG = 0.01, 1e-4, 1e9


def test_an_island_runs_on_where_the_step_changes_forces_too_much():
    model = _boxes().model
    islands = model.islands
    islands.begin()
    islands.size[:], islands.alpha[:], islands.changing[:] = 0.5, 1.0, (0, 1)
    assert settle(islands, 1.0) == 1
    assert islands.done.tolist() == [1, 0]


def _boxes(gravity=(0, 0, 0)):
    scene = new_scene(gravity=list(gravity), dt=H)
    apart = np.eye(4)
    apart[0, 3] = 5.0
    add_boxes(scene, [np.eye(4), apart], kappa=1e8)
    simulation = Simulation(scene)
    simulation.model.prepare(H, np.ones(2))
    return simulation


def _marked(simulation, y, Q_tilde=None) -> list[int]:
    model, Q = simulation.model, simulation.state.Q
    model.islands.begin()
    model.islands.size[:], model.islands.changing[:] = 0.5, 0
    aim = Q if Q_tilde is None else Q_tilde
    mark_stresses(model.potential.weights, aim, model.islands, y, Q, RATE_TOL)
    return model.islands.changing.tolist()


def test_a_turn_is_no_change_of_stress_and_a_stretch_is():
    simulation, y = _boxes(), np.zeros((2, 12))
    y[:, 4], y[:, 6] = 1e-3, -1e-3  # of both bodies about z
    assert _marked(simulation, y) == [0, 0]
    y[1, 3] = 1e-8  # of the second one along x
    assert _marked(simulation, y) == [0, 1]


def test_stress_may_change_by_a_share_of_the_inertia_that_it_has_to_bear():
    """Of a body that is pulled away from where it would go: the stress that holds it there is c M (Q − Q̃)."""
    simulation, y = _boxes(), np.zeros((2, 12))
    Q_tilde = simulation.state.Q.copy()
    Q_tilde[:, 1, 0] += 1e-4
    weights = simulation.model.potential.weights
    load = weights.c[0] * weights.bodies.mass[0, 1, 1] * 1e-4
    bar = SHARE * load / (4.0 * weights.w[0])  # of the strain, twice the stretch
    y[0, 3], y[1, 3] = 0.49 * bar, 0.51 * bar
    assert _marked(simulation, y, Q_tilde) == [0, 1]


def test_stress_may_change_by_a_share_of_the_weight():
    simulation, y = _boxes((0, -9.8, 0)), np.zeros((2, 12))
    weights, half = simulation.model.potential.weights, simulation.model.bodies.half[0].max()
    bar = SHARE * H * H * 9.8 * weights.bodies.mass[0, 0, 0] * half / (4.0 * weights.w[0])
    y[0, 3], y[1, 3] = 0.49 * bar, 0.51 * bar
    assert _marked(simulation, y) == [0, 1]


@pytest.mark.parametrize("heavy", [False, True], ids=["its force", "the weight"])
def test_contacts_may_change_by_a_share_of_their_force_or_of_the_weight(heavy):
    probe = boxes_in_touch(2)
    probe.look(probe.Q)
    probe.derivatives(probe.Q, look=False)
    s, islands, mass = probe.at.contacts, probe.model.islands, probe.contact.mass
    assert s.count
    squared, rows = s.squared[: s.count], s.candidates.numbers[s.candidate[: s.count]]
    scale = s.weight[: s.count] * s.kappa[: s.count]
    first, second = np.array([barrier(D, k[THICKNESS], k[D_HAT])[1:] for D, k in zip(squared, rows, strict=True)]).T
    stiff = scale * (4.0 * squared * second + 2.0 * first)
    force = -2.0 * np.sqrt(squared) * scale * first
    weight = np.full(len(mass), 10.0 * force.max() if heavy else 0.0)
    for part in (0.9, 1.1):
        islands.begin()
        islands.size[:], islands.changing[:] = 0.5, 0
        y = np.zeros((len(mass), 12))
        k = int(np.argmax(stiff / np.maximum(force, weight[0])))
        a, normal = int(s.bodies[k, 0]), s.r[k] / np.sqrt(squared[k])
        length = part * SHARE * max(force[k], weight[0]) / stiff[k]
        y[a, :3] = -length * normal
        # the mass keeps nothing out that the two loads let pass
        mark_pushes(s, weight, np.zeros_like(mass), islands, y, 0.0)
        changes = np.abs(stiff * (s.r[: s.count] @ (-y[a, :3])) / np.sqrt(squared)) * (s.bodies[: s.count] == a).any(1)
        expected = bool((changes > SHARE * np.maximum(force, weight[0])).any())
        assert expected == (part > 1.0)
        assert bool(islands.changing.any()) == expected
        islands.changing[:] = 0
        mark_pushes(s, weight, np.ones_like(mass), islands, y, LONG)  # and it does where it is long
        assert not islands.changing.any()

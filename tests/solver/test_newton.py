"""Newton's iteration: it ends at the minimiser wherever it begins, and the energy never rises."""

from __future__ import annotations

import numpy as np
import pytest
from dense_blocks import assemble, energies, gradient
from scenes import TIGHT, add_boxes, add_chain, mixed_scene, new_scene, rate

from dovetail import Scene
from dovetail.errors import NotFinite
from dovetail.solver.integrator import INTEGRATORS
from dovetail.solver.newton import minimise
from dovetail.solver.scheme import Scheme
from dovetail.solver.solution import Solution, Tolerances
from dovetail.solver.step import step
from dovetail.world.simulation import Simulation

H = 0.01
TOLERANCES = Tolerances(TIGHT["newton/velocity_tol"], TIGHT["newton/transrate_tol"])


class Problem:
    """The first step of a scene: predictions Q̃ by hand (bdf1, no forces), everything else by the solver."""

    def __init__(self, scene: Scene) -> None:
        simulation = Simulation(scene)
        simulation.joints.refresh(H)
        self.model, state = simulation.model, simulation.state
        self.model.prepare(H, np.ones(self.model.bodies.count))
        self.Q = state.Q
        self.Q_tilde = state.Q + H * state.V
        self.Q_tilde[:, 0] += H * H * self.model.bodies.gravity
        self.free = self.model.bodies.is_free != 0
        self.Q_tilde[~self.free] = state.Q[~self.free]

    def solve(self, guess: np.ndarray | None = None, tolerances: Tolerances = TOLERANCES) -> Solution:
        begin = self.Q_tilde if guess is None else guess
        self.model.potential.Q_tilde[:] = self.Q_tilde
        solution = minimise(self.model, self.Q.copy(), begin.copy(), H, tolerances)
        solution.Q = solution.Q.copy()  # else the next one may use the array again
        return solution

    def energy(self, Q: np.ndarray) -> float:
        return float(energies(self.model, Q, self.Q_tilde).sum())


@pytest.fixture
def problem() -> Problem:
    return Problem(mixed_scene())


def guessed(problem: Problem, Q: np.ndarray) -> np.ndarray:
    """Q where bodies can move; a guess never moves the others."""
    return np.where(problem.free[:, None, None], Q, problem.Q)


def disturbed(problem: Problem, size: float, rng: np.random.Generator) -> np.ndarray:
    return guessed(problem, problem.Q_tilde + size * rng.normal(size=problem.Q.shape))


def test_the_gradient_vanishes_at_the_solution(problem):
    solution = problem.solve()
    assert solution.converged
    before = np.abs(gradient(assemble(problem.model, problem.Q_tilde, problem.Q_tilde, True))).max()
    after = np.abs(gradient(assemble(problem.model, solution.Q, problem.Q_tilde, True))).max()
    # forces of shapes, 4κV h² = 1e4, times round-off
    assert after < 1e-10 < 1e-3 < before


@pytest.mark.parametrize("size", [1e-6, 1e-3, 0.1, 1.0])
def test_wherever_it_begins_it_ends_at_the_same_place(problem, size, rng):
    expected = problem.solve().Q
    found = problem.solve(disturbed(problem, size, rng))
    assert found.converged
    np.testing.assert_allclose(found.Q, expected, atol=1e-10)  # tolerances of 1e-11 m and 1e-10


def test_a_guess_that_is_worse_than_the_last_state_is_dropped(problem, rng):
    islands = problem.model.islands.count
    for guess in (disturbed(problem, 10.0, rng), np.full_like(problem.Q, np.nan), -problem.Q_tilde):
        solution = problem.solve(guessed(problem, guess))
        assert solution.converged and solution.restarts == islands
        assert problem.energy(solution.Q) <= problem.energy(problem.Q)


def test_the_energy_never_rises_from_iteration_to_iteration(problem):
    """Stopping after 1, 2, 3 … iterations gives the same path, seen at its stations."""
    found = [problem.energy(problem.Q)]
    for iterations in range(1, 12):
        cut = Tolerances(TOLERANCES.velocity_tol, TOLERANCES.transrate_tol, max_iter=iterations)
        solution = problem.solve(problem.Q, cut)
        found.append(problem.energy(solution.Q))
        if solution.converged:
            break
        assert solution.iterations == iterations
    # the slack that the line search allows, and the last step, which is taken untested: round-off both
    assert (np.diff(found) <= 1e-11 * found[0]).all() and len(found) > 3


@pytest.mark.parametrize("potential", ["OrthoPotential", "ARAP"])
def test_a_crushed_and_spinning_body_needs_the_line_search_and_gets_home(potential):
    scene = new_scene(gravity=[0, 0, 0])
    V = rate(np.eye(4), angular=(30, 40, 50))
    add_boxes(scene, [np.diag([0.3, 1.5, 0.6, 1.0])], velocities=[V], potential=potential)
    problem = Problem(scene)
    solution = problem.solve(problem.Q)
    assert solution.converged and solution.halvings > 0
    A = solution.Q[0, 1:]
    np.testing.assert_allclose(A @ A.T, np.eye(3), atol=0.01)  # the spin of 70 rad/s stretches it a little


def test_looser_tolerances_need_fewer_iterations(problem):
    counts = [problem.solve(problem.Q, Tolerances(v, 10 * v)).iterations for v in (1e-9, 1e-3, 1e3)]
    assert counts[0] > counts[1] > counts[2] > 1  # the first step changes stresses by more than the loads


def test_the_early_exit_ends_a_step_once_full_steps_are_free(problem):
    hasty = Tolerances(TOLERANCES.velocity_tol, TOLERANCES.transrate_tol, early_exit=1)
    patient = problem.solve()
    solution = problem.solve(tolerances=hasty)
    assert solution.converged and solution.iterations == 2 < patient.iterations


def test_a_last_state_that_is_inside_out_is_an_error(problem):
    problem.Q[np.flatnonzero(problem.free)[0], 1:] *= -1.0
    with pytest.raises(NotFinite, match="is not finite at the start of the step"):
        problem.solve()


@pytest.mark.parametrize("method", sorted(INTEGRATORS))
def test_what_the_first_guess_is_made_of_does_not_change_the_motion(method, rng):
    """State.A only shapes the guess: with another one the step ends at the same place."""
    found = []
    for spoil in (0.0, 1.0):
        scene = new_scene()
        add_boxes(scene, velocities=[rate(np.eye(4), (1, 2, 3), (4, 5, 6))])
        add_chain(scene, 4)
        simulation = Simulation(scene)
        for _ in range(3):
            simulation.state.A += spoil * rng.normal(size=simulation.state.A.shape)
            step(simulation.model, simulation.state, H, Scheme(INTEGRATORS[method]), TOLERANCES)
        found.append(simulation.state.Q)
    np.testing.assert_allclose(found[1], found[0], atol=1e-9)  # three steps, each to tolerances of 1e-11 m and 1e-10

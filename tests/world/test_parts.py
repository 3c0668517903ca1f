"""Steps whose end cannot be are refused, and taken in parts."""

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import GradientError, SolverError, StepRefused
from dovetail.solver import step as step_module
from dovetail.solver.solution import Solution
from dovetail.solver.step_check import check_end, largest_strain


def falling(**options):
    sim = Sim(**options)
    sim.ground()
    sim.box(0.2, pos=(0, 0, 0.35), velocity=(1, 0, -2), name="low")
    sim.box(0.2, pos=(0.05, 0, 0.7), spin=(1, 2, 3), name="high")
    sim.step(2)
    return sim


def refusing(monkeypatch, lengths):
    """Have steps of these lengths refused."""
    usual = step_module.check_end

    def check(model, state, h, *others, **named):
        if h in lengths:
            raise StepRefused("it would end badly")
        usual(model, state, h, *others, **named)

    monkeypatch.setattr(step_module, "check_end", check)


def end(sim, Q, start=None, h=0.01):
    simulation = sim.world._simulation
    solution = Solution(Q, converged=True, E_before=None if start is None else np.array([start]))
    check_end(simulation.model, simulation.state, h, solution, "", is_again=True)


def test_surfaces_that_intersect_are_refused_by_name():
    sim = falling()
    Q = sim.world._simulation.state.Q.copy()
    end(sim, Q)
    Q[1, 0] = Q[0, 0] + [0.01, 0.02, 0.15]
    with pytest.raises(StepRefused, match=r"'low' .* and .* 'high' .* would intersect"):
        end(sim, Q)


def test_bodies_behind_a_half_plane_are_refused_by_name():
    sim = falling()
    Q = sim.world._simulation.state.Q.copy()
    Q[0, 0, 2] = 0.0999
    with pytest.raises(StepRefused, match=r"'low' .* would be 0\.0001 m behind a half-plane"):
        end(sim, Q)


def test_strain_that_no_energy_gives_is_refused():
    """κV = 8e5 J: a stretch by a fifth takes 1.5e5 J; the boxes have some 80 J."""
    sim = falling()
    Q = sim.world._simulation.state.Q.copy()
    sim.step()  # potentials are those of a step
    Q[1, 1:] *= 1.3
    assert largest_strain(Q, np.ones(2, np.int64)) == (pytest.approx(0.69, abs=0.01), 1)
    with pytest.raises(StepRefused, match=r"'high' .* would be strained by 0\.69, which takes 3\.8e\+05 J"):
        end(sim, Q, start=0.0)
    end(sim, Q, start=1e9)  # where there is the energy
    Q[1, 1] *= -1
    with pytest.raises(StepRefused, match="inside out"):
        end(sim, Q, start=1e9)


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_a_step_that_is_refused_is_taken_in_parts(parts, monkeypatch, caplog):
    """With the same bits as of shorter steps, where nothing has touched before."""
    fine = falling()
    fine.dt = 0.01 / parts
    fine.step(parts)
    coarse = falling()
    refusing(monkeypatch, {0.01 / n for n in (1, 2, 4) if n < parts})
    coarse.step()
    assert coarse.world.report.parts == parts and coarse.world.report.dt == 0.01
    assert coarse.frame == 3 and coarse.time == pytest.approx(0.03, rel=1e-12)
    assert f"taken in {parts} parts; as one, it would end badly" in caplog.text
    for one, other in zip(coarse.bodies, fine.bodies, strict=True):
        np.testing.assert_array_equal(one.transform, other.transform)
        np.testing.assert_array_equal(one.velocity, other.velocity)
    monkeypatch.undo()
    coarse.step(100)  # goes on
    assert coarse.world.report.parts == 1


def test_a_step_that_cannot_be_taken_in_parts_either_changes_nothing(monkeypatch):
    sim, other = falling(), falling()
    refusing(monkeypatch, {0.01, 0.005, 0.0025, 0.00125})
    with pytest.raises(SolverError, match="frame 3: it would end badly"):
        sim.step()
    monkeypatch.undo()
    sim.step(60)
    other.step(60)
    assert all(np.array_equal(a.transform, b.transform) for a, b in zip(sim.bodies, other.bodies, strict=True))


@pytest.mark.parametrize("at", [1, 2])
def test_parts_that_are_interrupted_change_nothing(at, monkeypatch):
    sim, other = falling(), falling()
    calls = []

    def check(model, state, h, *others, **named):
        calls.append(h)
        if h == 0.01:
            raise StepRefused("it would end badly")
        if len(calls) > at:
            raise KeyboardInterrupt

    monkeypatch.setattr(step_module, "check_end", check)
    with pytest.raises(KeyboardInterrupt):
        sim.step()
    monkeypatch.undo()
    assert sim.frame == 2
    sim.step(60)
    other.step(60)
    assert all(np.array_equal(a.transform, b.transform) for a, b in zip(sim.bodies, other.bodies, strict=True))


def test_gradients_refuse_steps_in_parts(monkeypatch):
    sim = falling()
    refusing(monkeypatch, {0.01})
    with pytest.raises(GradientError, match="step 0 has been taken in 2 parts"):
        sim.rollout(2)


def test_motion_that_no_energy_gives_is_refused_where_newton_was_stopped():
    """A box of 8 kg that would go 50 m in 10 ms has 1e8 J; the boxes have some 80 J."""
    sim = falling()
    sim.step()
    simulation = sim.world._simulation
    Q = simulation.state.Q.copy()
    Q[1, 0, 0] += 50.0
    solution = Solution(Q, converged=False, E_before=np.zeros(1))
    with pytest.raises(StepRefused, match=r"bodies would move with 1e\+08 J; there are"):
        check_end(simulation.model, simulation.state, 0.01, solution, "", is_again=False)

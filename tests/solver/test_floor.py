"""Tolerances below what round-off permits: Newton ends where its steps change nothing that arithmetic can see."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from mechanisms import bricard

from dovetail.solver.floor import Floor
from dovetail.solver.islands import Islands

FEW = 20  # iterations: 8 before anyone asks, 4 that get no shorter, and some at the beginning and in a second attempt


def run(frames=50, **given):
    """Iterations (frames,) of Bricard's mechanism, and the reports."""
    tolerance = given.pop("tolerance")
    tight = {"newton/velocity_tol": tolerance, "newton/transrate_tol": tolerance}
    bench, _ = bricard(0.008, **given, **tight)
    reports = bench.run(frames, lambda: bench.world.report)
    return np.array([report.iterations for report in reports]), reports


@pytest.mark.parametrize("method", ["bdf1", "ctr"])
def test_joints_that_a_sweep_leaves_open_are_closed_by_the_next_step(method):
    """κ = 1e13 Pa: sweeps close exact joints to 1e-10 m, and closing them for good costs more energy than is gained."""
    iterations, reports = run(method=method, kappa=1e13, tolerance=1e-8)
    assert iterations.max() <= FEW  # without counting how open they are 1,024
    assert all(report.converged and not report.at_floor for report in reports)
    assert sum(report.halvings for report in reports) < iterations.sum()


@pytest.mark.parametrize("gamma", [1e6, np.inf])
def test_far_from_the_origin_newton_ends_at_the_floor_and_says_so_once(gamma, caplog):
    """A tolerance of 8e-15 m, where neighbouring numbers are 6e-14 m apart."""
    with caplog.at_level(logging.WARNING, "dovetail"):
        iterations, reports = run(method="bdf1", gamma=gamma, at=(300.0, 0.0, 0.0), tolerance=1e-12)
    assert iterations.max() <= FEW  # without an end at the floor 1,024
    assert all(report.converged for report in reports)
    at_floor = [report for report in reports if report.at_floor]
    assert at_floor
    # round-off of places at 300 m, enlarged by a chain of five bodies
    assert max(report.step for report in at_floor) < 1e-11
    (told,) = [record.getMessage() for record in caplog.records]
    assert "floor of round-off" in told and "max_iter" not in told


def test_where_the_tolerances_can_be_met_nothing_ends_at_the_floor():
    iterations, reports = run(method="bdf1", tolerance=1e-10)
    assert not any(report.at_floor for report in reports) and iterations.max() < 8


def after_steps(sizes, energies):
    """A floor, and an island of one body with these sizes of steps and energies after them; it began at 1 J."""
    islands, floor = Islands(np.ones(1, np.int64), np.zeros((0, 2), np.int64), np.zeros(1, np.int64)), Floor(1)
    islands.limit[0], nobody = 1.0, np.zeros(1, np.bool_)
    for islands.size[0], islands.total[0] in zip(sizes, energies, strict=True):
        floor.end_stalled(islands, nobody)
    islands.alpha[0] = 1.0
    return floor, islands


@pytest.mark.parametrize(("halfway", "ends"), [(1.0, 1), (0.9, 0)], ids=["floor", "swing"])
def test_a_step_that_leads_nowhere_is_halved_and_ends_only_what_is_no_lower_halfway(halfway, ends):
    floor, islands = after_steps(5 * [3.0], 5 * [1.0])
    stalled = floor.halve_stalled(islands)
    assert stalled.all() and islands.alpha[0] == 0.5
    islands.total[0] = halfway
    assert floor.end_stalled(islands, stalled) == ends == islands.done[0]


@pytest.mark.parametrize(
    ("sizes", "energies"),
    [(0.95 ** np.arange(5), 5 * [1.0]), (5 * [3.0], [1.0, 1.0, 1.0, 0.9, 1.0])],
    ids=["shorter", "lower"],
)
def test_steps_that_get_shorter_or_lower_energies_have_not_stalled(sizes, energies):
    floor, islands = after_steps(sizes, energies)
    assert not floor.halve_stalled(islands).any() and islands.alpha[0] == 1.0

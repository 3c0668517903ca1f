"""Tolerances below what round-off permits: Newton ends where its steps change nothing that arithmetic can see."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from mechanisms import bricard

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
    assert all(report.converged and not report.at_floor for report in reports)
    assert iterations.max() <= FEW  # without counting how open they are 1,024
    assert sum(report.halvings for report in reports) < iterations.sum()


@pytest.mark.parametrize("gamma", [1e6, np.inf])
def test_far_from_the_origin_newton_ends_at_the_floor_and_says_so_once(gamma, caplog):
    """A tolerance of 8e-15 m, where neighbouring numbers are 6e-14 m apart."""
    with caplog.at_level(logging.WARNING, "dovetail"):
        iterations, reports = run(method="bdf1", gamma=gamma, at=(300.0, 0.0, 0.0), tolerance=1e-12)
    assert all(report.converged for report in reports)
    assert iterations.max() <= FEW
    at_floor = [report for report in reports if report.at_floor]
    assert at_floor
    # round-off of places at 300 m, enlarged by a chain of five bodies
    assert max(report.step for report in at_floor) < 1e-11
    (told,) = [record.getMessage() for record in caplog.records]
    assert "floor of round-off" in told and "max_iter" not in told


def test_where_the_tolerances_can_be_met_nothing_ends_at_the_floor():
    iterations, reports = run(method="bdf1", tolerance=1e-10)
    assert not any(report.at_floor for report in reports) and iterations.max() < 8

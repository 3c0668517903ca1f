"""Rollouts as functions of arrays, in NumPy, PyTorch and JAX."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Sim
from dovetail.differentiable import RolloutFunction
from dovetail.errors import GradientError, MissingExtra

STEPS = 4
TIGHT = {"newton/velocity_tol": 1e-11, "newton/transrate_tol": 1e-11}


def arm(p=(0.0,)):
    """An arm on a hinge that a torque turns, and a box that it drags along."""
    sim = Sim(dt=0.01, contact=False, config=TIGHT)
    link = sim.box((0.5, 0.1, 0.1), pos=(0.25, 0, 0), name="link", density=100.0)
    box = sim.box((0.2, 0.2, 0.1), pos=(0.6, 0.0, 0.0), name="box", density=100.0)
    hinge = sim.revolute(None, link, pos=(p[0], 0, 0), axis=(0, 1, 0), name="hinge", damping=0.2)
    hinge.torque = 1.0
    sim.spherical(link, box, pos=(0.5, 0, 0), name="ball")
    return sim


def inputs():
    rng = np.random.default_rng(0)
    return rng.normal(size=(3, 4, 3)), rng.normal(size=(STEPS, 1)), np.array([0.3]), rng.normal(size=(STEPS, 3, 4, 3))


def function():
    """Steps of ctr with exact joints have a noise that differences would see."""
    names = ["V", ("hinge", "external_torque"), ("hinge", "damper/damping"), "forces"]
    return RolloutFunction(arm(), STEPS, names, smooth=True)


def weights():
    return np.random.default_rng(1).normal(size=(2, STEPS + 1, 3, 4, 3))


def slope(f, values, ways, step=1e-3):
    """Of the loss, along ways, by Richardson's differences."""
    by = weights()

    def loss(s):
        Q, V, _ = f(*(value + s * way for value, way in zip(values, ways, strict=True)))
        return (by[0] * Q).sum() + (by[1] * V).sum()

    wide, narrow = ((loss(h) - loss(-h)) / (2 * h) for h in (step, step / 2))
    return (4 * narrow - wide) / 3


def test_a_rollout_is_a_function_of_arrays():
    f, values = function(), inputs()
    found = f.pull(f(*values)[2], *weights())
    assert [each.shape for each in found] == [each.shape for each in values]
    for k, way in enumerate(np.random.default_rng(2).normal(size=each.shape) for each in values):
        ways = [way if j == k else np.zeros_like(each) for j, each in enumerate(values)]
        assert (found[k] * way).sum() == pytest.approx(slope(f, values, ways), rel=1e-6)


def test_a_rollout_is_a_function_of_what_its_scene_is_built_from():
    f = RolloutFunction(arm, STEPS, ["p"], p=[0.01], smooth=True)
    tape = f([0.01])[2]
    f([0.02])  # a later call changes nothing about the tape of an earlier one
    found = f.pull(tape, *weights())[0]
    assert found == pytest.approx(slope(f, [np.array([0.01])], [np.ones(1)], 1e-4), rel=1e-6)


def test_bad_inputs_are_refused():
    with pytest.raises(GradientError, match="no input 'mass'; give 'Q', 'V', 'forces', 'p' or"):
        RolloutFunction(arm(), 2, ["mass"])
    with pytest.raises(GradientError, match=r"the input 'V' has the shape \(3,\); give \(3, 4, 3\)"):
        RolloutFunction(arm(), 2, ["V"])(np.zeros(3))
    with pytest.raises(GradientError, match="no \\('hinge', 'colour'\\) that could be written to"):
        RolloutFunction(arm(), 2, [("hinge", "colour")])(np.zeros(1))
    with pytest.raises(GradientError, match="'p' is an input; give `p`"):
        RolloutFunction(arm, 2, ["p"])


def test_adapters_say_what_is_missing(monkeypatch):
    import sys

    import dovetail.jax
    import dovetail.torch

    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "jax", None)
    dovetail.torch._function.cache_clear()
    for rollout in (dovetail.torch.rollout, dovetail.jax.rollout):
        with pytest.raises(MissingExtra, match="pip install"):
            rollout(function(), *inputs())


def test_gradients_in_torch():
    torch = pytest.importorskip("torch")
    from dovetail.torch import rollout

    f = function()
    tensors = [torch.tensor(each, requires_grad=True) for each in inputs()]
    # differences of steps of 1e-4 with Newton's tolerance of 1e-11 m/s have six digits
    assert torch.autograd.gradcheck(
        lambda *given: rollout(f, *given), tensors, eps=1e-4, atol=1e-6, rtol=1e-5, fast_mode=True
    )
    single = [torch.tensor(each, dtype=torch.float32, requires_grad=True) for each in inputs()]
    Q, V = rollout(f, *single)
    (Q.sum() + V.sum()).backward()
    assert Q.dtype == torch.float32 and all(each.grad.dtype == torch.float32 for each in single)


def test_gradients_in_jax():
    jax = pytest.importorskip("jax")
    from dovetail.jax import rollout

    f, (by_Q, by_V) = function(), weights()
    with jax.enable_x64(True):

        def loss(*values):
            Q, V = rollout(f, *values)
            return (by_Q * Q).sum() + (by_V * V).sum()

        values = inputs()
        found = jax.jit(jax.grad(loss, argnums=(0, 1, 2, 3)))(*values)
        expected = f.pull(f(*values)[2], by_Q, by_V)
        for by, exact in zip(found, expected, strict=True):
            assert np.allclose(by, exact, rtol=1e-12, atol=1e-14)

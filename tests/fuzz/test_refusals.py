"""Nonsense that raised errors of others, or none, in calls of gradients, fits, studies and worlds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from fuzz.surface import nothing, pendulum, swing

from dovetail.errors import ConfigError, GradientError, SceneError, StudyError
from dovetail.fit import identify, optimise
from dovetail.scene.config import ConfigAttributes
from dovetail.study import grid, sweep
from dovetail.worlds import Worlds

INF = float("inf")
LONG = np.full(3, np.longdouble("1e4000"))


class Fails:
    """What NumPy asks for an array, and gets an error."""

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise RuntimeError("no array")


@pytest.fixture(scope="module")
def tape():
    return pendulum().rollout(2)


@pytest.fixture(scope="module")
def worlds():
    return Worlds(swing, 2, contact=False)


OF_TAPES = {
    "body of nothing": lambda tape: tape.body(None),
    "transform of a body that is not there": lambda tape: tape.transform(2),
    "transform of a body from the end": lambda tape: tape.transform(-1),
    "coordinate of nothing": lambda tape: tape.coordinate(None, "angle"),
    "half a step": lambda tape: tape.step_vjp(0.5),
    "no step": lambda tape: tape.step_vjp(None),
    "jacobians of text": lambda tape: tape.step_jacobians("x"),
    "jvp of text": lambda tape: tape.step_jvp(1, dQ="x"),
    "jvp of infinite forces": lambda tape: tape.step_jvp(1, dF=-INF),
    "jvp of no number": lambda tape: tape.step_jvp(1, dV=float("nan")),
    "rows of different lengths": lambda tape: tape.backward(dL_dQ=[[1, 2], [3]]),
    "a loss by nothing": lambda tape: tape.backward(dL_dx={None: 1.0}),
    "a loss by half a name": lambda tape: tape.backward(dL_dx={("pivot",): 1.0}),
    "a loss by a body that is not there": lambda tape: tape.backward(dL_dT={9: np.zeros((3, 4, 4))}),
    "a loss by coordinates that is infinite": lambda tape: tape.backward(dL_dx={("pivot", "angle"): [[INF]] * 3}),
    "no mapping": lambda tape: tape.backward(dL_dT=[1]),
    "recording of text": lambda tape: tape.record("x", None),
    "gradients by a number": lambda tape: tape.backward(np.zeros(tape.Q.shape))[1],
    "gradients by three names": lambda tape: tape.backward(np.zeros(tape.Q.shape))["a", "b", "c"],
    "the first of nothing": lambda tape: tape.backward(np.zeros(tape.Q.shape)).initial(None, "x"),
    "designs that are no function": lambda tape: tape.backward(np.zeros(tape.Q.shape)).design(1, [1.0]),
    "designs that build nothing": lambda tape: tape.backward(np.zeros(tape.Q.shape)).design(lambda p: None, [1.0]),
    "designs of text": lambda tape: tape.backward(np.zeros(tape.Q.shape)).design(pendulum, "x"),
}


@pytest.mark.parametrize("what", OF_TAPES)
def test_tapes_and_gradients_refuse_nonsense_in_a_sentence(tape, what):
    with pytest.raises(GradientError) as refusal:
        OF_TAPES[what](tape)
    assert len(str(refusal.value)) < 400 and "\n" not in str(refusal.value)


OTHERS = {
    "optimise nothing": (lambda _: optimise(None, None, 0), GradientError),
    "identify nothing": (lambda _: identify(None, [1.0], [1.0, 2.0], len), GradientError),
    "identify what is not finite": (lambda _: identify(pendulum, [INF], [1.0, 2.0], len), GradientError),
    "identify with a build of nothing": (lambda _: identify(lambda p: None, [1.0], np.zeros(3), len), GradientError),
    "identify with bounds of different lengths": (
        lambda _: identify(pendulum, [1.0], np.zeros(3), len, bounds=[[1, 2], [3]]),
        GradientError,
    ),
    "a grid of a number": (lambda _: grid(a=1.0), StudyError),
    "a grid of an array without rows": (lambda _: grid(a=np.array(1.0)), StudyError),
    "a grid without end": (lambda _: grid(a=itertools.count()), StudyError),
    "a grid larger than memory": (lambda _: grid(**{f"a{k}": range(1000) for k in range(4)}), StudyError),
    "a sweep over a number": (lambda folder: sweep(nothing, 1j, folder / "x"), StudyError),
    "a sweep into no file": (lambda _: sweep(nothing, [], "\0"), StudyError),
    "a sweep of no function": (lambda folder: sweep(None, [], folder / "x"), StudyError),
    "more worlds than numbers": (lambda _: Worlds(swing, 2**63), SceneError),
    "gravity of what fails to be an array": (lambda _: ConfigAttributes({"gravity": Fails()}), ConfigError),
    "gravity of longer floats": (lambda _: ConfigAttributes({"gravity": LONG}), ConfigError),
}


@pytest.mark.parametrize("what", OTHERS)
def test_fits_studies_and_worlds_refuse_nonsense_in_a_sentence(tmp_path, what):
    call, error = OTHERS[what]
    with pytest.raises(error) as refusal:
        call(tmp_path)
    assert len(str(refusal.value)) < 400 and "\n" not in str(refusal.value)


@pytest.mark.parametrize("which", [[[1, 2], [3]], [[1], [2, [3]]]])
def test_worlds_to_reset_are_numbers_of_worlds(worlds, which):
    with pytest.raises(SceneError, match=r"Worlds\.reset: which = "):
        worlds.reset(which)


def test_what_cannot_be_printed_is_spelt():
    with pytest.raises(ConfigError, match=r"no key '.ud800'") as refusal:
        ConfigAttributes()["\ud800"]
    assert str(refusal.value).encode()

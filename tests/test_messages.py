"""Messages stay readable whatever things are called."""

from __future__ import annotations

import logging

import pytest

from dovetail import Logger, Sim
from dovetail.errors import DovetailError, SceneError
from dovetail.messages import shortened


def test_a_long_name_is_cut_in_an_error():
    sim = Sim()
    name = "arm " * 10_000
    sim.box(0.1, name=name)
    with pytest.raises(DovetailError) as caught:
        sim.box(0.1, name=name)
    assert len(str(caught.value)) < 600 and "arm arm" in str(caught.value) and " … " in str(caught.value)


def test_a_long_number_is_cut_too():
    assert len(str(SceneError(f"x = {10**1000}; give less."))) < 300


def test_a_long_name_is_cut_in_the_log(caplog):
    with caplog.at_level(logging.ERROR, "dovetail"):
        Logger.error(f"World.init: body '{'x' * 10_000}' is nowhere.")
    (message,) = caplog.messages
    assert len(message) < 300 and message.endswith("xxx' is nowhere.")


def test_what_is_not_long_stays_as_it_is():
    told = "SceneIO.load: '/a/folder/scene.json': " + "it cannot be read; " * 30
    assert shortened(told) == told


def test_words_between_two_names_are_not_a_name():
    told = "'box 1' and 'box 2' intersect: " + "edge (3, 0) of the first one's " * 10 + "'box 1' and 'box 3' too."
    assert shortened(told) == told
    long = "x" * 300
    assert shortened(f"'box 1' and '{long}' {told}").count("…") == 1

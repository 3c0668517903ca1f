"""Engines: names, workspaces and what they tell about a step."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from scenes import add_boxes, new_scene

from dovetail import Engine, World
from dovetail.errors import WorldError
from dovetail.world import engine as module


def test_names_are_not_case_sensitive_and_the_workspace_is_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    engine = Engine("CPU", "here")
    assert engine.backend_name() == "cpu"
    assert engine.workspace() == str(tmp_path / "here") and Path(engine.workspace()).is_dir()
    assert Engine().workspace() == str(tmp_path)


def test_cuda_is_accepted_with_exactly_one_warning(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(module, "_warned", False)
    with caplog.at_level(logging.WARNING, "dovetail"):
        engines = [Engine("cuda", tmp_path) for _ in range(3)] + [Engine("cpu", tmp_path)]
    assert [record.getMessage() for record in caplog.records] == [
        "Engine: 'cuda' runs on the CPU here; no GPU is needed. Use 'cpu' to silence this."
    ]
    assert [engine.backend_name() for engine in engines] == ["cuda"] * 3 + ["cpu"]


def test_an_unknown_backend_is_refused_with_those_there_are(tmp_path):
    with pytest.raises(WorldError, match=r"no backend 'vulkan'; use 'cpu'"):
        Engine("vulkan", tmp_path)


def test_a_workspace_is_made_one_level_deep_only(tmp_path):
    Engine("cpu", tmp_path / "new")
    with pytest.raises(WorldError, match="its parent folder does not exist; create it"):
        Engine("cpu", tmp_path / "missing" / "deep")
    assert not (tmp_path / "missing").exists()


def test_a_workspace_that_cannot_be_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(WorldError, match="cannot make the workspace"):
        Engine("cpu", tmp_path / "file")
    with pytest.raises(WorldError, match="cannot make the workspace"):
        Engine("cpu", tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "mine"


def test_the_config_is_libuipcs_and_can_be_overridden(tmp_path):
    assert Engine.default_config() == {"gpu": {"device": 0}, "extras": {"gui": {"enable": True}}}
    told = Engine("cpu", tmp_path, {"gpu": {"device": 1}}).to_json()
    assert told["backend_name"] == "cpu" and told["config"]["gpu"] == {"device": 1}
    json.dumps(told)


def test_the_last_step_is_told_as_plain_data(tmp_path):
    engine = Engine("cpu", tmp_path)
    assert engine.frame_stats() == {} and engine.status().to_json() == []
    scene = new_scene()
    add_boxes(scene)
    world = World(engine)
    world.init(scene)
    for _ in range(3):
        world.advance()
    stats = engine.frame_stats()
    assert stats["frame"] == 3 and stats["dt"] == 0.01 and stats["converged"] and stats["iterations"] >= 1
    json.dumps(stats)

"""Every example builds a scene, runs without a window, prints a few lines and satisfies the physics it claims."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path

import pytest

from dovetail import Scene, Sim

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
each = pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])


@cache
def load(path):
    """The example as a module; only once, since an example may claim a UID."""
    name = f"examples_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def test_there_is_an_example_for_every_joint_and_extra():
    text = "".join(path.read_text(encoding="utf-8") for path in EXAMPLES)
    from dovetail.constitution import AffineBodyJointCoupling, Joint, constitution_classes
    from dovetail.constitution.joint.extra import JointExtra

    kinds = (Joint, JointExtra, AffineBodyJointCoupling)
    wanted = [cls for uid, cls in constitution_classes().items() if uid < 2**32 and issubclass(cls, kinds)]
    assert [cls.__name__ for cls in wanted if f"{cls.__name__}()" not in text] == []


@each
def test_an_example_builds_a_scene_and_what_to_look_at(path):
    built, *handles = load(path).build()
    assert handles
    if isinstance(built, Sim):
        assert all(handle in (*built.bodies, *built.joints) for handle in handles)
        return
    assert isinstance(built, Scene)
    in_scene = [slot for slot, _ in built.geometries]
    assert all(handle in in_scene for handle in handles)


@each
def test_an_example_satisfies_the_physics_it_claims(path, capsys):
    load(path).check()
    lines = capsys.readouterr().out.splitlines()
    assert 1 <= len(lines) <= 8


@each
def test_an_example_says_in_its_first_line_what_it_shows(path):
    module = load(path)
    assert len(module.__doc__.splitlines()[0]) > 20
    assert path.read_text(encoding="utf-8").endswith('if __name__ == "__main__":\n    check()\n')

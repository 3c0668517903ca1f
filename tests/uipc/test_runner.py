"""`python -m dovetail.uipc`: what a script sees, what --headless does, and how it ends."""

from __future__ import annotations

import re

import pytest
from uipc_runner import run_script, run_text

FALLING_BOX = """
    import sys
    import numpy as np
    import uipc
    from uipc import Engine, Scene, Transform, World, view
    from uipc.constitution import AffineBodyConstitution
    from uipc.geometry import ground, label_surface, trimesh

    V = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
    F = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])

    def build(height, **config):
        scene = Scene(config)
        mesh = trimesh(V, F)
        label_surface(mesh)
        AffineBodyConstitution().apply_to(mesh, 1e8)
        view(mesh.transforms())[0] = Transform.Identity().translate([0, height, 0]).matrix()
        box = scene.objects().create("box")
        box.geometries().create(mesh)
        scene.objects().create("ground").geometries().create(ground(0.0))
        return scene, box
"""


def test_a_script_sees_what_plain_python_shows_it(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "beside.py").write_text("VALUE = 42\n")
    script = tmp_path / "scripts" / "main.py"
    script.write_text(
        "import os, sys\n"
        "import beside\n"
        "import uipc, uipc.geometry as geometry\n"
        "assert __name__ == '__main__' and sys.modules['__main__'].beside is beside\n"
        "print(__file__, sys.argv, sys.path[0], os.getcwd(), beside.VALUE)\n"
        "sys.exit(3)\n"
    )
    done = run_script("scripts/main.py", tmp_path, "--headless", "5", "-x", "value with spaces")
    folder = tmp_path.resolve()
    given = ["scripts/main.py", "--headless", "5", "-x", "value with spaces"]
    assert done.stdout.split("\n")[0] == f"{folder}/scripts/main.py {given} {folder}/scripts {folder} 42"
    assert done.returncode == 3, "the exit code of the script, and no summary without --headless"
    assert "frames" not in done.stdout


def test_an_exception_shows_the_lines_of_the_script_and_not_those_of_the_runner(tmp_path):
    (tmp_path / "part.py").write_text("def divide(x):\n    return 1 / x\n")
    done = run_text(
        """
        import part
        import polyscope as ps
        def update():
            part.divide(0)
        ps.set_user_callback(update)
        ps.show()
        """,
        tmp_path,
        headless=3,
    )
    assert done.returncode == 1
    assert "ZeroDivisionError: division by zero" in done.stderr
    for line in ("ps.show()", "part.divide(0)", "return 1 / x"):
        assert line in done.stderr
    assert "frozen" not in done.stderr and "uipc/runner.py" not in done.stderr
    assert not (tmp_path / "__pycache__").exists() or not list((tmp_path / "__pycache__").glob("main*"))
    assert "headless: 0 frames" in done.stdout, "it ends by saying how far it came"


def test_what_cannot_be_run_is_said(tmp_path):
    missing = run_script("none.py", tmp_path)
    assert missing.returncode == 2 and "there is no script 'none.py'" in missing.stderr
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text("print('in a folder')")
    assert "in a folder" in run_script("folder", tmp_path).stdout
    wrong = run_text("this is no Python", tmp_path)
    assert wrong.returncode == 1 and "SyntaxError" in wrong.stderr and "main.py" in wrong.stderr
    without = run_text("import sys\nsys.modules['polyscope'] = None\nimport polyscope\n", tmp_path)
    assert without.returncode == 1
    assert "pip install polyscope" in without.stderr and "--headless" in without.stderr


def test_a_script_that_needs_deformable_bodies_stops_with_a_message_that_says_so(tmp_path):
    done = run_text(
        """
        from uipc.constitution import ElasticModuli, StableNeoHookean
        moduli = ElasticModuli.youngs_poisson(1e6, 0.49)
        """,
        tmp_path,
        headless=5,
    )
    assert done.returncode == 1
    assert re.search(r"ElasticModuli: it is for deformable bodies, and dovetail has affine bodies only", done.stderr)
    assert "ElasticModuli.youngs_poisson(1e6, 0.49)" in done.stderr, "the line of the script"
    assert "deformable.py" not in done.stderr, "not those inside dovetail"


def test_a_window_that_never_advances_is_closed_after_fifty_calls_more(tmp_path):
    done = run_text(
        """
        import polyscope as ps
        from polyscope import imgui
        calls, pressed = 0, []
        def update():
            global calls
            calls += 1
            pressed.append((imgui.Button("go"), imgui.Button("stop")))
        ps.init()
        ps.set_user_callback(update)
        ps.show()
        assert pressed == [(True, True)] + [(False, False)] * 59
        print("calls", calls)
        loops = 0
        while not ps.window_requests_close():   # a loop of the script's own ends too
            ps.frame_tick()
            loops += 1
        print("ticks", loops)
        while True:
            ps.frame_tick()
        """,
        tmp_path,
        headless=10,
    )
    assert done.returncode == 0, done.stderr
    assert "calls 60\nticks 60\n" in done.stdout
    assert "headless: 0 frames, 0.0 steps per second, no world" in done.stdout


def test_an_invalid_world_and_a_failed_animation_end_with_an_error_code(tmp_path):
    refused = run_text(
        FALLING_BOX
        + """
    scene, box = build(-0.05)     # sunk into the ground
    world = World(Engine("cuda", "./"))
    world.init(scene)
    assert not world.is_valid() and world.frame() == 0 and not world.dump()
    world.advance()
    world.retrieve()
    print("went on")
    while world.frame() < 100:    # would never end
        world.advance()
    """,
        tmp_path,
        headless=5,
    )
    assert refused.returncode == 1 and "went on" in refused.stdout
    assert "headless: 0 frames, 0.0 steps per second, world invalid (the scene did not pass" in refused.stdout
    assert "check world.is_valid() in its loop" in refused.stderr

    failed = run_text(
        FALLING_BOX
        + """
    scene, box = build(1.0)
    def move(info):
        if info.frame() == 2:
            raise KeyError("of the user")
    scene.animator().insert(box, move)
    world = World(Engine("cuda", "./"))
    world.init(scene)
    for _ in range(4):
        world.advance()
    assert world.frame() == 4 and world.is_valid()
    print("went on")
    """,
        tmp_path,
        headless=4,
    )
    assert failed.returncode == 1 and "went on" in failed.stdout
    assert "animation of object 'box' failed in frame 2" in failed.stderr
    assert 'raise KeyError("of the user")' in failed.stderr and "uipc/scene.py" not in failed.stderr
    assert "world valid" in failed.stdout


def test_a_step_that_fails_makes_the_world_invalid_and_the_script_goes_on(tmp_path):
    done = run_text(
        FALLING_BOX
        + """
    scene, box = build(0.101, newton={"max_iter": 1, "velocity_tol": 1e-12}, extras={"strict_mode": {"enable": 1}})
    engine = Engine("cuda", "./")
    world = World(engine)
    world.init(scene)
    world.advance()
    assert not world.is_valid() and engine.status().has_error()
    world.advance()
    print("went on")
    """,
        tmp_path,
        headless=5,
    )
    assert done.returncode == 1 and "went on" in done.stdout and "world invalid" in done.stdout


def test_with_polyscope_a_script_gets_its_window(tmp_path):
    pytest.importorskip("polyscope", reason="pip install polyscope to test scripts that open a window")
    done = run_text(
        FALLING_BOX
        + """
    import polyscope as ps
    from polyscope import imgui
    from uipc.gui import SceneGUI
    scene, box = build(1.0)
    world = World(Engine("cuda", "./"))
    world.init(scene)
    ps.init("openGL_mock")          # polyscope itself, drawing nothing
    gui = SceneGUI(scene)
    surface, _, _ = gui.register()
    def update():
        assert not imgui.Button("nobody presses it")
        world.advance()
        world.retrieve()
        gui.update()
    ps.set_user_callback(update)
    ps.show(5)
    print(type(surface).__module__, surface.n_vertices(), world.frame())
    """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "polyscope.surface_mesh 8 5\n" in done.stdout

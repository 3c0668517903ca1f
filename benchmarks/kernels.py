"""Which kernels scenes need, compared with `src/dovetail/kernel/manifest.json`: python benchmarks/kernels.py

Runs the examples and some more for a few steps and says which kernels they called that the manifest has not, which of
it nobody called, and which of the solver are not in it; the exit code is 1 then. `--renew` compiles everything anew, in
a folder that is thrown away (some minutes), and writes the manifest: which function for which types, what it calls, how
long it takes, which scenes need it for their steps. What is only read of a scene, energies or reactions, is compiled
when somebody asks for it.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import pkgutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"
STEPS = 6
LONGER = {"pile": 60, "press": 40, "falling": 40, "standing": 40, "worlds that stand": 40, "worlds": 210}
"""Scenes that have not shown all they have after six steps."""
RARE = {
    ("solver.held", "_lag"),
    ("solver.joint.articulation", "_pull"),
    *(("solver.joint.terms", f"_terms_{what}") for what in ("assemble", "curvature", "energy", "forces")),
    ("solver.joint.terms", "_keep_unresisted"),
}
"""Kernels that none of these scenes calls, and that are compiled when one does: mostly of users' energies."""

Record = dict[str, Any]


def _chain(links: int, joint: str = "revolute", contact: bool = False, **options: Any) -> Any:
    from dovetail import Sim

    sim, last = Sim(dt=0.01, contact=contact, **options), None
    for k in range(links):
        link = sim.box((0.2, 0.04, 0.04), pos=(0.22 * k + 0.11, 0, 0))
        axis = {} if joint in ("spherical", "fixed") else {"axis": (0, 1, 0)}
        getattr(sim, joint)(last, link, pos=(0.22 * k, 0, 0), **axis)
        last = link
    return sim


def _falling(**options: Any) -> Any:
    """Boxes, a ball, a capsule and an arm with stops on the ground."""
    from dovetail import Sim

    sim = Sim(dt=0.01, **options)
    sim.ground()
    for k in range(6):
        sim.box(0.1, pos=(0.15 * (k % 3), 0, 0.06 + 0.12 * (k // 3)))
    sim.sphere(0.05, pos=(0, 0.3, 0.06), spin=(1, 0, 0))
    sim.capsule(0.05, 0.1, pos=(0.2, 0.3, 0.12))
    arm = sim.box((0.3, 0.02, 0.02), pos=(1.0, 0, 0.05))
    sim.revolute(None, arm, pos=(0.85, 0, 0.05), axis=(0, 1, 0), limit=(-1.0, 1.0))
    return sim


def _free(**options: Any) -> Any:
    from dovetail import Sim

    sim = Sim(dt=0.01, **options)
    sim.box(0.1, spin=(1, 2, 3))
    return sim


def _net() -> Any:
    """Three by three plates on balls, one of them on the ground, solved by the forces in the balls."""
    from dovetail import Sim

    sim = Sim(dt=0.01, contact=False)
    sim.scene.config["newton/direction"] = "net"
    plates = {(i, j): sim.box((0.08, 0.08, 0.01), pos=(0.1 * i, 0.1 * j, 0)) for i in range(3) for j in range(3)}
    sim.spherical(None, plates[0, 0], pos=(0, 0, 0))
    for (i, j), plate in plates.items():
        for other in ((i + 1, j), (i, j + 1)):
            if other in plates:
                sim.spherical(plate, plates[other], pos=(plate.pos + plates[other].pos) / 2)
    return sim


def _conjugate(**options: Any) -> Any:
    sim = _chain(4, "spherical", exact=False, **options)
    sim.scene.config["newton/direction"] = "conjugate"
    return sim


def _worlds() -> Any:
    """Eight worlds of a driven hinge, which march together."""
    from dovetail import Worlds

    def build(sim: Any, rng: Any) -> Any:
        rod = sim.box((0.3, 0.03, 0.03), pos=(0.15, 0, 1))
        sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), drive=True)
        return sim.mechanism()

    return Worlds(build, 8)


def _legs(sim: Any = None) -> Any:
    """A trunk on two pairs of legs, on firm drives."""
    from dovetail import Sim

    sim = sim or Sim()
    sim.ground()
    trunk = sim.box((0.5, 0.2, 0.1), pos=(0, 0, 0.25), mass=6.0)
    for x in (-0.2, 0.2):
        for y in (-0.14, 0.14):
            leg = sim.box((0.05, 0.05, 0.2), pos=(x, y, 0.111), mass=0.5)
            sim.revolute(trunk, leg, pos=(x, y, 0.2), axis=(0, 1, 0), drive=0.0)
    return sim


def _standing() -> Any:
    """Two worlds of a machine that stands still, which march."""
    from dovetail import Worlds

    return Worlds(lambda sim, rng: _legs(sim).mechanism(), 2)


def _arap(integrator: str) -> Any:
    """A cube of the other potential that spins, tied softly to where it is."""
    import trimesh

    from dovetail import Scene, geometry
    from dovetail.constitution import AffineBodyConstitution, SoftTransformConstraint

    scene = Scene({"contact/enable": 0, "integrator/type": integrator})
    box = trimesh.creation.box((0.1, 0.1, 0.1))
    cube = geometry.trimesh(box.vertices, box.faces)
    AffineBodyConstitution({"name": "ARAP"}).apply_to(cube, kappa=1e8)
    SoftTransformConstraint().apply_to(cube, [100.0, 100.0])
    cube.instances["is_constrained"] = 1
    scene.objects.create("cube").geometries.create(cube)
    return scene


def _read_as_mechanism(sim: Any) -> None:
    """Coordinates of an arm are read and written as one vector."""
    arm = sim.mechanism(*sim.joints)
    sim.step()
    _ = arm.q, arm.v, arm.mass_matrix(), arm.bias(), arm.jacobian(sim.bodies[-1])
    arm.v = 0.1 * arm.v
    sim.step()


def _sliding() -> Any:
    """A box on the ground that begins with a velocity."""
    from dovetail import Sim

    sim = Sim(dt=0.01)
    sim.ground()
    sim.box((0.1, 0.1, 0.1), pos=(0, 0, 0.0505), velocity=(1, 0, 0))
    return sim


def _squeezed() -> Any:
    """A light cube between a fixed plate and a heavy one that comes down on it."""
    from dovetail import Sim

    sim = Sim(dt=0.01, gravity=(0, 0, 0))
    sim.box((0.5, 0.5, 0.05), pos=(0, 0, -0.03), fixed=True)
    sim.box(0.05, pos=(0, 0, 0.0258), density=100)
    sim.box((0.5, 0.5, 0.1), pos=(0, 0, 0.1016), density=1e5, velocity=(0, 0, -5))
    return sim


def _loose() -> Any:
    """A D6 joint and a driven ball, and on a hinge a motor with a rotor beside a spring."""
    from dovetail import Sim

    sim = Sim(dt=0.01, contact=False)
    links = [sim.box((0.2, 0.04, 0.04), pos=(0.2 * k + 0.1, 0, 0)) for k in range(3)]
    sim.d6(None, links[0], (0, 0, 0), x=(-0.01, 0.01), rx="free", ry="driven", rz="free")
    sim.spherical(links[0], links[1], pos=(0.2, 0, 0), drive=(0.1, 0.0, 0.1))
    hinge = sim.revolute(links[1], links[2], pos=(0.4, 0, 0), axis=(0, 1, 0), spring=1.0)
    hinge.armature = 0.01
    return sim


def _example(path: Path) -> Callable[[], Any]:
    def build() -> Any:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.build()

    return build


def scenes() -> dict[str, Callable[[], Any]]:
    """What is run, by name."""
    from dovetail.cli.scenes import SCENES
    from dovetail.demo import build

    found: dict[str, Callable[[], Any]] = {}
    for integrator in ("ctr", "bdf1"):
        found[f"free {integrator}"] = lambda i=integrator: _free(integrator=i, contact=False)
        found[f"hinges {integrator}"] = lambda i=integrator: _chain(10, integrator=i)
        found[f"balls {integrator}"] = lambda i=integrator: _chain(40, "spherical", integrator=i)
        found[f"penalty {integrator}"] = lambda i=integrator: _chain(10, integrator=i, exact=False)
        found[f"hinges, contact {integrator}"] = lambda i=integrator: _chain(4, integrator=i, contact=True)
        found[f"falling {integrator}"] = lambda i=integrator: _falling(integrator=i)
    found |= {name: _example(path) for path in sorted(EXAMPLES.glob("*.py")) for name in [path.stem]}
    found["falling, threads"] = lambda: _falling(threads=2, config={"threads/grain": 0.01})
    found |= {
        "net": _net,
        "conjugate": _conjugate,
        "conjugate, threads": lambda: _conjugate(threads=2, config={"threads/grain": 0.01}),
        "worlds": _worlds,
        "worlds that stand": _standing,
        "standing": _legs,
        "mechanism": lambda: _chain(3),
        "loose": _loose,
        "sliding": _sliding,
        "squeezed": _squeezed,
    }
    found |= {f"arap {integrator}": lambda i=integrator: _arap(i) for integrator in ("ctr", "bdf1")}
    return {**found, **SCENES, "press": build}


def _run(name: str, build: Callable[[], Any]) -> Iterator[None]:
    """Steps of a scene, and after a break what is read of it."""
    from dovetail import Engine, Sim, World, Worlds

    steps = next((steps for start, steps in LONGER.items() if name.startswith(start)), STEPS)
    made = build()
    made = made[0] if isinstance(made, tuple) else made
    if isinstance(made, Worlds):
        made.step(steps)
        made.step(steps)
        yield
        _ = made.q, made.v, made.effort
        return
    if isinstance(made, Sim):
        for _ in made.run(steps):
            pass
        yield
        if name == "mechanism":
            _read_as_mechanism(made)
        _ = made.energy, made.contacts
        _ = [(joint.gap, joint.reaction) for joint in made.joints], [body.pos for body in made.bodies]
        return
    with tempfile.TemporaryDirectory() as workspace:
        world = World(Engine("cpu", workspace))
        world.init(made)
        for _ in range(steps):
            world.advance()
            world.retrieve()
        yield


class _Listener:
    """What is asked of the kernel files, nested as it is compiled."""

    def __init__(self) -> None:
        from dovetail.kernel.files import KernelFiles
        from dovetail.kernel.inner import Inner

        self.asked: list[str] = []
        """Called from Python."""
        self.made: list[Record] = []
        self._open: list[Record] = []
        load, save, compile_inner = KernelFiles.load_overload, KernelFiles.save_overload, Inner.compile

        def load_overload(files: Any, signature: Any, target: Any) -> Any:
            key = self._key(files, signature)
            if not self._open:
                self.asked.append(key)
            found = load(files, signature, target)
            if found is None:
                self._open.append({"key": key, "needs": [], "seconds": 0.0, "began": time.process_time()})
            return found

        def save_overload(files: Any, signature: Any, compiled: Any) -> None:
            save(files, signature, compiled)
            done = self._open.pop()
            total = time.process_time() - done.pop("began")
            done["seconds"] += total
            if self._open:
                self._open[-1]["seconds"] -= total
            self.made.append(done)

        def inner(self_: Any, arguments: Any) -> None:
            if self._open:  # also what was compiled before, for another one
                self._open[-1]["needs"].append(self._key(self_._cache, arguments))
            compile_inner(self_, arguments)

        KernelFiles.load_overload, KernelFiles.save_overload, Inner.compile = load_overload, save_overload, inner

    @staticmethod
    def _key(files: Any, signature: Any) -> str:
        """Module, name, form and types, as the manifest has them."""
        from dovetail.kernel.manifest import spell

        arguments = getattr(signature, "args", signature)
        form = "callback" if hasattr(signature, "args") else "python"
        form = "inner" if files._function.endswith("rebuild_inner") else form
        words = "" if form == "callback" else " ".join(map(spell, arguments))
        return json.dumps([*_names()[files._function.split(" ")[0]], form, words])


_NAMES: dict[str, tuple[str, str]] = {}


def _names() -> dict[str, tuple[str, str]]:
    """Module and name of every kernel and callback, by the text that its files have for it."""
    if not _NAMES:
        import dovetail

        for info in pkgutil.walk_packages(dovetail.__path__, "dovetail."):
            if not info.name.startswith(("dovetail.kernel", "dovetail.solver")):
                continue
            module = importlib.import_module(info.name)
            for name, value in vars(module).items():
                function = getattr(value, "py_func", getattr(value, "function", None))
                if hasattr(function, "__code__"):
                    text = f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"
                    place = (info.name.removeprefix("dovetail."), name)
                    if function.__module__ == info.name or text not in _NAMES:  # or imported, or made elsewhere
                        _NAMES[text] = place
    return _NAMES


def _child(name: str, build: Callable[[], Any], pipe: int) -> None:
    """Run a scene and tell what it has and needs."""
    from dovetail.world import simulation

    listener, has = _Listener(), []
    simulation.first_compile = lambda features: has.append(sorted(features))
    for _ in _run(name, build):
        asked = list(listener.asked)  # for its steps; then it is read
    with os.fdopen(pipe, "w") as stream:
        features = [*has[0], *(["worlds"] if name.startswith("worlds") else [])]  # of no use to one alone
        json.dump({"features": features, "asked": asked, "made": listener.made}, stream)


def record() -> dict[str, Record]:
    """Of all scenes; each in a fork that begins where nothing is loaded."""
    found = {}
    everything = scenes()
    _names()
    for name, build in everything.items():
        mine, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(mine)
            _child(name, build, theirs)
            os._exit(0)
        os.close(theirs)
        with os.fdopen(mine) as stream:
            told = stream.read()
        if os.waitpid(child, 0)[1] or not told:
            raise SystemExit(f"{name}: the scene does not run")
        found[name] = json.loads(told)
        print(f"{name}: {len(found[name]['asked'])} kernels called", file=sys.stderr, flush=True)
    return found


def _called() -> set[str]:
    """Kernels that Python calls in any of the scenes."""
    from dovetail.world import simulation

    listener = _Listener()
    simulation.first_compile = lambda features: None
    for name, build in scenes().items():
        for _ in _run(name, build):
            pass
    return set(listener.asked)


def renew(path: Path) -> None:
    """Write the manifest."""
    told = record()
    made = {task["key"]: task for scene in told.values() for task in scene["made"]}  # callees first
    numbers = {key: n for n, key in enumerate(made)}
    wanted = {key: [name for name, scene in told.items() if key in scene["asked"]] for key in made}
    lines = []
    for key, task in made.items():
        needs = sorted({numbers[need] for need in task["needs"]})
        lines.append(json.dumps([*json.loads(key), needs, round(task["seconds"], 2), wanted[key]]))
    has = ",\n".join(f"{json.dumps(name)}: {json.dumps(scene['features'])}" for name, scene in told.items())
    path.write_text(f'{{"scenes": {{\n{has}\n}}, "tasks": [\n' + ",\n".join(lines) + "\n]}\n")
    print(f"{len(made)} tasks, {sum(task['seconds'] for task in made.values()):.0f} s")


def main() -> int:
    if "--renew" in sys.argv and "DOVETAIL_CACHE_DIR" not in os.environ:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["DOVETAIL_CACHE_DIR"] = cache
            os.spawnv(os.P_WAIT, sys.executable, [sys.executable, *sys.argv])
        return 0
    from dovetail.kernel.manifest import PATH, tasks

    if "--renew" in sys.argv:
        renew(PATH)
        return 0
    known = {json.dumps([t.module.removeprefix("dovetail."), t.name, t.form, t.signature]) for t in tasks()}
    called = _called()
    listed = {tuple(json.loads(key)[:2]) for key in known} | RARE
    unlisted = {place for place in _names().values() if place not in listed and not place[0].endswith("_plain")}
    for key in sorted(called - known):
        print(f"called, but not in the manifest: {key}")
    stale = {key for key in known if json.loads(key)[2] != "inner"} - called
    for key in sorted(stale):
        print(f"in the manifest, but no scene calls it: {key}")
    for module, name in sorted(unlisted):
        print(f"not in the manifest, and no scene of benchmarks/kernels.py calls it: {module}.{name}")
    wrong = bool(called - known or stale or unlisted)
    if wrong:
        print("run: python benchmarks/kernels.py --renew")
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())

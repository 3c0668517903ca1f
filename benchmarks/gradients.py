"""What gradients cost: backward over forward, on chains of 100 links and on a pile of 125 boxes.

    python benchmarks/gradients.py

Forward is the recorded rollout, with the tolerances that a tape asks for, and `plain` the same steps without a tape, at
the tolerances of the config. ctr is what a `Sim` takes by default. Processor time, minima over rounds that take turns.
Then the Jacobians of a step, and what a tape keeps: states and what is told of steps, without what one call keeps for
itself.
"""

from __future__ import annotations

import gc
import tempfile
import time
import tracemalloc
from typing import Any

import numpy as np

from dovetail import Engine, Scene, Sim, World
from dovetail.constitution import AffineBodyConstitution, AffineBodySphericalJoint
from dovetail.geometry import halfplane, label_surface, trimesh
from dovetail.geometry.rows import rows_to_transforms

ROUNDS, STEPS = 8, 20
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
SIDES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])


def bodies(scene: Scene, name: str, size: Any, at: np.ndarray, fixed: bool = False) -> Any:
    sc = trimesh(CORNERS * np.asarray(size, float), SIDES)
    label_surface(sc)
    AffineBodyConstitution().apply_to(sc, 1e8, 1000.0)
    sc.instances.resize(len(at))
    Q = np.zeros((len(at), 4, 3))
    Q[:, 0], Q[:, 1:] = at, np.eye(3)
    sc.instances["transform"] = rows_to_transforms(Q)
    sc.instances["is_fixed"] = int(fixed)
    return scene.objects.create(name).geometries.create(sc)[0]


def started(scene: Scene) -> World:
    world = World(Engine("cpu", tempfile.gettempdir()))
    world.init(scene)
    return world


def chain(strength: float, method: str = "bdf1", links: int = 100) -> World:
    scene = Scene({"dt": 0.01, "contact/enable": 0, "integrator/type": method})
    at = np.column_stack([0.2 * np.arange(links) + 0.2, np.zeros((links, 2))])
    base, boxes = bodies(scene, "base", (0.1,) * 3, np.zeros((1, 3)), True), bodies(scene, "link", (0.2, 0.1, 0.1), at)
    left = [0, *range(links - 1)]
    sc = AffineBodySphericalJoint().create_geometry(
        at - (0.1, 0, 0), [base, *[boxes] * (links - 1)], left, [boxes] * links, list(range(links)), strength
    )
    scene.objects.create("joints").geometries.create(sc)
    return started(scene)


def pile(side: int = 5) -> World:
    scene = Scene(
        {
            "dt": 0.01,
            "integrator/type": "bdf1",
            "contact/d_hat": 5e-3,
            "contact/friction/memory": 0,
            "gravity": [[0.0], [0.0], [-9.8]],
        }
    )
    scene.contact_tabular.default_model(0.4, 1e8)
    scene.objects.create("ground").geometries.create(halfplane((0, 0, 0), (0, 0, 1)))
    at = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3) * 0.206 + (0, 0, 0.106)
    at[:, :2] += 0.01 * np.random.default_rng(0).normal(size=(side, 2))[np.arange(side**3) % side]  # by layers
    bodies(scene, "box", (0.2,) * 3, at)
    return started(scene)


def measure(name: str, build: Any, settle: int = 0, rounds: int = 6 * ROUNDS) -> None:
    world = build()
    for _ in range(settle):
        world.advance()
    world.rollout(1).backward()  # compiles
    start, times = world.state(), {"plain": np.inf, "forward": np.inf, "backward": np.inf}
    residual = contacts = 0.0
    for _ in range(rounds):
        world.restore(start)
        clock = time.process_time()
        for _ in range(STEPS):
            world.advance()
        times["plain"] = min(times["plain"], time.process_time() - clock)
        world.restore(start)
        clock = time.process_time()
        tape = world.rollout(STEPS)
        times["forward"] = min(times["forward"], time.process_time() - clock)
        ones = np.ones((STEPS + 1, *tape.Q.shape[1:]))
        clock = time.process_time()
        residual = tape.backward(ones).residual.max()
        times["backward"] = min(times["backward"], time.process_time() - clock)
        contacts = world.report.contacts
    per = {key: 1e3 * value / STEPS for key, value in times.items()}
    print(
        f"{name:24s} plain {per['plain']:7.2f}  forward {per['forward']:7.2f}  backward {per['backward']:7.2f} ms"
        f"   backward/forward {per['backward'] / per['forward']:5.2f}   residual {residual:.0e}  contacts {contacts:g}"
    )


def hinges(
    strength: float | None, branching: bool = False, count: int = 32, integrator: str = "bdf1", damping: float = 0.1
) -> tuple[Sim, Any]:
    """A tree of hinges with dampers, a chain or one with two joints on every link."""
    sim = Sim(dt=0.01, contact=False, integrator=integrator)
    links: list[Any] = []
    held: dict[str, Any] = {} if strength is None else {"strength": strength}  # exact unless told otherwise
    held |= {"damping": damping} if damping else {}
    for k in range(count):
        on = (k - 1) // 2 if branching else k - 1
        x, y = (0.2 * (k + 1).bit_length(), 0.2 * k) if branching else (0.2 * k, 0.0)
        links.append(sim.box((0.2, 0.05, 0.05), pos=(x + 0.1, y, 0), name=f"link {k}"))
        axis = (0, 1, 0) if k % 2 else (0, 0, 1)
        parent = links[on] if k else None
        sim.revolute(parent, links[k], pos=(x, y, 0), axis=axis, name=f"hinge {k}", **held)
    return sim, sim.mechanism()


def measure_jacobians(name: str, strength: float | None, branching: bool = False, steps: int = 50) -> None:
    """A (64, 64) and B (64, 32) of all steps of a rollout, and of one at a time; the step itself, recorded, apart."""
    sim, mechanism = hinges(strength, branching)
    start, least = sim.state, dict.fromkeys(("forward", "all", "one"), np.inf)
    mechanism.v = np.random.default_rng(0).normal(size=len(mechanism))
    sim.rollout(1).step_jacobians(0, mechanism)  # compiles
    for _ in range(4 * ROUNDS):
        sim.state = start
        clock = time.process_time()
        tape = sim.rollout(steps)
        least["forward"] = min(least["forward"], (time.process_time() - clock) / steps)
        clock = time.process_time()
        tape.step_jacobians(mechanism=mechanism)
        least["all"] = min(least["all"], (time.process_time() - clock) / steps)
        clock = time.process_time()
        for k in range(steps):
            tape.step_jacobians(k, mechanism)
        least["one"] = min(least["one"], (time.process_time() - clock) / steps)
    told = "  ".join(f"{key} {1e3 * value:.3f}" for key, value in least.items())
    print(f"{name:24s} A, B of 32 coordinates: {told} ms (recorded step; Jacobians of {steps} at once, one at a time)")


def measure_step(name: str, strength: float) -> None:
    """Jacobians of a step of 32 links by all of their 768 numbers."""
    world = chain(strength, links=32)
    tape, least = world.rollout(3), np.inf
    for _ in range(ROUNDS):
        clock = time.process_time()
        rows = len(tape.step_jacobians(1)[0])
        least = min(least, time.process_time() - clock)
    print(f"{name:24s} Jacobians of states {1e3 * least:6.1f} ms, {1e6 * least / rows:.0f} µs a row")


def measure_memory(name: str, world: World, bodies: int) -> None:
    """Bytes that 200 more steps of a rollout keep: what is free again once the tape is gone."""
    tracemalloc.start()
    held = []
    for steps in (3, 100, 300):  # the first has what a world keeps for itself
        tape = world.rollout(steps)
        gc.collect()
        full = tracemalloc.get_traced_memory()[0]
        del tape
        gc.collect()
        held.append(full - tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    print(f"{name:24s} {(held[2] - held[1]) / 200 / bodies:.0f} B per body and step")


if __name__ == "__main__":
    measure("chain 100, penalty, bdf1", lambda: chain(100.0))
    measure("chain 100, exact, bdf1", lambda: chain(np.inf))
    measure("chain 100, penalty, ctr", lambda: chain(100.0, "ctr"))
    measure("chain 100, exact, ctr", lambda: chain(np.inf, "ctr"))
    measure("pile 125, bdf1", pile, 40, ROUNDS)
    measure_jacobians("hinges, penalty, bdf1", 100.0)
    measure_jacobians("hinges, exact, bdf1", None)
    measure_jacobians("hinges, exact, branching", None, True)
    measure_step("chain 32, penalty, bdf1", 100.0)
    measure_step("chain 32, exact, bdf1", np.inf)
    for method in ("bdf1", "bdf2", "ctr"):
        measure_memory(f"chain 100, penalty, {method}", chain(100.0, method), 101)
        measure_memory(f"chain 100, exact, {method}", chain(np.inf, method), 101)
        for damping in (0.0, 0.1):
            sim, _ = hinges(None, count=100, integrator=method, damping=damping)
            sim.step()
            told = f"hinges, exact, {method}" + (", dampers" if damping else "")
            measure_memory(told, sim.world, 101)

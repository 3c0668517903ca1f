"""Threads inside a step: the same bits for any number of them, and each mapped kernel against its one chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from contact_scenes import BOX, L_SHAPE, MESHES, STAR, TORUS, Stage, scaled
from joint_scenes import JOINTS, MEMBERS, Bench
from scenes import assert_same_arrays, mixed_scene, pose, rotation

from dovetail import Engine, Scene, Sim, World
from dovetail.errors import ConfigError, SceneError
from dovetail.geometry import ground, label_surface
from dovetail.kernel.threads import chunks, using
from dovetail.solver.contact.kinds import PAIR
from dovetail.solver.contact.known import reaching
from dovetail.solver.contact.near import near_bodies
from dovetail.solver.contact.normal import add_normal_gradient
from dovetail.solver.contact.room import Room

GRAIN = 0.05  # [µs]: a handful of candidates are many chunks
FRAMES = 4


def heap(rng: np.random.Generator, sizes: int = 3, d_hat: float = 0.01, **config: Any) -> Stage:
    """Boxes and concave bodies, a little aslant, fall onto the ground and onto each other."""
    stage = Stage(gravity=(0, 0, -9.8), d_hat=d_hat, **config)
    stage.material(0.4)
    stage.ground()
    for layer, mesh in enumerate([BOX, L_SHAPE, STAR, TORUS][: sizes + 1]):
        size = 0.3 / np.ptp(mesh[0], axis=0).max()
        places = [(0.33 * i, 0.33 * j, 0.17 + 0.33 * layer) for i in range(sizes) for j in range(sizes)]
        poses = [pose(at, rotation(rng.standard_normal(3), 0.04)) for at in places]
        stage.add(f"layer {layer}", scaled(mesh, size), poses, velocity=(0, 0, -3.0))
    return stage


def machine(**config: Any) -> Sim:
    """Exact joints, round bodies that roll with friction, contacts that remember: all of the short form."""
    sim = Sim(friction=0.6, config=config)
    sim.ground()
    before = None
    for k in range(6):
        link = sim.box((0.2, 0.04, 0.04), pos=(0.22 * k, 0, 0.021), velocity=(0, 0, -0.5))
        if before is not None:
            sim.revolute(before, link, pos=(0.22 * k - 0.11, 0, 0.021), axis=(0, 1, 0), limit=(-1.0, 1.0))
        before = link
        sim.sphere(0.05, pos=(0.22 * k, 0.2, 0.051), velocity=(0, -2.0, 0), rolling_friction=0.01)
    return sim


def meshes(**config: Any) -> Stage:
    """Two of each mesh, of which one falls onto the other."""
    stage = Stage(gravity=(0, 0, -9.8), d_hat=0.01, **config)
    stage.material(0.4)
    stage.ground()
    for k, (name, mesh) in enumerate(MESHES.items()):
        high = np.ptp(mesh[0][:, 2])
        poses = [pose((1.5 * k, 0, -mesh[0][:, 2].min() + 0.02 + z * (high + 0.02))) for z in range(2)]
        stage.add(name, mesh, poses, velocity=(0.2, 0, -2.0))
    return stage


def joints(**config: Any) -> Bench:
    """One of each joint between two boxes that fall onto the ground."""
    bench = Bench({"contact/enable": 1, "contact/d_hat": 0.01, **config}, gravity=(0, 0, -9.8))
    bench.scene.objects.create("ground").geometries.create(ground(0.0, [0.0, 0.0, 1.0]))
    for k, kind in enumerate([*JOINTS.values(), *MEMBERS.values()]):
        left, right = (bench.box(f"box {k} {y}", at=(2.0 * k, y, 0.205)) for y in (0.0, 0.5))
        for box in (left, right):
            label_surface(box.geometry)
        bench.join(kind, [left], [right], (2.0 * k, 0.25, 0.2), (2.0 * k + 0.1, 0.3, 0.25), name=f"joint {k}")
    return bench


def of_scene(scene: Scene) -> World:
    world = World(Engine("cpu"))
    world.init(scene)
    return world


SCENES: dict[str, Callable[[dict[str, Any]], World]] = {
    "heap": lambda config: of_scene(heap(np.random.default_rng(5), 2, **config).scene),
    "heap, conjugate": lambda config: of_scene(
        heap(np.random.default_rng(6), 2, newton__direction="conjugate", **config).scene
    ),
    "machine": lambda config: machine(**{key.replace("__", "/"): value for key, value in config.items()}).world,
    "joints": lambda config: of_scene(mixed_scene(**config)),
    "every mesh": lambda config: of_scene(meshes(**config).scene),
    "every joint": lambda config: joints(**{key.replace("__", "/"): value for key, value in config.items()}).world,
}


def outcome(make: Callable[[dict[str, Any]], World], threads: int) -> dict[str, np.ndarray]:
    """All that the next step depends on after some frames, and what is read."""
    world = make({"threads__count": threads, "threads__grain": GRAIN})
    for _ in range(FRAMES):
        world.advance()
        world.retrieve()
    energies = {f"energy/{name}": np.array(value) for name, value in world.energies().items()}
    return {**world.state().arrays, **energies}


@pytest.mark.parametrize("make", SCENES.values(), ids=SCENES.keys())
def test_results_are_bit_identical_for_any_number_of_threads(make):
    alone = outcome(make, 1)
    if "contact/pairs" in alone:
        with using(grain=GRAIN):
            assert len(chunks(len(alone["contact/pairs"]), 8.0)) > 4  # else nothing was shared out
    for threads in (2, 3, 4, 8):
        assert_same_arrays(outcome(make, threads), alone)


def test_kernels_over_chunks_agree_with_one_chunk():
    """Everything but sums to the last bit; sums of chunks to the rounding of some thousand terms, 1e-12."""
    found: list[dict[str, np.ndarray]] = []
    for grain in (1e9, GRAIN):
        with using(3, grain):
            probe = heap(np.random.default_rng(7), d_hat=0.04).probe()
            contact, Q = probe.contact, probe.Q.copy()
            motion = np.zeros_like(Q)
            motion[:, 0, 2] = np.linspace(-0.2, 0.1, len(Q))
            share = probe.free_share(Q, motion)
            g, H = probe.derivatives(Q)
            assert probe.at is not None and probe.at.contacts is not None
            s, rub = probe.at.contacts, contact.friction
            assert s.count > 20 and rub.count > 20
            moved = Q + 1e-5 * np.random.default_rng(8).standard_normal(Q.shape)
            force, work = rub.slips(Q, moved)
            gradient, rubbed, E = np.zeros((len(Q), 12)), np.zeros((len(Q), 12)), np.zeros(len(Q))
            add_normal_gradient(s, contact.scene, contact.assembly.normal, contact.assembly.everybody, gradient)
            rub.add_gradient(Q, moved, rubbed)
            contact.add_friction_energy(moved, np.ones(len(Q), np.int64), E)
            budget, reach = np.full(len(Q), 0.2), reaching(contact.candidates, s.X, contact.watch.path, 2.0)
            fixed = probe.model.bodies.is_fixed
            found.append({
                "active": s.candidate[: s.count], "xi": s.xi[: s.count], "energy": s.energy[: s.count], "g": g, "H": H,
                "pairs": contact.candidates.pairs, "numbers": contact.candidates.numbers, "share": np.array(share),
                "islands": probe.model.islands.of.copy(), "marks": probe.model.islands.marks.copy(),
                "load": rub.load[: rub.count], "force": force, "gradient": gradient, "rubbed": rubbed, "E": E,
                "on bodies": rub.on_bodies(Q, moved, probe.h),
                "near": near_bodies(contact.scene, Room(contact.scene), fixed, budget, Q),
                "soon": np.unique(contact.touching(s), axis=0), "work": np.array(work),
                "reach": np.unique(contact.candidates.pairs[reach, PAIR]),
            })  # fmt: skip
    one, many = found
    np.testing.assert_allclose(many.pop("work"), one.pop("work"), rtol=1e-12)  # a sum of those of chunks
    assert_same_arrays(many, one)


def test_the_number_of_threads_is_given_to_a_sim_or_in_the_config(monkeypatch):
    assert Sim(threads=3).scene.config["threads/count"] == 3
    assert Sim().scene.config["threads/count"] == 0
    for bad in (0, -2, 1.5, True, "all"):
        with pytest.raises(SceneError, match="threads"):
            Sim(threads=bad)
    with pytest.raises(ConfigError, match="threads/count"):
        Sim(config={"threads/count": -1})
    monkeypatch.setenv("DOVETAIL_THREADS", "many")
    sim = Sim()
    sim.box((1, 1, 1))
    with pytest.raises(ConfigError, match="DOVETAIL_THREADS: the environment says 'many'"):
        sim.step()

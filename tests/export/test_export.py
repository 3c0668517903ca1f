"""Exports: other programs' readers find the bodies where the recording has them."""

from __future__ import annotations

import csv
import importlib.util
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import trimesh

from dovetail import Sim
from dovetail.errors import RecordingError
from dovetail.export import ENDINGS, export
from dovetail.export.timeline import evenly, thinned
from dovetail.io import Recording


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A swinging rod and a spinning, soft ball above a floor, half a second in steps of 10 ms."""
    sim = Sim(dt=0.01, kappa=1e5)
    sim.ground(-1.0)
    rod = sim.box((0.6, 0.1, 0.1), pos=(0.3, 0, 1), color="red", name="rod no. 1", spin=(0, 3, 0))
    sim.sphere(0.1, pos=(0, 1, 0), spin=(0, 0, 20), name="ball", detail=1)
    sim.box(0.2, pos=(-1, 0, 0), fixed=True, name="post")
    sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), name="hinge")
    target = tmp_path_factory.mktemp("recordings") / "swing.dove"
    with sim.record(target):
        sim.step(50)
    return target


def placed(recording, name, frame):
    """Vertices of a body in the world."""
    k = recording.body(name)
    T = recording.transforms(frame)[k]
    return recording.bodies[k].vertices @ T[:3, :3].T + T[:3, 3]


def same_points(found, expected, atol):
    """Whether two clouds hold the same places, whatever order and repetition."""
    for one, other in ((found, expected), (expected, found)):
        distance = np.linalg.norm(one[:, None] - other[None], axis=2).min(axis=1)
        assert distance.max() < atol


# --- which frames --------------------------------------------------------------------------------------------


def test_thinning_keeps_the_pace_and_both_ends():
    times = 0.01 * np.arange(101)
    kept, shown = thinned(times, fps=30, speed=1)
    assert len(kept) == 31 and kept[0] == 0 and kept[-1] == 100
    np.testing.assert_allclose(shown, times[kept])
    assert np.diff(shown).max() < 0.05
    assert len(thinned(times, 1000, 1)[0]) == 101
    slow = thinned(times, 30, 0.1)
    assert len(slow[0]) == 101 and np.isclose(slow[1][-1], 10.0)
    assert thinned(np.array([0.5]), 30, 1)[0].tolist() == [0]


def test_films_show_the_nearest_frame_at_even_times():
    times = np.array([0.0, 0.1, 0.2, 0.5])
    assert evenly(times, fps=10, speed=1).tolist() == [0, 1, 2, 2, 3, 3]
    assert evenly(times, fps=4, speed=2).tolist() == [0, 3]
    assert evenly(np.array([1.0]), 30, 1).tolist() == [0]


def test_what_was_gone_back_over_is_shown_from_the_last_beginning():
    times = np.array([0.0, 0.1, 0.2, 0.1, 0.2, 0.3])
    assert thinned(times, 100, 1)[0].tolist() == [3, 4, 5]


# --- formats -------------------------------------------------------------------------------------------------


def test_a_glb_opens_elsewhere_with_bodies_where_they_were(path, tmp_path):
    import pygltflib

    export(path, tmp_path / "swing.glb", fps=100)
    scene = trimesh.load(tmp_path / "swing.glb")
    recording = Recording(path)
    turn = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])  # z up → y up
    for name in ("rod no. 1", "ball", "post"):
        node = next(node for node in scene.graph.nodes_geometry if node == name)
        transform, geometry = scene.graph[node]
        found = scene.geometry[geometry].vertices @ transform[:3, :3].T + transform[:3, 3]
        same_points(found, placed(recording, name, 0) @ turn.T, atol=1e-6)  # float32
        assert scene.geometry[geometry].vertex_normals.shape == scene.geometry[geometry].vertices.shape
    document = pygltflib.GLTF2().load(tmp_path / "swing.glb")
    names = [node.name for node in document.nodes]
    channels = {(names[c.target.node], c.target.path): c.sampler for c in document.animations[0].channels}
    assert ("rod no. 1", "translation") in channels and ("ball", "rotation") in channels
    assert not any(name == "post" for name, _ in channels)  # it never moves
    last = {path: keyframe(document, channels["rod no. 1", path], -1) for path in ("translation", "rotation")}
    T = recording.transforms(-1)[recording.body("rod no. 1")]
    np.testing.assert_allclose(last["translation"], T[:3, 3], atol=1e-6)
    R = trimesh.transformations.quaternion_matrix(last["rotation"][[3, 0, 1, 2]])[:3, :3]
    stretch = keyframe(document, channels["rod no. 1", "scale"], -1)  # κ = 1e5 is soft
    np.testing.assert_allclose(R * stretch, T[:3, :3], atol=1e-4)  # all but the shear
    quaternions = values(document, document.animations[0].samplers[channels["ball", "rotation"]].output)
    assert (np.einsum("ni,ni->n", quaternions[1:], quaternions[:-1]) > 0).all()  # no flips between keyframes


def values(document, accessor):
    entry = document.accessors[accessor]
    view = document.bufferViews[entry.bufferView]
    blob = document.binary_blob()[view.byteOffset : view.byteOffset + view.byteLength]
    return np.frombuffer(blob, np.float32).reshape(entry.count, -1)


def keyframe(document, sampler, index):
    return values(document, document.animations[0].samplers[sampler].output)[index]


@pytest.mark.parametrize("ending", ["usda", "usdc"])
def test_usd_has_time_samples_of_the_whole_affine_map(path, tmp_path, ending):
    from pxr import Usd, UsdGeom

    export(path, tmp_path / f"swing.{ending}", fps=100)
    stage = Usd.Stage.Open(str(tmp_path / f"swing.{ending}"))
    recording = Recording(path)
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert (stage.GetStartTimeCode(), round(stage.GetEndTimeCode(), 6)) == (0.0, 50.0)
    rod = next(p for p in stage.Traverse() if p.GetDisplayName() == "rod no. 1")
    for frame in (0, 20, 50):
        matrix = UsdGeom.Xformable(rod).GetLocalTransformation(Usd.TimeCode(frame))
        np.testing.assert_allclose(np.array(matrix).T, recording.transforms(frame)[recording.body("rod no. 1")])
    mesh = UsdGeom.Mesh(rod.GetChild("mesh"))
    same_points(np.array(mesh.GetPointsAttr().Get()), recording.bodies[recording.body("rod no. 1")].vertices, 1e-6)
    assert np.allclose(mesh.GetDisplayColorAttr().Get()[0], recording.bodies[recording.body("rod no. 1")].color)
    assert stage.GetPrimAtPath("/World/ground_1")


def test_an_obj_sequence_has_every_body_in_every_file(path, tmp_path):
    export(path, tmp_path / "frames", fps=20)
    files = sorted((tmp_path / "frames").iterdir())
    recording = Recording(path)
    numbers, _ = thinned(recording.times, 20, 1)
    assert [file.name for file in files] == [f"frame_{k:05d}.obj" for k in range(len(numbers))]
    blocks = dict(block.split("\n", 1) for block in files[-1].read_text().split("\no ")[1:])
    assert {"rod_no._1", "ball", "post"} <= blocks.keys()
    for name in ("rod no. 1", "ball"):
        lines = blocks[name.replace(" ", "_")].splitlines()
        vertices = [[float(x) for x in line.split()[1:]] for line in lines if line.startswith("v ")]
        np.testing.assert_allclose(vertices, placed(recording, name, -1), atol=1e-8)
    whole = trimesh.load(files[0], process=False)
    triangles = sum(len(body.triangles) for body in recording.bodies)
    assert len(whole.faces) == triangles and whole.volume > 0
    export(path, tmp_path / "frames", fps=10, overwrite=True)
    assert len(list((tmp_path / "frames").iterdir())) == 6
    assert sorted(p.name for p in tmp_path.iterdir()) == ["frames"]


def test_a_table_has_every_number_with_all_its_digits(path, tmp_path):
    export(path, tmp_path / "swing.csv")
    rows = list(csv.DictReader((tmp_path / "swing.csv").read_text().splitlines()))
    recording = Recording(path)
    assert len(rows) == 51 and rows[7]["frame"] == "7"
    assert [float(row["hinge/angle"]) for row in rows] == recording.history("hinge", "angle").tolist()
    force = [[float(row[f"hinge/reaction/force/{axis}"]) for axis in "xyz"] for row in rows]
    np.testing.assert_array_equal(force, recording.history("hinge", "reaction/force"))
    assert float(rows[-1]["energy/kinetic"]) == recording.energies(-1)["kinetic"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # imageio leaves its reader's pipes open
@pytest.mark.parametrize("ending", ["mp4", "gif"])
def test_a_film_shows_the_bodies_move(path, tmp_path, ending):
    imageio = pytest.importorskip("imageio.v2")
    export(path, tmp_path / f"swing.{ending}", fps=10, width=320, height=176)
    with imageio.get_reader(tmp_path / f"swing.{ending}") as film:
        frames = [np.asarray(frame)[:, :, :3].astype(float) for frame in film]
    assert len(frames) == 6 and frames[0].shape == (176, 320, 3)
    red = [(frame[:, :, 0] > frame[:, :, 1] + 40) & (frame[:, :, 0] > frame[:, :, 2] + 40) for frame in frames]
    heights = [np.nonzero(mask)[0].mean() for mask in red]
    assert all(mask.sum() > 50 for mask in red)  # the rod is seen, not black and not hidden
    assert heights[3] > heights[0] + 3  # it swings down; rows are counted from above
    assert frames[0][0].mean() > 200  # a light background
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"swing.{ending}"]


def test_a_gif_plays_in_real_time(path, tmp_path):
    """Its clock ticks in hundredths of a second: thirty pictures a second last 3, 4, 3, 3, 4, 3, … of them."""
    image = pytest.importorskip("PIL.Image")
    export(path, tmp_path / "swing.gif", width=64, height=36)
    with image.open(tmp_path / "swing.gif") as film:
        lasts = []
        for frame in range(film.n_frames):
            film.seek(frame)
            lasts.append(film.info["duration"])
    # 0.5 s, the picture at its end included, to a hundredth
    assert sum(lasts) == pytest.approx(1000 * 16 / 30, abs=10)
    assert set(lasts) == {30, 40}


def test_a_film_follows_a_body_and_tells_its_progress(path, tmp_path, capsys):
    imageio = pytest.importorskip("imageio.v3")
    export(path, tmp_path / "a.gif", fps=10, width=160, height=96, follow="rod no. 1", progress=True)
    assert "6/6" in capsys.readouterr().out
    frames = imageio.imread(tmp_path / "a.gif")[..., :3].astype(float)
    for frame in frames[:4]:  # later its bright sides are not in its middle
        red = (frame[..., 0] > frame[..., 1] + 40) & (frame[..., 0] > frame[..., 2] + 40)
        np.testing.assert_allclose(
            np.argwhere(red).mean(axis=0), [48, 80], atol=6
        )  # in the middle, but for perspective
    with pytest.raises(RecordingError, match=r"\.glb files take no option follow; only films do"):
        export(path, tmp_path / "a.glb", follow="rod no. 1")


# --- refusals ------------------------------------------------------------------------------------------------


def test_what_exists_is_refused_and_what_cannot_be_is_told(path, tmp_path):
    (tmp_path / "a.csv").write_text("precious")
    with pytest.raises(RecordingError, match=r"exists already; .* overwrite=True"):
        export(path, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "precious"
    with pytest.raises(RecordingError, match=r"ends in '.blend'; it can be .csv, .gif"):
        export(path, tmp_path / "a.blend")
    with pytest.raises(RecordingError, match=r"folder .* does not exist"):
        export(path, tmp_path / "no" / "a.glb")
    with pytest.raises(RecordingError, match=r"speed = 0; give numbers above 0"):
        export(path, tmp_path / "a.glb", speed=0)
    sim = Sim()
    sim.box(1)
    with sim.record(tmp_path / "empty.dove"):
        pass
    from dovetail.io import Recorder

    Recorder(tmp_path / "empty.dove", sim.world).close()
    with pytest.raises(RecordingError, match="has no frames"):
        export(tmp_path / "empty.dove", tmp_path / "a.glb")


def test_a_page_is_written_by_its_ending(path, tmp_path):
    page = export(path, tmp_path / "swing.html", fps=10)
    assert page.read_text(encoding="utf-8").count("<title>swing · dovetail</title>") == 1
    with pytest.raises(RecordingError, match="exists already"):
        export(path, page)
    export(path, page, fps=5, overwrite=True)


def test_the_table_of_endings_is_what_export_takes(tmp_path):
    """Every ending of the page about recordings, and no other."""
    page = (Path(__file__).parents[2] / "docs" / "recordings.md").read_text(encoding="utf-8")
    table = page.split("| ending | what | needs |")[1].split("\n\n")[0]
    told = {ending for row in table.splitlines()[2:] for ending in re.findall(r"`(\.\w+)`", row.split("|")[1])}
    assert told == {ending for ending in ENDINGS if ending}


FULL_DISK = """
    import resource, signal, sys
    from dovetail.export import export
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))  # every file is as if the disk were full then
    for target in sys.argv[2:]:
        try:
            export(sys.argv[1], target)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
"""


def test_a_full_disk_is_told_in_a_sentence_and_leaves_nothing(path, tmp_path):
    endings = sorted(ENDINGS.keys() - {"", ".gif", ".mp4"})
    if importlib.util.find_spec("pxr") is None:
        endings = [ending for ending in endings if not ending.startswith(".usd")]
    code, targets = textwrap.dedent(FULL_DISK), [tmp_path / f"full{ending}" for ending in endings]
    done = subprocess.run([sys.executable, "-c", code, path, *targets], capture_output=True, text=True, check=True)
    for target, told in zip(targets, done.stdout.splitlines(), strict=True):
        pattern = rf"(Recording|Viewer)Error: \w+: cannot write '{re.escape(str(target))}': .*File too large"
        assert re.match(pattern, told), told
    assert list(tmp_path.iterdir()) == []

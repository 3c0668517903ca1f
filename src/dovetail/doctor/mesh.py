"""The examination of a mesh: closed, oriented, intersecting, thin against d_hat, of a sensible size."""

from __future__ import annotations

import numpy as np

from dovetail.checked import LARGEST, checked
from dovetail.constitution import AffineBodyConstitution
from dovetail.core import Engine, Scene, World
from dovetail.doctor.finding import Finding, problem, remark, warning
from dovetail.doctor.surface import DirectedEdges, components, merged, signed_volume, thinnest
from dovetail.errors import DovetailError, GeometryError
from dovetail.geometry import SimplicialComplex, extract_surface, label_surface, trimesh
from dovetail.geometry.affine_body import build_abd_mass_matrix
from dovetail.messages import counted
from dovetail.typing import Array, Indices

__all__ = ["examine_mesh", "walls"]

_MANY = 20_000  # triangles


@checked(GeometryError)
def examine_mesh(mesh: SimplicialComplex, d_hat: float = 1e-3) -> list[Finding]:
    """What is wrong with a mesh as the shape of a body, problems first; `d_hat` [m] is the contact distance."""
    reach = float(d_hat)
    if not 0.0 < reach <= LARGEST:
        raise GeometryError(f"examine_mesh: d_hat = {reach:g} [m]; give a positive length.")
    if mesh.dim() < 2:
        what = ("points", "lines")[mesh.dim()]
        return [remark(f"a mesh of {mesh.vertices.size()} {what}; only surfaces and tetrahedra are examined")]
    surface = extract_surface(mesh) if mesh.dim() == 3 else mesh
    points = np.asarray(surface.positions.values, float)
    triangles = np.asarray(surface.triangles.topo.values, np.int64)
    lost = np.flatnonzero(~(np.abs(points) <= LARGEST).all(axis=1))
    if len(lost):
        flaw = f"vertex {lost[0]} is at {points[lost[0]].tolist()}"
        return [problem(flaw, "give finite positions; the program that wrote it divided by zero somewhere.")]
    if len(triangles) == 0:
        return [problem("the mesh has no triangles", "export it again with its faces.")]
    findings = [*_closure(points, triangles), *_triangles(points, triangles)]
    if not any(finding.kind == "problem" for finding in findings):
        findings += _orientation(points, triangles)
    findings += _intersections(surface)
    findings += walls(points, triangles, reach)
    findings += _size(points, triangles)
    order = ("problem", "warning", "remark")
    return sorted(findings, key=lambda finding: order.index(finding.kind))


def _closure(points: Array, triangles: Indices) -> list[Finding]:
    edges = DirectedEdges(triangles)
    found = []
    if len(edges.open):
        diagonal = float(np.linalg.norm(np.ptp(points, axis=0)))
        closed = not len(DirectedEdges(merged(points, triangles, 1e-9 * diagonal)[1]).open)
        nearly = closed or not len(DirectedEdges(merged(points, triangles, 1e-5 * diagonal)[1]).open)
        somewhere = _place(points[edges.open[0]].mean(axis=0))
        text = f"the surface is open at {counted(len(edges.open), 'edge')}, for example at {somewhere}"
        if closed:
            advice = "vertices at equal places are not joined: merge them (trimesh: mesh.merge_vertices())."
        elif nearly:
            advice = "vertices that are nearly at equal places are not joined: weld them with a small distance."
        else:
            advice = "fill the holes (trimesh: mesh.fill_holes()), or use it as a shell: sim.mesh(…, thickness=…)."
        found.append(problem(text, advice))
    if len(edges.clashing):
        found.append(
            problem(
                f"neighbouring triangles wind in opposite senses at {counted(len(edges.clashing), 'edge')}, "
                "for example at "
                f"{_place(points[edges.clashing[0]].mean(axis=0))}",
                "make the winding consistent (trimesh: mesh.fix_normals()).",
            )
        )
    if len(edges.crowded):
        found.append(
            warning(
                f"{counted(len(edges.crowded), 'edge belongs', 'edges belong')} to more than two triangles, for "
                "example at "
                f"{_place(points[edges.crowded[0]].mean(axis=0))}",
                "separate the parts that meet there, unless that is meant.",
            )
        )
    return found


def _triangles(points: Array, triangles: Indices) -> list[Finding]:
    found = []
    a, b, c = (points[triangles[:, k]] for k in range(3))
    longest = np.linalg.norm(np.stack([b - a, c - b, a - c]), axis=2).max(axis=0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    flat = np.flatnonzero(area <= 1e-9 * longest**2)
    if len(flat):
        found.append(
            warning(
                f"{counted(len(flat), 'triangle has', 'triangles have')} no area, the first is number {flat[0]}",
                "remove them or move a vertex.",
            )
        )
    doubled = len(triangles) - len(np.unique(np.sort(triangles, axis=1), axis=0))
    if doubled:
        found.append(warning(f"{doubled} triangles are there twice", "remove the copies."))
    unused = len(points) - len(np.unique(triangles))
    if unused:
        found.append(remark(f"{unused} vertices belong to no triangle; contact does not see them"))
    return found


def _orientation(points: Array, triangles: Indices) -> list[Finding]:
    volume = signed_volume(points, triangles)
    if volume < 0:
        text = f"the surface is inside out: its volume is {volume:.3g} m³"
        return [problem(text, "reverse all triangles (trimesh: mesh.invert()).")]
    if volume == 0:
        return [problem("the volume is 0", "give the mesh extent in all three directions, or use it as a shell.")]
    return []


def _intersections(surface: SimplicialComplex) -> list[Finding]:
    """Ask contact itself, with a body that may touch itself."""
    body = trimesh(surface.positions.values, surface.triangles.topo.values)
    label_surface(body)
    AffineBodyConstitution().apply_to(body, 1e8, build_abd_mass_matrix(1.0, np.zeros(3), np.eye(3)), 1.0)
    body.meta["self_collision"] = 1
    scene = Scene({"sanity_check/mode": "quiet", "contact/d_hat": 1e-6})
    scene.objects.create("mesh").geometries.create(body)
    world = World(Engine("cpu"))
    try:
        flaws = _quietly(world, scene)
    except DovetailError:  # of a mesh that is refused for another reason, which has been found before
        return []
    return [problem(text, "mend the mesh, or make its parts separate bodies.") for text in flaws]


def _quietly(world: World, scene: Scene) -> list[str]:
    """First sentences of what the sanity check finds, without its log."""
    import logging

    log = logging.getLogger("dovetail")
    before, log.disabled = log.disabled, True
    try:
        with np.errstate(all="ignore"):  # triangles without area have no normal
            world.init(scene)
    finally:
        log.disabled = before
    if world.is_valid():
        return []
    lines = [line for message in world.sanity_checker().errors().values() for line in message.message().splitlines()]
    return [line.split(";")[0].replace("instance 0 of 'mesh' (geometry 0)", "the mesh") for line in lines]


def walls(points: Array, triangles: Indices, d_hat: float) -> list[Finding]:
    """Walls and slots that d_hat is large for."""
    found = []
    wall = thinnest(points, triangles, outward=False)
    if wall is not None:
        text = f"the thinnest wall is {_length(wall.distance)}, near {_place(wall.place)}"
        if wall.distance < 3 * d_hat:
            advice = (
                f"choose d_hat ≤ {wall.distance / 3:.1g} m, or make it thicker: contact then feels both sides at once."
            )
            found.append(warning(f"{text}, and d_hat is {_length(d_hat)}", advice))
        else:
            found.append(remark(text))
    slot = thinnest(points, triangles, outward=True)
    if slot is not None and slot.distance < 3 * d_hat:
        text = (
            f"the narrowest slot is {_length(slot.distance)}, near {_place(slot.place)}, and d_hat is {_length(d_hat)}"
        )
        most = f"{slot.distance / 6:.1g} m"
        found.append(warning(text, f"hardly anything fits in; choose d_hat ≤ {most} if something should."))
    return found


def _size(points: Array, triangles: Indices) -> list[Finding]:
    extent = np.ptp(points, axis=0)
    found = []
    if extent.max() > 50:
        found.append(
            warning(
                f"it is {extent.max():.4g} m long",
                "if the file is in millimetres, scale it by 0.001; lengths are in m.",
            )
        )
    elif extent.max() < 1e-3:
        found.append(warning(f"it is {extent.max():.2g} m long", "if that is not meant, scale it; lengths are in m."))
    if len(triangles) > _MANY:
        found.append(
            warning(
                f"it has {len(triangles):,} triangles",
                "contact is faster with fewer; simplify it (trimesh: mesh.simplify_quadric_decimation()).",
            )
        )
    volume = signed_volume(points, triangles)
    parts = components(len(points), triangles)
    size = " × ".join(f"{length:.3g}" for length in extent)
    found.append(
        remark(
            f"{counted(len(points), 'vertex', 'vertices')}, {counted(len(triangles), 'triangle')}, "
            f"{counted(parts, 'part')}, "
            f"{size} m, volume {volume:.4g} m³"
        )
    )
    return found


def _place(point: Array) -> str:
    return "(" + ", ".join(f"{x:.4g}" for x in point) + ") m"


def _length(value: float) -> str:
    return f"{1e3 * value:.3g} mm"

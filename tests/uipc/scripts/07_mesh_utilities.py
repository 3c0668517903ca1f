"""Section 7: mesh factories and utilities."""

import numpy as np
import uipc
from shapes import CORNERS, QUADS, TETS, box, solid_box
from uipc import Transform, Vector3, view
from uipc.constitution import AffineBodyConstitution
from uipc.geometry import (
    affine_body,
    apply_region,
    apply_transform,
    closest_vertex_triangle_pairs,
    compute_mesh_d_hat,
    constitution_type,
    extract_surface,
    facet_closure,
    flip_inward_triangles,
    ground,
    halfplane,
    is_trimesh_closed,
    label_connected_vertices,
    label_open_edge,
    label_region,
    label_surface,
    label_triangle_orient,
    linemesh,
    merge,
    optimal_transform,
    pointcloud,
    points_from_volume,
    tetmesh,
    tetrahedralization_default_config,
    tetrahedralize,
    trimesh,
)


def refused(call, *arguments):
    try:
        call(*arguments)
    except uipc.Exception:
        return
    raise AssertionError(f"{call} was accepted")


tet = tetmesh(Vs=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], Ts=np.array([[0, 1, 2, 3]]))
assert (tet.vertices().size(), tet.edges().size(), tet.triangles().size()) == (4, 6, 4)
assert tet.edges().find("is_facet") and tet.instances().size() == 1
tetmesh(CORNERS.astype(np.float32).reshape(-1, 3, 1), TETS)
assert trimesh(Vs=CORNERS, Fs=QUADS).triangles().size() == 12
assert trimesh(CORNERS, [[0, 1, 3]]).triangles().size() == 1
refused(trimesh, CORNERS, [[0, 1]])
assert linemesh(Vs=np.eye(3), Es=[[0, 1], [1, 2]]).edges().size() == 2 and pointcloud(np.eye(3)).dim() == 0

g = ground(height=-1.0)
assert g.instances().find("P").view()[0, 1, 0] == -1.0 and g.instances().find("is_fixed").view()[0] == 1
assert g.meta().find("implicit_geometry_uid").view()[0] == 1
assert ground(0.5, N=Vector3.UnitZ()).instances().find("P").view()[0, 2, 0] == 0.5
assert halfplane(P=Vector3.Zero(), N=Vector3.UnitX() * 2).instances().find("N").view()[0, 0, 0] == 2.0

cube = solid_box(1.0)
assert cube.triangles().find("parent_id") and cube.vertices().find("is_surf").view().all()
orient = label_triangle_orient(cube)
assert set(orient.view().tolist()) <= {-1, 0, 1}
flipped = flip_inward_triangles(cube)
assert flipped is not cube and set(flipped.triangles().find("orient").view().tolist()) <= {0, 1}
refused(label_triangle_orient, box())
surface = extract_surface(cube)
assert surface.dim() == 2 and is_trimesh_closed(surface) and extract_surface([cube, cube]).triangles().size() == 24

two = box()
two.instances().resize(2)
view(two.transforms())[1] = Transform.Identity().translate([2, 0, 0]).matrix()
parts = apply_transform(two)
whole = merge(parts)
assert len(parts) == 2 and whole.vertices().size() == 16 and whole.instances().size() == 1
label_region(whole)
assert len(apply_region(whole)) == 2 and label_connected_vertices(whole).view().max() == 1
assert label_open_edge(trimesh(CORNERS, QUADS[:-1])).view().sum() == 4
assert facet_closure(tet).edges().size() == 6

d_hat = compute_mesh_d_hat(sc=two, max_d_hat=0.05)
assert d_hat.view()[0] == 0.05
refused(compute_mesh_d_hat, two, 0.05)
assert constitution_type(two) == "None"
AffineBodyConstitution().apply_to(two, 1e8)
assert constitution_type(two) == "AffineBody"

T = Transform.Identity().translate([1, 2, 3]).matrix()
q = affine_body.transform_to_q(T)
assert q.shape == (12, 1) and affine_body.transform_to_q(np.stack([T, T])).shape == (2, 12, 1)
np.testing.assert_allclose(q.ravel()[:3], [1, 2, 3])
np.testing.assert_allclose(affine_body.q_to_transform(q.ravel()), T)
assert affine_body.q_to_transform(np.zeros((4, 12))).shape == (4, 4, 4)
rate = affine_body.q_v_to_transform_v(affine_body.transform_v_to_q_v(T).ravel())
assert not rate[3].any()
m, mx, mxx = affine_body.compute_dyadic_mass(cube, 1000.0)
assert abs(m - 1000.0) < 1e-9 and mx.shape == (3, 1) and mxx.shape == (3, 3)
assert affine_body.compute_body_force(cube, [0.0, -9.8, 0.0]).shape == (12, 1)
M = affine_body.build_abd_mass_matrix(m, mx, mxx)
mass, center, inertia = affine_body.to_rigid_body(M)
np.testing.assert_allclose(affine_body.to_rigid_body(m, mx, mxx)[2], inertia)
np.testing.assert_allclose(affine_body.from_rigid_body(mass, center, inertia), M, atol=1e-9)

moved = CORNERS @ Transform.Identity().rotate(uipc.AngleAxis(0.3, Vector3.UnitY())).matrix()[:3, :3].T + [1, 0, 0]
best = optimal_transform(CORNERS, moved)
np.testing.assert_allclose(CORNERS @ best[:3, :3].T + best[:3, 3], moved, atol=1e-12)
assert points_from_volume(cube, 0.25).vertices().size() == 64
pairs = closest_vertex_triangle_pairs(pointcloud([[0, 0, 0.6], [0, 0, 5]]), box(1.0), 0.2)
assert pairs.instances().find("topo").view().shape == (1, 2, 1)
filled, report = tetrahedralize(box(1.0), tetrahedralization_default_config())
assert filled.dim() == 3 and abs(report["volume"] - 1.0) < 1e-12 and label_surface(filled) is None
print("section 7 done")

"""Meshes that the scripts share; imported from beside them, as plain Python finds it."""

import numpy as np
from uipc.geometry import label_surface, tetmesh, trimesh

CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
QUADS = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
TETS = np.array([[0, 1, 3, 5], [0, 3, 2, 6], [0, 5, 4, 6], [3, 6, 5, 7], [0, 3, 6, 5]])


def box(size=0.2):
    mesh = trimesh(CORNERS * size, QUADS)
    label_surface(mesh)
    return mesh


def solid_box(size=0.2):
    V, T = CORNERS * size, TETS.copy()
    volumes = np.linalg.det(V[T[:, 1:]] - V[T[:, :1]])
    T[volumes < 0] = T[volumes < 0][:, [0, 1, 3, 2]]
    mesh = tetmesh(V, T)
    label_surface(mesh)
    return mesh

"""Values of attributes from files: tables and geometries that `SpreadSheetIO` wrote, and data on meshes."""

from __future__ import annotations

import csv
import json
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.checked import checked
from dovetail.errors import DovetailError, GeometryError
from dovetail.geometry.atlas import geometry_from_json
from dovetail.geometry.attribute import AttributeSlot

__all__ = ["AttributeIO"]


class AttributeIO:
    """Reads attributes by name from one file.

    | format | where the values are |
    |---|---|
    | .csv | columns `name`, or `name[0]`, `name[1]`, `name[0,0]`, … of its components |
    | .json | the first collection of a geometry, as `SpreadSheetIO.write_json` wrote it, that has the attribute |
    | .npz | the array of that name |
    | .msh, .vtk, .vtu, .ply, … | data on points, else on cells, that meshio finds |
    """

    @checked(GeometryError)
    def __init__(self, file: str | PathLike[str]) -> None:
        self._file = Path(file)
        if not self._file.is_file():
            raise GeometryError(f"AttributeIO: there is no file '{file}'; check the path.")

    @checked(GeometryError)
    def read(self, name: str, slot: AttributeSlot) -> None:
        """Fill `slot`, which has as many elements, with the values of `name`."""
        who = f"AttributeIO: '{self._file}'"
        try:
            values = self._values(name)
        except DovetailError:
            raise
        except Exception as error:
            raise GeometryError(f"{who} cannot be read ({error}); export it again.") from None
        if values is None:
            raise GeometryError(f"{who} has no attribute '{name}'.")
        shape = slot.values.shape
        if values.size != np.prod(shape):
            raise GeometryError(
                f"{who}: '{name}' has shape {values.shape}, the attribute '{slot.name()}' {shape}; resize it first."
            )
        slot.assign(values.reshape(shape))

    def _values(self, name: str) -> Any:
        suffix = self._file.suffix.lower()
        if suffix == ".csv":
            return self._of_table(name)
        if suffix == ".json":
            geometry = geometry_from_json(json.loads(self._file.read_bytes()))
            slots = [found for _, part in geometry.collections() if (found := part.find(name)) is not None]
            return slots[0].values if slots else None
        if suffix == ".npz":
            with np.load(self._file, allow_pickle=False) as arrays:
                return arrays.get(name)
        return self._of_mesh(name)

    def _of_table(self, name: str) -> Any:
        with self._file.open(newline="", encoding="utf-8") as stream:
            header, *rows = csv.reader(stream)
        columns = [k for k, title in enumerate(header) if title == name or title.startswith(f"{name}[")]
        if not columns:
            return None
        return np.array([[float(row[k]) for k in columns] for row in rows])

    def _of_mesh(self, name: str) -> Any:
        import meshio

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mesh = meshio.read(self._file)
        if name in mesh.point_data:
            return np.asarray(mesh.point_data[name])
        return np.concatenate(mesh.cell_data[name]) if name in mesh.cell_data else None

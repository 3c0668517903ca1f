"""Attributes as tables to look at: one .csv file per collection, or one .json file per geometry."""

from __future__ import annotations

import csv
import io
import json
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

from dovetail.checked import checked, is_path, shown
from dovetail.errors import GeometryError
from dovetail.files import atomic_write
from dovetail.geometry.collection import AttributeCollection
from dovetail.geometry.geometry import Geometry

__all__ = ["SpreadSheetIO"]


class SpreadSheetIO:
    """Writes to `folder`, which must exist. A name may come first: `write_csv("arm", geo)`."""

    @checked(GeometryError)
    def __init__(self, folder: str | PathLike[str] = "./") -> None:
        self._folder = Path(folder)

    @checked(GeometryError)
    def write_json(self, name: str | Geometry, geometry: Geometry | None = None) -> None:
        """<name>.json with everything the geometry holds."""
        stem, written = _named(name, geometry)
        self._write(f"{stem}.json", json.dumps(written.to_json(), indent=1))

    @checked(GeometryError)
    def write_csv(self, name: str | Geometry, geometry: Geometry | None = None) -> None:
        """<name>.<collection>.csv for each collection that has elements: a line per element."""
        stem, written = _named(name, geometry)
        for label, collection in written.collections():
            if collection.size() and collection.attribute_count():
                self._write(f"{stem}.{label}.csv", _table(collection))

    def _write(self, file: str, text: str) -> None:
        if not is_path(file):
            raise GeometryError(f"SpreadSheetIO: {shown(file)} cannot name a file; choose another name.")
        try:
            atomic_write(self._folder / file, text)
        except OSError as error:
            raise GeometryError(f"writing '{self._folder / file}': {error.strerror or error}.") from error
        except UnicodeEncodeError as error:  # half of a character, which UTF-8 has no place for
            raise GeometryError(f"writing '{self._folder / file}': {error}; write another text.") from None


def _named(name: str | Geometry, geometry: Geometry | None) -> tuple[str, Geometry]:
    if isinstance(name, Geometry):
        return "geometry", name
    if geometry is None:
        raise GeometryError(f"SpreadSheetIO: no geometry was given with the name '{name}'.")
    return name, geometry


def _table(collection: AttributeCollection) -> str:
    """Columns `mass`, `position[0]`, `transform[0,0]`, ...; floats by their shortest exact text."""
    header: list[str] = []
    columns: list[list[Any]] = []
    for name in collection:
        slot = collection.slot(name)
        values = slot.values
        if slot.type_name() == "VectorXu64":
            header.append(name)
            columns.append([" ".join(map(str, uids.tolist())) for uids in values])
            continue
        for index in product(*map(range, values.shape[1:])):
            header.append(f"{name}[{','.join(map(str, index))}]" if index else name)
            component: tuple[Any, ...] = (slice(None), *index)
            columns.append(values[component].tolist())
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))
    return stream.getvalue()

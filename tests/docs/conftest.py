"""Pages define constitutions and functions of their own; these must not outlive the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dovetail.builtin import ConstitutionUIDCollection
from dovetail.constitution import base
from dovetail.solver.joint import function
from dovetail.world import simulation as _  # noqa: F401  registers the built-in functions


@pytest.fixture(autouse=True)
def registries_as_before() -> Iterator[None]:
    """Forget the UIDs and the functions that a page registers."""
    uids = ConstitutionUIDCollection.instance()._entries
    registries = (base._classes, uids, function.ENERGIES, function.COORDINATES, function.LAWS)
    before = [dict(registry) for registry in registries]
    yield
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)

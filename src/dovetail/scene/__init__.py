"""The description of a simulation: objects, configuration, contact materials, subscenes and animations."""

from __future__ import annotations

from dovetail.scene.animator import Animation, Animator
from dovetail.scene.config import ConfigAttributes
from dovetail.scene.constitution_tabular import ConstitutionTabular
from dovetail.scene.contact_tabular import (
    ContactElement,
    ContactModel,
    ContactModelCollection,
    ContactTabular,
)
from dovetail.scene.object import Object
from dovetail.scene.scene import Scene
from dovetail.scene.subscene_tabular import (
    SubsceneElement,
    SubsceneModel,
    SubsceneModelCollection,
    SubsceneTabular,
)

__all__ = [
    "Animation",
    "Animator",
    "ConfigAttributes",
    "ConstitutionTabular",
    "ContactElement",
    "ContactModel",
    "ContactModelCollection",
    "ContactTabular",
    "Object",
    "Scene",
    "SubsceneElement",
    "SubsceneModel",
    "SubsceneModelCollection",
    "SubsceneTabular",
]

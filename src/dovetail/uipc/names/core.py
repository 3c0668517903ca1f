"""The module `uipc.core`."""

from __future__ import annotations

from dovetail.core import (
    AffineBodyStateAccessorFeature,
    Animation,
    ConstitutionTabular,
    ContactElement,
    ContactModel,
    ContactModelCollection,
    ContactSystemFeature,
    ContactTabular,
    EngineStatus,
    EngineStatusCollection,
    Feature,
    FeatureCollection,
    Object,
    SanityChecker,
    SanityCheckMessage,
    SanityCheckResult,
    SceneSnapshot,
    SceneSnapshotCommit,
    SubsceneElement,
    SubsceneModel,
    SubsceneModelCollection,
    SubsceneTabular,
)
from dovetail.uipc.engine import Engine, IEngine, PyIEngine
from dovetail.uipc.files import SceneFactory, SceneIO
from dovetail.uipc.scene import Animator, Scene
from dovetail.uipc.world import World

__all__ = [
    "AffineBodyStateAccessorFeature",
    "Animation",
    "Animator",
    "ConstitutionTabular",
    "ContactElement",
    "ContactModel",
    "ContactModelCollection",
    "ContactSystemFeature",
    "ContactTabular",
    "DistanceDiagnoserFeature",
    "Engine",
    "EngineStatus",
    "EngineStatusCollection",
    "Feature",
    "FeatureCollection",
    "FiniteElementStateAccessorFeature",
    "IEngine",
    "IFeature",
    "Object",
    "PyIEngine",
    "SanityCheckMessage",
    "SanityCheckResult",
    "SanityChecker",
    "Scene",
    "SceneFactory",
    "SceneIO",
    "SceneSnapshot",
    "SceneSnapshotCommit",
    "SubsceneElement",
    "SubsceneModel",
    "SubsceneModelCollection",
    "SubsceneTabular",
    "World",
]

IFeature = Feature


class FiniteElementStateAccessorFeature(Feature):
    """States of deformable bodies; `world.features().find` gives None for it, since there are none."""

    FeatureName = "core/finite_element_state_accessor"


class DistanceDiagnoserFeature(Feature):
    """libuipc's search for near primitives; `world.features().find` gives None for it, use `world.contacts()`."""

    FeatureName = "core/distance_diagnoser"

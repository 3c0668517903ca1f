"""Engine, world, scene and what belongs to them: the names of libuipc's `uipc.core`."""

from __future__ import annotations

from dovetail.io.scene_io import SceneIO
from dovetail.scene import (
    Animation,
    Animator,
    ConstitutionTabular,
    ContactElement,
    ContactModel,
    ContactModelCollection,
    ContactTabular,
    Object,
    Scene,
    SubsceneElement,
    SubsceneModel,
    SubsceneModelCollection,
    SubsceneTabular,
)
from dovetail.scene.scene_factory import SceneFactory
from dovetail.scene.snapshot import SceneSnapshot, SceneSnapshotCommit
from dovetail.world.contact_system import ContactSystemFeature
from dovetail.world.engine import Engine, EngineStatus, EngineStatusCollection
from dovetail.world.features import AffineBodyStateAccessorFeature, Feature, FeatureCollection
from dovetail.world.push import AffineBodyPushFeature
from dovetail.world.sanity import SanityChecker, SanityCheckMessage, SanityCheckResult
from dovetail.world.world import World
from dovetail.world.world_state import WorldState

__all__ = [
    "AffineBodyPushFeature",
    "AffineBodyStateAccessorFeature",
    "Animation",
    "Animator",
    "ConstitutionTabular",
    "ContactElement",
    "ContactModel",
    "ContactModelCollection",
    "ContactSystemFeature",
    "ContactTabular",
    "Engine",
    "EngineStatus",
    "EngineStatusCollection",
    "Feature",
    "FeatureCollection",
    "Object",
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
    "WorldState",
]

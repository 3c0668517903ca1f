"""Random histories of collections against a model in plain Python lists."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dovetail.geometry import AttributeCollection, AttributeSlot, view

NAMES = st.sampled_from(["a", "b", "c"])
NUMBERS = st.integers(-5, 5)
PICK = st.integers(0, 1000)


class ModelStorage:
    """Values that model slots own together."""

    def __init__(self, values: list[float], default: float) -> None:
        self.values = values
        self.default = default


class ModelSlot:
    def __init__(self, storage: ModelStorage) -> None:
        self.storage = storage

    def detach(self) -> None:
        self.storage = ModelStorage(list(self.storage.values), self.storage.default)


class AttributeMachine(RuleBasedStateMachine):
    """Collections (some of them copies of others) and slots that are kept after their collection is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.collections: list[tuple[AttributeCollection, dict[str, ModelSlot]]] = []
        self.kept: list[tuple[AttributeSlot, ModelSlot]] = []
        self.new_collection(3)

    def pairs(self) -> list[tuple[AttributeSlot, ModelSlot]]:
        """Every slot that is alive, once."""
        living = {
            id(model): (collection.slot(name), model)
            for collection, models in self.collections
            for name, model in models.items()
        }
        living |= {id(model): (slot, model) for slot, model in self.kept}
        return list(living.values())

    @rule(size=st.integers(0, 4))
    def new_collection(self, size: int) -> None:
        self.collections.append((AttributeCollection("edges", size), {}))

    @precondition(lambda self: self.collections)
    @rule(pick=PICK, name=NAMES, default=NUMBERS, matrix=st.booleans())
    def create(self, pick: int, name: str, default: int, matrix: bool) -> None:
        collection, models = self.collections[pick % len(self.collections)]
        if name not in models:
            collection.create(name, np.full((2, 2), float(default)) if matrix else float(default))
            models[name] = ModelSlot(ModelStorage([float(default)] * collection.size(), float(default)))

    @precondition(lambda self: self.collections)
    @rule(pick=PICK, name=NAMES)
    def destroy(self, pick: int, name: str) -> None:
        collection, models = self.collections[pick % len(self.collections)]
        collection.destroy(name)
        models.pop(name, None)

    @precondition(lambda self: self.collections and self.pairs())
    @rule(pick=PICK, source=PICK, name=NAMES)
    def share(self, pick: int, source: int, name: str) -> None:
        collection, models = self.collections[pick % len(self.collections)]
        slot, model = self.pairs()[source % len(self.pairs())]
        if name not in models and slot.size() == collection.size():
            collection.share(name, slot)
            models[name] = ModelSlot(model.storage)

    @precondition(lambda self: 0 < len(self.collections) < 5)
    @rule(pick=PICK)
    def copy(self, pick: int) -> None:
        collection, models = self.collections[pick % len(self.collections)]
        self.collections.append((collection.copy(), {n: ModelSlot(m.storage) for n, m in models.items()}))

    @precondition(lambda self: self.collections)
    @rule(pick=PICK)
    def drop_collection(self, pick: int) -> None:
        del self.collections[pick % len(self.collections)]

    @precondition(lambda self: self.collections)
    @rule(pick=PICK, size=st.integers(0, 5))
    def resize(self, pick: int, size: int) -> None:
        collection, models = self.collections[pick % len(self.collections)]
        if size != collection.size():
            for model in models.values():
                old = model.storage
                grown = old.values[:size] + [old.default] * (size - len(old.values))
                model.storage = ModelStorage(grown, old.default)
        collection.resize(size)

    @precondition(lambda self: self.pairs())
    @rule(pick=PICK, index=PICK, value=NUMBERS)
    def write(self, pick: int, index: int, value: int) -> None:
        slot, model = self.pairs()[pick % len(self.pairs())]
        model.detach()
        values = view(slot)
        if len(values):
            values[index % len(values)] = value
            model.storage.values[index % len(values)] = float(value)

    @precondition(lambda self: self.pairs())
    @rule(pick=PICK)
    def keep(self, pick: int) -> None:
        self.kept.append(self.pairs()[pick % len(self.pairs())])

    @precondition(lambda self: self.kept)
    @rule(pick=PICK)
    def forget(self, pick: int) -> None:
        del self.kept[pick % len(self.kept)]

    @invariant()
    def values_and_sizes_are_those_of_the_model(self) -> None:
        for slot, model in self.pairs():
            assert slot.size() == len(model.storage.values)
            for value, expected in zip(slot.values, model.storage.values, strict=True):
                assert (value == expected).all()

    @invariant()
    def a_slot_is_shared_while_another_one_owns_its_values(self) -> None:
        pairs = self.pairs()
        for slot, model in pairs:
            owners = sum(other.storage is model.storage for _, other in pairs)
            assert slot.is_shared() == (owners > 1)

    @invariant()
    def attributes_of_a_collection_have_its_size(self) -> None:
        for collection, models in self.collections:
            assert list(collection) == list(models)
            assert all(collection.slot(name).size() == len(collection) for name in collection)


TestAttributeMachine = AttributeMachine.TestCase
TestAttributeMachine.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)

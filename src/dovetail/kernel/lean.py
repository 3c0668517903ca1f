"""Numba's stages, made cheaper for as long as kernels of this package are compiled.

Two thirds of the time that a kernel takes are Numba's own, in Python, and much of that goes into a few questions that
are asked again and again. Inside `lean` they are answered faster, with the same answers:

- what a builtin returns for arguments of some types is found once for all kernels with the same options, not by trying
  dozens of overloads at every `+`, and at once for some (`calls.py`);
- Numba's own builtins are loaded once, not at every call;
- options are equal if those are that were set, without a look at all;
- counting references takes only owners out of an array's description, not all of its ten members;
- how long variables live is found where somebody asks, which is once and not after each stage;
- whether an implementation takes a location is looked up in its signature once;
- variables of an instruction are collected by type, without a walk through everything it has;
- the collector of cyclic garbage, which would look through millions of live objects for nothing, waits.

Where bounds are checked, the errors name the kernel (`bounds.py`).

LLVM is the other third; `library.py` has what is left out there.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from functools import cache
from typing import Any

from numba import types

from dovetail.kernel.bounds import check_index
from dovetail.kernel.calls import is_written_here, signature_of
from dovetail.kernel.numba_private import (
    ConfigStack,
    Flags,
    NRTContext,
    PostProcessor,
    VariableLifetime,
    base,
    canonicalize_cfg,
    cgutils,
    cpu_target,
    global_compiler_lock,
    ir,
)

__all__ = ["lean", "uncollected"]

_VALUES = (types.Number, types.Boolean, types.Array, types.BaseTuple, types.SliceType)
_HASH = hash(Flags())  # of the names of all options
_process = PostProcessor.run
_typing, _target = type(cpu_target.typing_context), type(cpu_target.target_context)
_resolve, _set_item = _typing.resolve_function_type, _typing.resolve_setitem
_load = _target.load_additional_registries
_alike: dict[Any, dict[Any, Any]] = {}
_returned: dict[Flags, dict[Any, Any]] = {}
_owning: dict[Any, bool] = {}
_kinds: dict[type, int] = {}
_NOTHING, _VARIABLE, _INSTRUCTION, _SEVERAL, _NAMED = range(5)


def _equal(mine: Flags, other: Any) -> Any:
    if not isinstance(other, Flags):
        return NotImplemented
    a, b = mine._values, other._values
    return a == b or all(getattr(mine, name) == getattr(other, name) for name in a.keys() | b.keys())


def _resolve_once(context: Any, function: Any, args: Any, kws: Any) -> Any:
    """What is called with these types: the answer depends on nothing else but options, that callees inherit."""
    if not kws and is_written_here() and (found := signature_of(function, args)) is not None:
        return found
    if kws or isinstance(function, types.Dispatcher):
        return _resolve(context, function, args, kws)
    return _once(function, args, lambda: _resolve(context, function, args, kws))


def _once(function: Any, args: Any, resolve: Any) -> Any:
    flags = ConfigStack.top_or_none()
    if flags is None or not all(isinstance(a, _VALUES) for a in args):
        return resolve()
    if flags not in _returned:
        inherited = frozenset(flags.fastmath.flags), flags.error_model, flags.forceinline, flags.nrt
        _returned[flags] = _alike.setdefault(inherited, {})
    known, key = _returned[flags], (function, tuple(args))
    if key not in known:
        found = resolve()
        if found is None:
            return None
        known[key] = found
    return known[key]


def _set_item_once(context: Any, *args: Any) -> Any:
    return _once(_set_item, args, lambda: _set_item(context, *args))


@cache
def _load_builtins() -> None:
    _load(cpu_target.target_context)


def _look_again(target: Any) -> None:
    """Only for what is new in modules that are loaded."""
    _load_builtins()
    for registry in list(target._registries):
        target.install_registry(registry)


def _owns(context: Any, kind: Any) -> bool:
    if kind not in _owning:
        _owning[kind] = context.data_model_manager[kind].contains_nrt_meminfo()
    return _owning[kind]


def _owners(nrt: Any, builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """All that is counted in a value, with its type."""
    if not _owns(nrt._context, kind):
        return []
    model = nrt._context.data_model_manager[kind]
    found = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
    for member, get in model.traverse(builder):
        if _owns(nrt._context, member):
            found += nrt.get_meminfos(builder, member, get(value))
    return found


def _lifetimes_later(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    function = processor.func_ir
    if emit_dels or function.is_generator:
        _process(processor, emit_dels, extend_lifetimes)
        return
    function.blocks = canonicalize_cfg(function.blocks)
    function.variable_lifetime, function.generator_info = VariableLifetime(function.blocks), None


def _kind(cls: type) -> int:
    cases = {ir.Var: _VARIABLE, ir.Inst: _INSTRUCTION, list: _SEVERAL, tuple: _SEVERAL, dict: _NAMED}
    _kinds[cls] = next((kind for base, kind in cases.items() if issubclass(cls, base)), _NOTHING)
    return _kinds[cls]


def _variables(instruction: Any, value: Any) -> list[Any]:
    """All that are in a value, in order."""
    found: list[Any] = []
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]:
        cls = type(part)
        kind = _kinds[cls] if cls in _kinds else _kind(cls)
        if kind == _VARIABLE:
            found.append(part)
        elif kind == _INSTRUCTION:
            found += part.list_vars()
        elif kind != _NOTHING:
            found += _variables(instruction, part)
    return found


_INSTEAD: tuple[tuple[Any, str, Any], ...] = (
    (Flags, "__eq__", _equal),
    (Flags, "__hash__", lambda flags: _HASH),
    (_typing, "resolve_function_type", _resolve_once),
    (_typing, "resolve_setitem", _set_item_once),
    (_target, "load_additional_registries", _look_again),
    (NRTContext, "get_meminfos", _owners),
    (ir.Inst, "_rec_list_vars", _variables),
    (PostProcessor, "run", _lifetimes_later),
    (base, "_has_loc", cache(base._has_loc)),
    (cgutils, "do_boundscheck", check_index),
)
_USUAL = [vars(cls).get(name) for cls, name, _ in _INSTEAD]


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Nobody looks for cyclic garbage as long as this is entered."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextlib.contextmanager
def lean() -> Iterator[None]:
    """As long as this is entered; nobody else compiles then."""
    with global_compiler_lock, uncollected():
        if Flags.__eq__ is _equal:  # a kernel that a kernel calls
            yield
            return
        for cls, name, function in _INSTEAD:
            setattr(cls, name, function)
        try:
            yield
        finally:
            for (cls, name, _), usual in zip(_INSTEAD, _USUAL, strict=True):
                if usual is None:  # it has it from its base
                    delattr(cls, name)
                else:
                    setattr(cls, name, usual)

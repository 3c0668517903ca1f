"""What is done to a kernel, from bytecode to LLVM: Numba's stages, without those that no kernel needs.

Kernels have no closures, array expressions, generators or contexts, so nobody looks for them. References are counted
only where that is due.
"""

from __future__ import annotations

from typing import Any

from numba import types

from dovetail.kernel.calls import written_here
from dovetail.kernel.library import Bitcode, Library
from dovetail.kernel.lower import Lower
from dovetail.kernel.numba_private import (
    CompilerBase,
    ConfigStack,
    check_and_legalize_ir,
    dead_branch_prune,
    ir,
    rewrite_semantic_constants,
    typed_passes,
    untyped_passes,
)

__all__ = ["InnerPipeline", "Pipeline"]


class _Lowering(typed_passes.NativeLowering):  # type: ignore[misc]  # Numba has no types
    lowering_class = Lower


def _leave_out(state: Any) -> None:
    """Branches for arguments that are None where they are not, and the other way round."""
    rewrite_semantic_constants(state.func_ir, state.args)
    dead_branch_prune(state.func_ir, state.args)


def _count_references(state: Any) -> None:
    """Only where a call hands over an array: all others are borrowed from arguments, and outlive the kernel."""
    kinds = [state.return_type]
    kinds += [call.return_type for maker, call in state.calltypes.items() if call is not None and _is_new(maker, call)]
    models = state.targetctx.data_model_manager
    if any(models[kind].contains_nrt_meminfo() for kind in kinds):
        check_and_legalize_ir(state.func_ir, state.flags)
    else:
        state.targetctx = state.targetctx.subtarget(enable_nrt=False)


def _is_new(maker: Any, call: Any) -> bool:
    """May an expression give more than a part of what it takes?"""
    if not isinstance(maker, ir.Expr):
        return False
    picks = any(isinstance(index, types.Array) for index in call.args[1:])
    return picks or maker.op not in ("getitem", "static_getitem")


_STAGES = (
    untyped_passes.TranslateByteCode().run_pass,
    untyped_passes.FixupArgs().run_pass,
    untyped_passes.IRProcessing().run_pass,
    _leave_out,
    untyped_passes.GenericRewrites().run_pass,
    untyped_passes.ReconstructSSA().run_pass,
    typed_passes.NopythonTypeInference().run_pass,
    typed_passes.PreLowerStripPhis().run_pass,
    _count_references,
    _Lowering().run_pass,
    typed_passes.NoPythonBackend().run_pass,
)


class _Compiler(CompilerBase):  # type: ignore[misc]  # Numba has no types
    def _compile_core(self) -> Any:
        flags = self.state.flags.copy()
        with ConfigStack().enter(flags), written_here(flags):
            for stage in _STAGES:
                stage(self.state)
        self.state.pipeline = None  # or it would keep the function alive
        return self.state.cr


class Pipeline(_Compiler):
    """Into machine code."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any) -> None:
        library = Library(targetctx.codegen(), "kernel")
        library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *others)


class InnerPipeline(_Compiler):
    """Into bitcode."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any) -> None:
        super().__init__(typingctx, targetctx, Bitcode(targetctx.codegen(), "inner"), *others)

"""All that this package takes of Numba beside its public names: nothing else imports `numba.core` or `numba.np`.

A release of Numba may move any of these. Each is here with what it is for, and the tests that fail when it changes. All
have been where they are since Numba 0.62, the oldest release that is supported; 0.61 has another `Flags`.

Of objects that are public, these members are private, too:

    context.make_array, .cast, .call_conv, .pack_value: code of arrays and calls; test_program
    CompileResult._reduce, library.serialize_using_object_code: kernels on disk; test_kernel_files
    dispatcher.overloads, ._compiler, ._compile_for_args: kernels that wait; test_precompile
    array: [owner, parent, size, bytes of an item, data, shape, strides]: words of a call (program.py); test_record
"""

from __future__ import annotations

# code of a kernel: memory in registers, loops, functions of the C library: test_lower, test_program, test_bounds
from numba.core import base, cgutils, dispatcher, ir, lowering, serialize, typed_passes, typing, untyped_passes

# passes over a kernel's code that Numba's own pipeline has, too (stages.py): test_lean
from numba.core.analysis import dead_branch_prune, rewrite_semantic_constants

# how a call tells that it has failed (program.py): test_program
from numba.core.callconv import excinfo_ptr_t

# functions that C calls: energies of users (kernel.py): test_joint_energy
from numba.core.ccallback import CFunc

# machine code of a kernel, linked with fewer passes of LLVM (library.py): test_kernel_files
from numba.core.codegen import JITCodeLibrary

# options and stages of the compiler, and what it makes: test_lean, test_kernel_files
from numba.core.compiler import CompilerBase, CompileResult, Flags

# one thread compiles at a time: test_threads
from numba.core.compiler_lock import global_compiler_lock

# what compiling raises, and the warning of a kernel that cannot be kept: test_precompile, test_kernel_files
from numba.core.errors import NumbaError, NumbaWarning

# builtins that are called by name instead of being compiled again (calls.py): test_calls
from numba.core.funcdesc import ExternalFunctionDescriptor

# members of records (record_type.py): test_record
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.ir_utils import check_and_legalize_ir

# how long variables live (lean.py): test_lean
from numba.core.postproc import PostProcessor, VariableLifetime

# the processor that kernels are for, and their class: test_kernel, test_shipped
from numba.core.registry import CPUDispatcher, cpu_target

# arrays that kernels make, and how owners are counted: test_lean, test_lower
from numba.core.runtime import rtsys
from numba.core.runtime.context import NRTContext

# options that callees inherit (lean.py, calls.py): test_lean, test_calls
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg

# types of builtins and of members of records: test_calls, test_record
from numba.core.typing import signature
from numba.core.typing.npydecl import parse_dtype, parse_shape
from numba.core.typing.templates import AttributeTemplate, infer_getattr

# arrays of known shape that kernels make (calls.py): test_calls
from numba.np import arrayobj

__all__ = [
    "AttributeTemplate", "CFunc", "CPUDispatcher", "CompileResult", "CompilerBase", "ConfigStack",
    "ExternalFunctionDescriptor", "Flags", "JITCodeLibrary", "NRTContext", "NumbaError", "NumbaWarning",
    "PostProcessor", "VariableLifetime", "arrayobj", "base", "canonicalize_cfg", "cgutils", "check_and_legalize_ir",
    "cpu_target", "dead_branch_prune", "dispatcher", "excinfo_ptr_t", "global_compiler_lock", "impl_ret_borrowed",
    "infer_getattr", "ir", "lower_getattr_generic", "lowering", "parse_dtype", "parse_shape",
    "rewrite_semantic_constants", "rtsys", "serialize", "signature", "typed_passes", "typing", "untyped_passes",
]  # fmt: skip

"""What a kernel compiles to, and how far LLVM optimises it where.

Numba optimises every function fully before and after it is linked with those that it calls. All of ours are inlined
into those that Python calls, and optimised there in the end: before that it is enough to make them small. That saves
half of LLVM's time, and the loops come to the vectoriser as they were written.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding

from dovetail.kernel.numba_private import CompileResult, JITCodeLibrary

__all__ = ["Bitcode", "Library", "rebuild", "rebuild_inner"]


class _Code(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager(opt=1, loop_vectorize=False, slp_vectorize=False)
                passes.run(function, builder)


class Library(_Code):
    """Machine code that Python calls, and nobody else: on disk it has no bitcode."""

    @classmethod
    def again(cls, codegen: Any, name: str, code: bytes, symbols: set[str]) -> Library:
        """The library that `serialize_using_object_code` told."""
        library = cls(codegen, name)
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._finalize_final_module()
        codegen._engine._defined_symbols |= symbols
        return library

    def serialize_using_object_code(self) -> tuple[str, bytes, set[str]]:
        every = (*self._final_module.functions, *self._final_module.global_variables)
        return self.name, self._get_compiled_object(), {each.name for each in every if not each.is_declaration}


class Bitcode(_Code):
    """What is linked into others only."""

    @classmethod
    def again(cls, codegen: Any, name: str, bitcode: bytes) -> Bitcode:
        """The library that `serialize_using_object_code` told."""
        library = cls(codegen, name)
        library._final_module = library._shared_module = binding.parse_bitcode(bitcode)
        library._finalized = True
        return library

    def _optimize_final_module(self) -> None:
        """Inline what is called."""
        passes, builder = self._codegen._module_pass_manager(
            opt=0, loop_vectorize=False, slp_vectorize=False, cost="cheap"
        )
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, bytes]:
        return self.name, self._get_module_for_linking().as_bitcode()


def rebuild(target: Any, told: Any, fndesc: Any, environment: Any, signature: Any, *others: Any) -> CompileResult:
    """Compiled code from what `CompileResult._reduce` made of it."""
    library = Library.again(target.codegen(), *told)
    fields = dict.fromkeys(CompileResult._fields)
    fields |= {"target_context": target, "typing_context": target.typing_context, "library": library}
    fields |= {"fndesc": fndesc, "environment": environment, "signature": signature, "objectmode": False}
    fields |= {"entry_point": target.get_executable(library, fndesc, environment), "lifted": (), "reload_init": ()}
    for each in others[-1]:
        library.codegen.set_env(each.env_name, each)
    return CompileResult(**fields)


def rebuild_inner(target: Any, told: Any, fndesc: Any, environment: Any, signature: Any, *others: Any) -> CompileResult:
    """The same of what only kernels call."""
    fields = dict.fromkeys(CompileResult._fields)
    fields |= {"library": Bitcode.again(target.codegen(), *told), "fndesc": fndesc}
    return CompileResult(**{**fields, "environment": environment, "signature": signature})

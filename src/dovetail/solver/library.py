"""What a kernel compiles to, and how far LLVM optimises it where.

Numba optimises every function fully before and after it is linked with those that it calls. All of ours are inlined
into those that Python calls, and optimised there in the end: before that it is enough to make them small. That saves
half of LLVM's time, and the loops come to the vectoriser as they were written.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary

__all__ = ["Bitcode", "Library"]


class Library(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """Machine code that Python calls."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager(opt=1, loop_vectorize=False, slp_vectorize=False)
                passes.run(function, builder)


class Bitcode(Library):
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

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        return self.name, "inner", self._get_module_for_linking().as_bitcode()

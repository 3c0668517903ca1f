"""Worlds in company: steps of several worlds of one structure, taken as one model.

Eight bodies are computed in the time of one, if they are there side by side: those of a mechanism alone seldom are,
those of equal mechanisms always. So equal worlds share a model in which they are islands, as far as computing goes.
Each keeps its state, and all that is asked of it:

    of each world: parameters of the step → into the model → one step of all (course.py) → out of it → time, counters

Islands decide by themselves (convergence.py, consistent.py), and their bits do not depend on their neighbours, so each
world has those that it has alone. What an island cannot take in its stride makes the whole company give up that step,
which every world then takes alone; after that they stay apart for some steps, each time longer.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dovetail.kernel.copy import copy
from dovetail.kernel.fetch import fetch
from dovetail.kernel.kernel import kernel, plain_kernel
from dovetail.kernel.program import RESULT, call, has_failed
from dovetail.kernel.record import Record, i8, integer, nested
from dovetail.solver.islands import Islands
from dovetail.solver.march import DONE, REASON, STRAINED, March, begin, conclude, has_strain, keep_books, refresh
from dovetail.solver.members import Members, is_as_known, may_join, tell
from dovetail.typing import Indices

__all__ = [
    "Company",
    "Stage",
    "begin_member",
    "end_member",
    "fetch_company",
    "is_strained",
    "march_stage",
    "march_together",
    "rehearse",
]

_LEFT, _NEXT = range(2)  # entries of `apart`
_LONGEST = 64  # steps that a company stays apart at most


class Company(Record):
    """Worlds in company.

    together             the march of their common model
    islands              those of it
    members              what is asked of them, and told to them
    words                a program with calls of each member (k,):
    look                 before a march, where anything has changed
    begin, end           before and after a step; −1 where there is nothing to do
    strain, every        what looks for strains, and the frames from one time to the next
    give_up, alone       for a step that is given up, and then taken alone
    inward, outward      copies (·, 3) into the common model and out of it: from, to, how many words
    inward_from, outward_from (k + 1,)   where those of a member begin
    present (k,)         1 for members that take part
    told (k,)            what `march` would tell of each
    apart (2,)           for how many steps they stay apart, and for how many the next time
    constants            copies (·, 3) into the model, which others use too: of where constants of these worlds lie
    lines                runs of lines (·, 2) that all this lies in, see kernel/fetch.py
    """

    together: March = nested(March)
    islands: Islands = nested(Islands)
    members: Members = nested(Members)
    words: Indices = i8(1)
    look: Indices = i8(1)
    begin: Indices = i8(1)
    end: Indices = i8(1)
    strain: Indices = i8(1)
    every: int = integer()
    give_up: Indices = i8(1)
    alone: Indices = i8(1)
    inward: Indices = i8(2)
    outward: Indices = i8(2)
    inward_from: Indices = i8(1)
    outward_from: Indices = i8(1)
    present: Indices = i8(1)
    told: Indices = i8(1)
    apart: Indices = i8(1)
    constants: Indices = i8(2)
    lines: Indices = i8(2)


class Stage(Record):
    """Companies of one structure that use the same model, one after the other.

    words, calls (k,)    a program with the march of each,
    fetches (k,)         and with what fetches its memory
    wanted (k,)          1 for those that march
    """

    words: Indices = i8(1)
    calls: Indices = i8(1)
    fetches: Indices = i8(1)
    wanted: Indices = i8(1)


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def _move(typing: Any, source: Any, target: Any, words: Any) -> Any:
    """Copy words from one address to another."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, byte, word, ir.IntType(1)])
        function = builder.module.declare_intrinsic("llvm.memcpy", [byte, byte, word], kind)
        size = builder.mul(args[2], word(8))
        places = [builder.inttoptr(args[k], byte) for k in (1, 0)]
        builder.call(function, [*places, size, ir.IntType(1)(0)])
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), emit


@plain_kernel
def _carry(copies: Indices, start: int, stop: int) -> None:
    for k in range(start, stop):
        _move(copies[k, 0], copies[k, 1], copies[k, 2])


@plain_kernel
def begin_member(m: March) -> None:
    """Parameters of the step that begins, and the books."""
    refresh(m)
    keep_books(m)


@plain_kernel
def end_member(m: March) -> None:
    """The step was taken: its parameters are those of the last one."""
    copy(m.p, m.before)


@plain_kernel
def is_strained(m: March) -> bool:
    """Whether a body is strained, which is to be told."""
    return has_strain(m.Q, m.strain)


@plain_kernel
def _step_together(c: Company) -> bool:
    """One step of all that are present; False if it was given up, and all is as it was."""
    m, fine = c.together, True
    for k in range(len(c.present)):
        if c.present[k]:
            fine = fine and may_join(c.members, k)
            if c.begin[k] >= 0:
                call(c.words, c.begin[k])
            _carry(c.inward, c.inward_from[k], c.inward_from[k + 1])
    if fine:
        begin(m)
        call(m.words, m.take)
        fine = m.words[m.take + RESULT] >= 0 and not has_failed(m.words)
    if not fine:
        for k in range(len(c.present)):
            if c.present[k]:
                call(c.words, c.give_up[k])
        return False
    conclude(m)
    for k in range(len(c.present)):
        if c.present[k]:
            _carry(c.outward, c.outward_from[k], c.outward_from[k + 1])
    return True


@plain_kernel
def _end_of(c: Company, k: int) -> int:
    """A step of a member was taken; DONE, or STRAINED."""
    if c.end[k] >= 0:
        call(c.words, c.end[k])
    if tell(c.members, k, c.islands, c.together.h) % c.every != 0:
        return DONE
    call(c.words, c.strain[k])
    return STRAINED if c.words[c.strain[k] + RESULT] != 0 else DONE


@plain_kernel
def _step_apart(c: Company) -> None:
    """One step of each alone; told ← of those that cannot go on why, with none of the steps before."""
    for k in range(len(c.present)):
        if c.present[k]:
            call(c.words, c.alone[k])
            c.told[k] = c.words[c.alone[k] + RESULT]


@plain_kernel
def march_together(c: Company, steps: int) -> int:
    """Take so many steps, until a member has something to tell; `told` is what `march` returns, of each.

    Returns 0 where nobody has.
    """
    apart, ends = c.apart, 0
    _carry(c.constants, 0, len(c.constants))
    for k in range(len(c.present)):
        c.told[k] = 0
        if c.present[k] and not is_as_known(c.members, k):
            call(c.words, c.look[k])
            if c.words[c.look[k] + RESULT] != DONE:
                c.told[k] = c.words[c.look[k] + RESULT] << REASON
                c.present[k] = 0
                ends += 1
    for taken in range(0 if ends else steps):
        if apart[_LEFT] == 0 and _step_together(c):
            apart[_NEXT] = 1
            for k in range(len(c.present)):
                if c.present[k]:
                    reason = _end_of(c, k)
                    c.told[k] = (reason << REASON) + taken + 1
                    ends += reason != DONE
        else:
            if apart[_LEFT] == 0:
                apart[_LEFT], apart[_NEXT] = apart[_NEXT], min(2 * apart[_NEXT], _LONGEST)
            apart[_LEFT] -= 1
            _step_apart(c)
            for k in range(len(c.present)):
                if c.present[k]:
                    reason = c.told[k] >> REASON
                    whole = c.told[k] - (reason << REASON)
                    c.told[k] = (reason << REASON) + taken + whole
                    ends += reason != DONE
        if ends:
            break
    return 1 if has_failed(c.words) or ends else 0


@kernel
def fetch_company(c: Company) -> None:
    """Bring its memory nearer."""
    fetch(c.lines)


@plain_kernel
def march_stage(stage: Stage, steps: int) -> int:
    """March of all companies that are wanted, by as many steps as is said of each; 0 where nobody has more to tell."""
    failed = 0
    for k in range(len(stage.calls)):
        if stage.wanted[k]:
            if k + 1 < len(stage.calls):
                call(stage.words, stage.fetches[k + 1])
            call(stage.words, stage.calls[k])
            failed |= stage.words[stage.calls[k] + RESULT]
    return failed


@plain_kernel
def rehearse(c: Company) -> None:
    """A step of all members that nobody sees: what it writes to is not constant."""
    for k in range(len(c.present)):
        _carry(c.inward, c.inward_from[k], c.inward_from[k + 1])
    begin(c.together)
    call(c.together.words, c.together.take)
    conclude(c.together)
    has_failed(c.together.words)

"""Decisions that a Function takes again and again by numbers of its inputs, as in a loop: what Python keeps of them, such as a count, nothing follows.

The instructions that one outcome of a decision runs and the other one does not are looked at. They may write to tensors and to numbers that are
followed. Whatever else they store, return or call is named, so that the check does not pass what depends on it.
"""
from __future__ import annotations

import collections
import dis
import functools
from typing import Any, Iterator

JUMPS = {*dis.hasjrel, *dis.hasjabs}
STOPS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
NAMED = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")
GIVES = ("YIELD_VALUE", "LIST_APPEND", "SET_ADD", "MAP_ADD", "RETURN_VALUE", "RETURN_CONST")
BETWEEN = {"PRECALL", "CALL", "CACHE", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "LOAD_CONST", "UNARY_NOT", "EXTENDED_ARG", "TO_BOOL"}  # what may stand between a read and the jump that it decides
SHOWS = {"print", "debug", "info", "warn", "warning", "error", "exception", "critical", "log"}
OF_ALL = {"any", "all"}  # which take truth values one after the other and give one
ORDERING = {"max", "min", "sorted", "sort"}  # which compare numbers and give numbers


@functools.lru_cache(maxsize=256)
def instructions(code: Any) -> tuple[list[Any], dict[int, int]]:
    found = list(dis.get_instructions(code))
    return found, {one.offset: i for i, one in enumerate(found)}


def offset_of(frame: Any) -> int:
    """Where a frame is. Python 3.11 runs a call in one of two instructions, by how often it ran before."""
    steps, places = instructions(frame.f_code)
    at = places.get(frame.f_lasti, len(steps))
    while at < len(steps) and steps[at].opname in ("PRECALL", "CACHE"):
        at += 1
    return int(steps[at].offset if at < len(steps) else frame.f_lasti)


def is_conditional(one: Any) -> bool:
    return "JUMP" in one.opname and "IF" in one.opname


def decides_at_once(frame: Any) -> bool:
    """Whether the comparison that runs is decided by the next instruction, which keeps nothing of it."""
    steps, places = instructions(frame.f_code)
    rest = (one.opname for one in steps[places.get(frame.f_lasti, len(steps)) + 1:] if one.opname not in ("CACHE", "EXTENDED_ARG", "TO_BOOL"))
    return next(rest, "").startswith("POP_JUMP")


def called_by(frame: Any) -> set[str] | None:
    """The names on the line of a call that runs; None, where the program's own instruction compares."""
    steps, places = instructions(frame.f_code)
    at = places.get(frame.f_lasti)
    if at is None or "CALL" not in steps[at].opname:
        return None
    held = [frame.f_code.co_consts[one.arg] if one.opname == "KW_NAMES" else one.argval for one in on_line(steps, at)]
    return {name for one in held for name in (one if isinstance(one, tuple) else [one]) if isinstance(name, str)}


def is_caught(frame: Any) -> bool:
    """Whether the program itself catches what is raised where a frame is: then an exception is a branch."""
    if not hasattr(frame.f_code, "co_exceptiontable"):  # before Python 3.11
        return False
    steps, places = instructions(frame.f_code)
    for one in dis.Bytecode(frame.f_code).exception_entries:  # type: ignore[attr-defined]
        if one.start <= frame.f_lasti < one.end and one.target in places:
            names = [step.opname for step in steps[places[one.target]:places[one.target] + 12] if step.opname not in ("CACHE", "EXTENDED_ARG")]
            if names[1:2] == ["POP_TOP"] or "CHECK_EXC_MATCH" in names:
                return True
    return False


def on_line(steps: list[Any], at: int) -> list[Any]:
    start = end = at
    while start and not steps[start].starts_line:
        start -= 1
    while end + 1 < len(steps) and not steps[end + 1].starts_line:
        end += 1
    return steps[start:end + 1]


def kept_of(frame: Any, is_followed: Any) -> str:
    """Name what Python keeps of a decision that runs for the second time; empty, where tensors and followed numbers alone depend on it."""
    steps, places = instructions(frame.f_code)
    start = at = places.get(frame.f_lasti, len(steps))
    if (names := called_by(frame)) is not None and names & OF_ALL:
        return ""
    while at < len(steps) and not is_conditional(steps[at]):
        if steps[at].opname not in BETWEEN or at > start + 12:
            return "a truth value"
        at += 1
    return Ways(frame, steps, places, is_followed).kept(at) if at < len(steps) else ""


class Ways:
    """The code of a frame, as a graph of its instructions."""

    def __init__(self, frame: Any, steps: list[Any], places: dict[int, int], is_followed: Any) -> None:
        self.frame, self.steps, self.places, self.is_followed = frame, steps, places, is_followed

    def target(self, at: int) -> int | None:
        one = self.steps[at]
        return self.places.get(one.argval) if one.opcode in JUMPS else None

    def behind(self, at: int) -> Iterator[int]:
        """The instructions that may follow one; a jump back to a loop goes on behind the loop."""
        one, target = self.steps[at], self.target(at)
        if one.opname in STOPS:
            return
        if target is None or is_conditional(one) or one.opname in ("FOR_ITER", "SEND"):
            yield at + 1
        if target is not None and target > at:
            yield target
        elif target is not None and self.steps[target].opname == "FOR_ITER" and (end := self.target(target)) is not None and end > at:
            yield end

    def reached(self, start: int) -> set[int]:
        found, waiting = set[int](), [start]
        while waiting:
            at = waiting.pop()
            if at not in found and at < len(self.steps):
                found.add(at)
                waiting += self.behind(at)
        return found

    def loops_of(self, at: int) -> list[range]:
        """The loops around an instruction."""
        ends: dict[int, int] = {}
        for i in range(len(self.steps)):
            if (target := self.target(i)) is not None and target <= at <= i:
                ends[target] = i
        return [range(start, end + 1) for start, end in ends.items()]

    def kept(self, at: int) -> str:
        """Name what a jump decides beside tensors and followed numbers."""
        target = self.target(at)
        ways = [self.reached(one) for one in (at + 1, at + 1 if target is None else target)]
        chosen = list[bool]()
        for part in parts_of(ways[0] ^ ways[1]):
            begin = part[0]
            for i in part:
                one = self.steps[i]
                if one.opname.startswith(("STORE_", "DELETE_")) or one.opname in GIVES or one.opname == "POP_TOP":
                    if what := self.kept_by(i, begin):
                        return what
                    begin = i + 1
                elif one.opcode in JUMPS and not one.opname.startswith("JUMP"):
                    begin = i + 1
            if any(self.steps[i].opname.startswith("LOAD_") for i in range(begin, part[-1] + 1)):  # one of two values of an expression
                chosen.append(any(self.is_followed(value) for _, value in self.values(begin, part[-1] + 1)))
        if chosen and not any(chosen):
            return "one of two numbers"
        return next((what for loop in self.loops_of(at) for way in ways if (what := self.left_behind(loop, way))), "")

    def kept_by(self, at: int, begin: int) -> str:
        """Name what an instruction keeps of the names that were loaded since `begin`."""
        one, values = self.steps[at], dict(self.values(begin, at))
        is_seen = any(self.is_followed(value) for value in values.values())
        first = f"'{next(iter(values))}'" if values else "a value"
        if one.opname in NAMED:
            is_used = one.opname != "STORE_FAST" or self.is_read(str(one.argval), begin, at)
            return f"'{one.argval}'" if is_used and not is_seen else ""
        grows = any(isinstance(value, (list, dict, set, collections.deque)) for value in values.values())
        if one.opname == "POP_TOP":
            is_call = any("CALL" in before.opname for before in self.steps[begin:at])
            return first if is_call and not SHOWS.intersection(values) and (grows or not is_seen) else ""
        if one.opname in ("RETURN_VALUE", "RETURN_CONST"):
            last = self.steps[at - 1] if one.opname == "RETURN_VALUE" else one
            is_none = last.opname in ("LOAD_CONST", "RETURN_CONST") and last.argval is None
            return "" if is_seen or is_none or begin == at and last is not one else "what it returns"
        if one.opname in GIVES:
            return "how many there are"
        return "" if is_seen and not any(isinstance(value, (dict, set)) for value in values.values()) else first

    def left_behind(self, loop: range, way: set[int]) -> str:
        """Which name tells how far a loop came, if this way ends it."""
        if any(i in way for i in self.jumps_back(loop)):
            return ""
        outside = [i for i in range(len(self.steps)) if i not in loop or i in way and not self.reached(i).intersection(self.jumps_back(loop))]
        for i in loop:
            name = str(self.steps[i].argval)
            if self.steps[i].opname == "STORE_FAST" and not self.is_followed(self.frame.f_locals.get(name)):
                if any(self.steps[k].opname.startswith("LOAD_") and name in names_of(self.steps[k]) for k in outside if k > loop.start):
                    return f"'{name}'"
        return ""

    def jumps_back(self, loop: range) -> list[int]:
        return [i for i in loop if self.target(i) == loop.start]

    def is_read(self, name: str, begin: int, end: int) -> bool:
        """Whether the code reads a name for more than to write to it."""
        return any(name in names_of(one) and one.opname.startswith("LOAD_") for i, one in enumerate(self.steps) if not begin <= i <= end)

    def values(self, begin: int, end: int) -> Iterator[tuple[str, Any]]:
        """The names that instructions load, and what these are now."""
        frame = self.frame
        for one in self.steps[begin:end]:
            if one.opname.startswith(("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLASSDEREF")):
                for name in names_of(one):
                    yield name, frame.f_locals.get(name, frame.f_globals.get(name))


def names_of(one: Any) -> tuple[str, ...]:
    return one.argval if isinstance(one.argval, tuple) else (str(one.argval),)


def parts_of(places: set[int]) -> list[list[int]]:
    """Runs of instructions that follow one another."""
    found: list[list[int]] = []
    for at in sorted(places):
        if found and found[-1][-1] == at - 1:
            found[-1].append(at)
        else:
            found.append([at])
    return found


__all__ = ["BETWEEN", "ORDERING", "OF_ALL", "called_by", "decides_at_once", "instructions", "is_caught", "kept_of", "offset_of"]

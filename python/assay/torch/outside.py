"""Numbers that leave the graph into Python and come back as constants, and values that the program cut off."""
from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any, Sequence

import torch
from torch.utils._pytree import tree_leaves

from .memory import bits
from .nodes import PLACES, TRUTHS
from .values import Region, Values

HERE, TORCH = os.path.dirname(__file__) + os.sep, os.path.dirname(torch.__file__) + os.sep
# What gives the program a tensor's numbers. Whole numbers and truth values are steps of them: their derivative is 0.
WAYS_OUT = {getattr(torch.Tensor, name): name.strip("_") for name in (
    "item", "__float__", "__complex__", "tolist", "numpy", "__array__", "__dlpack__", "data_ptr", "untyped_storage", "storage") if hasattr(torch.Tensor, name)}
APPLY = torch.autograd.Function.apply.__func__.__code__  # type: ignore[attr-defined]  # which runs the forward pass of a Function
STEPS = ("sign", "floor", "ceil", "round", *TRUTHS, *PLACES)  # through which nothing flows
COMMON = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5)  # which say nothing of where they came from
MOST_NUMBERS = 64  # of a tensor that are looked up in the program's code
ACCUMULATE = "torch::autograd::AccumulateGrad"
BORN = ("lift_fresh", "lift")  # what makes tensors of numbers of the program's


class LeftNumber(float):
    """A number that a tensor gave the program: so is what is computed of it."""

    why = ""

    @classmethod
    def of(cls, value: float, why: str) -> "LeftNumber":
        found = cls(value)
        found.why = why
        return found


def carried(name: str) -> Any:
    """An operation of floats that keeps where its operand came from."""
    plain = getattr(float, name)

    def compute(self: LeftNumber, *others: Any) -> Any:
        found = plain(self, *others)
        return LeftNumber.of(found, self.why) if isinstance(found, float) else found
    return compute


for _name in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv"):
    setattr(LeftNumber, f"__{_name}__", carried(f"__{_name}__"))
    setattr(LeftNumber, f"__r{_name}__", carried(f"__r{_name}__"))
for _name in ("neg", "abs", "pos"):
    setattr(LeftNumber, f"__{_name}__", carried(f"__{_name}__"))


@dataclass
class Left:
    """A value whose numbers the program asked for."""

    tensor: str
    by: str
    at: str

    def __str__(self) -> str:
        return f"'{self.tensor}' by {self.by}() at {self.at}"


@dataclass
class Entry:
    """One operation's constants: its numbers, and tensors that nobody computed. `is_born`: made of numbers while the run was recorded."""

    op: str
    numbers: tuple[str, ...]
    tensors: tuple[bytes, ...]
    is_born: bool

    @property
    def constants(self) -> tuple[Any, ...]:
        return self.numbers, self.tensors


def program_frame(inside: bool = True) -> tuple[Any, str]:
    """The innermost frame that is neither PyTorch's nor the recorder's, and its line; if `inside`, only beneath a Function's forward pass."""
    frame: Any = sys._getframe(1)
    found = None
    while frame is not None:
        if frame.f_code is APPLY:
            break
        if found is None and not frame.f_code.co_filename.startswith((HERE, TORCH)):
            found = frame
            if not inside:
                break
        frame = frame.f_back
    if found is None or inside and frame is None:
        return None, ""
    return found, f"{os.path.basename(found.f_code.co_filename)}:{found.f_lineno}"


def caller() -> str:
    """Where the program is."""
    return program_frame(inside=False)[1] or "an unknown line"


class Outside(Values):
    """Watches what leaves the graph, and which constants may be made of it.

    `moved` says it of operations by their number, where the program was run again at other inputs (`moved_between`). Where it is None, a
    constant is suspected that is computed of a number that left since the last backward pass, or that was made of numbers after one left.
    """

    def __init__(self, model: Any = None) -> None:
        self.depending: set[int] = set()  # values that a tensor with a gradient decides
        self.decided: set[int] = set()  # the same with whole numbers and truth values, through which nothing flows
        self.left: list[Left] = []
        self.live: list[Left] = []  # since the last pass
        self.entries: list[Entry] = []
        self.moved: dict[int, str] | None = None
        self.suspects: dict[int, str] = {}  # values without a history that are made of what left
        self.numbers: set[float] = set()  # that left since the last pass
        self.returned: set[int] = set()  # results without a gradient
        self.shown: set[int] = set()  # where memory lies that left
        self.known: set[float] = set(COMMON)  # constants that were there before a number left
        self.born: dict[int, tuple[Any, bool]] = {}  # storages of tensors made of numbers, and whether some had left
        self.constants: set[int] = set()  # values of such, of few elements
        self.arriving: list[str] = []
        self.unseen_constants: list[int] = []
        self.zeros: set[int] = set()  # gradients of what has none
        self.slopes: set[int] = set()  # what backward passes computed that have no derivative themselves
        super().__init__(model)

    def given(self, tensor: torch.Tensor, name: str, *, is_parameter: bool = False) -> int:
        value = super().given(tensor, name, is_parameter=is_parameter)
        if tensor.requires_grad:
            self.depending.add(value)
            self.decided.add(value)
        elif tensor.is_floating_point() or tensor.is_complex():
            self.unseen_constants.append(value)
            self.constants.update([value] if address_of(tensor) in self.born and tensor.numel() <= MOST_NUMBERS else [])
        return value

    def append(self, op: str, operands: Any, outputs: Any, results: list[int]) -> Region:
        region = super().append(op, operands, outputs, results)
        region.is_forward = not self.in_backward()
        if not region.is_forward and not self.differentiates_products():
            self.slopes.update(results)
        if self.decided.intersection(region.operands):
            self.decided.update(results)
        if self.depending.intersection(region.operands):
            self.depending.update(v for v in results if self.memory.values[v].tensor.is_floating_point())
        return region

    def constant(self) -> str:
        node: Any = torch._C._current_autograd_node()
        if node is not None and node.name() == ACCUMULATE and (value := self.memory.marked(node.variable, self.history(node.variable))) is not None:
            return f"gradient of {self.memory.values[value].name} before"
        return "constant" if self.operand is None else f"constant (operand {self.operand[1]} of {self.operand[0]} at {caller()})"

    def operand_value(self, op: str, number: int, tensor: torch.Tensor) -> int:
        """The value of an operand; one that nobody named is called by its operation."""
        self.operand = op, number
        try:
            value = self.value(tensor)
        finally:
            self.operand = None
        if tensor.requires_grad and tensor.is_leaf and value not in self.depending:  # it was made while the run was recorded
            self.depending.add(value)
            self.decided.add(value)
        return value

    def note_returned(self, tensors: list[torch.Tensor]) -> None:
        """The function that is checked gave these, which have no gradient."""
        with self.aside():
            self.returned.update(self.value(one) for one in tensors if one.is_floating_point() and one.numel() and address_of(one) in self.memory.blocks)

    def bear(self, tensor: torch.Tensor) -> None:
        """A tensor was made of numbers of the program's."""
        self.born[address_of(tensor)] = tensor.untyped_storage(), bool(self.live)

    def marked_numbers(self, found: Any, why: str) -> Any:
        """Mark the numbers that a tensor gave the program, so that they are known again."""
        if isinstance(found, list):
            return [self.marked_numbers(one, why) for one in found]
        return LeftNumber.of(found, why) if type(found) is float else found

    def asked(self, function: Any, args: Sequence[Any]) -> Left | None:
        """The program asks for a tensor's numbers: what is noted, if a gradient may flow into them."""
        tensor = args[0] if args else None
        if not isinstance(tensor, torch.Tensor) or not (tensor.is_floating_point() or tensor.is_complex()) or self.in_backward():
            return None
        value = self.memory.marked(tensor, self.history(tensor))
        if value is None and address_of(tensor) not in self.memory.blocks:
            return None
        with self.aside():
            value = self.value(tensor)
            held = self.memory.values[value].tensor
            numbers = held.flatten().tolist() if held.numel() <= MOST_NUMBERS else []
        if value not in self.depending:
            return None
        found = Left(self.memory.values[value].name, WAYS_OUT[function], caller())
        self.live.append(found)
        self.shown.add(tensor.untyped_storage().data_ptr())
        self.numbers.update(one for one in numbers if one not in COMMON)
        if found not in self.left:
            self.left.append(found)
        return found

    def note_entry(self, op: str, flat: list[Any], values: list[tuple[torch.Tensor, int | None]]) -> str:
        """Notes an operation's constants; why they are suspected, or nothing."""
        born = [(v, known) for tensor, v in values if v in self.unseen_constants and (known := self.born.get(address_of(tensor))) is not None]
        numbers = tuple(repr(one + 0) for one in flat if isinstance(one, (float, complex)))
        tensors = tuple(bits(self.memory.values[v].tensor) for v in self.unseen_constants)
        why = next((self.suspects[v] for tensor, v in values if v in self.suspects and not tensor.requires_grad), "")
        if not self.in_backward():
            if self.moved is not None:
                why = self.moved.get(len(self.entries), why)
            elif self.live:
                why = next((one for one in self.arriving if one), "") if numbers else why
                late = [v for v, (_, is_late) in born if is_late]
                is_same = any(v in self.unseen_constants and tensor.untyped_storage().data_ptr() in self.shown for tensor, v in values)
                why = why or (str(self.live[-1]) if is_same or self.is_new(flat, late) else "")
            else:
                self.known.update(one for one in flat if isinstance(one, float))
            self.entries.append(Entry(op, numbers, tensors, bool(numbers or born)))
        self.unseen_constants = []
        return why

    def is_new(self, flat: list[Any], late: list[int]) -> bool:
        """Whether an operation reads a constant that neither was seen before a number left nor is written in the program's code."""
        numbers = {one for one in flat if isinstance(one, float)}
        for v in late:
            tensor = self.memory.values[v].tensor
            if tensor.numel() > MOST_NUMBERS:
                return True
            with self.aside():
                numbers.update(tensor.flatten().tolist())
        fresh = {one for one in numbers if one not in self.known and one == one}
        return bool(numbers & self.numbers) or bool(fresh) and not fresh <= {rounded(one, late != []) for one in written_numbers()}

    def blame(self, why: str, regions: int, values: int, number: int | None) -> None:
        """Mark the regions and values that were recorded since as made of the number that left."""
        for one in self.regions[regions:]:
            one.suspect = why
        if number is None:
            self.suspects.update(dict.fromkeys(range(values, len(self.memory.values)), why))


def address_of(tensor: torch.Tensor) -> int:
    """The storage's, or 0 where there is none."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return 0


def rounded(number: float, single: bool) -> float:
    """As a tensor in float32 has it."""
    return float(torch.tensor(number, dtype=torch.float32)) if single else number


def written_numbers() -> set[float]:
    """The numbers that stand in the code that is running."""
    found: set[float] = set()
    frame: Any = sys._getframe(1)
    while frame is not None:
        waiting = list(frame.f_code.co_consts)
        while waiting:
            one = waiting.pop()
            if isinstance(one, (tuple, frozenset)):
                waiting += one
            elif isinstance(one, (int, float)) and abs(one) < 2.0**1023:
                found.update((float(one), -float(one)))
        frame = frame.f_back
    return found


def arriving(args: Any, kwargs: Any) -> str:
    """Where a number among arguments came from."""
    return next((one.why for one in tree_leaves((args, kwargs)) if isinstance(one, LeftNumber) or type(one).__name__ == "Read" and one.why), "")


def moved_between(run: Outside, other: Outside, again: Outside) -> dict[int, str]:
    """Operations of a run whose constants are others in a run at other inputs, and the same in a third one at the same inputs."""
    found = {}
    for i, (one, moved, same) in enumerate(zip(run.entries, other.entries, again.entries)):
        if not one.op == moved.op == same.op:
            break
        if one.constants != moved.constants and (one.constants == same.constants or one.is_born and run.left):
            found[i] = ", ".join(str(left) for left in run.left[-3:]) or "some value in a way that was not seen"
    return found


# What the program cut.

def reached(run: Values, *starts: int) -> set[int]:
    """The values that depend on some, through cuts, too, but through no step."""
    found, before = set(starts), 0
    while len(found) > before:
        before = len(found)
        for region in run.regions:
            if found.intersection(region.operands):
                moves = [v in found for v in region.operands]
                for node in region.nodes:
                    is_step = node["op"] in STEPS or str(node.get("attributes", {}).get("to", "float")).startswith(("int", "uint", "bool"))
                    moves.append(not is_step and any(moves[i] for i in node.get("operands", [])))
                found.update(v for v, i in zip(region.results, region.outputs) if moves[i])
        linked(run, found)
    return found


def linked(run: Any, found: set[int]) -> None:
    """Adds the given results that depend on values: solutions of systems."""
    for operands, results in run.links:
        if found.intersection(operands):
            found.update(results)


def downstream(run: Any, starts: set[int] | None = None) -> set[int]:
    """Find the values that are computed, in any way, of a tensor with a gradient, or of some. Numbers that none of them decides need not be said to be cut."""
    found, before = set(run.depending) | {v for claim in run.claims for v in claim.of} if starts is None else set(starts), 0
    while len(found) > before:
        before = len(found)
        for region in run.regions:
            if found.intersection(region.operands):
                found.update(region.results)
        linked(run, found)
    return found


def cuts_of(run: Any) -> list[int]:
    """The values without history that an output was computed from, though they depend on what has a gradient. Named tensors that a step has written are none."""
    asked = {v for claim in run.claims for v in claim.of}
    cut = (run.cut - set(run.edges.values()) - run.inside) | run.cut_for_good
    return sorted((cut & needed_of(run, asked) & run.depending) - run.holding)


def given_up(run: Any) -> list[int]:
    """The detached results of the function that is checked. A step, as a sign is, has no gradient to lose."""
    detached = run.returned & run.depending - set(run.edges.values())
    cut = detached & (run.cut | run.cut_for_good) - run.inside
    return sorted(detached & run.inside | (cut & reached(run, *(v for claim in run.claims for v in claim.of)) if cut else cut))


def marked_of(run: Any) -> list[int]:
    """The results of Functions that an output was computed from, though they were marked as not differentiable, and operands move them."""
    asked = {v for claim in run.claims for v in claim.of}
    lost = (run.inside - set(run.edges.values())) & run.depending & needed_of(run, asked)
    own = {id(one) for one in run.own}
    return sorted(lost.intersection(v for one in run.regions if one.is_forward and id(one) not in own for v in one.operands))


def needed_of(run: Any, asked: set[int]) -> set[int]:
    """Find the values that an output was computed from."""
    needed, before = {claim.output for claim in run.claims}, 0
    while len(needed) > before:
        before = len(needed)
        for results, operands in [*[(one.results, one.operands) for one in reversed(run.regions)], *[(found, read) for read, found in run.links]]:
            if needed.intersection(results) and not asked.intersection(results):
                needed.update(operands)
    return needed


def cut_off(run: Any) -> list[str]:
    """The tensors that no pass gave a gradient, though one began at something that depends on them: all ways are cut."""
    names = []
    given = {value for claim in run.claims for value, bar in claim.of.items() if bar not in run.zeros}
    for claim in run.claims:
        for value, bar in claim.of.items():
            if value not in given and bar in run.zeros and claim.output in reached(run, value):
                names.append(run.memory.values[value].name)
    return list(dict.fromkeys(names))


def is_of_none(run: Any) -> bool:
    """Whether passes were asked for gradients of named tensors, gave none of them one, and began at nothing that is computed of them, as a sign is."""
    bars = [bar for claim in run.claims for value, bar in claim.of.items() if value in run.holding]
    return bool(bars) and run.zeros.issuperset(bars) and downstream(run, run.holding).isdisjoint(claim.output for claim in run.claims)


def why_cut(run: Any, name: str) -> str:
    """Why a tensor was given no gradient: a Function returned None on the way to it, or the program cut all ways."""
    for value in (value for claim in run.claims for value in claim.of if run.memory.values[value].name == name):
        ways = reached(run, value)
        for above, function in run.withheld.items():
            if above in ways:
                of = "it" if above == value else f"'{run.memory.values[above].name}', which depends on it"
                return (f"the backward of {function} returned None for {of}. Return the gradient there; if '{name}' is meant to have none, "
                        "give it as a tensor that does not require a gradient")
    return "what depends on it is cut off by detach, data or no_grad on every way to the output"

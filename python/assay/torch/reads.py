"""Numbers that a Function reads off its inputs: what Python compares them with is a branch, as a comparison of tensors is.

What follows such a number is no float, so that whatever takes it in another way than by comparing or computing is heard of: of that nothing tells
what it decides.
"""
from __future__ import annotations

import collections
import itertools
import math
import operator
from dataclasses import dataclass
from typing import Any, Callable

import numpy
import torch
from torch.autograd.function import BackwardCFunction
from torch.utils._pytree import tree_map

from .branches import ABOVE, BELOW, EQUAL, FALSE, TRUE, Branch
from .cotangents import FINITE, READ, Deciding, by_program, is_of_finite
from .loops import BETWEEN, ORDERING, SHOWS, called_by, decides_at_once, instructions, is_caught, kept_of, offset_of
from .nodes import WHOLE
from .outside import HERE, TORCH, WAYS_OUT, program_frame, written_numbers
from .sizes import OF_SIZES, Compared, Size, sized
from .values import Region

ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
MOST_READ = 2**16  # numbers of one tensor that are followed
TEXTS = {torch.Tensor.__repr__: "str or repr", torch.Tensor.__format__: "format"}
# What is no number of an operand's: properties by their name, methods by theirs.
PROPERTIES = {"grad": "the gradient that a tensor has already", "_base": "what a tensor is a view of", "grad_fn": "the node that made a tensor",
              "retains_grad": "whether a tensor keeps its gradient", "output_nr": "which result of its node a tensor is", "_backward_hooks": "the hooks of a tensor",
              "_post_accumulate_grad_hooks": "the hooks of a tensor", "name": "the name of a tensor"}
METHODS = {"is_inference": "whether a tensor was made for inference", "is_shared": "whether processes share a tensor", "is_conj": "whether a tensor is conjugated by a bit",
           "is_neg": "whether a tensor is negative by a bit", "is_pinned": "whether a tensor's memory is pinned", "_is_zerotensor": "whether a tensor has no memory"}
ASKED = {getattr(torch._C.TensorBase, one).__get__: what for one, what in PROPERTIES.items()} | {getattr(torch.Tensor, one): what for one, what in METHODS.items()}
KINDS = {getattr(torch._C.TensorBase, name).__get__: what for name, what in (
    ("dtype", "type"), ("device", "device"), ("layout", "layout"), *((name, name) for name in ("is_cuda", "is_sparse", "is_quantized", "is_meta", "is_nested", "is_mkldnn")))}  # of which another one decides
BYTES = {torch.Tensor.element_size, torch.Tensor.itemsize.__get__}  # type: ignore[attr-defined]
KINDS |= dict.fromkeys(BYTES, "element size")
LOOKED_UP = {"get", "index", "pop", "setdefault", "count"}  # calls that look a type up in a table
CASTS = {getattr(torch.Tensor, name): name for name in ("to", "type", "type_as", "int", "long", "short", "char", "byte", "bool", "half", "bfloat16", "float", "double", "cfloat", "cdouble")}
READS = WAYS_OUT | TEXTS | {getattr(torch.Tensor, f"__{name}__"): name for name in ("bool", "int", "index", "reduce_ex", "deepcopy")}
FOLLOWED = ("item", "tolist")
SIZES = {torch.Tensor.shape.__get__, torch.Tensor.__len__, torch.Tensor.size, torch.Tensor.stride, torch.Tensor.numel, torch.numel, torch.Tensor.nbytes.__get__}  # type: ignore[attr-defined]
TOLD = {torch.Tensor.storage_offset: "where a tensor begins in its memory", torch._C.TensorBase._version.__get__: "how often a tensor was written"}  # type: ignore[attr-defined]
COUNTS = ("nonzero", "masked_select", "_unique", "_unique2", "unique_dim", "unique_consecutive")  # whose results are as many as numbers decide
MOVED = ("abs", "neg", "view", "_unsafe_view", "select", "slice", "clone", "expand", "permute", "transpose", "t", "unsqueeze", "squeeze", "alias", "flip", "amax", "max", "min", "amin")
LOOKUPS = ("index", "index_select", "embedding", "take", "gather", "_unsafe_index")  # in tables, by their second operand


class Read:
    """A number of an input's, or a random one (`is_drawn`), and what is computed of it. `hears` is told of comparisons and of other uses."""

    __slots__ = ("number", "hears", "why", "is_drawn")

    def __init__(self, number: Any, hears: "Reading", why: str = "", is_drawn: bool = False) -> None:
        self.number, self.hears, self.why, self.is_drawn = number, hears, why, is_drawn

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what asks for a float finds one
        return type(self.number)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*numbers_of(args), **numbers_of(kwargs or {}))

    def __getattr__(self, name: str) -> Any:
        self.hears.note_unfollowed(name)
        return getattr(self.number, name)

    def __bool__(self) -> bool:
        if isinstance(self.number, bool):
            self.hears.note_truth(self.number)
        else:
            self.hears.note_compared("__ne__", self.number, 0)
        return bool(self.number)


def numbers_of(given: Any) -> Any:
    """Arguments with plain numbers in place of those that are followed."""
    return tree_map(lambda one: one.number if type(one) is Read else one, given)


def comparison(name: str) -> Callable[[Read, Any], Any]:
    compare = getattr(operator, name)

    def compared(a: Read, b: Any) -> Any:
        other = b.number if type(b) is Read else b
        if isinstance(other, (int, float)):
            a.hears.note_compared(f"__{name}__", a.number, other, a.is_drawn)
        found = compare(a.number, other)
        return found if a.is_drawn or type(found) is not bool else a.hears.compared(found, name, a.why)
    return compared


def computation(function: Callable[..., Any], reversed_: bool = False) -> Callable[..., Any]:
    def compute(a: Read, *others: Any) -> Any:
        plain = [one.number if type(one) is Read else one for one in others]
        if not all(one is None or isinstance(one, (int, float, torch.Tensor)) for one in plain):
            a.hears.note_unfollowed(function.__name__)
        found = function(*plain, a.number) if reversed_ else function(a.number, *plain)
        return Read(found, a.hears, a.why, a.is_drawn) if type(found) in (int, float, bool) else a.hears.made_of(found, True)
    return compute


def escape(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def escaped(a: Read, *others: Any) -> Any:
        a.hears.note_unfollowed(name)
        return function(a.number, *others)
    return escaped


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Read, f"__{_name}__", comparison(_name))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    _function = getattr(operator, f"__{_name}__")
    setattr(Read, f"__{_name}__", computation(_function))
    setattr(Read, f"__r{_name}__", computation(_function, True))
_computed: dict[str, Callable[..., Any]] = {"neg": operator.neg, "pos": operator.pos, "invert": operator.invert, "abs": abs, "round": round, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}
_escaped: dict[str, Callable[..., Any]] = {
    "float": float, "int": int, "complex": complex, "index": operator.index, "str": str, "repr": repr, "format": format, "hash": hash, "divmod": divmod,
    "rdivmod": lambda a, b: divmod(b, a), "reduce_ex": lambda a, _: (type(a), (a,)), "array": lambda a, *_, **__: numpy.asarray(a)}
for _name, _function in _computed.items():
    setattr(Read, f"__{_name}__", computation(_function))
for _name, _function in _escaped.items():
    setattr(Read, f"__{_name}__", escape(_name, _function))


class Reading(Deciding):
    """Notes what a Function's forward or backward pass reads off what its inputs decide, and what Python decides by that.

    `follows`: whether numbers are followed; a program that does not take what follows them has to run again without it.
    """

    def __init__(self, model: Any = None) -> None:
        self.follows, self.hands_out = False, False
        self.unfollowed: list[str] = []  # uses of numbers of inputs of which nothing tells what depends on them
        self.plainly: set[int] = set()  # values that are finite where the inputs are
        self.counted: set[int] = set()  # values as large as inputs decide
        self.reading = self.showing = 0  # how many reads run, and how many of these make a text
        self.kinds_compared: list[str] = []  # comparisons of types and devices of tensors by Functions
        self.sizes: dict[str, Compared] = {}  # which comparisons of sizes Functions make
        self.compares_sizes = False  # whether they compare sizes with each other
        self.wholes: set[int] = set()  # numbers with which they compare tensors of integers
        self.every: dict[str, set[str]] = {}  # on which sides the steps of a generator were
        self.taken = collections.Counter[Any]()  # how often each decision was taken in a pass
        self.looped: dict[str, None] = {}  # the lines of those that were taken again
        self.looping: set[int] = set()  # the passes in which such were
        self.counts_to: set[int] = set()  # whole numbers that stand in code which counts such
        self.drawn: set[str] = set()  # random numbers of NumPy's and Python's that are followed, and where
        self.surroundings: list[str] = []  # what Functions ask of what is no operand
        super().__init__(model)

    def given(self, tensor: torch.Tensor, name: str, *, is_parameter: bool = False) -> int:
        value = super().given(tensor, name, is_parameter=is_parameter)
        if self.drawn and self.in_function():  # it may be made of numbers that were drawn
            self.decided.add(value)
        return value

    def append(self, op: str, operands: Any, outputs: Any, results: list[int]) -> Region:
        region = super().append(op, operands, outputs, results)
        if self.looping and self.pass_number() in self.looping and self.in_function():  # a tensor may count, too
            self.decided.update(results)
        return region

    @staticmethod
    def pass_number() -> int:
        node = torch._C._current_autograd_node()
        return int(torch._C._autograd._get_sequence_nr() if node is None else node._sequence_nr())

    def in_function(self) -> str:
        if self.in_backward():
            return by_program() if isinstance(torch._C._current_autograd_node(), BackwardCFunction) else ""
        return "" if torch.is_grad_enabled() else program_frame()[1]

    def spot(self) -> str:
        if not self.in_function():
            return ""
        frame = program_frame(inside=not self.in_backward())[0]
        return f"{frame.f_code.co_filename}:{frame.f_code.co_firstlineno}:{offset_of(frame)}" if frame is not None else ""

    def read(self, function: Any, args: Any, kwargs: Any) -> Any:
        """The program asks for a tensor's numbers, or for whether one is 0."""
        if self.bars and function is torch.Tensor.__bool__:
            return self.truth(function, args)
        shows = function in TEXTS and is_shown()
        if self.bars and (function in WAYS_OUT or function in TEXTS and not shows):
            self.note_taken(READS[function], args)
        left = self.asked(function, args) if function in WAYS_OUT else None
        place = self.in_function() if args and not shows and self.is_decided(args[0]) else ""
        self.reading += 1
        self.showing += function in TEXTS
        try:
            found = function(*args, **kwargs)
        finally:
            self.reading -= 1
            self.showing -= function in TEXTS
        why = "" if left is None else str(left)
        if place:
            return self.followed(READS[function], args[0], found, why)
        return found if left is None or left.by == "float" else self.marked_numbers(found, why)

    def is_decided(self, tensor: Any) -> bool:
        """Whether an input that has a gradient decides it, and no cotangent does."""
        if not isinstance(tensor, torch.Tensor):
            return False
        value = self.memory.marked(tensor, self.history(tensor))
        if value is None:
            with self.aside():
                try:
                    value = self.value(tensor) if tensor.untyped_storage()._cdata in self.memory.blocks else None
                except (NotImplementedError, RuntimeError):
                    return False
        return value in self.decided and value not in self.bars

    def truth(self, function: Any, args: Any) -> bool:
        """A decision of the program's by a number, of which no more is read than whether it is 0."""
        bent, branches = list(self.bent), len(self.branches)
        self.reading += 1
        try:
            found = bool(function(*args))
        finally:
            self.reading -= 1
        self.bent, self.branches[branches:] = bent, []
        self.note_read("__bool__", args[0], found)
        if self.is_decided(args[0]) and self.in_function():
            self.note_truth(found)
        return found

    def followed(self, how: str, tensor: torch.Tensor, found: Any, why: str) -> Any:
        if type(found) is bool:
            self.note_truth(found)
        elif how in FOLLOWED and self.follows and tensor.numel() <= MOST_READ and tensor.dtype != torch.bool and not tensor.is_complex():
            self.hands_out = True
            return self.handed(found, why)
        elif tensor.numel():
            self.note_unfollowed(how)
        return found

    def handed(self, found: Any, why: str, is_drawn: bool = False) -> Any:
        return [self.handed(one, why) for one in found] if isinstance(found, list) else Read(found, self, why, is_drawn)

    def told(self, op: str, tensors: list[torch.Tensor], found: Any) -> Any:
        """Note the numbers that an operation told Python, of itself."""
        if self.showing:
            return found
        if op in READ and not self.reading and not isinstance(found, torch.Tensor) and any(self.is_decided(one) for one in tensors) and self.in_function():
            if isinstance(found, bool):
                self.note_truth(found)
            else:
                self.note_unfollowed(op.strip("_"))
        return super().told(op, tensors, found)

    def with_decisions(self, branches: list[Branch], call: Any, args: Any, values: list[int | None], results: list[Any]) -> list[Branch]:
        decided = [v for v in values if v in self.decided]
        if call.op in ORDERED and len(args) > 1 and type(args[1]) is int and args[0].dtype in WHOLE and self.in_function():
            self.wholes.add(args[1])
        if decided:
            of = {v for one in results if isinstance(one, torch.Tensor) and (v := self.memory.marked(one, self.history(one))) is not None}
            is_moved = self.plainly.union(self.inputs, self.parameters).issuperset(decided)
            if is_moved and (call.op in FINITE or is_of_finite(call.op, args)):
                self.decided -= of  # of numbers that are finite it says nothing
            else:
                self.decided |= of
            if is_moved and call.op in MOVED:
                self.plainly |= of
            for one in results if self.in_function() else []:
                if isinstance(one, bool):
                    self.note_truth(one)
                elif isinstance(one, (int, float)):
                    self.note_unfollowed(call.op)
            if call.op in COUNTS or call.op == "index" and any(isinstance(one, torch.Tensor) and one.dtype == torch.bool for one in args[1]):
                self.counted |= of
            if call.op in LOOKUPS and values[0] not in self.decided and values[0] not in self.bars and self.in_function():
                self.note_unfollowed(call.op)
        return super().with_decisions(branches, call, args, values, results)

    def note_size(self, tensor: Any) -> None:
        """The program asks how large a tensor is."""
        if self.counted and isinstance(tensor, torch.Tensor) and self.memory.marked(tensor, self.history(tensor)) in self.counted:
            self.note_unfollowed("the size of what they select")

    def made_of(self, found: Any, is_read: bool) -> Any:
        """A tensor that is made of numbers of inputs is decided by them."""
        if is_read and isinstance(found, torch.Tensor) and found.numel() and self.in_function():
            with self.aside():
                self.decided.add(self.value(found))
        return found

    def sized(self, found: Any) -> Any:
        """A size that a Function reads."""
        if not self.follows or not self.in_function():
            return found
        if type(found) is int and (after := compared_after()) is not None:  # of len(), which gives a plain integer
            self.note_size_compared(f"size {after.argval} {after.number}", found, frozenset({after.number}), bool(SIGNS[after.argval](found, after.number)))
        return sized(found, self.note_size_compared)

    def note_kind(self, what: str) -> None:
        """A Function compares the type of a tensor, or where it is."""
        is_truth = what.startswith("is_") or what == "element size"  # numbers are computed of a size
        if self.in_function() and (is_truth or is_compared() or is_looked_up()) and not is_guard(BETWEEN | LOADS):
            one = f"{what if is_truth else f'a comparison of the {what}'} of a tensor at {self.in_function()}"
            self.kinds_compared += [one] if one not in self.kinds_compared else []

    def note_size_compared(self, what: str, size: int, numbers: frozenset[int], outcome: bool) -> None:
        """Python compares a size. What ends in an exception is no decision."""
        if (place := self.in_function()) and not is_guard():
            if what == OF_SIZES:
                self.compares_sizes = True
                return
            self.sizes.setdefault(f"{what} at {place}", Compared(size, set(numbers))).outcomes.add(outcome)

    def counts(self, found: int, what: str) -> Any:
        """A number that a Function may hand on, and that decides nothing. Other layouts have it zero and not zero, so that question is tried."""
        if not self.follows or not self.in_function():
            return found
        return Size.of(found, lambda asked, *_: None if asked in ("size != 0", "size == 0", "size > 0") else self.note_asked(what))

    def note_asked(self, what: str) -> None:
        if is_guard(BETWEEN | LOADS):
            return
        if (place := self.in_function()) and f"{what} at {place}" not in self.surroundings:
            self.surroundings.append(f"{what} at {place}")

    def note_unfollowed(self, how: str) -> None:
        if (place := self.in_function()) and f"{how.strip('_')} at {place}" not in self.unfollowed:
            self.unfollowed.append(f"{how.strip('_')} at {place}")

    def compared(self, found: bool, how: str, why: str) -> Any:
        """Return the truth value of a comparison, which is followed unless it decides at once."""
        frame = program_frame(inside=not self.in_backward())[0]
        if frame is None or not self.in_function() or decides_at_once(frame) or is_guard():
            return found
        if (names := called_by(frame)) is None:
            return Read(found, self, why)
        if how not in ("lt", "gt") or "key" in names or not names & ORDERING:
            self.note_unfollowed("the place or number that a call finds")
        return found

    def note_again(self) -> None:
        """A decision was taken: if not for the first time in a pass, what Python keeps of it is no number that is followed."""
        frame, key = program_frame(inside=not self.in_backward())[0], (self.spot(), self.pass_number())
        self.taken[key] += 1
        if frame is not None and self.taken[key] == 2:
            self.looped.setdefault(self.in_function())
            self.looping.add(key[1])
            if what := kept_of(frame, is_followed):
                self.note_unfollowed(f"a repeated decision that keeps {what}")
                self.counts_to |= written_in_passes(frame)

    def note_truth(self, found: bool) -> None:
        """Python decides by what inputs decide. Where one side ends in an exception nothing is to be judged there."""
        if is_guard():
            return
        self.note_again()
        self.note_every(self.label("truth value"), TRUE if found else FALSE, (TRUE, FALSE))
        place, spot, name = self.in_function(), self.spot(), self.label("truth value")
        known = next((one for one in self.branches if one.spot == spot and one.name == name and not one.is_of_cotangent), None)
        if known is None:
            known = Branch(name, None, 0.0, 0.0, set(), (TRUE, FALSE), is_backward=self.in_backward(), place=place, is_own=True, spot=spot)
            self.branches.append(known)
        known.sides.add(TRUE if found else FALSE)

    def note_every(self, name: str, side: str, wanted: tuple[str, ...]) -> None:
        """A decision of each step of a generator, as in `all(x > 1 for x in numbers)`, or of a loop: it has to be the same one in all steps of some run.

        A list that is filtered may be of any length, of which nothing tells what depends on it.
        """
        frame = program_frame(inside=not self.in_backward())[0]
        if frame is None:
            return
        if frame.f_code.co_name in FILTERS and is_jump():
            self.note_unfollowed("the length of a filtered list")
        is_loop, spot = frame.f_code.co_name not in STEPPING, self.spot()
        name = f"{name}, in every step of a {'loop' if is_loop else 'generator'}"
        is_first, sides = f"{name} {spot}" not in self.every, self.every.setdefault(f"{name} {spot}", set())
        sides.add(side)
        if is_first and is_loop:
            return
        known = next((one for one in self.branches if one.spot == spot and one.name == name), None)
        if known is None:
            known = Branch(name, None, 0.0, 0.0, set(), wanted, is_backward=self.in_backward(), place=self.in_function(), is_own=True, is_mild=is_loop, spot=spot)
            self.branches.append(known)
        known.sides = sides.copy() if len(sides) == 1 else set()

    def note_compared(self, how: str, number: Any, other: Any, is_drawn: bool = False) -> None:
        """Python compares a number of an input's: one branch of the line, whichever elements it looks at."""
        other, found = float(other), float(number)
        if other != other or abs(other) == float("inf") or not (place := self.in_function()) or is_guard():
            return
        is_written = other in written_numbers()
        side = BELOW if found < other else ABOVE if found > other else EQUAL
        name = f"{how.strip('_')} of a number that was read, at {f'{other:.6g}' if is_written else 'another number'}"
        spot = self.spot()
        if not is_drawn and (is_written or program_frame(inside=not self.in_backward())[0].f_code.co_name in STEPPING):
            self.note_every(name, side, (EQUAL,) if how in ("__eq__", "__ne__") else (BELOW, ABOVE))
        if not is_drawn and decides_at_once(program_frame(inside=not self.in_backward())[0]):
            self.note_again()
        known = next((one for one in self.branches if one.spot == spot and one.name == name and not one.is_of_cotangent), None)
        if known is None:
            wanted: tuple[str, ...] = (EQUAL,) if how in ("__eq__", "__ne__") else (BELOW, ABOVE)
            self.branches.append(Branch(name, other if is_written else None, found, found, {side}, wanted, is_backward=self.in_backward(), place=place, is_own=True, spot=spot))
        else:
            known.sides.add(side)
            known.lowest, known.highest = min(known.lowest, found), max(known.highest, found)


def is_followed(value: Any) -> bool:
    """Whether a value of the program's is a tensor, a number that is followed, or a list of these."""
    one = value[0] if isinstance(value, (list, tuple)) and value else value
    return isinstance(one, torch.Tensor) or type(one) is Read or isinstance(one, list) and is_followed(one)


def written_in_passes(frame: Any) -> set[int]:
    """The whole numbers in the program's code that runs, from a frame up to PyTorch."""
    found = set[int]()
    while frame is not None and not frame.f_code.co_filename.startswith(TORCH):
        found.update(one for one in frame.f_code.co_consts if type(one) is int)
        frame = frame.f_back
    return found


def is_shown() -> bool:
    """Whether the program's line prints or logs something, or raises it, and compares nothing: then no text decides."""
    frame, _ = program_frame(inside=False)
    line = [one for one in instructions(frame.f_code)[0] if one.positions and one.positions.lineno == frame.f_lineno] if frame is not None else []
    shows = any(one.opname == "RAISE_VARARGS" or one.opname.startswith("LOAD_") and one.argval in SHOWS for one in line)
    return shows and not any(one.opname in ("COMPARE_OP", "CONTAINS_OP") or one.opname.startswith("STORE_") for one in line)


SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
LOADS = {"PRECALL", "CALL", "CACHE", "EXTENDED_ARG", "LOAD_CONST", "LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD", "LOAD_FAST", "LOAD_DEREF", "LOAD_NAME", "BUILD_TUPLE"}  # up to a comparison


def steps_after() -> list[Any]:
    """The instructions behind the one of the program's that runs."""
    frame, _ = program_frame(inside=False)
    steps, places = instructions(frame.f_code) if frame is not None else ([], {})
    at = places.get(frame.f_lasti, len(steps)) if frame is not None else 0
    return steps[at + 1:at + 12]


def is_compared() -> bool:
    """Whether the program's line compares at once what it reads now, or decides by it."""
    steps = [one for one in steps_after() if one.opname not in ("CACHE", "EXTENDED_ARG", "PRECALL")]
    if steps and steps[0].opname == "CALL" and read_before(2) == "to":  # a cast to the type that was read
        return False
    rest = [one for one in itertools.dropwhile(lambda one: one.opname in LOADS, steps)]
    return bool(rest) and (rest[0].opname in ("COMPARE_OP", "IS_OP", "CONTAINS_OP", "UNARY_NOT") or "JUMP" in rest[0].opname and "IF" in rest[0].opname)


def read_before(count: int) -> str:
    """The attribute or method that the program's line loaded so many instructions before the one that runs; empty if that is no such load."""
    frame, _ = program_frame(inside=False)
    steps, places = instructions(frame.f_code) if frame is not None else ([], {})
    before = [one for one in steps[:places.get(frame.f_lasti, 0)] if one.opname not in ("CACHE", "EXTENDED_ARG")] if frame is not None else []
    return str(before[-count].argval) if len(before) >= count and before[-count].opname in ("LOAD_ATTR", "LOAD_METHOD") else ""


def is_looked_up() -> bool:
    """Whether the program's line looks up in a table what it reads now."""
    steps = [one for one in steps_after() if one.opname not in ("CACHE", "EXTENDED_ARG", "LOAD_CONST")]
    if steps and steps[0].opname == "BINARY_SUBSCR":
        return True
    frame, _ = program_frame(inside=False)
    before, places = instructions(frame.f_code) if frame is not None else ([], {})
    at = places.get(frame.f_lasti, 0) if frame is not None else 0
    return bool(steps) and steps[0].opname in ("PRECALL", "CALL") and any(one.opname in ("LOAD_METHOD", "LOAD_ATTR") and one.argval in LOOKED_UP for one in before[max(0, at - 6):at])


@dataclass
class After:
    """A comparison with a written number that follows at once."""

    argval: str
    number: int


def compared_after() -> After | None:
    rest = [one for one in steps_after() if one.opname not in ("CACHE", "EXTENDED_ARG")][:2]
    is_written = len(rest) == 2 and rest[0].opname == "LOAD_CONST" and type(rest[0].argval) is int and rest[1].opname == "COMPARE_OP"
    return After(rest[1].argval, rest[0].argval) if is_written else None


STEPPING, FILTERS = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"), ("<listcomp>", "<setcomp>", "<dictcomp>")  # code that takes steps


def is_jump() -> bool:
    """Whether the program's line decides by what it reads now, or compares."""
    rest = list(itertools.dropwhile(lambda one: one.opname in BETWEEN, steps_after()))
    return bool(rest) and "JUMP" in rest[0].opname and "IF" in rest[0].opname


ENDS = 60  # instructions in which an exception is raised


def is_guard(between: set[str] = BETWEEN) -> bool:
    """Whether the program's line decides now between going on and an exception."""
    frame, _ = program_frame(inside=False)
    if frame is None:
        return False
    steps, places = instructions(frame.f_code)
    at, above = places.get(frame.f_lasti, len(steps)), frame
    while above is not None and not above.f_code.co_filename.startswith((HERE, TORCH)):
        if is_caught(above):
            return False
        above = above.f_back
    for i in range(at, min(at + 12, len(steps))):
        if "JUMP" in steps[i].opname and "IF" in steps[i].opname:
            return raises(steps, i + 1) or raises(steps, places.get(steps[i].argval, len(steps)))
        if steps[i].opname not in between:
            return str(steps[i].argval).startswith("@py_assert")  # pytest writes assertions anew
    return False


def raises(steps: list[Any], start: int) -> bool:
    for one in steps[start:start + ENDS]:
        if one.opname == "RAISE_VARARGS":
            return True
        if "JUMP" in one.opname or one.opname.startswith("RETURN"):
            return False
    return False


__all__ = ["ASKED", "CASTS", "KINDS", "MOST_READ", "READS", "Read", "Reading", "TOLD", "numbers_of"]

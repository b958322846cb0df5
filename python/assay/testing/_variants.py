"""Functions that are called in another way than the one that was judged: one tensor given twice, Parameters, other settings of PyTorch and of the program.

Each way costs a run that is not recorded. If its gradients are those of the first way, bit by bit, they are as right; others are recorded and judged.
"""
from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import threading
import types
from dataclasses import dataclass
from typing import Any, Callable, ContextManager, Iterable, Iterator, Sequence

import torch

from ._cotangents import Cotangents, differs
from ._draws import States
from ._operations import Operations
from ._surroundings import Seen, loads_of

MOST_PAIRS, MOST_SETTINGS, MOST_VALUES, MOST_ITEMS = 6, 48, 4, 16
MISSING = object()
PLACING = {"scatter", "scatter_reduce", "index_copy", "index_put", "put", "index_fill", "masked_scatter"}  # where a place that occurs twice leaves open which is last
INVERTING = {"sort", "argsort", *PLACING}  # of integers: what finds the inverse of a permutation
MOST_NUMBERS, SEED = 2**16, 5
ROUNDING = 2.0**-6  # a difference that is no rounding, of sums in another order
Change = Callable[[], ContextManager[Any]]


@dataclass
class Variant:
    """Another way to call the function: its inputs, beside which settings, and the gradients of the first way that it should give."""

    what: str
    point: Sequence[Any]
    change: Change = contextlib.nullcontext
    base: Sequence[Any] | None = None  # the inputs of the first way, if those are others
    pair: tuple[int, int] | None = None  # the gradients of these are added up
    kept: Sequence[bool] | None = None  # which of its gradients the first way has, too
    is_other: bool = False  # equal gradients of it would say nothing


def variants(point: Sequence[Any], seen: Seen, counts: Sequence[str], takes_repeats: Callable[[torch.Tensor], bool], wholes: Sequence[int]) -> Iterator[Variant]:
    asking = [i for i, one in enumerate(point) if isinstance(one, torch.Tensor) and one.requires_grad]
    for i, j in itertools.islice(itertools.combinations(asking, 2), MOST_PAIRS):
        if point[i].shape == point[j].shape and point[i].dtype == point[j].dtype:
            places = asking.index(i), asking.index(j)
            one = fresh(point[i])
            yield Variant(f"for one tensor as inputs {i} and {j}", put(point, {i: one, j: one}), base=put(point, {i: one, j: fresh(one)}), pair=places)
            yield Variant(f"for inputs {i} and {j} in one memory", put(point, dict(zip((i, j), together(point[i], point[j])))))
    for i, one in enumerate(point):
        if isinstance(one, torch.Tensor) and not one.is_floating_point() and not one.is_complex() and 0 < one.numel() <= MOST_NUMBERS:
            yield from (Variant(f"for input {i} with {what}", put(point, {i: other}), is_other=True) for what, other in itertools.chain(integers_beside(one, takes_repeats(one)), integers_put(one, wholes)))
    yield from places_twice(point, takes_repeats)
    if leaves := [i for i in asking if not isinstance(point[i], torch.nn.Parameter)]:
        yield Variant("for inputs that are Parameters", put(point, {i: torch.nn.Parameter(point[i].detach().clone()) for i in leaves}))
    if silent := [i for i, one in enumerate(point) if isinstance(one, torch.Tensor) and not one.requires_grad and one.is_floating_point()]:
        yield Variant("where all inputs ask for a gradient", put(point, {i: fresh(point[i]) for i in silent}), kept=[i not in silent for i in sorted(asking + silent)])
    names = dict.fromkeys(one for code in seen for one in (*code.co_names, *constants_of(code)) if isinstance(one, str) and one.isidentifier() and not hasattr(torch.Tensor, one))
    if names:
        words = ", ".join(f"'{one}'" for one in itertools.islice(names, MOST_VALUES))
        yield Variant(f"for inputs with attributes named in the code ({words})", put(point, {i: with_attributes(point[i], names) for i in asking}))
    yield Variant("where the default type is float64", point, lambda: set_to(torch.get_default_dtype, torch.set_default_dtype, torch.float64))
    yield Variant("where switches of torch.backends, of determinism and of precision are others", point, lambda: all_of(list(switches())))
    yield Variant("where torch.backends says that another library is available", point, lambda: all_of(list(availability())))
    for what, change in itertools.islice(settings(seen, counts), MOST_SETTINGS):
        yield Variant(f"where {what}", point, change)


def integers_beside(one: torch.Tensor, repeats: bool) -> Iterator[tuple[str, torch.Tensor]]:
    """Truth values that are others, and whole numbers of those given: exchanged for each other, and with repetitions."""
    generator = torch.Generator().manual_seed(SEED)
    if one.dtype == torch.bool:
        for what, other in (("the opposite", ~one), ("drawn", torch.rand(one.shape, generator=generator) < 0.5)):
            if not torch.equal(other := with_lines(one, other), one):
                yield f"{what} truth values", other
        return
    flat = one.flatten()
    numbers, places = torch.unique(flat, return_inverse=True)
    is_rising = one.dim() == 1 and bool((flat.diff() >= 0).all())  # perhaps where parts begin: they stay in order, and the last one stays
    if not is_rising:
        yield "its numbers exchanged for each other", numbers[torch.randperm(len(numbers), generator=generator)][places].reshape(one.shape)
    if repeats and one.dim() == 1 and len(numbers) == len(flat) > 1:
        if not is_rising:
            drawn = torch.randint(len(numbers), (len(flat),), generator=generator)
            drawn[0] = drawn[-1]
            yield "repeated numbers", numbers[drawn]
        else:
            yield "a repeated number", torch.cat((flat[:1], flat[:1], flat[2:]) if len(flat) > 2 else (flat[1:], flat[1:]))
    for axis in range(one.dim() if repeats and one.dim() > 1 else 0):
        if (twice := with_first_repeated(one, axis)) is not None:
            yield f"entries along axis {axis} that are repeated", twice


def integers_put(one: torch.Tensor, wholes: Sequence[int]) -> Iterator[tuple[str, torch.Tensor]]:
    """Numbers with which a Function compares integers, such as that of targets to be ignored, in the first place; where numbers rise, they rise then, too."""
    flat = one.flatten()
    is_rising = one.dim() == 1 and bool((flat.diff() >= 0).all())
    for number in [] if one.dtype == torch.bool else [n for n in wholes if not bool((flat == n).any())][:MOST_VALUES]:
        if not is_rising or number < int(flat[0]):
            yield f"the number {number} in it", torch.cat((flat.new_tensor([number]), flat[1:])).reshape(one.shape)


def places_twice(point: Sequence[Any], takes_repeats: Callable[[torch.Tensor], bool]) -> Iterator[Variant]:
    """Whole numbers of one shape may be places together, such as rows and columns: the first place occurs twice."""
    alike = [i for i, one in enumerate(point) if isinstance(one, torch.Tensor) and one.dtype in (torch.int32, torch.int64) and 1 < one.numel() <= MOST_NUMBERS]
    for shape in dict.fromkeys(point[i].shape for i in alike):
        some = [i for i in alike if point[i].shape == shape]
        if len(some) > 1 and all(takes_repeats(point[i]) for i in some):
            changed = {i: torch.cat((point[i].flatten()[:1], point[i].flatten()[:1], point[i].flatten()[2:])).reshape(shape) for i in some}
            yield Variant(f"for inputs {', '.join(map(str, some))} with a repeated place", put(point, changed), is_other=True)


def with_first_repeated(one: torch.Tensor, axis: int) -> torch.Tensor | None:
    """The entries along an axis, of which the second is the first one again; nothing, where some are equal already."""
    if one.shape[axis] < 2 or len(torch.unique(one, dim=axis)) and torch.unique(one, dim=axis).shape[axis] < one.shape[axis]:
        return None
    other = one.clone()
    other.select(axis, 1).copy_(one.select(axis, 0))
    return other


def with_lines(given: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """The other truth values, but for lines along the last axis that hold one value alone, where no given line does: a mask may leave nothing of a line."""
    for value in (False, True) if given.dim() and given.shape[-1] > 1 else ():
        if not bool((given == value).all(-1).any()):
            other = torch.where((other == value).all(-1, keepdim=True), given, other)
    return other


def writing_later(function: Callable[..., Any], to_results: bool) -> Callable[..., Any]:
    """The function in a program that writes to its results, or else to its operands, after the call."""
    def program(*given: Any, **named: Any) -> Any:
        operands = [one * 1 if isinstance(one, torch.Tensor) and one.requires_grad else one for one in given]
        found = function(*operands, **named)
        results = found if isinstance(found, (tuple, list)) else [found]
        shared = [one.untyped_storage()._cdata for one in (*results, *operands) if isinstance(one, torch.Tensor)]
        for one in results if to_results else operands:  # of tensors in one memory, a write would change the others
            if isinstance(one, torch.Tensor) and one.grad_fn is not None and shared.count(one.untyped_storage()._cdata) == 1:
                one.mul_(2)
        return found
    return program


def fresh(one: torch.Tensor) -> torch.Tensor:
    return one.detach().clone().requires_grad_()


def put(point: Sequence[Any], changed: dict[int, Any]) -> list[Any]:
    return [changed.get(i, one) for i, one in enumerate(point)]


def with_attributes(one: torch.Tensor, names: Iterable[str]) -> torch.Tensor:
    found = fresh(one)
    for name in names:
        setattr(found, name, True)
    return found


def together(a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
    """Both as parts of one tensor."""
    return [one.detach().requires_grad_() for one in torch.stack([a.detach(), b.detach()])]


@contextlib.contextmanager
def set_to(get: Callable[[], Any], change: Callable[[Any], Any], value: Any) -> Iterator[None]:
    before = get()
    change(value)
    try:
        yield
    finally:
        change(before)


@contextlib.contextmanager
def all_of(changes: Sequence[Change]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for change in changes:
            with contextlib.suppress(AttributeError, RuntimeError):  # what this build of PyTorch cannot set
                stack.enter_context(change())
        yield


def switches() -> Iterator[Change]:
    """PyTorch's own settings, each as it is not."""
    backends = torch.backends
    for owner, keys in ((backends.cudnn, ("benchmark", "deterministic", "enabled", "allow_tf32")), (backends.mkldnn, ("enabled",)), (backends.cuda.matmul, ("allow_tf32",))):
        yield from (lambda owner=owner, key=key: at_value(owner, key, not getattr(owner, key)) for key in keys)
    yield lambda: set_to(torch.are_deterministic_algorithms_enabled, lambda on: torch.use_deterministic_algorithms(on, warn_only=True), True)
    yield lambda: set_to(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "medium")


def availability() -> Iterator[Change]:
    for owner in (torch.backends.mkl, torch.backends.mkldnn, torch.backends.openmp, torch.backends.mps):
        yield lambda owner=owner, found=owner.is_available(): at_value(owner, "is_available", lambda: not found)  # type: ignore[misc]


# Settings of the program's: truth values, texts and numbers that its passes look up by name.

def settings(seen: Seen, counts: Sequence[str]) -> Iterator[tuple[str, Change]]:
    """Yield each setting that the code of passes reads, at other values; numbers that change in each call, `counts`, are no settings."""
    for code, (names, locals_) in seen.items():
        constants = list(constants_of(code))
        loads = {path[:k]: decides and k == len(path) for path, decides, _ in loads_of(code) for k in range(1, len(path) + 1)}
        for path, decides in loads.items():
            if f"{path[0]} at {os.path.basename(code.co_filename)}:{code.co_firstlineno}" in counts:
                continue
            owner, key = owner_of(code, path, names, locals_)
            if owner is not None and isinstance(key, str) and not is_definition(owner):
                yield from at_values(".".join(path), owner, key, constants, decides)
            held = value_of(owner, key)
            texts = [one for one in constants if isinstance(one, str)]
            if isinstance(held, dict):
                for one in dict.fromkeys([*texts, *itertools.islice((k for k in held if isinstance(k, (str, int, bool))), MOST_ITEMS)]):
                    yield from at_values(f"{'.'.join(path)}[{one!r}]", held, one, constants, False)
            elif isinstance(held, list) and len(held) <= MOST_ITEMS:
                for i in range(len(held)):
                    yield from at_values(f"{'.'.join(path)}[{i}]", held, i, constants, False)
            elif isinstance(held, (set, frozenset)) or held is None or not hasattr(held, "__dict__") or isinstance(held, (type, types.ModuleType, types.FunctionType, torch.Tensor)):
                continue
            else:
                for one in (one for one in texts if one.isidentifier() and not one.startswith("__")):
                    yield from at_values(f"{'.'.join(path)}.{one}", held, one, constants, False)


def at_values(name: str, owner: Any, key: Any, constants: Sequence[Any], decides: bool) -> Iterator[tuple[str, Change]]:
    value = value_of(owner, key)
    for other in others_of(value, constants, decides):
        yield f"{name} is {other!r}", (lambda other=other: at_value(owner, key, other))  # type: ignore[misc]


def others_of(value: Any, constants: Sequence[Any], decides: bool) -> list[Any]:
    """Values with which the code may decide otherwise. Numbers are others only where the code compares them at once."""
    texts = [one for one in constants if isinstance(one, str) and one != value][:MOST_VALUES]
    numbers = [one for one in constants if isinstance(one, (int, float)) and not isinstance(one, bool)][:MOST_VALUES]
    if isinstance(value, bool):
        return [not value]
    if value is None or value is MISSING:
        return [True, *texts]
    if isinstance(value, str):
        return ["", *texts] if value else texts
    if isinstance(value, (int, float)) and decides:
        return [one for n in numbers or [1 if value == 0 else 0] for one in dict.fromkeys((n, n + 1, n - 1)) if one != value]
    return []


def constants_of(code: types.CodeType) -> Iterator[Any]:
    for one in code.co_consts[1:] if isinstance(code.co_consts[:1] and code.co_consts[0], str) else code.co_consts:
        if isinstance(one, (tuple, frozenset)):
            yield from one
        elif isinstance(one, types.CodeType):
            yield from constants_of(one)
        else:
            yield one


def value_at(code: types.CodeType, seen: tuple[dict[str, Any], dict[str, Any]]) -> Iterator[Any]:
    """The values that code finds under its names."""
    for path, _, _ in loads_of(code):
        owner, key = owner_of(code, path, *seen)
        if owner is not None:
            yield value_of(owner, key)


class Cell:
    """A name of the function around, which has no owner with attributes."""

    def __init__(self, cell: Any) -> None:
        self.cell = cell


def owner_of(code: types.CodeType, path: Sequence[str], names: dict[str, Any], locals_: dict[str, Any]) -> tuple[Any, Any]:
    """Find the thing that holds what is at a path of names, and under which key; nothing, where it is PyTorch's or a local value."""
    first, *rest = path
    if first in code.co_freevars:
        found: Any = next((Cell(cell) for one in gc.get_referrers(code) if isinstance(one, types.FunctionType)
                           for name, cell in zip(code.co_freevars, one.__closure__ or ()) if name == first and holds(cell, locals_.get(first))), None)
        key: Any = "cell_contents"
    elif first in names and first not in locals_:
        found, key = names, first
    else:
        return None, None
    for name in rest:
        held = value_of(found, key)
        if held is None or held is MISSING or isinstance(held, torch.Tensor) or is_library(held):
            return None, None
        found, key = held, name
    return found, key


def is_definition(owner: Any) -> bool:
    """Whether a name is one with which a Function was made: of the function around it, or of its own class."""
    return isinstance(owner, Cell) or isinstance(owner, type) and issubclass(owner, torch.autograd.Function)


def holds(cell: Any, value: Any) -> bool:
    with contextlib.suppress(ValueError):
        return cell.cell_contents is value
    return False


def is_library(held: Any) -> bool:
    """Whether the attributes of a thing are no settings of the program's: those of PyTorch, NumPy and Python."""
    name = getattr(held, "__name__", "") if isinstance(held, types.ModuleType) else getattr(held if isinstance(held, type) else type(held), "__module__", "") or ""
    return name.partition(".")[0] in ("torch", "numpy", "builtins", "math", "sys", "os") and not isinstance(held, threading.local)


def value_of(owner: Any, key: Any) -> Any:
    try:
        if isinstance(owner, Cell):
            return owner.cell.cell_contents
        return owner[key] if isinstance(owner, (dict, list)) else getattr(owner, key)
    except Exception:
        return MISSING


@contextlib.contextmanager
def at_value(owner: Any, key: Any, value: Any) -> Iterator[None]:
    """A setting has another value for a while."""
    before = value_of(owner, key)

    def put_back(one: Any) -> None:
        if isinstance(owner, dict) and one is MISSING:
            owner.pop(key, None)
        elif isinstance(owner, (dict, list)):
            owner[key] = one
        elif one is MISSING:
            delattr(owner, key)
        else:
            setattr(owner, key, one)
    put_back(value)
    try:
        yield
    finally:
        put_back(before)


# Runs.

class Variants:
    """The trials of one function whose report passed."""

    def __init__(self, trials: Any, judge: Callable[[Sequence[Any]], str]) -> None:
        self.trials, self.judge, self.start = trials, judge, States()

    def wrong(self, point: Sequence[Any]) -> tuple[str, str] | None:
        """The first way in which gradients are wrong, and what is."""
        try:
            return self.compared(point)
        finally:
            self.start.restore()

    def compared(self, point: Sequence[Any]) -> tuple[str, str] | None:
        first, again = self.answers(point), self.answers(point)
        if first is None or again is None or differs(first, again, [1.0] * len(first)):
            return None  # it is another function each time
        for one in itertools.chain(variants(point, self.trials.codes, self.trials.counts, functools.cache(lambda one: self.takes_repeats(point, one)),
                                            sorted(self.trials.wholes)), self.later_writes(point)):
            base = first if one.base is None else self.answers(one.base)
            try:
                with one.change():
                    found = self.answers(one.point)
                    if base is None or found is None or not self.is_other(base, found, one):
                        continue
                    self.start.restore()
                    if why := self.judge(one.point):
                        return one.what, why
            except Exception:  # what cannot be set is no setting
                continue
        return None

    def takes_repeats(self, point: Sequence[Any], one: torch.Tensor) -> bool:
        """Whether a number may occur twice: the forward pass writes to no places that are given, and no pass inverts a permutation."""
        self.start.restore()
        with Operations() as run:  # with gradients, which the program may ask for itself
            self.trials.function(*point)
        if not PLACING.isdisjoint(run.names):
            return False
        if one.dtype == torch.bool or not torch.equal(one.flatten().long().sort()[0], torch.arange(one.numel())):
            return True
        self.start.restore()
        with Operations() as run:
            self.trials.unrecorded(point, Cotangents())
        return INVERTING.isdisjoint(run.of_integers)

    def later_writes(self, point: Sequence[Any]) -> Iterator[Variant]:
        """Yield programs that write to a result, or to an operand: a Function that keeps one has to save it with `save_for_backward`."""
        for what, to_results in (("result", True), ("operand", False)):
            program = writing_later(self.trials.function, to_results)
            yield Variant(f"where the program writes to a {what} after the call, which `save_for_backward` would refuse", point,
                          lambda program=program: at_value(self.trials, "function", program))  # type: ignore[misc]

    def is_other(self, base: Sequence[Any], found: Sequence[Any], one: Variant) -> bool:
        if one.is_other:
            return True
        if one.pair is not None:
            if any(base[i] is None for i in one.pair):
                return True
            total = base[one.pair[0]] + base[one.pair[1]]
            return differs([total if i in one.pair else given for i, given in enumerate(base)], found, [1.0] * len(base), ROUNDING)
        kept = [*(one.kept or []), *[True] * len(found)]
        return differs(base, [g for g, is_kept in zip(found, kept) if is_kept], [1.0] * len(base)) or self.has_more(found, one)

    def has_more(self, found: Sequence[Any], one: Variant) -> bool:
        """Whether inputs that asked for no gradient have one, which nobody has judged. Those that have none, such as a mask, are then asked for none."""
        asking = [i for i, x in enumerate(one.point) if isinstance(x, torch.Tensor) and x.requires_grad] if one.kept else []
        fresh = [i for i, g, is_kept in zip(asking, found, one.kept or []) if not is_kept and g is not None and bool(g.any())]
        silent = [i for i, is_kept in zip(asking, one.kept or []) if not is_kept and i not in fresh]
        if fresh and silent:
            one.what, one.point = f"where input {', '.join(map(str, fresh))} asks for a gradient", put(one.point, {i: one.point[i].detach() for i in silent})
        return bool(fresh)

    def answers(self, point: Sequence[Any]) -> list[Any] | None:
        self.start.restore()
        try:
            first, second = self.trials.unrecorded(point, Cotangents())
            return [*first, *second]
        except Exception:  # of the function's own
            return None


__all__ = ["Variants", "constants_of", "value_at"]

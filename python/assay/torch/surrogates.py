"""Functions whose backward is meant to be the gradient of another function, such as a straight-through estimator: the gate judges by that one."""
from __future__ import annotations

import contextlib
import functools
import inspect
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

import torch
from torch.autograd.function import _SingleLevelFunction
from torch.overrides import TorchFunctionMode

from assay.errors import UsageError, wrong
from .conventions import Conventions
from .joins import Product
from .nodes import operand
from .values import Region

Intended = Mapping[Any, Callable[..., Any]]  # of a torch.autograd.Function: the function whose gradient is meant


def checked(surrogate: Any) -> dict[Any, Callable[..., Any]]:
    """The argument `surrogate`."""
    given = {} if surrogate is None else surrogate
    is_fine = isinstance(given, Mapping) and all(inspect.isclass(one) and issubclass(one, torch.autograd.Function) and callable(f) for one, f in given.items())
    if not is_fine:
        raise wrong("surrogate", "functions by torch.autograd.Function, such as {ClampSTE: lambda x: x}", surrogate)
    return dict(given)


def require_met(surrogate: Mapping[Any, Any], met: set[Any]) -> None:
    """Refuse a declaration of a Function that never ran: it would be taken for judged."""
    if left := [one.__name__ for one in surrogate if one not in met]:
        raise UsageError(f"{left[0]} did not run", where="surrogate", advice="declare Functions that the function applies")


@contextlib.contextmanager
def noting(owners: Iterable[Any], note: Callable[[Any, Any, Sequence[Any]], None]) -> Iterator[None]:
    """`note` receives each of these Functions that is called, its node, and its arguments."""
    def watching(owner: Any, original: Callable[..., Any], is_forward: bool) -> Any:
        @functools.wraps(original)
        def noted(ctx: Any, *args: Any) -> Any:
            note(owner, ctx, args if is_forward else args[0])
            return original(ctx, *args)
        return staticmethod(noted)
    with contextlib.ExitStack() as stack:
        for one in owners:
            name = "forward" if one.setup_context is _SingleLevelFunction.setup_context else "setup_context"
            before = vars(one).get(name)
            setattr(one, name, watching(one, getattr(one, name), name == "forward"))
            if before is None:
                stack.callback(delattr, one, name)
            else:
                stack.callback(setattr, one, name, before)
        yield


STOPS = (torch.Tensor.detach, torch.detach, torch.Tensor.data.__get__)  # type: ignore[attr-defined]  # through which no gradient flows


class Stopping(TorchFunctionMode):
    """In a surrogate, what a tensor is detached to is a value of its own."""

    def __init__(self, run: "Surrogates") -> None:
        super().__init__()
        self.run, self.found = run, list[int]()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        if function not in STOPS or not found.numel():
            return found
        with self.run.aside():
            source, ref, copy = self.run.value(args[0]), operand(args[0]), args[0].detach().clone()
            value = self.run.memory.add(copy, None, f"{self.run.memory.values[source].name}.detach")
            self.run.append("detach", [(ref, source)], [ref], [value])
        self.found.append(value)
        return copy


class Surrogates(Conventions):
    """Keeps the arguments of each declared Function, and runs the declared function on them beside its backward."""

    def __init__(self, model: Any = None, *, asks_convention: bool = False, surrogate: Any = None) -> None:
        self.surrogates, self.met = checked(surrogate), set[Any]()
        self.calls: dict[int, tuple[Any, list[Any]]] = {}  # by the node of a Function: the node, and a value in place of each tensor among its arguments
        self.stopped = set[int]()  # values that surrogates detached
        self.watched_calls = noting(self.surrogates, self.note_call)
        super().__init__(model, asks_convention=asks_convention)

    def note_call(self, owner: Any, ctx: Any, given: Sequence[Any]) -> None:
        with self.aside():
            known = [self.value(one) if isinstance(one, torch.Tensor) and one.numel() else None for one in given]
        self.met.add(owner)
        self.calls[id(ctx)] = ctx, [(v,) if v is not None else one for one, v in zip(given, known)]

    def is_declared(self, node: Any) -> bool:
        """Whether another function is declared, whose gradient the node of a Function gives."""
        return getattr(type(node), "_forward_cls", None) in self.surrogates and id(node) in self.calls

    def note_surrogate(self, node: Any, product: Product) -> None:
        """Of a product of a declared Function: the graph of the function whose gradient is meant."""
        if not self.is_declared(node):
            return
        owner = type(node)._forward_cls
        name, region = owner.__name__, product.of
        if region.whole is not None:
            raise UsageError(f"{name} gave several results with cotangents at once", where="surrogate", advice="a surrogate stands for one result: let the loss read one of them")
        arguments = self.calls[id(node)][1]
        operands = {one[0] for one in arguments if isinstance(one, tuple)}
        count = len(self.regions)
        with self.in_hook(), torch.no_grad(), Stopping(self) as stopping:
            found = self.surrogates[owner](*[self.held(one[0], None) if isinstance(one, tuple) else one for one in arguments])
        result = self.memory.values[region.results[product.result]]
        if not isinstance(found, torch.Tensor) or list(found.shape) != list(result.tensor.shape) or found.dtype != result.kind:
            raise UsageError(f"the surrogate of {name} returned another tensor than {name} does", where="surrogate",
                             advice=f"return one tensor of shape {list(result.tensor.shape)} and type {str(result.kind).removeprefix('torch.')}, computed from the arguments of the Function")
        with self.aside():
            output = self.value(found)
        ran = self.regions[count:]
        del self.regions[count:]
        product.surrogate = self.graph_of(output, {*operands, *stopping.found}, ran, name)
        self.keep_stops(region, ran, {v for v in stopping.found if v in product.surrogate[0]})
        for v in product.surrogate[0]:
            if v not in region.operands:
                region.operands.append(v)
                shift(region, len(region.operands) - 1)

    def keep_stops(self, before: Region, ran: list[Region], stops: set[int]) -> None:
        """Put the regions that compute detached values before the region: the gate takes those values from there, as numbers that do not move."""
        wanted, kept = set(stops), list[Region]()
        for one in reversed(ran):
            if wanted.intersection(one.results):
                wanted.update(one.operands)
                kept.insert(0, one)
        at = next(i for i, one in enumerate(self.regions) if one is before)
        self.regions[at:at] = kept
        self.stopped |= stops

    def graph_of(self, output: int, operands: set[int], ran: list[Region], name: str) -> tuple[list[int], list[dict[str, Any]], int]:
        """Join regions: the operands, the nodes, and the number of the result, after the operands. Some operands may be results of a region."""
        ran = [one for one in ran if operands.isdisjoint(one.results)]
        given = {v for one in ran for v in one.results}
        read = list(dict.fromkeys(v for v in [*(v for one in ran for v in one.operands), output] if v not in given))
        if other := [self.memory.values[v].name for v in read if v not in operands]:
            raise UsageError(f"the surrogate of {name} reads '{other[0]}', which is no argument of {name}", where="surrogate", advice="compute with the arguments, and with numbers")
        number, nodes = {v: i for i, v in enumerate(read)}, list[dict[str, Any]]()
        for one in ran:
            at = [number[v] for v in one.operands]
            for node in one.nodes:
                nodes.append(node | ({"operands": [at[i] for i in node["operands"]]} if "operands" in node else {}))
                at.append(len(read) + len(nodes) - 1)
            number |= {v: at[i] for v, i in zip(one.results, one.outputs)}
        return read, nodes, number[output]


def shift(region: Any, at: int) -> None:
    """Makes room for one more operand: the numbers of nodes grow."""
    for node in region.nodes:
        if "operands" in node:
            node["operands"] = [i + 1 if i >= at else i for i in node["operands"]]
    region.outputs = [i + 1 if i >= at else i for i in region.outputs]


def numbered(product: Product) -> dict[str, Any]:
    """The surrogate's graph as a trace has it: numbered after all operands of the region."""
    assert product.surrogate is not None
    read, nodes, output = product.surrogate
    operands = product.of.operands
    at = [operands.index(v) for v in read] + [len(operands) + i for i in range(len(nodes))]
    moved = [{key: what for key, what in node.items() if key not in ("reads", "ends")} | ({"operands": [at[i] for i in node["operands"]]} if "operands" in node else {}) for node in nodes]
    return {"nodes": moved, "outputs": [at[output]]}

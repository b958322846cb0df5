"""The regions of a run, and which recorded value each tensor holds."""
from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping

import torch
from torch.autograd.function import BackwardCFunction
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from assay.errors import wrong
from .checkpoints import Frames, key_of_constant
from .memory import LEAF, PENDING, Block, Memory, Refused, address, alike, held, place, positions
from .nodes import Nodes, Ref, Unknown, complexly, finished, operand
from .numbers import Known

MOST_TWINS = 64  # results of a Function among which one is looked for that lies in the same place
PLAIN_VIEW = torch._C._autograd.CreationMeta.DEFAULT  # type: ignore[attr-defined]


@dataclass(eq=False)
class Region:
    """Operations that ran as one. `after`: in a part without gradients, the last node that autograd had made."""

    name: str
    is_double: bool
    operands: list[int]
    results: list[int]
    nodes: list[dict[str, Any]]
    outputs: list[int]
    after: int | None = None
    marks: dict[str, str] = field(default_factory=dict)  # names of values inside that products are about
    apart: set[int] = field(default_factory=set)  # operands whose cotangents are opaque: it reads copies of them
    statistics: "Region | None" = None  # a normalisation's, which gives what this region reads
    whole: int | None = None  # the value that holds all real results, where they had cotangents at once
    real: list[int] = field(default_factory=list)  # these results
    suspect: str = ""  # which number that left the graph it reads, perhaps
    ran: list[Any] = field(default_factory=list)  # the operations, of a part without gradients, if they may be run again
    is_forward: bool = False  # of no backward pass
    storing: str = ""  # which steps its kernel stores in 16 bits: a suffix of a model


@dataclass
class Equation:
    """A claim that a value computed of recorded values is `wanted`. `of` is the number of the cotangent that the claim is about."""

    what: str
    found: Ref
    wanted: torch.Tensor
    of: int = 0


class Results(TorchDispatchMode):
    """Keeps the results of torch.autograd.Functions that something reads."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.own_ends: dict[tuple[int, int], torch.Tensor] = {}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch._C._current_autograd_node() is None:
            for one in tree_leaves((args, kwargs)):
                if isinstance(one, torch.Tensor) and isinstance(one.grad_fn, BackwardCFunction):
                    self.own_ends[(one.grad_fn._sequence_nr(), one.output_nr)] = one
        return function(*args, **(kwargs or {}))

    def own_results(self) -> list[torch.Tensor]:
        """Return the results that nothing wrote to since."""
        return results_of(self.own_ends)


def results_of(ends: Mapping[tuple[int, int], torch.Tensor]) -> list[torch.Tensor]:
    return [one for (number, at), one in sorted(ends.items()) if one.numel() and one.grad_fn is not None and one.grad_fn._sequence_nr() == number and one.output_nr == at]


class Values(TorchDispatchMode):
    """The regions of a run, in order."""

    def __init__(self, model: torch.nn.Module | Mapping[str, torch.Tensor] | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        if model is not None and not isinstance(model, torch.nn.Module) and not (
                isinstance(model, Mapping) and all(isinstance(name, str) and isinstance(one, torch.Tensor) for name, one in model.items())):
            raise wrong("model", "a torch.nn.Module, tensors by name, or nothing", model)
        self.memory, self.doubles = Memory(), Known()
        self.regions: list[Region] = []
        self.inputs: list[int] = []
        self.parameters: list[int] = []
        self.cut: set[int] = set()  # values that were made without gradients
        self.cut_for_good: set[int] = set()  # values through which nothing flows, though nodes lead to them
        self.inside: set[int] = set()  # what a torch.autograd.Function computed of its arguments
        self.opaque: list[tuple[str, list[int]]] = []
        self.made: dict[int, Region | None] = {}  # a node's number -> the region whose product it computes; None: an opaque one
        self.edges: dict[tuple[int, int], int] = {}  # (a node's number, output) -> value
        self.broken: set[int] = set()  # nodes in which something opaque ran
        self.seen: dict[Any, list[int]] = {}  # regions of backward passes that run forward code again
        self.newest, self.waiting = int(torch._C._autograd._get_sequence_nr() - 1), list[int]()
        self.last_plain: int | None = None  # the last node before the newest region without gradients
        self.keeps_ends = False  # whether results of torch.autograd.Functions are kept
        self.own_ends: dict[tuple[int, int], torch.Tensor] = {}
        self.twins: dict[tuple[int, int], int] = {}  # ends of Functions that lie where others do
        self.copies: dict[int, int] = {}  # the node of a copy, if it has one -> the value
        self.hooks = 0
        self.frames = Frames()
        self.operand: tuple[str, int] | None = None  # the operation that is about to run, and which of its operands is looked at
        self.cast = ""  # the program's word for the conversion that runs: to, int, long
        self.modules: list[str] = []
        self.trained: dict[str, torch.Tensor] = {}
        self.trained_ids: set[int] = set()
        self.holding: set[int] = set()  # their values, where their gradients came and where a backward pass ended
        is_module = isinstance(model, torch.nn.Module)
        self.paths = {id(one): path for path, one in model.named_modules()} if isinstance(model, torch.nn.Module) else {}
        self.labels = {one.untyped_storage()._cdata: name for name, one in model.named_buffers()} if isinstance(model, torch.nn.Module) else {}
        named = model.named_parameters() if isinstance(model, torch.nn.Module) else (model or {}).items()
        for name, one in named:
            self.input(name, one, is_parameter=is_module or one.requires_grad)

    @staticmethod
    @contextlib.contextmanager
    def aside() -> Iterator[None]:
        """Run the recorder's own computations without recording them."""
        with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction(), torch.no_grad():
            yield

    def input(self, name: str, tensor: torch.Tensor, *, is_parameter: bool = False) -> torch.Tensor:
        """Names a tensor that the run is given."""
        with self.aside():
            if tensor.grad_fn is not None:
                raise Refused(f"'{name}' was computed before the recording began; compute it inside of the recording")
            if tensor.requires_grad:
                self.trained[name] = tensor
                self.trained_ids.add(id(tensor))
            if self.memory.marked(tensor, self.history(tensor)) is None:
                self.given(tensor, name, is_parameter=is_parameter)
        return tensor

    def given(self, tensor: torch.Tensor, name: str, *, is_parameter: bool = False) -> int:
        value = self.memory.add(tensor, self.history(tensor), name)
        self.memory.values[value].is_fixed = not tensor.is_floating_point()
        (self.parameters if is_parameter else self.inputs).append(value)
        return value

    def loose(self, tensor: torch.Tensor, name: str) -> int:
        """A given value that lies nowhere."""
        self.inputs.append(self.memory.loose(tensor, name))
        return self.inputs[-1]

    @staticmethod
    def history(tensor: torch.Tensor) -> Any:
        """Identify the maker of a tensor: a node's number, LEAF, or None. A view that was made without gradients says that it requires one, and is no leaf."""
        node = tensor.grad_fn
        if node is not None:
            return node._sequence_nr()
        is_leaf = tensor.requires_grad and not (tensor._is_view() and torch._C._autograd._get_creation_meta(tensor) != PLAIN_VIEW)  # type: ignore[attr-defined]
        return LEAF if is_leaf else None

    def in_backward(self) -> bool:
        return self.hooks > 0 or torch._C._current_autograd_node() is not None

    @contextlib.contextmanager
    def in_hook(self) -> Iterator[None]:
        """Record the computations of a hook on a node as those of the node itself."""
        self.hooks += 1
        try:
            yield
        finally:
            self.hooks -= 1

    def differentiates_products(self) -> bool:
        """Whether the backward pass that runs makes nodes of its own: what it computes again has a derivative of its own."""
        return False

    # The value that a tensor holds.

    def value(self, tensor: torch.Tensor) -> int:
        """The recorded value; given, if nobody computed it here."""
        history = self.history(tensor)
        found = self.memory.marked(tensor, history)
        if found is None:
            found = self.located(tensor, history)
            self.memory.mark(tensor, history, found)
        node = tensor.grad_fn
        if node is not None and not (self.in_backward() and (history, tensor.output_nr) in self.edges):
            found = self.twin(tensor, history, found)
            self.edges[(history, tensor.output_nr)] = found
            if self.keeps_ends and isinstance(node, BackwardCFunction) and not self.in_backward():
                self.own_ends[(history, tensor.output_nr)] = tensor
        if not alike(self.memory.values[found].tensor, tensor):
            raise Refused(f"'{self.memory.values[found].name}' was written outside of PyTorch's operations, where it is not recorded")
        return found

    def twin(self, tensor: torch.Tensor, history: int, found: int) -> int:
        """The value of a Function's result that lies where another result does, as a view of it: one of its own, since it has a cotangent of its own."""
        end, region = (history, tensor.output_nr), self.made.get(history)
        if end in self.edges or region is None or found not in region.results or not isinstance(tensor.grad_fn, BackwardCFunction):
            return found
        if not any(self.edges.get((history, i)) == found for i in range(MOST_TWINS)):
            return found
        self.twins[end] = value = self.memory.loose(tensor, self.memory.values[found].name)
        region.results.append(value)
        region.outputs.append(region.outputs[region.results.index(found)])
        self.memory.mark(tensor, history, value)
        return value

    def located(self, tensor: torch.Tensor, history: Any) -> int:
        """By its place and the node that made it."""
        if tensor.grad_fn is not None and (history, tensor.output_nr) in self.twins:
            return self.twins[(history, tensor.output_nr)]
        block, node = self.memory.block(tensor), tensor.grad_fn
        if not block.places:
            return self.new_constant(tensor, self.labels.get(block.storage._cdata) or self.constant()) if node is None else self.unseen(tensor, history, node.name())
        known = block.places.setdefault(place(tensor), {})
        is_of_backward = self.in_backward() and not self.frames.repeated
        if history == LEAF and is_of_backward and (own := self.own_operand(known)) is not None:  # perhaps a leaf that the backward pass made
            return own
        if history == LEAF and None in known and is_of_backward:
            return max(known[None], known.get(LEAF, 0))
        before = known.get(None, list(known.values())[-1]) if history is None and known else None
        if before is not None and (again := self.step_again(f"detach {before}", tensor, None)) is not None:
            known.setdefault(LEAF, before)  # what a hook copied has no history
            return again
        if history in known:
            return known[history]
        end = self.edges.get((history, tensor.output_nr)) if self.in_backward() else None
        if end is not None and end in known.values():  # computed again, with the node of the forward pass
            return end
        if isinstance(node, BackwardCFunction):
            self.adopt(node, known)
        if node is not None and node.name() == "torch::autograd::CopySlices" and PENDING in known:
            known[history] = known.pop(PENDING)
            self.made.setdefault(history, next((one for one in reversed(self.regions) if known[history] in one.results), None))
        if history in known:
            return known[history]
        if history in self.copies and history not in self.made:
            return self.copied(tensor, history)
        is_written = self.frames.repeated and tensor._is_view() and not isinstance(node, BackwardCFunction)  # perhaps: its base, since it was made
        if node is not None and known and self.in_backward() and not (is_written and self.base_above(tensor) is not None):
            return max(known.values())
        if node is not None:
            return self.view_of(tensor, history, block)
        if not known:
            return self.viewed(tensor, None, block, None)
        latest = list(known.values())[-1]
        if history == LEAF or self.in_backward() or None in known:
            return known.get(None, latest)
        return self.detached(tensor, latest)

    def note_detached(self, found: torch.Tensor, source: torch.Tensor) -> None:
        """Identify a tensor that a backward pass detaches with its operand: several operands may lie in one place, which does not tell them apart."""
        is_saved = self.frames.is_packing or isinstance(torch._C._current_autograd_node(), BackwardCFunction)
        if not source.numel() or not self.in_backward() or self.frames.repeated and not is_saved:
            return
        with self.aside():
            value = self.value(source) if is_saved else self.memory.marked(source, self.history(source))
            if value is not None:
                self.memory.mark(found, None, value)

    def note_saved(self, tensor: torch.Tensor) -> None:
        with self.aside():
            if tensor.numel():
                self.value(tensor)

    def step_again(self, key: str, tensor: torch.Tensor, history: Any) -> int | None:
        """The value that the forward pass of a checkpoint had, where it is computed again."""
        step = self.frames.find(key)
        value = step.results[0] if step is not None else None
        if value is None or not alike(self.memory.values[value].tensor, tensor):
            return None
        self.memory.bind(tensor, history, value)
        self.frames.keep(key, [value])
        return value

    def new_constant(self, tensor: torch.Tensor, name: str) -> int:
        """A tensor that nobody computed, or the same one that a checkpoint makes anew."""
        key = key_of_constant(tensor) if self.frames.are_watched else ""
        if (again := self.step_again(key, tensor, self.history(tensor))) is not None:
            return again
        value = self.given(tensor, name)
        self.frames.keep(key, [value])
        return value

    def own_operand(self, known: dict[Any, int]) -> int | None:
        """Of several values that lie in one place, views of one another, the one that a Function read whose backward makes a leaf of it."""
        node = torch._C._current_autograd_node()
        region = self.made.get(node._sequence_nr()) if isinstance(node, BackwardCFunction) else None
        found = [known[LEAF]] if LEAF in known else []
        return next((v for v in [*found, *known.values()] if v in region.operands), None) if region is not None else None

    def copied(self, tensor: torch.Tensor, history: int) -> int:
        """The same numbers with another history."""
        source, ref = self.copies[history], operand(tensor)
        value = self.memory.add(tensor, history, self.label("clone"))
        self.made[history] = self.append("clone", [(ref, source)], [ref], [value])
        return value

    def constant(self) -> str:
        """Name a tensor that nobody named: by the operation that reads it, and where."""
        raise NotImplementedError

    def unseen(self, tensor: torch.Tensor, history: Any, name: str) -> int:
        """A result of something that ran where nobody could look."""
        value = self.given(tensor, name)
        self.opaque.append((name, [value]))
        self.made[history] = None
        return value

    def view_of(self, tensor: torch.Tensor, history: Any, block: Block) -> int:
        """A tensor whose node was not seen to be made: a view that autograd made anew after its base was written."""
        base = self.base_above(tensor)
        if base is not None and tensor._base is not None:
            return self.viewed(tensor, history, block, (place(tensor._base), base))
        return self.unseen(tensor, history, tensor.grad_fn.name() if tensor.grad_fn else "view")

    def base_above(self, tensor: torch.Tensor) -> int | None:
        """The value of a view's base, if its node follows the base's."""
        above, output = tensor.grad_fn.next_functions[0] if tensor.grad_fn and tensor.grad_fn.next_functions else (None, 0)
        if tensor._is_view() and tensor._base is not None and above is not None and address(tensor._base) == address(tensor):
            base = self.value(tensor._base)
            if self.edges.get((above._sequence_nr(), output)) == base:
                return base
        return None

    def viewed(self, tensor: torch.Tensor, history: Any, block: Block, base: tuple[Any, int] | None) -> int:
        """The elements of a larger value that lie where the tensor does."""
        where = base or block.whole
        if where is None or where[0][3] != tensor.dtype or where[0][4:] != place(tensor)[4:]:
            raise Refused(f"a tensor of shape {list(tensor.shape)} shares memory in a way that was not recorded")
        self.confirm(block, *where)
        at = positions(where[0], place(tensor), block)
        if bool((at < 0).any()):
            raise Refused(f"a tensor of shape {list(tensor.shape)} lies partly outside of its recorded memory")
        key = f"view {where} {place(tensor)}"
        if (again := self.step_again(key, tensor, history)) is not None:
            return again
        source = self.memory.values[where[1]].tensor
        nodes, ref = Nodes([tensor]), Ref(source.shape, source.dtype, source, is_complex=tensor.is_complex())
        output = taken(nodes, ref, at)
        value = self.memory.add(tensor, history, self.label("view"))
        self.memory.values[value].is_fixed = self.memory.values[where[1]].is_fixed
        self.frames.keep(key, [value])
        region = self.append("view", [(ref, where[1])], [output], [value])
        if history is not None:
            self.made[history] = region
        elif not self.in_backward() and where[1] in self.edges.values():
            self.cut.add(value)
        return value

    def confirm(self, block: Block, where: tuple[Any, ...], value: int) -> None:
        """The memory still holds a value."""
        if not alike(held(block, where), self.memory.values[value].tensor):
            raise Refused(f"'{self.memory.values[value].name}' was written outside of PyTorch's operations, where it is not recorded")

    def detached(self, tensor: torch.Tensor, source: int) -> int:
        """The same bits without their history."""
        ref = operand(tensor)
        value = self.memory.add(tensor, None, self.memory.values[source].name + ".detach")
        self.append("detach", [(ref, source)], [ref], [value])
        self.cut.add(value)
        self.frames.keep(f"detach {source}", [value])
        return value

    def is_same_again(self, found: Any, tensors: list[torch.Tensor], values: list[int | None]) -> bool:
        """Whether an operation without a node of its own gave its first operand as it lies in memory, as each product of matrices does by `expand`
        and `view`: a backward pass did, or a Function whose own value that is. It stands for the same value, which is not stored again."""
        if torch.is_grad_enabled() or not tensors or values[0] is None or found is tensors[0] or not isinstance(found, torch.Tensor):
            return False
        if found.layout != torch.strided or address(found) != address(tensors[0]) or place(found) != place(tensors[0]):
            return False
        now = int(torch._C._autograd._get_sequence_nr() - 1)
        own = itertools.takewhile(lambda one: one.after == now, reversed(self.regions))
        if not self.in_backward() and not any(values[0] in one.results for one in own):
            return False
        self.memory.mark(found, self.history(found), values[0])
        return True

    # Regions.

    def label(self, op: str) -> str:
        op = (self.cast or "to") if op == "_to_copy" else op
        node = torch._C._current_autograd_node()
        if node is None:
            return ".".join([one for one in self.modules[-1:] if one] + [op])
        region = self.made.get(node._sequence_nr())
        return f"backward of {region.name if region else node.name()}: {op}"

    def append(self, op: str, operands: list[tuple[Ref, int]], outputs: list[Ref], results: list[int]) -> Region:
        """A region of what the outputs need; operands that nothing reads are left out."""
        used, nodes, numbers = finished([ref for ref, _ in operands], outputs)
        of = {id(ref): value for ref, value in operands}
        ids = [of[id(ref)] for ref in used]
        reals = {self.memory.values[v].tensor.dtype for v in ids + results if self.memory.values[v].tensor.is_floating_point()}
        if len(reals) > 1 and any(node["op"] not in ("cast", "reshape") for node in nodes):
            raise Unknown("float32 and float64 in one operation")
        plain = not torch.is_grad_enabled() and (not self.in_backward() or self.differentiates_products())
        after = torch._C._autograd._get_sequence_nr() - 1 if plain else None
        self.last_plain = self.last_plain if after is None else after
        for v in results if not ids else []:
            self.memory.values[v].is_nothing = not bool(self.memory.values[v].tensor.any())
        self.regions.append(Region(self.label(op), reals == {torch.float64}, ids, results, nodes, numbers, after))
        return self.regions[-1]

    def adopt(self, node: Any, known: dict[Any, int]) -> None:
        """Take values that were recorded without a history as outputs of the Function that made this node."""
        raise NotImplementedError

    def keep_apart(self, values: list[int]) -> dict[int, int]:
        """The region whose product is being computed reads copies of these operands from now on: their cotangents are opaque. The copies."""
        raise NotImplementedError


def taken(nodes: Nodes, whole: Ref, at: torch.Tensor) -> Ref:
    """The elements of a value at these positions."""
    if not whole.is_complex:
        return nodes.gather(whole, at, list(at.shape))
    return complexly(nodes.gather(whole, torch.stack([2 * at, 2 * at + 1], -1), [*at.shape, 2]))

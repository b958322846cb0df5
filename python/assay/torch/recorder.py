"""Records what PyTorch runs on the CPU: each ATen operation as a region, bit for bit (docs/reference/pytorch.md)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from .checkpoints import key_of, kept, repeated
from .choices import chosen, is_of_rule
from .equations import Solving
from .lowering import listed, meaning, short_name, written
from .memory import PENDING, Refused, address, alike, bits, held, overlaps, place, positions
from .nodes import HALVES, Nodes, Ref, Unknown, complexly, finished, operand
from .outside import BORN, caller, program_frame
from .rules_basic import is_counting
from .stored_steps import MOST_STEPS, row_sum, row_sums
from .values import Region, taken

# The same tensor again, memory that nobody wrote, or numbers for Python.
TRANSPARENT = {"detach", "lift_fresh", "lift", "_local_scalar_dense", "equal", "is_nonzero", "item", "is_same_size", "sym_size", "sym_numel", "dim", "size", "resize",
               "resize_as", "_has_compatible_shallow_copy_type", "_has_same_storage_numel", "_nested_tensor_from_mask_left_aligned"}
# Nothing says what is in their memory, so it is zero: what happened to be there is now a number and now a NaN.
EMPTY = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted"}
# What these give is an input of the run: nothing says what it has to be.
GIVEN = {"bernoulli", "normal", "uniform", "rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "randperm", "arange", "linspace",
         "logspace", "exponential", "geometric", "cauchy", "log_normal", "random", "multinomial", "poisson", "nonzero", "tril_indices", "triu_indices",
         "unique_dim", "_unique2", "unique_consecutive", "bincount", "searchsorted", "bucketize", "hann_window", "hamming_window"}
RANDOM = ("uniform", "rand", "rand_like", "normal", "randn", "randn_like", "exponential", "cauchy", "log_normal")
EACH = {"maximum_": "clamp_min_", "minimum_": "clamp_max_"}  # operations on lists that have another name on one tensor
# Of these kernels the statistics in 16 bits are no steps: what is made of them is made of x.
UNSTAGED = ("native_layer_norm", "native_group_norm", "native_group_norm_backward")
# What has no derivative, whatever it is given.
NODELESS = {"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "rand_like", "randn_like", "randint_like", "argmax", "argmin", "argsort", "gt", "lt",
            "ge", "le", "eq", "ne", "isnan", "isinf", "isfinite", "any", "all", "logical_not", "logical_and", "logical_or", "logical_xor", "nonzero"}
OVERWRITING = ("zero", "fill", "copy")  # for which it does not matter what was there


@dataclass
class Call:
    """One operation, as it ran."""

    function: Any
    op: str
    number: int | None
    target: torch.Tensor | None
    base: tuple[Any, int, torch.Tensor] | None
    operands: list[tuple[Ref, int]]
    hidden: list[torch.Tensor]
    statistics: list[torch.Tensor] | None = None  # in float32, of a normalisation that stores them in 16 bits


def differs(tensor: torch.Tensor) -> bool:
    """Whether its elements can have derivatives."""
    return tensor.is_floating_point() or tensor.is_complex()


def of_nothing(op: str, n: Nodes, tensors: list[torch.Tensor], results: list[torch.Tensor | None]) -> list[Ref | None]:
    """Return zeros for sums, and for backward kernels that move elements, of tensors without elements."""
    if not tensors or any(one.numel() for one in tensors) or op != "sum" and not op.endswith("_backward") or any(one is not None and bool(one.any()) for one in results):
        return []
    return [None if one is None else n.expand(n.constant(0, operand(one).dtype), operand(one).shape) for one in results]


class Tape(Solving):
    """Writes down each operation, as it runs."""

    def __init__(self, model: Any = None) -> None:
        self.placed: list[str] = []  # lines that take or write elements at places of which nothing more is known
        super().__init__(model)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        flat, _ = tree_flatten((args, kwargs))
        tensors = [a for a in flat if isinstance(a, torch.Tensor)]
        writes = written(function) if hasattr(function, "_schema") else []
        op = short_name(function)
        if op in TRANSPARENT or op in EMPTY or str(function).startswith("profiler."):
            if writes and tensors:
                self.memory.overwrite(tensors[0])
            found = self.told(op, tensors, function(*args, **kwargs))
            if op in BORN:
                self.bear(found)
            if op == "detach":
                self.note_detached(found, tensors[0])
                if torch.is_grad_enabled() and tensors[0].grad_fn is not None and found.numel() and torch._C._current_autograd_node() is None and program_frame()[0] is None:
                    with self.aside():  # at once: a Function that reads it first would seem to have detached it
                        self.value(found)
            return found.zero_() if op in EMPTY and found.layout == torch.strided else found
        if op == "clone" and torch.is_grad_enabled() and tensors[0].requires_grad and (tensors[0].is_conj() or tensors[0].is_neg()):
            return self.run_resolving(function, args, kwargs)
        if op == "rrelu_with_noise" and (args[4] if len(args) > 4 else kwargs.get("training", False)):
            return self.run_drawing(function, args, kwargs)
        writes = [] if op == "rrelu_with_noise" else writes  # in evaluation it draws nothing
        if op == "_amp_foreach_non_finite_check_and_unscale":
            return self.run_unscaling(*args)
        if op == "_amp_update_scale":
            return self.run_rescaling(*args)
        if op.startswith("_foreach_") and not (torch.is_grad_enabled() and any(one.requires_grad for one in tensors)):
            name = str(function).split(".")[1].removeprefix("_foreach_")
            if hasattr(torch.ops.aten, EACH.get(name, name)):
                return self.run_each(getattr(torch.ops.aten, EACH.get(name, name)), args, kwargs, bool(function._schema.returns))
        return self.run(function, op, args, kwargs, tensors, writes)

    def run_each(self, function: Any, args: Any, kwargs: Any, returns: bool) -> Any:
        """An operation on lists: the CPU's kernels take one tensor after the other."""
        TorchDispatchMode.__enter__(self)  # type: ignore[no-untyped-call]
        try:
            found = []
            for i in range(len(args[0])):
                given = [one[i] if isinstance(one, (list, tuple)) else one for one in args]
                named = {"value": given.pop()} if "addc" in str(function) and len(given) == 4 else {}
                found.append(function(*given, **kwargs, **named))
        finally:
            TorchDispatchMode.__exit__(self, None, None, None)  # type: ignore[no-untyped-call]
        return found if returns else None

    def run_unscaling(self, gradients: Any, found: torch.Tensor, inverse: torch.Tensor) -> None:
        """Do the work of a GradScaler on gradients, one after the other: note whether one is not finite, and multiply each by a factor."""
        TorchDispatchMode.__enter__(self)  # type: ignore[no-untyped-call]
        try:
            for one in gradients:
                is_bad = torch.logical_or(torch.isnan(one), torch.isinf(one)).any()
                torch.maximum(found, is_bad.to(found.dtype), out=found)
                one.mul_(inverse)
        finally:
            TorchDispatchMode.__exit__(self, None, None, None)  # type: ignore[no-untyped-call]

    def run_rescaling(self, scale: torch.Tensor, steps: torch.Tensor, found: torch.Tensor, growth: float, backoff: float, interval: int) -> torch.Tensor:
        """A GradScaler's next factor: smaller after a step that was left out, larger after as many good ones as `interval`."""
        TorchDispatchMode.__enter__(self)  # type: ignore[no-untyped-call]
        try:
            is_bad, good, larger = found > 0, steps + 1, scale * growth
            is_due = torch.logical_and(good == interval, torch.logical_not(is_bad))
            grown = torch.where(torch.logical_and(is_due, torch.logical_not(torch.isinf(larger))), larger, scale)
            scale.copy_(torch.where(is_bad, scale * backoff, grown))
            steps.copy_(torch.where(torch.logical_or(is_bad, is_due), torch.zeros_like(steps), good))
        finally:
            TorchDispatchMode.__exit__(self, None, None, None)  # type: ignore[no-untyped-call]
        return scale

    def run_resolving(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A copy of what is conjugate or negative by a bit: the program's own, which has a node, or one that an operation makes for itself."""
        source = self.value(args[0])
        found = function(*args, **kwargs)
        self.memory.bind(found, None, source)
        found._assay_has_history = True
        self.copies[int(torch._C._autograd._get_sequence_nr() - 1)] = source
        return found

    def run_drawing(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A leaky relu with random slopes, which it writes into its second argument."""
        number = self.number(short_name(function), list(args[:2]))
        x = self.value(args[0])
        returned = function(*args, **kwargs)
        self.memory.overwrite(args[1])
        if self.in_backward():
            self.drawn_in_backward(args[1], self.label("random"))
        else:
            self.inputs.append(self.memory.add(args[1], None, self.label("random")))
        refs = [operand(one) for one in args[:2]]
        self.settle(Call(function, short_name(function), number, None, None, list(zip(refs, (x, self.value(args[1])))), []), list(args[:2]), refs, args, kwargs, [returned])
        return returned

    def number(self, op: str, tensors: list[torch.Tensor]) -> int | None:
        """The number of the node that autograd made for the operation."""
        if op in NODELESS:
            return None
        if not torch.is_grad_enabled() or not any(one.requires_grad or hasattr(one, "_assay_has_history") for one in tensors):
            return None
        number = int(torch._C._autograd._get_sequence_nr() - 1)
        if number not in self.made and number == self.last_plain:  # of a Function, whose result nobody has read yet: the operation has none
            return None
        if number in self.made and self.waiting:  # the operation ran another one, which has a node of its own, before itself
            return self.waiting.pop()
        self.waiting = [one for one in range(self.newest + 1, number) if one not in self.made]
        self.newest = max(self.newest, number)
        return number

    def run(self, function: Any, op: str, args: Any, kwargs: Any, tensors: list[torch.Tensor], writes: list[str]) -> Any:
        is_first = bool(writes) and writes[0] == function._schema.arguments[0].name
        target = tensors[0] if is_first and tensors and args and args[0] is tensors[0] else None
        out = kwargs.get("out") if writes == ["out"] else None
        if isinstance(out, torch.Tensor) and out.numel():
            target, kwargs = out, {key: one for key, one in kwargs.items() if key != "out"}
        if writes and (target is None or len(writes) > 1):
            return self.opaque_write(function, args, kwargs, tensors)
        base = self.base_of(target) if target is not None else None
        skips = op in OVERWRITING or op in GIVEN or target is out and not any(one is out for one in tree_flatten(args)[0])
        refs = [operand(one) for one in tensors]
        values = [None if one is target and (skips or base) or one.numel() == 0 else self.operand_value(op, i, one) for i, one in enumerate(tensors)]
        if not self.in_backward() and self.slopes:
            self.cut.update(v for one, v in zip(tensors, values) if v in self.slopes and not one.requires_grad)
        for ref, value in zip(refs, values):
            ref.is_fixed = value is not None and self.memory.values[value].is_fixed
            ref.is_nothing = value is not None and self.memory.values[value].is_nothing
            ref.tensor = self.memory.values[value].tensor if value is not None and not ref.is_complex else ref.tensor
        why = self.note_entry(op, tree_flatten((args, kwargs))[0], list(zip(tensors, values)))
        branches = self.note_branches(op, args, kwargs, values)
        number = self.number(op, tensors)
        hidden = self.hidden_writes(op, args)
        key = key_of(function, (args, kwargs), dict(zip(map(id, tensors), values)), base) if self.frames.are_watched and not hidden else ""
        returned = function(*args, **kwargs, **({"out": out} if target is not None and target is out else {}))
        results = [one if isinstance(one, torch.Tensor) and one.numel() else None for one in listed(returned)]
        call = Call(function, op, number, target, base, [(r, v) for r, v in zip(refs, values) if v is not None], hidden)
        before = len(self.regions), len(self.memory.values)
        if not repeated(self, call, key, results):
            if not (why or writes) and self.is_same_again(returned, tensors, values):
                kept(self, call, key, results)
                return returned
            self.settle(call, tensors, refs, args, kwargs, results)
        kept(self, call, key, results)
        if why:
            self.blame(why, *before, number)
        for one in self.with_decisions(branches, call, args, values, listed(returned)):
            one.result = self.regions[-1].results[0] if len(self.regions) > before[0] else None
        return returned

    def settle(self, call: Call, tensors: list[torch.Tensor], refs: list[Ref], args: Any, kwargs: Any, results: list[torch.Tensor | None]) -> None:
        """Writes down what ran."""
        if not any(one is not None for one in results):
            return
        if call.op in GIVEN and not (call.op == "arange" and self.in_function() and is_counting(results[0])):
            return self.note_given(call, results)
        if call.base is not None and call.target is not None:  # what is read of a part is read of its base
            whole = self.memory.values[call.base[1]].tensor
            ref = Ref(whole.shape, whole.dtype, whole, is_complex=call.target.is_complex())
            call.operands.append((ref, call.base[1]))
            part = taken(Nodes([call.target]), ref, call.base[2])
            refs[next(i for i, one in enumerate(tensors) if one is call.target)] = part
        of = {id(one): ref for one, ref in zip(tensors, refs)}
        flat, spec = tree_flatten((args, kwargs))
        given = tree_unflatten([of[id(one)] if isinstance(one, torch.Tensor) else one for one in flat], spec)
        if call.op == "native_layer_norm_backward" and any(one is not None and one.dtype in HALVES for one in results[1:]):
            copies = self.note_row_sums(call, refs, results[1:])
            call.operands = [(ref, copies.get(value, value)) for ref, value in call.operands]  # it reads what the forward operation read
            results = results[:1]
            if results[0] is None:
                return
        if call.op == "native_layer_norm" and results[1] is not None and results[1].dtype in HALVES:
            call.statistics = self.in_float32(args, results[1:])
        nodes = Nodes([*results, *call.hidden], self.doubles)
        try:
            if self.note_equations(call, given[0], given[1], results):
                return
            if not (self.in_function() and is_of_rule(call.op, args, results)) and (choice := chosen(call.op, nodes, given[0], given[1], results)) is not None:
                return self.note_choice(call, nodes, results, *choice)
            found: list[Ref | None] = [self.strided(nodes, tensors[0], refs[0])] if call.op == "as_strided" else of_nothing(call.op, nodes, tensors, results) or meaning(call.function, nodes, *given)
            self.note(call, nodes, results, found)
        except Unknown:
            self.note_opaque(call, results)

    def strided(self, nodes: Nodes, tensor: torch.Tensor, ref: Ref) -> Ref:
        """The elements of a tensor by where they lie in its memory."""
        at = positions(place(tensor), place(nodes.first), self.memory.block(tensor))
        if bool((at < 0).any()):
            raise Unknown("as_strided takes what is no element of its operand")
        return taken(nodes, ref, at)

    def note_choice(self, call: Call, nodes: Nodes, results: list[torch.Tensor | None], at_places: Ref, ordered: Ref) -> None:
        """Places among equal elements are given; the elements at them are in order, which is a claim of its own."""
        self.note_given(Call(call.function, call.op, None, None, None, [], []), results[1:])
        self.placed += [one] if (one := self.in_function()) else []
        assert results[0] is not None
        self.append(call.op + " order", call.operands, [ordered], [self.memory.loose(results[0], f"order of {self.label(call.op)}")])
        self.note(call, nodes, results[:1], [at_places])

    def note(self, call: Call, nodes: Nodes, results: list[torch.Tensor | None], found: list[Ref | None]) -> None:
        """A region, and where its results lie."""
        extra = [(ref, self.loose(ref.tensor, "constant")) for ref in nodes.given if ref.tensor is not None]
        if call.base is not None and call.target is not None and found[0] is not None:
            return self.note_part(call, extra, found[0])
        pairs = [(tensor, ref) for tensor, ref in zip([*results, *call.hidden], found) if tensor is not None and ref is not None]
        for tensor, ref in pairs:
            if ref.shape != list(tensor.shape) + ([2] if tensor.is_complex() else []):
                raise Unknown(f"{call.function}: a rule that gives the shape {ref.shape}, in place of {list(tensor.shape)}")
        pairs, running = (pairs, []) if nodes.late is None else (pairs[:3], pairs[3:])
        used, graph, _ = finished([ref for ref, _ in call.operands + extra], [ref for _, ref in pairs])
        if self.again(call, used, graph, [tensor for tensor, _ in pairs]):
            return self.note_running(call, nodes, running)
        if self.frames.repeated:
            self.frames.others[f"{call.op} at {caller()}"] = None
        if self.is_kept(call):  # it is an operation whose result nobody reads
            assert call.target is not None
            self.cut.add(self.memory.loose(call.target, self.label(call.op)))
            self.append(call.op, call.operands + extra, [ref for _, ref in pairs], [len(self.memory.values) - 1])
            return
        if call.target is not None:
            self.memory.overwrite(call.target, keeps=torch.is_grad_enabled())
        values = [self.memory.add(tensor, call.number if differs(tensor) else None, self.label(call.op)) for tensor, _ in pairs]
        self.seen_again(call, used, graph, values)
        if call.statistics is None and call.op in UNSTAGED and all(one.dtype in HALVES for one in results if one is not None):
            return self.note_parts(call, pairs, values, 0 if results[0] is None else 1)
        if nodes.late is not None:
            self.note_staged(call, nodes, pairs, values)
            return self.note_running(call, nodes, running)
        if self.differentiates_products():
            nodes.marks.clear()
        for ref in nodes.marks.values():
            assert ref.node is not None
            ref.node["name"] = self.memory.fresh(f"inside {self.label(call.op)}")
        inside = [(self.memory.loose(tensor, f"inside {self.label(call.op)}"), ref) for tensor, ref in nodes.partial]
        region = self.append(call.op, call.operands + extra, [ref for _, ref in pairs] + [ref for _, ref in inside], values + [v for v, _ in inside])
        region.storing = nodes.storing
        region.marks = {what: str(ref.node["name"]) for what, ref in nodes.marks.items() if ref.node is not None}
        fixed = all(self.memory.values[v].is_fixed for v in region.operands)
        for (tensor, _), value in zip(pairs, values):
            self.memory.values[value].is_fixed = fixed
        self.register(call.number, region, values)
        left = [tensor for tensor, ref in zip(results, found) if tensor is not None and ref is None and differs(tensor)]
        if left:
            self.note_opaque(call, list(left))

    def is_kept(self, call: Call) -> bool:
        """Whether a write that autograd is not told about (`no_grad`) left a tensor as it was: its history is still the truth."""
        if call.target is None or call.base is not None or call.target.grad_fn is None or torch.is_grad_enabled() or self.in_backward():
            return False
        value = self.memory.marked(call.target, self.history(call.target))
        return value is not None and alike(self.memory.values[value].tensor, call.target)

    def in_float32(self, args: Any, stored: list[torch.Tensor | None]) -> list[torch.Tensor] | None:
        """The statistics of a layer normalisation before they are stored, by the kernel that gives them, if those are stored as these are."""
        with self.aside():
            found = torch.ops.aten.native_layer_norm(args[0], args[1], torch.ones(args[1]), torch.zeros(args[1]), args[4])[1:]
            if all(one.dtype == torch.float32 and old is not None and alike(one.to(old.dtype), old) for one, old in zip(found, stored)):
                return list(found)
        return None

    def note_staged(self, call: Call, nodes: Nodes, pairs: list[tuple[torch.Tensor, Ref]], values: list[int]) -> None:
        """A normalisation: the region of its statistics, and one that reads them."""
        given = values[1:3]
        if call.statistics is not None:  # what is made of them reads them as they were before they were stored
            given = [self.memory.loose(one, f"{self.label(call.op)} in float32") for one in call.statistics]
        statistics = self.append(call.op + " statistics", call.operands, [ref for _, ref in pairs[1:3]], given)
        statistics.storing = nodes.storing
        read = [(operand(tensor), value) for (tensor, _), value in zip(pairs[1:3], given)]
        if call.statistics is not None:
            self.append(call.op + " stored statistics", read, [ref for ref, _ in read], values[1:3])
        assert nodes.late is not None
        region = self.append(call.op, call.operands + read, [nodes.late(read[0][0], read[1][0])], values[:1])
        region.statistics = statistics
        self.register(call.number, region, values)

    def note_running(self, call: Call, nodes: Nodes, pairs: list[tuple[torch.Tensor, Ref]]) -> None:
        """The running statistics of a normalisation, which it writes again where a backward pass runs it again."""
        for one in call.hidden:
            self.memory.overwrite(one)
        if pairs:
            values = [self.memory.add(tensor, call.number, self.label(call.op)) for tensor, _ in pairs]
            self.append(call.op + " running statistics", call.operands, [ref for _, ref in pairs], values).storing = nodes.storing

    def note_parts(self, call: Call, pairs: list[tuple[torch.Tensor, Ref]], values: list[int], first: int) -> None:
        """A normalisation that keeps its statistics in 16 bits and does not read them, or its gradients."""
        if first:
            region = self.append(call.op, call.operands, [pairs[0][1]], values[:1])
            self.register(call.number, region, values[:1])
        if pairs[first:]:
            self.append(call.op, call.operands, [ref for _, ref in pairs[first:]], values[first:])

    def note_row_sums(self, call: Call, refs: list[Ref], results: list[torch.Tensor | None]) -> dict[int, int]:
        """The gradients of a layer normalisation's parameters in 16 bits: each thread's sum is stored row after row. One region for each row.

        Where they are not found again they are opaque, and what the forward operation reads of the parameters are copies.
        """
        of = {id(ref): value for ref, value in call.operands}
        g, x, mean, inverse = (of[id(ref)] for ref in refs[:4])
        held = [self.memory.values[v].tensor for v in (g, x, mean, inverse)]
        rows = held[2].numel()
        flat = held[0].reshape(rows, -1), held[1].reshape(rows, -1), held[2].flatten(), held[3].flatten()
        steps = None
        if rows <= MOST_STEPS and not self.differentiates_products():
            steps = next((found for threads in sorted({1, torch.get_num_threads()}) if (found := row_sums(*flat, results, threads)) is not None), None)
        if steps is None:
            sums = [self.memory.add(one, call.number, self.label(call.op)) for one in results if one is not None]
            self.inputs += sums
            self.opaque.append((str(call.function), sums))
            return self.keep_apart([of[id(ref)] for ref in refs[4:]])
        wanted = [k for k, one in enumerate(results) if one is not None]
        kind = next(one.dtype for one in results if one is not None)
        last: list[list[int]] = []  # what each thread has
        for row in steps:
            read = [(Ref(self.memory.values[v].tensor.shape, torch.float32), v) for v in (g, x, mean, inverse)]
            before = [] if row.is_first else [(Ref([flat[0].shape[1]], torch.float32), v) for v in last.pop()]
            after = row_sum(Nodes(results), [ref for ref, _ in read], [ref for ref, _ in before], row.number, rows, wanted)
            last.append([self.memory.loose(row.sums[k].to(kind), f"inside {self.label(call.op)}") for k in wanted])
            self.append(call.op, read + before, after, last[-1])
        for i, k in enumerate(wanted):
            one = results[k]
            assert one is not None
            parts = [(Ref([flat[0].shape[1]], torch.float32), found[i]) for found in last]
            n = Nodes([one])
            total: Ref = n.constant(0.0, torch.float32)
            for ref, _ in parts:
                total = n("add", total, ref)
            self.append(call.op, parts, [n.reshape(total, list(one.shape))], [self.memory.add(one, call.number, self.label(call.op))])
        return {}

    def register(self, number: int | None, region: Region, values: list[int]) -> None:
        if number is not None:
            self.made.setdefault(number, region)
        elif not self.in_backward():
            self.cut.update(v for v in values if self.memory.values[v].tensor.is_floating_point())

    def key(self, call: Call, region_operands: list[int], graph: list[dict[str, Any]]) -> str:
        return f"{region_operands} {graph}"

    def again(self, call: Call, used: list[Ref], graph: list[dict[str, Any]], results: list[torch.Tensor]) -> bool:
        """Whether a backward pass ran an operation of the forward pass again (checkpointing): its results are the same values.

        A formula of PyTorch's own runs without gradients. What it computes may have the bits of another operand: y.t() beside t in mm(y, t).
        """
        is_formula = not torch.is_grad_enabled() and program_frame()[0] is None  # the forward pass of a Function runs without gradients, too
        if call.base is not None or not self.frames.repeated and (is_formula or not self.in_backward() or self.differentiates_products()):
            return False
        of = {id(ref): value for ref, value in call.operands}
        if any(id(ref) not in of for ref in used):
            return False
        key = self.key(call, [of[id(ref)] for ref in used], graph)
        step = self.frames.find(key)
        known = self.seen.get(key) if step is None else [v for v in step.results if v is not None]
        if known is None or len(known) != len(results) or any(not alike(self.memory.values[v].tensor, t) for v, t in zip(known, results)):
            return False
        if call.target is not None:
            self.memory.overwrite(call.target, keeps=True)
        for value, tensor in zip(known, results):
            self.memory.bind(tensor, call.number if differs(tensor) else None, value)
        self.frames.keep(key, known)
        return True

    def seen_again(self, call: Call, used: list[Ref], graph: list[dict[str, Any]], results: list[int]) -> None:
        of = {id(ref): value for ref, value in call.operands}
        if call.base is None and not self.in_backward() and all(id(ref) in of for ref in used):
            self.seen.setdefault(key := self.key(call, [of[id(ref)] for ref in used], graph), results)
            self.frames.keep(key, results)

    def note_given(self, call: Call, results: list[torch.Tensor | None]) -> None:
        if call.target is not None:
            if call.base is not None:
                self.memory.overwrite(call.target)
                whole = self.memory.block(call.target)
                base = held(whole, call.base[0])
                self.inputs.append(self.memory.add(base, PENDING if call.number is not None else None, self.label("random")))
                return
            self.memory.overwrite(call.target)
        for one in results:
            if one is not None and self.in_backward():
                self.drawn_in_backward(one, self.label(call.op))
            elif one is not None:
                self.inputs.append(self.memory.add(one, call.number if differs(one) else self.history(one), self.label("random" if call.target is not None else call.op)))
                self.memory.values[self.inputs[-1]].is_fixed = not one.is_floating_point()
                self.rolled.update(self.inputs[-1:] if call.op in RANDOM and self.spot() else [])

    def drawn_in_backward(self, tensor: torch.Tensor, name: str) -> None:
        """Random numbers that a backward pass draws: those of the forward pass drawn again (checkpointing), or constants of its own. Python may decide by them."""
        same = [v for v in self.inputs if self.memory.values[v].tensor.shape == tensor.shape and alike(self.memory.values[v].tensor, tensor)]
        if same and tensor.dtype == self.memory.values[same[0]].tensor.dtype:
            self.memory.bind(tensor, None, same[0])
            return
        self.decided.add(value := self.memory.add(tensor, None, name))
        self.append("random", [], [Nodes([tensor]).constant(tensor, tensor.dtype)], [value])

    def note_opaque(self, call: Call, results: list[torch.Tensor | None]) -> None:
        """Record an operation that has no meaning here: its results are given, and counted."""
        if call.target is not None:
            self.memory.overwrite(call.target)
        values = []
        for tensor in results:
            if tensor is None:
                continue
            base = held(self.memory.block(tensor), call.base[0]) if call.base is not None else tensor
            history = None if not differs(tensor) else PENDING if call.base is not None and call.number is not None else call.number
            values.append(self.memory.add(base, history, self.label(call.op)))
        self.inputs += values
        self.opaque.append((str(call.function), values))
        node = torch._C._current_autograd_node()
        if call.number is not None:
            self.made[call.number] = None
        elif node is not None:
            self.broken.add(node._sequence_nr())
        elif not torch.is_grad_enabled():
            self.broken.add(torch._C._autograd._get_sequence_nr() - 1)

    def opaque_write(self, function: Any, args: Any, kwargs: Any, tensors: list[torch.Tensor]) -> Any:
        """An operation that writes several tensors, or one that is not its first argument."""
        before = [bits(one) for one in tensors]
        returned = function(*args, **kwargs)
        results = [one for one, old in zip(tensors, before) if bits(one) != old]
        for one in results:
            self.memory.overwrite(one)
        fresh = [one for one in listed(returned) if isinstance(one, torch.Tensor) and not any(one is t for t in tensors)]
        found: list[torch.Tensor | None] = [*results, *fresh]
        self.note_opaque(Call(function, short_name(function), self.number(short_name(function), tensors), None, None, [], []), found)
        return returned

    # In place.

    def hidden_writes(self, op: str, args: Any) -> list[torch.Tensor]:
        """The running statistics of a batch norm."""
        if op == "native_batch_norm" and args[5]:
            return [one for one in args[3:5] if one is not None]
        return []

    def base_of(self, target: torch.Tensor) -> tuple[Any, int, torch.Tensor] | None:
        """The larger value that is written with the tensor: its place, the value, and which of its elements; None if there is none."""
        block = self.memory.blocks.get(address(target))
        tracked = torch.is_grad_enabled() and target._is_view() and target._base is not None and (target.requires_grad or target._base.requires_grad)
        if torch.is_grad_enabled() and not target._is_view():
            return None
        if tracked or torch.is_grad_enabled() and target._is_view() and target._base is not None:
            assert target._base is not None
            where = place(target._base), self.value(target._base)
        elif block is None or block.whole is None or block.whole[0] == place(target) or overlaps(block.whole[0]):
            return None
        else:
            where = block.whole
        block = self.memory.block(target)
        self.confirm(block, *where)
        if where[0][3] != target.dtype:
            raise Refused("a tensor is written in place as another type than its memory has, which is not recorded")
        at = positions(where[0], place(target), block)
        if bool((at < 0).any()) or at.numel() == self.memory.values[where[1]].tensor.numel() and not tracked and where[0] == place(target):
            return None
        return where[0], where[1], at

    def note_part(self, call: Call, extra: list[tuple[Ref, int]], found: Ref) -> None:
        """A region that gives the base with a part of it written."""
        assert call.target is not None and call.base is not None
        where, _, at = call.base
        whole = next(ref for ref, value in reversed(call.operands) if value == call.base[1])
        nodes = Nodes([call.target])
        if whole.is_complex:
            at = torch.stack([2 * at, 2 * at + 1], -1)
        output = nodes.replaced(whole, at, nodes.reshape(found, list(at.shape)))
        block = self.memory.overwrite(call.target, keeps=True)
        value = self.memory.add(held(block, where), PENDING if call.number is not None else None, self.label(call.op))
        region = self.append(call.op, call.operands + extra, [complexly(output) if whole.is_complex else output], [value])
        self.memory.values[value].is_fixed = all(self.memory.values[v].is_fixed for v in region.operands)
        if call.number is None:
            self.register(None, region, [value])

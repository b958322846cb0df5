"""Computations of the autograd engine: products of regions with cotangents, claimed node by node."""
from __future__ import annotations

from typing import Any

import torch
import torch.autograd
from torch.autograd.function import BackwardCFunction
from torch.nn.modules import module as hooks

from assay._core.places import place_of
from assay.errors import wrong
from .compiled import Guards
from .cotangents import by_program
from .drawn import watched
from .equations import Solved
from .joins import Claim, Pass, Product
from .memory import Refused, address, alike
from .nodes import PLACES, TRUTHS
from .outside import ACCUMULATE
from .recorder import OVERWRITING
from .surrogates import Surrogates, shift
from .values import Region, results_of

FLAT = ("sign", "floor", "ceil", "round")  # the derivative is 0 by convention: no product is claimed
FLOWING = ("NativeGroupNormBackward0",)  # whose products, where they can be differentiated, go through the statistics
LARGEST = float(torch.finfo(torch.float32).max)
KINKS = ("any", "pytorch")  # conventions that a gate can be asked for


class Recorder(Surrogates):
    """A context in which everything that runs is recorded, `backward()`, `torch.autograd.grad` and optimisers too.

    An `nn.LSTM` runs step by step in it, in place of oneDNN's one kernel for all steps, unless `keeps_fused`: that one is opaque.
    With `kinks="pytorch"` the forward operations of each torch.autograd.Function are run again and differentiated by PyTorch, so that a gate with
    `--kinks pytorch` can compare its backward with that. `surrogate` declares Functions whose backward is meant to be the gradient of another function.
    """

    def __init__(self, model: Any = None, *, keeps_fused: bool = False, kinks: str = "any", surrogate: Any = None) -> None:
        if kinks not in KINKS:
            raise wrong("kinks", "'any' or 'pytorch'", kinks)
        super().__init__(model, asks_convention=kinks == "pytorch", surrogate=surrogate)
        self.keeps_fused, self.unfused = keeps_fused, list[bool]()
        self.handles: list[Any] = []
        self.engine: Any = None
        self.guards = Guards()
        self.opaque_before = self.regions_before = 0  # the node that runs
        self.expected: list[tuple[torch.Tensor, int, torch.Tensor]] = []  # leaves, their values, and the gradients that they have to get
        self.changed: dict[str, str] = {}  # gradients that a hook changed after they were accumulated, and where, if that was seen
        self.suspected: dict[int, str] = {}  # first values of opaque products -> the number by which they left the graph
        self.withheld: dict[int, str] = {}  # values for which the backward of a Function returned None, and its name
        self.written: set[str] = set()  # Functions whose backwards wrote to a cotangent that they were given
        self.solvers: set[str] = set()  # Functions whose backwards ran a backward pass of their own
        self.own_bars: list[int] = []  # cotangents that the backwards of Functions were given
        self.owners: set[Any] = set()  # Functions of which a result was read
        self.places: dict[str, Any] = {}  # where the backwards of Functions stand

    def __enter__(self) -> "Recorder":
        def enter(one: Any, *_: Any) -> None:
            self.modules.append(self.paths.get(id(one), ""))
            if isinstance(one, torch.nn.LSTM) and not self.keeps_fused:
                self.unfused.append(torch._C._get_mkldnn_enabled())
                torch._C._set_mkldnn_enabled(False)
        def leave(one: Any, *_: Any) -> None:
            self.modules.pop()
            if isinstance(one, torch.nn.LSTM) and self.unfused:
                torch._C._set_mkldnn_enabled(self.unfused.pop())
        self.handles = [hooks.register_module_forward_pre_hook(enter), hooks.register_module_forward_hook(leave, always_call=True)]
        self.engine = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
        torch.autograd._engine_run_backward = self.run_backward  # type: ignore[attr-defined, assignment]
        self.guards.__enter__()
        self.guards.enter_context(watched(self))
        self.guards.enter_context(self.frames.watched(self))
        super().__enter__()  # type: ignore[no-untyped-call]
        self.watch_forward()
        self.watched_calls.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        self.watched_calls.__exit__(None, None, None)
        self.unwatch_forward(*error)
        self.guards.close()
        for one in self.handles:
            one.remove()
        torch.autograd._engine_run_backward = self.engine  # type: ignore[attr-defined]
        return super().__exit__(*error)  # type: ignore[no-untyped-call]

    def own_results(self) -> list[torch.Tensor]:
        """Results of torch.autograd.Functions that something read, and nothing wrote since."""
        return results_of(self.own_ends)

    # One pass.

    def run_backward(self, outputs: Any, seeds: Any, keep_graph: Any, create_graph: Any, inputs: Any, *rest: Any, **kwargs: Any) -> Any:
        if self.in_backward():  # a formula of a node's, which is computed in this way: its operations are what counts
            if not inputs:
                raise Refused("a backward pass ran inside of a backward pass and added to gradients of parameters, which is not recorded; for a checkpoint pass use_reentrant=False")
            node: Any = torch._C._current_autograd_node()
            self.solvers.add(type(node).__name__.removesuffix("Backward"))
            return self.engine(outputs, seeds, keep_graph, create_graph, inputs, *rest, **kwargs)
        with self.aside():
            fresh = tuple(None if one is None else one.clone() for one in seeds)
        if create_graph:  # a second derivative goes through the seeds that the program gave
            fresh = tuple(seeds)
        with self.aside():
            ends = [(self.value(y), self.value(g) if create_graph else self.given(g, "seed")) for y, g in zip(outputs, fresh) if g is not None]
            self.bars.update(bar for _, bar in ends)
            self.arrived.update(bar for _, bar in ends)
            one = Pass(len(self.regions), ends, creates=bool(create_graph))
            handles = self.watch([y.grad_fn for y in outputs if y.grad_fn is not None])
        self.passes.append(one)
        try:
            with self.watching():
                found = self.engine(outputs, fresh, keep_graph, create_graph, inputs, *rest, **kwargs)
            with self.aside():
                self.note_delivered()
        finally:
            self.passes.pop()
            for handle in handles:
                handle.remove()
        with self.aside():
            self.conclude(one, inputs, found, bool(kwargs.get("accumulate_grad", rest[1] if len(rest) > 1 else False)))
        return found

    def watch(self, roots: list[Any]) -> list[Any]:
        """Hooks on all nodes that the engine may run."""
        handles: list[Any] = []
        known, waiting = set(), list(roots)
        while waiting:
            node = waiting.pop()
            if node is None or node in known:
                continue
            known.add(node)
            handles += self.leaf_hooks(node) if node.name() == ACCUMULATE else self.node_hooks(node)
            waiting += [above for above, _ in node.next_functions]
        return handles

    def leaf_hooks(self, node: Any) -> list[Any]:
        def arrives(given: Any) -> None:
            with self.aside():
                if given[0] is not None and given[0].numel():
                    if id(node.variable) in self.trained_ids:  # a hook may write to it when its gradient is there
                        self.holding.add(self.value(node.variable))
                    self.passes[-1].of[self.value(node.variable)] = self.value(given[0])
                    before = node.variable.grad
                    self.expected.append((node.variable, self.value(node.variable), given[0].clone() if before is None else before + given[0]))
        return [node.register_prehook(arrives)]

    def note_delivered(self) -> None:
        """Which gradients a hook changed after they were accumulated. One that took it away, or set it to 0 when it had changed the tensor, made a step of it."""
        for tensor, value, expected in self.expected:
            found, known = tensor.grad, self.memory.values[value]
            is_used = found is not None and not bool(found.any()) and not alike(known.tensor.to(tensor.dtype), tensor)
            if found is not None and not is_used and not alike(found, expected):
                self.changed.setdefault(known.name, "")
        self.expected.clear()

    def with_decisions(self, branches: list[Any], call: Any, args: Any, values: list[int | None], results: list[Any]) -> list[Any]:
        node: Any = torch._C._current_autograd_node()
        if call.target is not None and call.op not in OVERWRITING[:2] and node is not None and node.name() == ACCUMULATE and node.variable.grad is not None:
            if address(call.target) == address(node.variable.grad) and (place := by_program()):
                self.changed[next((self.memory.values[v].name for one, v, _ in self.expected if one is node.variable), "a tensor")] = place
        return super().with_decisions(branches, call, args, values, results)

    def node_hooks(self, node: Any) -> list[Any]:
        joined: dict[int, int] = {}
        arrived: dict[int, int] = {}  # what the node was given, before it may have written there
        held: list[tuple[torch.Tensor, int, int]] = []  # the tensors of a Function's, their versions and values
        def before(given: Any) -> Any:
            joined.clear()
            self.frames.unpacked.clear()
            self.ran = []
            with self.aside():
                arrived.update({i: self.value(g) for i, g in enumerate(given) if g is not None and g.numel()})
                if isinstance(node, BackwardCFunction):
                    self.own_bars += arrived.values()
                    held.extend((given[i], given[i]._version, v) for i, v in arrived.items())
                self.bars.update(arrived.values())
                self.arrived.update(arrived.values())
            flows = [i for i, g in enumerate(given) if g is not None and g.numel()]
            region = self.made.get(node._sequence_nr())
            self.opaque_before, self.regions_before, self.answers = len(self.opaque), len(self.regions), []
            if region is None or not flows:
                return None
            if self.passes[-1].creates and region.statistics is not None and node.name() in FLOWING:
                region = self.made[node._sequence_nr()] = self.merged(region, region.statistics)
            if len(flows) < 2 and region.whole is None:
                return None
            return self.join(node, given, joined)
        def after(out: Any, given: Any) -> Any:
            flows = dict(arrived)
            with self.aside():
                if isinstance(node, BackwardCFunction) and flows:
                    without = [self.source(*edge) for g, edge in zip(out, node.next_functions) if g is None]
                    self.withheld.update((v, type(node).__name__.removesuffix("Backward")) for v in without if v is not None)
                if any(one._version != version or not alike(self.memory.values[v].tensor, one) for one, version, v in held):
                    self.written.add(type(node).__name__.removesuffix("Backward"))
            held.clear()
            arrived.clear()
            if self.is_split(node, flows, joined):
                return self.one_by_one(node, given, flows)
            count = len(self.products)
            with self.aside():
                fresh = self.claim(node, out, flows, joined)
            for one in self.products[count:] if isinstance(node, BackwardCFunction) else []:
                one.ran = self.ran
                self.note_convention(one)
                self.note_surrogate(node, one)
            return fresh
        return [node.register_prehook(before), node.register_hook(after)]

    def source(self, node: Any, output: int) -> int | None:
        """The value whose gradient goes to this input of a node of the backward pass."""
        if node is None:
            return None
        if node.name() == ACCUMULATE:
            return self.value(node.variable)
        number = node._sequence_nr()
        found = self.edges.get((number, output))
        region = self.made.get(number)
        return found if found is not None else region.results[0] if region is not None and len(region.results) == 1 else None

    def claim(self, node: Any, out: Any, given: dict[int, int], joined: dict[int, int]) -> Any:
        """Says what a node computed, when it ran."""
        number = node._sequence_nr()
        region = self.made.get(number)
        flows = [(self.edges.get((number, i)), g) for i, g in given.items() if self.memory.values[g].tensor.numel()]
        sources = [self.source(*edge) for edge in node.next_functions]
        wanted = [g if above is not None and g is not None and g.numel() else None for g, (above, _) in zip(out, node.next_functions)]
        is_own = isinstance(node, BackwardCFunction) and (self.is_declared(node) or any(bool(g.any()) for g in wanted if g is not None))  # it may hand its cotangent on
        if not flows or region is not None and (not is_own and all(is_flat(region, y) for y, _ in flows)):
            return None
        if number in self.solved:
            return self.claim_solved(node, self.solved[number], sources, wanted, flows)
        is_whole = bool(joined) or region is not None and len(flows) == 1 and flows[0][0] in region.results
        is_deferred = number in self.solving or isinstance(node, BackwardCFunction) and number in self.deferred
        if region is None or number in self.broken or is_deferred or region.suspect or not is_whole or not self.reads(region, sources, wanted):
            return self.break_at(node, region, sources, wanted, [(joined[-1], joined[-2])] if joined else flows)
        found = [(v, self.value(g)) for v, g in zip(sources, wanted) if v is not None and g is not None]
        self.passes[-1].broken += [(v, bar) for v, bar in found if v in region.apart]
        found = [(v, bar) for v, bar in found if v not in region.apart]
        if is_own and isinstance(node, BackwardCFunction):
            self.unbend(region, [bar for _, bar in found])
        if region.statistics is not None and not self.passes[-1].creates:  # a second derivative goes through the product as a whole
            if self.staged(region, region.statistics, flows[0], found):
                return None
            return self.break_at(node, region, sources, wanted, flows)
        if joined:
            self.product(region, joined[-1], joined[-2], found)
        else:
            y, y_bar = flows[0]
            assert y is not None
            self.product(region, y, y_bar, found)
        return None

    def is_split(self, node: Any, flows: dict[int, int], joined: dict[int, int]) -> bool:
        """Whether several results have cotangents, and had others in a pass before."""
        region = self.made.get(node._sequence_nr())
        return (len(flows) > 1 and not joined and region is not None and node._sequence_nr() not in self.broken and not isinstance(node, BackwardCFunction)
                and all(self.edges.get((node._sequence_nr(), i)) in region.results for i in flows))

    def one_by_one(self, node: Any, given: Any, flows: dict[int, int]) -> Any:
        """The product of each result by itself, and their sum in place of what the node gave."""
        total: list[torch.Tensor | None] = [None] * len(node.next_functions)
        with self.in_hook(), self.frames.rerun():
            for i, bar in flows.items():
                found = node(*[g if k == i or g is None else torch.zeros_like(g) for k, g in enumerate(given)])
                found = found if isinstance(found, tuple) else (found,)
                with self.aside():
                    self.claim(node, found, {i: bar}, {})
                for k, one in enumerate(found):
                    before = total[k]
                    total[k] = one if before is None or one is None else before + one
        return tuple(total)

    def staged(self, region: Region, statistics: Region, flow: tuple[int | None, int], found: list[tuple[int, int]]) -> bool:
        """The products of a normalisation, and of its statistics."""
        y, y_bar = flow
        x = statistics.operands[0]
        x_bar = next((bar for v, bar in found if v == x), None)
        marks: dict[str, str] = {}
        if x_bar is not None:
            marks = next((one.marks for one in reversed(self.regions) if x_bar in one.results), {})
            if not marks:
                return False
        mean, inverse = statistics.results[:2]
        cotangents: dict[int, int | str] = {}
        for v, bar in found:
            if v != x:
                cotangents[region.operands.index(v)] = bar
        if marks:
            cotangents |= {region.operands.index(v): marks[what] for v, what in ((x, "x"), (mean, "mean"), (inverse, "inverse"))}
            self.products += [Product(statistics, 0, marks["mean"], {0: marks["x by mean"]}), Product(statistics, 1, marks["inverse"], {0: marks["x by inverse"], len(statistics.operands): marks["mean by inverse"]})]
            statistics.operands.append(x)  # it gives x two cotangents
            shift(statistics, len(statistics.operands) - 1)
        assert y is not None
        self.products.append(Product(region, 0, y_bar, cotangents))
        return True

    def unbend(self, region: Region, bars: list[int]) -> None:
        """The kernel of softplus takes large elements as they are. A Function's backward may do so, or not: its region is what the backward says.

        So is what the backward itself computes by that kernel."""
        near = [region, *self.regions[self.regions_before:]]
        if region.is_double or not any(node["op"] == "softplus" for one in near for node in one.nodes):  # in float32 the two are equal from 17 on
            return
        needed, compared, bounds = set(bars), set[float](), softplus_bounds(region)
        for one in reversed(self.regions):
            if one is region:
                break
            if needed.intersection(one.results):
                needed.update(one.operands)
                own = softplus_bounds(one)
                bounds += own
                if any(node["op"] in ("less", "less_equal") for node in one.nodes):
                    compared.update(node["data"][0] for node in one.nodes if node["op"] == "constant" and len(node["data"]) == 1 and not any(node is bound for bound in own))
        for bound in bounds:
            if not compared.intersection(bound["data"]):
                bound["data"] = [LARGEST]

    @staticmethod
    def reads(region: Region, sources: list[int | None], out: Any) -> bool:
        """Whether each cotangent is of an operand of the region."""
        free = list(region.operands)
        for v, g in zip(sources, out):
            if g is not None and v is not None and v in free:
                free.remove(v)
            elif g is not None:
                return v is not None
        return True

    def product(self, region: Region, y: int, y_bar: int | str, found: list[tuple[int, int]]) -> None:
        free: list[int | None] = list(region.operands)
        cotangents: dict[int, int | str] = {}
        for v, x_bar in found:
            if v not in free:  # a gradient of what the operation does not read: the region is made to read it
                region.operands.append(v)
                free.append(v)
                shift(region, len(region.operands) - 1)
            cotangents[free.index(v)], free[free.index(v)] = x_bar, None
        self.products.append(Product(region, region.results.index(y), y_bar, cotangents))

    # Opaque products: what goes into them is an end of the run, what comes out of them a beginning.

    def claim_solved(self, node: Any, one: Solved, sources: list[int | None], out: Any, flows: list[tuple[int | None, int]]) -> Any:
        """A product that is judged by equations: nothing flows through it, and its cotangents have to be solutions."""
        now = self.passes[-1]
        found = None if now.creates else self.equations_of(one, sources, flows, out)
        before = len(now.broken)
        fresh = self.break_at(node, None, sources, out, flows, is_judged=found is not None)
        if found is not None:
            known, equations, given = found
            self.set_aside.append((self.opaque[self.opaque_before:], {id(region) for region in self.regions[self.regions_before:]}))
            del self.opaque[self.opaque_before:]  # whatever the node computed on the way, its cotangents are judged
            read = zip([ref for ref in given if ref is not None], [v for _, v in now.broken[before:]])
            self.state(f"product of {one.op}", [*known, *read], equations)
        return fresh

    def break_at(self, node: Any, region: Region | None, sources: list[int | None], out: Any, flows: list[tuple[int | None, int]], *,
                 is_judged: bool = False) -> Any:
        one = self.passes[-1]
        if one.creates and any(g is not None and g.requires_grad for g in out):  # it would go on without its history
            raise Refused(f"a second derivative goes through {node.name()}, whose backward formula is not known here")
        if region is not None and any(y not in region.results for y, _ in flows):
            raise Refused(f"{node.name()} was given a cotangent of something that its forward operation did not give")
        if any(known.of is region and region.results[known.result] in [y for y, _ in flows] for known in self.products):  # which claims what this pass does not
            raise Refused(f"{node.name()} was given cotangents of other results than in a pass before, which is not recorded")
        for y, y_bar in flows:
            if y is not None:
                one.of[y] = y_bar
                if region is not None and y in region.results:
                    one.renamed.append((region, y))
        fresh = list(out)
        values = []
        for i, (v, g) in enumerate(zip(sources, out)):
            if g is None or not g.numel():
                continue
            if v is None:
                raise Refused(f"{node.name()} was given a cotangent of something that was not recorded")
            fresh[i] = g.clone()
            values.append(self.memory.add(fresh[i], None, f"given by {node.name()}"))
            one.broken.append((v, values[-1]))
        if values and not is_judged and not (region is not None and node._sequence_nr() in self.broken):
            own = region.name if region is not None else type(node).__name__.removesuffix("Backward")
            self.opaque.append((f"backward of {own}" if isinstance(node, BackwardCFunction) else f"product of {node.name()}", values))
            if region is not None and region.suspect:
                self.suspected[values[0]] = region.suspect
        return tuple(fresh)

    # What a pass claims.

    def conclude(self, one: Pass, inputs: Any, found: Any, accumulates: bool) -> None:
        if not one.outputs:
            return
        if inputs and not accumulates:
            for tensor, bar in zip(inputs, found):
                one.of[self.value(tensor)] = self.zero(tensor) if bar is None else self.value(bar)
        elif not inputs:
            for tensor in self.trained.values():
                value = self.value(tensor)
                if value not in one.of:
                    one.of[value] = self.zero(tensor)
        self.holding.update(self.value(tensor) for tensor in self.trained.values())
        for region, y in one.renamed:
            self.detour(region, y, one)
        output, seed = self.joined_ends(one)
        self.claims.append(Claim(output, seed, one.of))
        self.live, self.numbers, self.shown = [], set(), set()

    # A torch.autograd.Function: one region, whose results are all that its forward operations gave. They run without gradients, before
    # another node is made.

    def adopt(self, node: Any, known: dict[Any, int]) -> None:
        number = node._sequence_nr()
        if number not in self.made:
            last = max((i for i, one in enumerate(self.regions) if known.get(None) in one.results), default=-1)
            # A Function that it applies makes a node, too, which nobody sees.
            inside = [i for i, one in enumerate(self.regions) if one.after is not None and (one.after == number or one.after > number and i <= last)]
            if not inside:
                return
            end = inside[0]
            while end < inside[-1] + 1 and self.regions[end].after is not None:
                end += 1
            arguments = [v for v in (self.source(*edge) for edge in node.next_functions) if v is not None]
            self.made[number] = self.fused(type(node).__name__.removesuffix("Backward"), inside[0], end, arguments)
            self.own.append(self.made[number])
            self.owners.add(type(node)._forward_cls)
            self.places[type(node).__name__.removesuffix("Backward")] = place_of(type(node)._forward_cls.backward)
        region = self.made[number]
        if region is not None and known.get(None) in region.results:
            known[number] = known.pop(None)

    def merged(self, region: Region, statistics: Region) -> Region:
        """A normalisation and its statistics as one region of several results."""
        if any(one.of in (region, statistics) for one in self.products):
            raise Refused(f"a second derivative of {region.name} was taken after a pass without create_graph=True")
        start, known = self.regions.index(statistics), len(self.regions)
        kept, self.inside = self.inside, set(self.inside)
        found = self.fused(region.name.rpartition(".")[2], start, self.regions.index(region) + 1, region.operands[:1])
        self.inside = kept
        found.storing = region.storing
        for one in self.passes:
            one.position -= known - len(self.regions)
        return found

    def fused(self, name: str, start: int, end: int, arguments: list[int]) -> Region:
        """Join the regions that ran between two places into one region of all their results."""
        regions = self.regions[start:end]
        given = {v for one in regions for v in one.results}
        operands = [v for v in arguments if v not in given]
        operands += dict.fromkeys(v for one in regions for v in one.operands if v not in given and v not in operands)
        number = {v: i for i, v in reversed(list(enumerate(operands)))}
        nodes: list[dict[str, Any]] = []
        for one in regions:
            at = [number[v] for v in one.operands]
            for node in one.nodes:
                moved = {"operands": [at[i] for i in node["operands"]]} if "operands" in node else {}
                nodes.append(node | moved)
                at.append(len(operands) + len(nodes) - 1)
            number |= {v: at[i] for v, i in zip(one.results, one.outputs)}
        results = [v for one in regions for v in one.results]
        full = ".".join(filter(None, [regions[0].name.rpartition(".")[0], name]))
        fused = Region(full, regions[0].is_double, operands, results, nodes, [number[v] for v in results])
        fused.ran = list({id(ran): ran for one in regions for ran in one.ran}.values())
        fused.suspect = next((one.suspect for one in regions if one.suspect), "")
        fused.storing = next((one.storing for one in regions if one.storing), "")
        self.regions[start:end] = [fused]
        moves = {number[v] for v in arguments if v in number}
        for i, node in enumerate(nodes, len(operands)):
            if node["op"] not in (*FLAT, *TRUTHS, *PLACES) and moves.intersection(node.get("operands", [])):
                moves.add(i)
        self.inside.update(v for v in results if number[v] in moves)
        return fused


def is_flat(region: Region, y: int | None) -> bool:
    """Whether the node that gives a result has the derivative 0."""
    at = region.outputs[region.results.index(y)] - len(region.operands) if y in region.results else -1
    return at >= 0 and region.nodes[at]["op"] in FLAT


def softplus_bounds(region: Region) -> list[dict[str, Any]]:
    """The constants above which the region takes an element in place of its softplus."""
    count, found = len(region.operands), []
    for node in region.nodes:
        if node["op"] != "where" or any(i < count for i in (node["operands"][0], node["operands"][2])):
            continue
        condition, soft = (region.nodes[node["operands"][i] - count] for i in (0, 2))
        bound = region.nodes[condition["operands"][0] - count] if condition["op"] == "less" and condition["operands"][0] >= count else None
        if bound is not None and bound["op"] == "constant" and soft["op"] in ("softplus", "div") and bound["data"][0] >= 17:
            found.append(bound)
    return found

"""Records a training step of PyTorch on the CPU for `assay audit` and `assay gradcheck` (docs/trace-format.md).

    with Recorder(model) as run:
        loss = loss_of(model(run.input("x", x)), run.input("target", target))
        run.gradients(loss)
    run.write("step.safetensors")

or, for a file that defines `model` and `loss()`:  python3 torch_record.py PROGRAM.py step.safetensors   (exit 4: refused, with the reason)

Each ATen operation becomes a region: what it means in Assay's vocabulary (torch_rules.py), and its operands and results bit by bit. All
operations of one torch.autograd.Function become one region. What cannot be recorded as it ran is refused by name, never guessed.
"""
import contextlib
import json
import os
import runpy
import struct
import sys
import zlib

import torch
from torch.autograd.function import BackwardCFunction
from torch.nn.modules import module as hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from torch_rules import GIVEN, NAMES, RULES, TRANSPARENT, Nodes, Ref

CODES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64", torch.int32: "I32", torch.bool: "BOOL"}
# What PyTorch's CPU kernels are declared to do: any order, fused products, exp and log of its own vector library within these steps.
MODELS = {"cpu": "binary32 accumulator=any_order math=sleef-u10", "cpu, float64": "binary64 accumulator=any_order math=sleef-u10"}
LEAF, ELSEWHERE = "leaf", "elsewhere"
JOINT = ("SplitBackward", "SplitWithSizesBackward", "UnbindBackward")


class Refused(Exception):
    """What this recorder cannot record as it ran."""


def place(tensor):
    return tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype


def bits(tensor): return tensor.numpy().tobytes()


class Recorder(TorchDispatchMode):
    """A value is a tensor's bits at one time. The autograd node that made a tensor tells it from others at the same place in memory."""

    def __init__(self, model):
        super().__init__()
        self.values, self.names, self.places, self.taken = [], [], [], set()  # of values: bits, name, storage and place; all names
        self.memory, self.alive = {}, []  # storage -> place -> the node's number, LEAF or None -> the last value there
        self.token, self.edges, self.made = object(), {}, {}  # marks tensors; (node's number, output) -> value; node's number -> region
        self.regions, self.vjps, self.claims, self.cut = [], [], [], set()
        self.origins, self.modules, self.unread = {"inputs": [], "parameters": []}, [], set()
        is_model = isinstance(model, torch.nn.Module)
        self.paths = {id(one): path for path, one in model.named_modules()} if is_model else {}
        self.trained = {}
        for name, one in (model.named_parameters() if is_model else model.items()): self.input(name, one, "parameters")
        self.labels = {one.untyped_storage().data_ptr(): name for name, one in model.named_buffers()} if is_model else {}

    def __enter__(self):
        def enter(one, *_): self.modules.append(self.paths.get(id(one), ""))
        def leave(*_): self.modules.pop()
        self.handles = [hooks.register_module_forward_pre_hook(enter), hooks.register_module_forward_hook(leave, always_call=True)]
        return super().__enter__()

    def __exit__(self, *error):
        for one in self.handles: one.remove()
        return super().__exit__(*error)

    @staticmethod
    @contextlib.contextmanager
    def aside():
        with torch._C._DisableTorchDispatch(), torch.no_grad(): yield

    # Values and their names.

    def fresh(self, name):
        count, full = 1, name
        while full in self.taken: full, count = f"{name}#{count + 1}", count + 1
        self.taken.add(full)
        return full

    def add(self, tensor, history, name):
        if tensor.dtype not in CODES or tensor.layout != torch.strided or tensor.device.type != "cpu":
            raise Refused(f"'{name}': a tensor of type {tensor.dtype}, {tensor.layout}, on {tensor.device}; float32 and float64 on the CPU are recorded")
        if tensor.numel() == 0: raise Refused(f"'{name}': a tensor without elements, {list(tensor.shape)}")
        self.values.append(tensor.detach().clone(memory_format=torch.contiguous_format))
        self.names.append(self.fresh(name))
        storage = tensor.untyped_storage()
        self.alive.append(storage)  # or its address is given to another tensor
        self.places.append((storage.data_ptr(), place(tensor)))
        self.memory.setdefault(storage.data_ptr(), {}).setdefault(place(tensor), {})[history] = len(self.values) - 1
        tensor.recorded = self.token, len(self.values) - 1
        return len(self.values) - 1

    def given(self, tensor, name, origin="inputs"):
        history = LEAF if tensor.requires_grad and tensor.grad_fn is None else None
        value = self.add(tensor, history, name)
        self.origins[origin].append(value)
        return value

    def input(self, name, tensor, origin="inputs"):
        with self.aside():
            known = self.memory.get(tensor.untyped_storage().data_ptr(), {}).get(place(tensor), {})
            if tensor.grad_fn is not None: raise Refused(f"'{name}' was computed before the recording began")
            if tensor.requires_grad and LEAF not in known: self.trained[name] = tensor
            if not known: self.given(tensor, name, origin)
        return tensor

    def value(self, tensor):
        """The recorded value that a tensor holds: the object says so; one that autograd unpacked, by its place and the node that made it."""
        storage, node = tensor.untyped_storage().data_ptr(), tensor.grad_fn
        places, history = self.memory.get(storage, {}), None if node is None else node._sequence_nr()
        known = places.get(place(tensor), {})
        if storage in self.unread: raise Refused("a result that torch_rules.py does not describe is read, of shape " + str(list(tensor.shape)))
        recorder, value = getattr(tensor, "recorded", (None, None))
        if recorder is not self.token or self.places[value] != (storage, place(tensor)): value = known.get(history)
        if value is None and not places:
            if node is not None: raise Refused(f"a tensor of {node.name()} that was computed where the recorder did not see it")
            return self.given(tensor, self.labels.get(storage, "constant"))
        if isinstance(node, BackwardCFunction) and history not in known: self.adopt(node, known)
        if not known or node is not None and history not in known:
            raise Refused(f"a tensor of shape {list(tensor.shape)} shares memory with '{self.names[next(iter(next(iter(places.values())).values()))]}' "
                          "in a way that the recorder did not see: a view from elsewhere, or one that was written in place")
        if node is not None: self.edges[(history, tensor.output_nr)] = value = known[history]
        if value is None: value = self.detached(tensor, next(iter(known.values())))
        if bits(self.values[value]) != bits(tensor.detach().contiguous()):
            raise Refused(f"'{self.names[value]}' was written where the recorder did not see it")
        return value

    def detached(self, tensor, source):
        """The same bits without their history."""
        if torch._C._current_autograd_node() is not None: return source  # nothing flows through backward passes
        nodes = Nodes([tensor], [tensor])
        value = self.add(tensor, None, self.names[source] + ".detach")
        self.append("detach", nodes, [source], [value], [nodes.reshape(Ref(0), tensor.shape)])
        self.cut.add(value)
        return value

    # Regions.

    def label(self, op):
        node = torch._C._current_autograd_node()
        if node is None: return ".".join([one for one in self.modules[-1:] if one] + [op])
        region = self.made.get(node._sequence_nr())
        return f"backward of {region['name'] if region else node.name()}: {op}"

    def append(self, op, nodes, operands, results, outputs):
        reals = {self.values[v].dtype for v in operands + results if self.values[v].is_floating_point()}
        if len(reals) > 1: raise Refused(f"{self.label(op)}: float32 and float64 in one operation")
        plain = not torch.is_grad_enabled() and torch._C._current_autograd_node() is None
        after = torch._C._autograd._get_sequence_nr() - 1 if plain else None  # the last node that was made
        self.regions.append({"name": self.label(op), "model": "cpu, float64" if reals == {torch.float64} else "cpu", "operands": operands,
                             "results": results, "nodes": nodes.nodes, "outputs": outputs, "parts": nodes.parts, "after": after})
        return self.regions[-1]

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs, op, grad = kwargs or {}, str(function).split(".")[1], torch.is_grad_enabled()
        writes = [a.name for a in function._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        op = op[:-1] if writes and op.endswith("_") else op
        if op in TRANSPARENT: return function(*args, **kwargs)
        if op not in RULES and op not in GIVEN or not str(function).startswith("aten."):
            raise Refused(f"{function}: torch_rules.py has no rule for it; add its meaning to RULES")
        if writes and writes != [function._schema.arguments[0].name]: raise Refused(f"{function} writes {', '.join(writes)}")
        if grad and torch._C._current_autograd_node() is not None:
            raise Refused(f"{function} runs with gradients inside a backward pass (checkpointing, second derivatives)")
        with torch._C._DisableTorchDispatch():
            return self.run(function, op, args, kwargs, bool(writes), grad)

    def run(self, function, op, args, kwargs, writes, grad):
        flat, spec = tree_flatten((args, kwargs))
        operands = [a for a in flat if isinstance(a, torch.Tensor)]
        if writes: self.check_written(function, args[0])
        if op in GIVEN or writes and op in ("zero", "fill", "copy"):  # what was there before does not matter
            ids = [None if one is args[0] and writes else self.value(one) for one in operands]
        else:
            ids = [self.value(one) for one in operands]
        number = torch._C._autograd._get_sequence_nr() - 1 if grad and any(one.requires_grad for one in operands) else None
        returned = function(*args, **kwargs)
        results = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if writes: self.forget(args[0].untyped_storage().data_ptr())
        if op in GIVEN:
            for one in results: self.given(one, self.label("random" if writes else op))
            return returned
        kept = [i for i, v in enumerate(ids) if v is not None]
        node, place_of = torch._C._current_autograd_node(), iter(range(len(operands)))
        nodes = Nodes([operands[i] for i in kept], results, node is not None and node.name().startswith(JOINT))
        refs = [(Ref(kept.index(i)) if (i := next(place_of)) in kept else a) if isinstance(a, torch.Tensor) else a for a in flat]
        args, kwargs = tree_unflatten(refs, spec)
        try:
            found = RULES[op](nodes, *args, **kwargs)
        except (NotImplementedError, TypeError, IndexError, KeyError) as error:
            raise Refused(f"{function}: {error}") from error
        self.note(op, nodes, [ids[i] for i in kept], results, found if isinstance(found, list) else [found], number)
        return returned

    def forget(self, storage):
        """What was there is overwritten."""
        self.memory.pop(storage, None)
        self.places = [None if one is not None and one[0] == storage else one for one in self.places]

    def check_written(self, function, tensor):
        places = self.memory.get(tensor.untyped_storage().data_ptr(), {})
        known = places.get(place(tensor), {})
        if LEAF in known or any(v in self.origins["parameters"] for v in known.values()) or set(places) - {place(tensor)}:
            raise Refused(f"{function} writes in place to a parameter, or to a tensor of which there are views")

    def note(self, op, nodes, operands, results, found, number):
        values, outputs = [], []
        for tensor, output in zip(results, found):
            if tensor is None: continue
            history = number if tensor.is_floating_point() else None
            if output is None:
                self.unread.add(tensor.untyped_storage().data_ptr())
                self.alive.append(tensor.untyped_storage())
            else:
                values.append(self.add(tensor, history, self.label(op)))
                outputs.append(output)
        region = self.append(op, nodes, operands, values, outputs)
        if number is not None: self.made.setdefault(number, region)
        elif torch._C._current_autograd_node() is None: self.cut.update(v for v in values if self.values[v].is_floating_point())

    # A torch.autograd.Function: one region, whose results are all that its forward operations gave. They run without gradients, before
    # another node is made.

    def adopt(self, node, known):
        """What was recorded without a history is an output of the Function that made this node."""
        number = node._sequence_nr()
        if number not in self.made:
            inside = [i for i, one in enumerate(self.regions) if one["after"] == number]
            if not inside: return
            arguments = [v for v in (self.source(*edge) for edge in node.next_functions) if v not in (None, ELSEWHERE)]
            self.made[number] = self.fused(type(node).__name__.removesuffix("Backward"), inside[0], inside[-1] + 1, arguments)
        if known.get(None) not in self.made[number]["results"]: raise Refused(f"{node.name()}: an output that its forward operations did not compute")
        known[number] = known.pop(None)

    def source(self, node, output):
        """The value whose gradient goes to this input of a node of the backward pass."""
        if node is None: return None
        if node.name() == "torch::autograd::AccumulateGrad": return self.value(node.variable)
        number = node._sequence_nr()
        results = self.made[number]["results"] if number in self.made else []
        return self.edges.get((number, output), results[0] if len(results) == 1 else ELSEWHERE)

    def fused(self, name, start, end, arguments):
        regions, given = self.regions[start:end], {v for one in self.regions[start:end] for v in one["results"]}
        operands = arguments
        operands += dict.fromkeys(v for one in regions for v in one["operands"] if v not in given and v not in operands)
        number, nodes = {v: i for i, v in reversed(list(enumerate(operands)))}, Nodes([self.values[v] for v in operands], [])
        for one in regions:
            at = [number[v] for v in one["operands"]]
            for node in one["nodes"]:
                moved = {"operands": [at[i] for i in node["operands"]]} if "operands" in node else {}
                at.append(nodes.append(node | moved, None))
            number |= {v: at[i] for v, i in zip(one["results"], one["outputs"])}
        results = [v for one in regions for v in one["results"]]
        self.append(name, nodes, operands, results, [number[v] for v in results])
        region = self.regions.pop() | {"name": ".".join(filter(None, [regions[0]["name"].rpartition(".")[0], name])), "after": None}
        self.regions[start:end] = [region]
        return region

    # Gradients.

    def claim(self, node):
        """Says what a node of the backward pass computes, when it ran."""
        number = node._sequence_nr()
        region = self.made.get(number)
        if region is None: raise Refused(f"{node.name()}: its forward operation was not recorded")
        operands = [self.source(*edge) for edge in node.next_functions]
        def ran(out, given):
            with self.aside():
                flows = [(self.edges.get((number, i)), self.value(g)) for i, g in enumerate(given) if g is not None]
                if any(y not in region["results"] for y, _ in flows): raise Refused(f"{node.name()}: a result that was not recorded")
                found = [(v, self.value(g)) for v, g in zip(operands, out) if v is not None and g is not None]
                if not flows: return
                if len(flows) == 1: return self.product(region, *flows[0], found)
                if not node.name().startswith(JOINT): raise Refused(f"{node.name()}: several results have a gradient at once")
                for (y, y_bar), part in zip(flows, self.parts(found[0][1], [g for _, g in flows])): self.product(region, y, y_bar, [(found[0][0], part)])
        node.register_hook(ran)

    def product(self, region, y, y_bar, found):
        free, cotangents = list(region["operands"]), {}
        for v, x_bar in found:
            if v not in free: raise Refused(f"{region['name']}: a gradient of a tensor that the operation does not read")
            cotangents[free.index(v)], free[free.index(v)] = x_bar, None
        self.vjps.append({"of": region, "result": region["results"].index(y), "cotangent": y_bar, "cotangents": cotangents})

    def parts(self, joined, flows):
        """What each part of a concatenation gives alone: names of values inside its region, which nobody stored."""
        region = next((one for one in self.regions if joined in one["results"] and one["parts"]), None)
        if region is None: raise Refused("the gradients of the parts of a tensor, joined by an operation without parts")
        left, names = list(region["operands"]), []
        for flow in flows:
            at, left[left.index(flow)] = left.index(flow), None
            names.append(self.fresh(f"part {at} of {self.names[joined]}"))
            region["parts"][at]["name"] = names[-1]
        return names

    def gradients(self, loss):
        """The gradients of all parameters and inputs that require one. One that nothing computed is claimed to be 0."""
        with self.aside():
            if loss.grad_fn is None: raise Refused("the loss does not depend on anything that requires a gradient")
            seed, output = torch.ones_like(loss), self.value(loss)
            first = self.given(seed, "seed")
            seen, open_nodes = set(), [loss.grad_fn]
            while open_nodes:
                node = open_nodes.pop()
                if node in seen or node is None or node.name() == "torch::autograd::AccumulateGrad": continue
                seen.add(node)
                self.claim(node)
                open_nodes += [n for n, _ in node.next_functions]
        found = torch.autograd.grad(loss, list(self.trained.values()), grad_outputs=seed, allow_unused=True)
        of = {}
        with self.aside():
            for (name, one), bar in zip(self.trained.items(), found):
                value = self.zero(one, name) if bar is None else self.value(bar)
                if value not in self.origins["inputs"] and not self.names[value].endswith(".grad"): self.names[value] = self.fresh(name + ".grad")
                of[self.value(one)] = value
            self.claims.append({"output": output, "seed": first, "of": of})
        return found

    def zero(self, tensor, name):
        nodes, value = Nodes([], [tensor]), self.add(torch.zeros_like(tensor), None, name + ".grad")
        self.append("no gradient of " + name, nodes, [], [value], [nodes.expand(nodes.constant(0, tensor.dtype), tensor.shape)])
        return value

    def write(self, path):
        name = lambda v: v if isinstance(v, str) else self.names[v]
        names = lambda values: [name(v) for v in values]
        number = {id(one): i for i, one in enumerate(self.regions)}
        header, at, crc, data = {}, 0, {}, []
        for own, tensor in zip(self.names, self.values):
            data.append(bits(tensor))
            header[own] = {"dtype": CODES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + len(data[-1])]}
            crc[own], at = zlib.crc32(data[-1]), at + len(data[-1])
        regions = [{k: one[k] for k in ("name", "model", "nodes", "outputs")} | {"operands": names(one["operands"]), "results": names(one["results"])}
                   for one in self.regions]
        vjps = [{"of": number[id(one["of"])], "result": one["result"], "cotangent": name(one["cotangent"]),
                 "cotangents": {str(k): name(v) for k, v in one["cotangents"].items()}} for one in self.vjps]
        claims = [{"output": name(c["output"]), "seed": name(c["seed"]), "of": {name(k): name(v) for k, v in c["of"].items()}} for c in self.claims]
        trace = {"version": 1, "writer": f"torch_record, PyTorch {torch.__version__}", "models": MODELS, "regions": regions, "vjps": vjps,
                 "gradients": claims, "detached": names(self.cut - set(self.edges.values())), "crc32": crc,
                 "outputs": sorted({n for c in claims for n in c["of"].values()}), **{k: names(v) for k, v in self.origins.items()}}
        text = json.dumps({"__metadata__": {"assay.trace": json.dumps(trace)}, **header}).encode()
        with open(path, "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def main(program, path):
    try:
        if not os.path.isfile(program): raise Refused("there is no such file")
        defined = runpy.run_path(program)
        missing = [name for name in ("model", "loss") if name not in defined]
        if missing: raise Refused(f"it does not define {' and '.join(missing)}: `model` is a torch.nn.Module, `loss()` gives the number to differentiate")
        with Recorder(defined["model"]) as run: run.gradients(defined["loss"]())
        run.write(path)
    except Refused as why:
        print(f"torch_record: {program} is not recorded: {why}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))

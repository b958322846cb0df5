"""Records a training step of PyTorch on the CPU for `assay audit` and `assay gradcheck` (docs/trace-format.md).

    with Recorder(dict(model.named_parameters())) as run:
        loss = loss_of(model(run.input("x", x)), run.input("target", target))
        run.gradients(loss)
    run.write("step.safetensors")

Each ATen operation becomes a region: what it means in Assay's vocabulary (torch_rules.py), and its operands and results bit by bit.
"""
import json
import struct
import zlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torch_rules import RULES, Nodes, Ref

CODES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64", torch.int32: "I32", torch.bool: "BOOL"}
# What PyTorch's CPU kernels are declared to do: any order, fused products, exp and log of its own vector library within these steps.
MODEL = "binary32 math=sleef-u10"



class Recorder(TorchDispatchMode):
    def __init__(self, parameters):
        super().__init__()
        self.tensors, self.names, self.alive, self.forward, self.regions, self.vjps, self.claims = {}, {}, [], {}, [], [], []
        self.origins, self.parameters = {"inputs": [], "parameters": []}, parameters
        for name, one in parameters.items(): self.input(name, one, "parameters")

    def name(self, tensor, name=None, origin=None):
        """The name under which a tensor's present bits are recorded; new ones are an input, a parameter or a result."""
        key = (tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype)
        if name or origin is None or key not in self.names:
            name = name or f"t{len(self.tensors)}"
            if origin: self.origins[origin].append(name)
            self.names[key], self.tensors[name] = name, tensor.detach().clone().contiguous()
            self.alive.append(tensor)  # or its address is given to another one
        return self.names[key]

    def input(self, name, tensor, origin="inputs"):
        with torch._C._DisableTorchDispatch(): self.name(tensor, name, origin)
        return tensor

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        rule = str(function).rsplit(".", 1)[0]
        if rule == "aten.detach": return function(*args)  # the same tensor
        if rule not in RULES: raise NotImplementedError(f"no rule for {rule}: add its meaning to RULES")
        with torch._C._DisableTorchDispatch():
            operands = [a for a in args if isinstance(a, torch.Tensor)]
            names = [self.name(one, origin="inputs") for one in operands]
            returned = function(*args, **(kwargs or {}))
            results = list(returned) if isinstance(returned, tuple) else [returned]
            nodes = Nodes(operands, results)
            place = iter(range(len(operands)))
            values = RULES[rule](nodes, *[Ref(next(place)) if isinstance(a, torch.Tensor) else a for a in args], **(kwargs or {}))
            kept = [(v, r) for v, r in zip(values if isinstance(values, list) else [values], results) if v is not None]
            if torch._C._current_autograd_node() is None:
                self.forward.setdefault(torch._C._autograd._get_sequence_nr() - 1, (len(self.regions), operands))
            self.regions.append({"name": rule, "model": "cpu", "operands": names, "results": [self.name(r) for _, r in kept],
                                 "nodes": nodes.nodes, "outputs": [v for v, _ in kept]})
        return returned

    def claim(self, node):
        """Says what a node of the backward pass computes, when it ran."""
        region, operands = self.forward[node._sequence_nr()]
        real = [i for i, one in enumerate(operands) if one.is_floating_point()]
        def ran(out, given):
            with torch._C._DisableTorchDispatch():
                k = next(i for i, one in enumerate(given) if one is not None)
                self.vjps.append({"of": region, "result": k, "cotangent": self.name(given[k], origin="inputs"),
                                  "cotangents": {str(i): self.name(one, origin="inputs") for i, one in zip(real, out) if one is not None}})
        node.register_hook(ran)

    def gradients(self, loss):
        with torch._C._DisableTorchDispatch(): seed = torch.ones_like(loss.detach())
        seen, open_nodes = set(), [loss.grad_fn]
        self.input("seed", seed)
        while open_nodes:
            node = open_nodes.pop()
            if node in seen or node is None or node.name() == "torch::autograd::AccumulateGrad": continue
            seen.add(node)
            self.claim(node)
            open_nodes += [n for n, _ in node.next_functions]
        found = torch.autograd.grad(loss, list(self.parameters.values()), grad_outputs=seed)
        of = {name: self.name(one, origin="inputs") for name, one in zip(self.parameters, found)}
        self.claims.append({"output": self.name(loss, origin="inputs"), "seed": "seed", "of": of})
        return found

    def write(self, path):
        header, at, crc, data = {}, 0, {}, []
        for name, tensor in self.tensors.items():
            data.append(tensor.numpy().tobytes())
            header[name] = {"dtype": CODES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + len(data[-1])]}
            crc[name], at = zlib.crc32(data[-1]), at + len(data[-1])
        trace = {"version": 1, "writer": f"torch_record, PyTorch {torch.__version__}", "models": {"cpu": MODEL}, "regions": self.regions,
                 "vjps": self.vjps, "gradients": self.claims, "crc32": crc, "outputs": sorted({n for c in self.claims for n in c["of"].values()}), **self.origins}
        text = json.dumps({"__metadata__": {"assay.trace": json.dumps(trace)}, **header}).encode()
        with open(path, "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text + b"".join(data))

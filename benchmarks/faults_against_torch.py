#!/usr/bin/env python3
"""The bank of faults, judged by torch.testing.assert_close and torch.autograd.gradcheck with their defaults.

    cmake --build --preset release --target bench_faults
    python3 benchmarks/faults_against_torch.py BIN [--mutants N]

Time: torch.autograd.gradcheck (slow mode, float64) beside the gradient gate (float32, as shipped), an application per op, in processor time.
Forward: what each fault gave on one dense probe of its application, and on up to 24 others, compared with what is right. Gradients: every
application of the representative set as a function of PyTorch in float64, whose backward is the product's graph, or a mutant of it (every
N-th, 1 = all).
"""
import collections
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import torch

torch.set_num_threads(1)
torch.manual_seed(3)
TYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8,
         "BOOL": torch.bool, "U16": torch.uint16, "U32": torch.uint32, "U64": torch.uint64}


def load(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__")

    def tensor(entry):
        begin, end = entry["data_offsets"]
        raw = bytearray(data[8 + size + begin:8 + size + end])
        kind = TYPES[entry["dtype"]]
        return torch.frombuffer(raw, dtype=kind).reshape(entry["shape"]) if raw else torch.empty(entry["shape"], dtype=kind)
    return metadata, header, tensor


def is_close(got, want):
    try:
        torch.testing.assert_close(got, want)
        return True
    except AssertionError:
        return False


def forward(path):
    _, header, tensor = load(path)
    verdicts, closeness = {}, collections.defaultdict(lambda: {"dense": None, "other": None})
    for key, entry in header.items():
        parts = key.split("|")
        fault = tuple(parts[:4])
        if parts[4] == "verdict":
            verdicts[fault] = tensor(entry).tolist()
        elif parts[6] == "got":
            close = is_close(tensor(entry), tensor(header[key[:-3] + "want"]))
            before = closeness[fault][parts[4]]
            closeness[fault][parts[4]] = close if before is None else before and close
    table = collections.Counter()
    twins = collections.Counter()
    for fault, (caught, differs, numeric) in verdicts.items():
        seen = closeness[fault]
        if fault[3] == "twin":
            twins["all"] += 1
            twins["assay"] += caught
            twins["dense"] += seen["dense"] is False
            twins["plan"] += False in seen.values()
        elif caught or differs:
            group = "of rounding, overflow, NaN" if numeric else "of another function"
            table[group, "all"] += 1
            table[group, "assay"] += caught
            table[group, "dense"] += seen["dense"] is False
            table[group, "plan"] += False in seen.values()
    print("| Faults (application by application) | all | contracts on the plan | assert_close on one dense probe | assert_close on the plan |\n| --- | ---: | ---: | ---: | ---: |")
    for group in ("of another function", "of rounding, overflow, NaN"):
        print(f"| {group} | {table[group, 'all']} | {table[group, 'assay']} | {table[group, 'dense']} | {table[group, 'plan']} |")
    print(f"| right twins, flagged | {twins['all']} | {twins['assay']} | {twins['dense']} | {twins['plan']} |")


def number(value):
    return math.inf if value == "inf" else -math.inf if value == "-inf" else eval(value) if isinstance(value, str) else value


def axes_of(a):
    return a.get("axes", [])


def window(a):
    return a["kernel"], a["strides"], a["dilations"], a["pads_begin"], a["pads_end"]


def padded(x, begin, end, value=0.0):
    pads = [p for pair in zip(reversed(begin), reversed(end)) for p in pair]
    return torch.nn.functional.pad(x, pads, value=value)


def conv(x, w, b, a):
    kernel, strides, dilations, begin, end = window(a)
    run = (torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d)[len(kernel) - 1]
    return run(padded(x, begin, end), w, b, strides, 0, dilations, a.get("groups", 1))


def conv_transpose(x, w, b, a):
    kernel, strides, dilations, begin, end = window(a)
    run = (torch.nn.functional.conv_transpose1d, torch.nn.functional.conv_transpose2d, torch.nn.functional.conv_transpose3d)[len(kernel) - 1]
    extra = a.get("output_padding") or [0] * len(kernel)
    full = run(x, w, None, strides, 0, 0, a.get("groups", 1), dilations)
    full = padded(full, [-p for p in begin], [o - p for o, p in zip(extra, end)])
    return full if b is None else full + b.reshape([1, -1] + [1] * len(kernel))


def reduced(x, a, f):
    axes, keep = axes_of(a), a.get("keep_dims", True)
    for axis in sorted(axes, reverse=True):
        x = f(x, axis)
    return x if not keep or not axes else x.reshape([1 if k in axes else n for k, n in enumerate(a["_shape"])])


def max_weight(x, a):
    top = torch.amax(x, dim=tuple(axes_of(a)), keepdim=True)
    ties = (x == top).to(x.dtype)
    return ties / ties.sum(dim=tuple(axes_of(a)), keepdim=True)


def weighted(x, a):
    axis, starts, indices = a["axis"], a["starts"], torch.tensor(a["indices"], dtype=torch.int64)
    weights = torch.tensor([float(number(w)) if not isinstance(w, list) else w[0] / w[1] for w in a["weights"]], dtype=x.dtype)
    moved = x.movedim(axis, 0)
    rows = [(moved[indices[s:e]] * weights[s:e].reshape([-1] + [1] * (moved.dim() - 1))).sum(0) for s, e in zip(starts, starts[1:])]
    return torch.stack(rows).movedim(0, axis) if rows else moved[:0].movedim(0, axis)


def cumulated(x, a, f, neutral):
    axis = a.get("axis", 0)
    if a.get("reverse"): x = x.flip(axis)
    y = f(x, axis)
    if a.get("exclusive"):
        first = torch.full_like(y.narrow(axis, 0, 1), neutral)
        y = torch.cat([first, y.narrow(axis, 0, y.shape[axis] - 1)], axis)
    return y.flip(axis) if a.get("reverse") else y


def slice_of(x, a):
    for axis, (start, step, extent) in enumerate(zip(a["starts"], a["steps"], a["extents"])):
        x = x.index_select(axis, torch.arange(extent) * step + start)
    return x


def gather(x, a):
    axis, shape = a.get("axis", 0), a["index_shape"]
    y = x.index_select(axis, torch.tensor(a["indices"], dtype=torch.int64))
    return y.reshape(list(x.shape[:axis]) + shape + list(x.shape[axis + 1:]))


def place(x, a):
    y = torch.zeros(math.prod(a["shape"]), dtype=x.dtype)
    return y.index_add(0, torch.tensor(a["indices"], dtype=torch.int64), x.reshape(-1)).reshape(a["shape"])


def pool(x, a, average):
    kernel, strides, dilations, begin, end = window(a)
    rank = len(kernel)
    out = a["_result"][2:]
    reach = [(o - 1) * s + (k - 1) * d + 1 for o, s, k, d in zip(out, strides, kernel, dilations)]
    more = [max(0, r - n - b) for r, n, b in zip(reach, x.shape[2:], begin)]
    wide = padded(x, begin, more, 0.0 if average else -math.inf)
    inside = padded(torch.ones_like(x), begin, more)
    counted = padded(torch.ones_like(padded(x, begin, end)), [0] * rank, [max(0, m - e) for m, e in zip(more, end)])
    if counted.shape != wide.shape: counted = counted[tuple(slice(0, n) for n in wide.shape)]
    for axis in range(rank):
        cut = lambda t: t.unfold(axis + 2, (kernel[axis] - 1) * dilations[axis] + 1, strides[axis])[..., ::dilations[axis]].narrow(axis + 2, 0, out[axis])
        wide, inside, counted = cut(wide), cut(inside), cut(counted)
    last = tuple(range(-rank, 0))
    if not average: return wide.amax(dim=last)
    return wide.sum(dim=last) / (counted if a.get("count_include_pad") else inside).sum(dim=last)


def gemm(v, a):
    x, y = (v[0].T if a.get("transpose_a") else v[0]), (v[1].T if a.get("transpose_b") else v[1])
    product = number(a.get("alpha", 1)) * (x @ y)
    return product + number(a.get("beta", 1)) * v[2] if len(v) > 2 else product


def normalise(x, a):
    axes, eps, form = tuple(a["axes"]), a.get("epsilon", 0), a.get("form", "centered")
    mean = lambda t: t.mean(dim=axes, keepdim=True)
    if form == "root_mean": return x / torch.sqrt(mean(x * x) + eps)
    if form == "centered": return (x - mean(x)) / torch.sqrt(mean((x - mean(x)) ** 2) + eps)
    return None


UNARY = {"neg": torch.neg, "relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "abs": torch.abs, "sign": torch.sign, "sqrt": torch.sqrt,
         "exp": torch.exp, "log": torch.log, "sin": torch.sin, "cos": torch.cos, "floor": torch.floor, "ceil": torch.ceil, "round": torch.round,
         "reciprocal": torch.reciprocal, "erf": torch.erf, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan,
         "sinh": torch.sinh, "cosh": torch.cosh, "asinh": torch.asinh, "acosh": torch.acosh, "atanh": torch.atanh, "logical_not": torch.logical_not,
         "softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)), "softsign": torch.nn.functional.softsign,
         "mish": lambda x: x * torch.tanh(torch.logaddexp(x, torch.zeros_like(x))), "hard_swish": torch.nn.functional.hardswish,
         "step": lambda x: torch.heaviside(x, torch.full((), 0.5, dtype=x.dtype))}
BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "matmul": torch.matmul, "equal": torch.eq, "less": torch.lt,
          "less_equal": torch.le, "logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_xor": torch.logical_xor, "power": torch.pow}
OPS = {"scale": lambda v, a: v[0] * number(a.get("factor", 1)), "reshape": lambda v, a: v[0].reshape(a["shape"]),
       "permute": lambda v, a: v[0].permute(a["axes"]), "expand": lambda v, a: v[0].expand(a["shape"]), "slice": lambda v, a: slice_of(v[0], a),
       "concat": lambda v, a: torch.cat(v, a.get("axis", 0)), "pad": lambda v, a: padded(v[0], a["before"], a["after"], number(a.get("value", 0))),
       "gather": lambda v, a: gather(v[0], a), "place": lambda v, a: place(v[0], a), "weighted_gather": lambda v, a: weighted(v[0], a),
       "gemm": gemm, "conv": lambda v, a: conv(v[0], v[1], v[2] if len(v) > 2 else None, a),
       "conv_transpose": lambda v, a: conv_transpose(v[0], v[1], v[2] if len(v) > 2 else None, a),
       "reduce_sum": lambda v, a: v[0].sum(dim=tuple(axes_of(a)), keepdim=a.get("keep_dims", True)) if axes_of(a) else v[0],
       "reduce_mean": lambda v, a: v[0].mean(dim=tuple(axes_of(a)), keepdim=a.get("keep_dims", True)) if axes_of(a) else v[0],
       "reduce_max": lambda v, a: v[0].amax(dim=tuple(axes_of(a)), keepdim=a.get("keep_dims", True)),
       "reduce_min": lambda v, a: v[0].amin(dim=tuple(axes_of(a)), keepdim=a.get("keep_dims", True)),
       "log_sum_exp": lambda v, a: v[0].logsumexp(dim=tuple(axes_of(a)), keepdim=a.get("keep_dims", True)),
       "reduce_prod": lambda v, a: reduced(v[0], {**a, "_shape": v[0].shape}, lambda t, axis: t.prod(axis)),
       "max_weight": lambda v, a: max_weight(v[0], a), "softmax": lambda v, a: v[0].softmax(a.get("axis", 0)),
       "log_softmax": lambda v, a: v[0].log_softmax(a.get("axis", 0)), "leaky_relu": lambda v, a: torch.where(v[0] > 0, v[0], v[0] * number(a.get("slope", 0.01))),
       "clip": lambda v, a: torch.clamp(v[0], number(a["lo"]), number(a["hi"])), "pow": lambda v, a: v[0] ** number(a["exponent"]),
       "prelu": lambda v, a: torch.where(v[0] > 0, v[0], v[0] * v[1]), "where": lambda v, a: torch.where(v[0], v[1], v[2]),
       "min": lambda v, a: _fold(torch.minimum, v), "max": lambda v, a: _fold(torch.maximum, v),
       "cumsum": lambda v, a: cumulated(v[0], a, torch.cumsum, 0.0), "cumprod": lambda v, a: cumulated(v[0], a, torch.cumprod, 1.0),
       "silu": lambda v, a: v[0] * torch.sigmoid(number(a.get("alpha", 1)) * v[0]), "elu": lambda v, a: torch.where(v[0] > 0, v[0], number(a.get("alpha", 1)) * torch.expm1(torch.clamp(v[0], max=0))),
       "gelu": lambda v, a: torch.nn.functional.gelu(v[0], approximate="tanh" if a.get("tanh_form") else "none"),
       "max_pool": lambda v, a: pool(v[0], a, False), "avg_pool": lambda v, a: pool(v[0], a, True), "normalise": lambda v, a: normalise(v[0], a),
       "take": lambda v, a: _take(v, a)}


def _fold(f, values):
    result = values[0]
    for value in values[1:]: result = f(result, value)
    return result


def _take(v, a):
    data, index, axis = (v[1], v[0], a.get("axis", 0)) if v[1].is_floating_point() else (v[0], v[1], a.get("axis", 0))
    return torch.gather(data, axis, torch.where(index < 0, index + data.shape[axis], index))


class Missing(Exception):
    pass


def interpret(region, inputs):
    """The region's graph on these inputs, reals in float64. -> its outputs"""
    values = list(inputs)
    for node in region["nodes"]:
        a, op = dict(node.get("attributes", {})), node["op"]
        if op == "constant":
            kind = torch.float64 if node["dtype"].startswith("float") else getattr(torch, {"boolean": "bool"}.get(node["dtype"], node["dtype"]))
            values.append(torch.tensor([number(d) for d in node["data"]], dtype=kind).reshape(node["shape"]))
            continue
        v = [values[k] for k in node["operands"]]
        if op in ("max_pool", "avg_pool"): a["_result"] = pooled(v[0].shape, a)
        if op in UNARY: y = UNARY[op](v[0])
        elif op in BINARY: y = BINARY[op](*v)
        elif op in OPS: y = OPS[op](v, a)
        else: y = None
        if y is None: raise Missing(op)
        values.append(y)
    count = len(region["results"])
    return [values[k] for k in region.get("outputs", range(len(values) - count, len(values)))]


def pooled(shape, a):
    kernel, strides, dilations, begin, end = window(a)
    result = list(shape[:2])
    for n, k, s, d, b, e in zip(shape[2:], kernel, strides, dilations, begin, end):
        room = n + b + e - ((k - 1) * d + 1)
        steps = -(-room // s) if a.get("ceil_mode") else room // s
        if a.get("ceil_mode") and steps * s >= n + b: steps -= 1
        result.append(steps + 1)
    return result


def function_of(case, vjp):
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return interpret(case, inputs)[0].clone()

        @staticmethod
        def backward(ctx, bar):
            bars = iter(interpret(vjp, [*ctx.saved_tensors, bar]))
            return tuple(next(bars).clone() if x.is_floating_point() else None for x in ctx.saved_tensors)
    return Function.apply


def gradchecks(case, vjp, inputs):
    try:
        return torch.autograd.gradcheck(function_of(case, vjp), inputs)
    except Missing:
        raise
    except Exception:
        return False


def gradients(path, every):
    metadata, header, _ = load(path)
    trace = json.loads(metadata["assay.trace"])
    shapes = {name: (entry["dtype"], entry["shape"]) for name, entry in header.items()}
    case = inputs = vjp = None
    total, missing, right, torch_time, by = collections.Counter(), collections.Counter(), 0, 0.0, collections.Counter()
    count = 0
    for region in trace["regions"]:
        kind, *rest = region["name"].split("|")
        if kind == "case":
            case, vjp = region, None
            ends = [float(end) for end in rest[1].split()]
            inputs = []
            for name, lo, hi in zip(region["operands"], ends[::2], ends[1::2]):
                dtype, shape = shapes[name]
                if dtype.startswith("F"):
                    inputs.append((torch.rand(shape, dtype=torch.float64) * (hi - lo) + lo).requires_grad_())
                else:
                    inputs.append(torch.randint(int(lo), int(hi) + 1, shape).to(TYPES[dtype]))
        elif kind == "vjp":
            try:
                start = time.process_time()
                good = gradchecks(case, region, inputs)
                torch_time += time.process_time() - start
                total["cases"] += 1
                right += good
                if good: vjp = region
                else: print("  (the right product fails gradcheck:", case["name"].split("|")[1] + ")")
            except Missing as op:
                missing[str(op)] += 1
        elif vjp is not None:
            count += 1
            if count % every: continue
            try:
                accepted = gradchecks(case, region, inputs)
            except Missing as op:
                missing[str(op)] += 1
                continue
            wrong = rest[0] == "caught"
            total["mutants"] += wrong
            total["caught"] += wrong and not accepted
            if wrong and accepted: by[rest[1].split(": ", 1)[1]] += 1
            if not wrong: total["same"] += 1
            if not wrong and not accepted: total["same, refused"] += 1
    print(f"products: {total['cases']} applications, {right} accepted, {torch_time:.2f} s of gradcheck; not interpreted: {dict(missing)}")
    print(f"mutants that compute another product: {total['mutants']}, refused by gradcheck: {total['caught']}; equivalent: {total['same']}, refused: {total['same, refused']}")
    print("missed most often:", ", ".join(f"{name} ({times})" for name, times in by.most_common(12)))


def suite(folder, path):
    printed = subprocess.run([folder / "bench_faults", "suite", path], check=True, capture_output=True, text=True).stdout
    metadata, header, tensor = load(path)
    trace = json.loads(metadata["assay.trace"])
    ratios, missing = [], []
    for region, line in zip(trace["regions"], printed.splitlines(), strict=True):
        name, right, ours = line.split("|")
        inputs = [tensor(header[operand]) for operand in region["operands"]]
        inputs = [x.double().requires_grad_() if x.is_floating_point() else x for x in inputs]
        start = time.process_time()
        try:
            accepted = torch.autograd.gradcheck(lambda *x: interpret(region, x)[0], inputs, raise_exception=False)
        except (Missing, RuntimeError) as why:  # not interpreted, or without a derivative there
            missing.append(str(why)[:60])
            continue
        theirs = time.process_time() - start
        ratios.append((theirs / float(ours), name, theirs, float(ours), accepted, right))
    ratios.sort()
    for ratio, name, theirs, ours, accepted, right in ratios:
        print(f"{ratio:9.1f}  {theirs:9.4f} s  {ours:9.5f} s  {name}{'' if accepted else ', refused by gradcheck'}{'' if right == '1' else ', refused by the gate'}")
    theirs, ours = sum(r[2] for r in ratios), sum(r[3] for r in ratios)
    print(f"{len(ratios)} applications: gradcheck {theirs:.1f} s, the gate {ours:.3f} s, ratio of sums {theirs / ours:.0f}, median ratio {ratios[len(ratios) // 2][0]:.0f}; "
          f"not interpreted: {', '.join(missing)}")


def main():
    folder, every = pathlib.Path(sys.argv[1]), int(sys.argv[3]) if "--mutants" in sys.argv else 1
    with tempfile.TemporaryDirectory() as name:
        for what in ("forward", "gradients"):
            subprocess.run([folder / "bench_faults", what, pathlib.Path(name) / what], check=True)
        suite(folder, pathlib.Path(name) / "suite")
        forward(pathlib.Path(name) / "forward")
        gradients(pathlib.Path(name) / "gradients", every)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Are the theorems about float32 executions true of ONNX Runtime? Every value of every node against its proved box.

    pip install onnx onnxruntime numpy
    benchmarks/float32/campaign.py [--bin DIR] [--category NAME]... [--models N] [--seconds S] [--skip-models] [--skip-patterns]

Boxes come from `assay bounds --semantics float32:onnxruntime --method ibp`: the input boxes of one property per model (if they have float32
points), point boxes at random, corner and boundary inputs, and boxes of a few units in the last place around such points. ONNX Runtime runs at
float32 inputs inside each, with one and two threads, graph optimisations disabled and all, every intermediate value an output; and once more
with optimisations and only the outputs of the model, so that fusions take place. Three parts:

    models     the networks of the development set, whole
    nodes      their nodes one at a time, at the operands that were seen: boxes hold one op's rounding, not what layers before it passed on
    patterns   small graphs with ops, ranges and fusions that the set lacks (patterns.py)

With --pytorch the nodes run one by one as torch functions (float32:pytorch-cpu), with and without oneDNN.
Head-room is the largest |value - middle| / radius at point boxes: above 1 it would be outside; far below 1 the bound is loose.
Exit status: 0, 1 if a value lies outside its box, 77 if ONNX Runtime or the data are absent.
"""
import argparse
import csv
import os
import pathlib
import sys
import tempfile
import time

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]

TORCH = "--pytorch" in sys.argv

try:
    import numpy as np
    import onnx
    import assay_boxes
    import patterns
    from tally import Share, Tally
    if TORCH:
        import torch
        from torch_executions import CONFIGURATIONS, Executions, Unsupported
        SEMANTICS, RUNTIME = "float32:pytorch-cpu", f"PyTorch {torch.__version__}"
    else:
        import onnxruntime
        from executions import CONFIGURATIONS, Executions, Unsupported
        SEMANTICS, RUNTIME = "float32:onnxruntime", f"ONNX Runtime {onnxruntime.__version__}"
except ImportError as error:
    print(f"SKIPPED: {error.name} is not installed (pip install onnx numpy, and onnxruntime, or torch for --pytorch)")
    sys.exit(SKIPPED)

MOST_OPERANDS = 20000  # of a node taken alone: elements of its operands, which the property lists one by one
COPIES = 3             # of a node's kind and shapes in one model
# ONNX ops that do no arithmetic: their results are operands, whole.
EXACT = {"Relu", "Reshape", "Flatten", "Transpose", "Concat", "Slice", "Gather", "Squeeze", "Unsqueeze", "Identity", "MaxPool", "Constant", "Shape",
         "Sign", "Max", "Min", "Neg", "Abs", "Dropout", "Split", "Expand", "Where", "Cast", "ConstantOfShape", "Pad", "Tile"}


def float32_points(lo, hi):
    """The least and the greatest float32 of each side, and whether there are any on all of them. Else the nearest stand for a side."""
    first, last = lo.astype(np.float32), hi.astype(np.float32)
    first = np.where(first < lo, np.nextafter(first, np.float32(np.inf)), first)
    last = np.where(last > hi, np.nextafter(last, np.float32(-np.inf)), last)
    some = first <= last
    nearest = ((lo + hi) / 2).astype(np.float32)
    return np.where(some, first, nearest), np.where(some, last, nearest), bool(some.all())


def points(lo, hi, count, random):
    """float32 points of a box: random ones, corners, ones near the sides, and mixtures."""
    for k in range(count):
        share = random.random(lo.size, dtype=np.float32)
        if k % 4 == 1:
            share = np.round(share)
        elif k % 4 == 2:
            share = np.where(random.random(lo.size) < 0.5, np.float32(1e-6), np.float32(1 - 1e-6)) * (0.9 + 0.1 * share)
        elif k % 4 == 3:
            share = np.where(random.random(lo.size) < 0.5, np.round(share), share)
        x = lo.astype(np.float64) + (hi.astype(np.float64) - lo) * share
        yield np.clip(x.astype(np.float32), lo, hi)


def ball(x, steps):
    """The box from x to `steps` numbers away on both sides."""
    spacing = np.spacing(np.abs(x).astype(np.float32)).astype(np.float64) * steps
    return (x - spacing).astype(np.float32), (x + spacing).astype(np.float32)


def key_of(lo, hi):
    return (lo.astype(np.float64) + 0.0).tobytes(), (hi.astype(np.float64) + 0.0).tobytes()  # -0 is 0


class Subject:
    """A model with its sessions and a folder for what assay reads and writes."""

    def __init__(self, label, path, assay, folder):
        self.label, self.path, self.assay, self.folder = label, path, assay, folder
        self.model = onnx.load(str(path))
        self.executions = Executions(self.model)

    def groups(self, boxes, outputs, timeout=60):
        prop = pathlib.Path(self.folder) / "boxes.vnnlib"
        assay_boxes.write_property(prop, outputs, boxes)
        by_box = {}  # equal boxes share a group
        for group in assay_boxes.bounds(self.assay, self.path, prop, self.folder, SEMANTICS, timeout):
            by_box[key_of(np.concatenate([node.lo for node in group.inputs]), np.concatenate([node.hi for node in group.inputs]))] = group
        missing = [box for box in boxes if key_of(*box) not in by_box]
        if missing:
            raise assay_boxes.Refused(f"no group for {len(missing)} of {len(boxes)} boxes")
        return [by_box[key_of(*box)] for box in boxes]

    def feed(self, x, inputs):
        parts, at = {}, 0
        for node in inputs:
            size = node.lo.size
            parts[node.name] = x[at:at + size].reshape(node.shape)
            at += size
        return parts

    def try_at(self, tally, group, x, shares):
        results = {}
        for configuration in CONFIGURATIONS:
            results[configuration] = self.executions.run(configuration, self.feed(x, group.inputs))
            tally.compare(self.label, configuration, group, results[configuration], shares)
        return results[CONFIGURATIONS[0]]


def try_box(subject, tally, group, count, random, until):
    lo, hi, some = float32_points(np.concatenate([n.lo for n in group.inputs]), np.concatenate([n.hi for n in group.inputs]))
    if not some:
        return False
    tally.boxes += 1
    for x in points(lo, hi, count, random):
        subject.try_at(tally, group, x, None)
        if time.monotonic() > until:
            break
    return True


def try_points(subject, tally, boxes, groups, random, shares):
    """At point boxes the shares of the radii; in the others a few points. Results at the points, for the nodes alone."""
    seen = []
    for (lo, hi), group in zip(boxes, groups):
        tally.boxes += 1
        if np.array_equal(lo, hi):
            seen.append(subject.try_at(tally, group, lo, shares))
            continue
        for x in points(lo, hi, 8, random):
            subject.try_at(tally, group, x, None)
    return seen


def small_boxes(lo, hi, count, random):
    """Of four, three points and one ball."""
    boxes = []
    for k, x in enumerate(points(lo, hi, count, random)):
        boxes.append(ball(x, [1, 16, 1024][k // 4 % 3]) if k % 4 == 3 else (x, x))
    return boxes


def try_model(subject, prop, tally, seconds, random, shares):
    """The property's boxes, then small ones. Returns (inputs, values) seen at point boxes."""
    begin = time.monotonic()
    groups = assay_boxes.bounds(subject.assay, subject.path, prop, subject.folder, SEMANTICS)
    took = time.monotonic() - begin
    inside = any([try_box(subject, tally, group, 200, random, time.monotonic() + seconds / min(len(groups), 4)) for group in groups[:4]])
    if not groups:  # the shape of the box is still there in real arithmetic
        begin = time.monotonic()
        groups = assay_boxes.bounds(subject.assay, subject.path, prop, subject.folder, "real")
        took = time.monotonic() - begin
    lo, hi, _ = float32_points(np.concatenate([n.lo for n in groups[0].inputs]), np.concatenate([n.hi for n in groups[0].inputs]))
    boxes = small_boxes(lo, hi, int(np.clip(seconds / max(took, 0.02), 1, 24)), random)
    outputs = sum(node.lo.size for node in groups[0].outputs)
    groups = subject.groups(boxes, outputs, timeout=120)
    return inside, groups, try_points(subject, tally, boxes, groups, random, shares)


# ---- nodes alone ----


def node_alone(model, node, values, variable):
    """A model of one node, whose variable operands are inputs and whose others are initialisers."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for other in model.graph.node:
        if other.op_type == "Constant":
            for attribute in other.attribute:
                if attribute.name == "value":
                    constants[other.output[0]] = attribute.t
    inputs, initialisers = [], []
    for name in dict.fromkeys(n for n in node.input if n):
        if name in variable:
            if values[name].dtype != np.float32:
                return None
            inputs.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, values[name].shape))
        elif name in constants:
            tensor = onnx.TensorProto()
            tensor.CopyFrom(constants[name])
            tensor.name = name
            initialisers.append(tensor)
        elif name in values:
            initialisers.append(onnx.numpy_helper.from_array(np.asarray(values[name]), name))
        else:
            return None
    result = values.get(node.output[0])
    if not inputs or result is None or result.dtype != np.float32 or len([n for n in node.output if n]) != 1:
        return None
    output = onnx.helper.make_tensor_value_info(node.output[0], onnx.TensorProto.FLOAT, result.shape)
    graph = onnx.helper.make_graph([node], "one_node", inputs, [output], initialisers)
    return onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def try_nodes(subject, groups, seen, tally, seconds, random, shares):
    begin, copies = time.monotonic(), {}
    model, path = subject.model, pathlib.Path(subject.folder) / "node.onnx"
    variable = set(groups[0].by_name)
    order = list(model.graph.node)
    random.shuffle(order)
    for node in order:
        if time.monotonic() - begin > seconds:
            break
        if node.op_type in EXACT or not node.output or not seen:
            continue
        kind = (node.op_type, tuple(np.shape(seen[0].get(name, ())) for name in node.input))
        copies[kind] = copies.get(kind, 0) + 1
        alone = node_alone(model, node, seen[0], variable) if copies[kind] <= COPIES else None
        if alone is None:
            continue
        operands = [[values[value.name].reshape(-1) for value in alone.graph.input] for values in seen]
        xs = [np.concatenate(parts) for parts in operands]
        if xs[0].size > MOST_OPERANDS or not all(np.isfinite(x).all() for x in xs):
            tally.left_out = getattr(tally, "left_out", 0) + 1
            continue
        onnx.save(alone, str(path))
        try:
            one = Subject(f"{subject.label} {node.op_type} alone", path, subject.assay, subject.folder)
            boxes = [(x, x) for x in xs[:4]]
            try_points(one, tally, boxes, one.groups(boxes, seen[0][node.output[0]].size), random, shares)
        except (assay_boxes.Refused, Unsupported) as why:
            print(f"  {subject.label} {node.op_type} alone: {why}", file=sys.stderr)


# ---- the parts ----


def chosen_models(data, categories, most):
    """(category, model, property), up to `most` models of a category, in the order of expected.csv."""
    counts, known = {}, set()
    with open(data / "expected.csv", newline="") as file:
        for row in csv.DictReader(file):
            category, key = row["category"], (row["category"], row["onnx"])
            if key in known or (categories and category not in categories) or counts.get(category, 0) >= most:
                continue
            known.add(key)
            counts[category] = counts.get(category, 0) + 1
            yield category, data / category / row["onnx"], assay_boxes.find_property(data / category, row["vnnlib"])


def models_part(options, data, random):
    rows, shares, node_shares, found = {}, {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for category, path, prop in chosen_models(data, options.category, options.models):
            row = rows.setdefault(category, {"models": 0, "refused": [], "whole": Tally(), "nodes": Tally(), "inside": 0})
            begin = time.monotonic()
            try:
                subject = Subject(f"{category}/{path.name}", path, options.bin / "assay", folder)
                inside, groups, seen = try_model(subject, prop, row["whole"], options.seconds, random, shares)
                try_nodes(subject, groups, [dict(v) | at for v, at in zip(seen, inputs_of(groups, subject))], row["nodes"], options.seconds, random,
                          node_shares)
                row["models"] += 1
                row["inside"] += int(inside)
            except (assay_boxes.Refused, Unsupported) as why:
                row["refused"].append(f"{path.name}: {why}")
                print(f"  {category}/{path.name}: {why}", file=sys.stderr)
            print(f"{category}/{path.name}: {time.monotonic() - begin:.1f} s, {row['whole'].values} + {row['nodes'].values} values, "
                  f"{row['whole'].outside} + {row['nodes'].outside} outside", file=sys.stderr, flush=True)
        for row in rows.values():
            for left in sorted(row["whole"].left | row["nodes"].left):
                print(f"not compared: {' | '.join(left)}", file=sys.stderr)
            found |= row["whole"].found | row["nodes"].found
    return rows, shares, node_shares, found


def inputs_of(groups, subject):
    """The inputs at the point boxes, by name: they are operands of nodes, too."""
    return [subject.feed(np.concatenate([n.lo for n in group.inputs]).astype(np.float32), group.inputs)
            for group in groups if all(np.array_equal(n.lo, n.hi) for n in group.inputs)]


def patterns_part(options, random):
    tally, shares = Tally(), {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model, size, scales in patterns.all_patterns(options.pattern):
            path = pathlib.Path(folder) / "pattern.onnx"
            onnx.save(model, str(path))
            outside, values = tally.outside, tally.values
            try:
                subject = Subject(name, path, options.bin / "assay", folder)
            except Unsupported as why:
                print(f"  pattern {name}: {why}", file=sys.stderr)
                continue
            outputs = int(np.prod([d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim]))
            for lo, hi in scales:
                try:
                    boxes = small_boxes(np.full(size, lo, np.float32), np.full(size, hi, np.float32), options.points, random)
                    try_points(subject, tally, boxes, subject.groups(boxes, outputs), random, shares)
                except (assay_boxes.Refused, Unsupported) as why:
                    print(f"  pattern {name} on [{lo:g}, {hi:g}]: {why}", file=sys.stderr)
            print(f"pattern {name}: {tally.values - values} values, {tally.outside - outside} outside", file=sys.stderr, flush=True)
    return tally, shares


def print_models(rows):
    print("\n| category | models | with float32 points in the property's box | boxes | runs | values | nodes alone: values | not mapped | outside |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    total = np.zeros(8, dtype=np.int64)
    for category, row in sorted(rows.items()):
        whole, nodes = row["whole"], row["nodes"]
        cells = [row["models"], row["inside"], whole.boxes + nodes.boxes, whole.runs + nodes.runs, whole.values, nodes.values, whole.unmapped + whole.unbounded,
                 whole.outside + nodes.outside]
        total += cells
        print(f"| {category} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    print("| **all** | " + " | ".join(f"{cell:,}" for cell in total) + " |")
    for row in rows.values():
        for why in row["refused"]:
            print(f"not run: {why}")


def print_shares(columns):
    for name, shares in columns:
        for op, share in sorted(shares.items(), key=lambda item: -item[1].largest):
            print(f"{name}: {op} {share.largest:.4g} at {share.where}", file=sys.stderr)
    ops = sorted({op for _, shares in columns for op in shares})
    print("\n| op | " + " | ".join(f"{name}: values | largest share" for name, _ in columns) + " |")
    print("| --- |" + " ---: | ---: |" * len(columns))
    for op in ops:
        cells = [shares.get(op, Share()) for _, shares in columns]
        print(f"| {op} | " + " | ".join(f"{c.values:,} | {c.largest:.3g}" if c.values else "- | -" for c in cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--category", action="append")
    parser.add_argument("--models", type=int, default=3, help="of a category")
    parser.add_argument("--seconds", type=float, default=4, help="aim for each model and each of its two parts")
    parser.add_argument("--points", type=int, default=8, help="boxes for each range of a pattern")
    parser.add_argument("--pattern", default="", help="only patterns whose names contain this")
    parser.add_argument("--skip-models", action="store_true")
    parser.add_argument("--skip-patterns", action="store_true")
    parser.add_argument("--pytorch", action="store_true", help="PyTorch instead, for models and patterns of its ops (torch_executions.py)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    data = pathlib.Path(os.environ.get("ASSAY_DATA", ROOT.parent / "shared" / "data")) / "vnn"
    if not options.skip_models and not (data / "expected.csv").exists():
        print(f"SKIPPED: no {data / 'expected.csv'} (set ASSAY_DATA, or --skip-models)")
        return SKIPPED
    if not (options.bin / "assay").exists():
        print(f"no {options.bin / 'assay'}: build it, or name its folder with --bin", file=sys.stderr)
        return 2
    begin, cpu = time.monotonic(), os.times()
    print(f"{RUNTIME}, onnx {onnx.__version__}, seed {options.seed}")
    columns, found, values = [], {}, 0
    if not options.skip_models:
        rows, shares, node_shares, found = models_part(options, data, np.random.default_rng(options.seed))
        columns += [("whole models", shares), ("nodes alone", node_shares)]
        values += sum(row["whole"].values + row["nodes"].values for row in rows.values())
        print_models(rows)
    if not options.skip_patterns:
        tally, shares = patterns_part(options, np.random.default_rng(options.seed))
        columns.append(("patterns", shares))
        found |= tally.found
        values += tally.values
        print(f"\npatterns: {tally.boxes:,} boxes, {tally.runs:,} runs, {tally.values:,} values, {tally.outside} outside, {tally.unmapped:,} not mapped, {tally.unbounded:,} without finite bounds")
    if not options.skip_patterns:
        for left in sorted(tally.left):
            print(f"not compared: {' | '.join(left)}", file=sys.stderr)
    print_shares(columns)
    used = os.times()
    print(f"\n{values:,} values compared in {time.monotonic() - begin:.0f} s, "
          f"{sum(used[:4]) - sum(cpu[:4]):.0f} s of CPU time; {len(found)} tensors with values outside")
    for (label, _), what in found.items():
        ways = "every configuration" if len(what["configurations"]) == len(CONFIGURATIONS) else sorted(what["configurations"])
        print(f"OUTSIDE {label}: {what['values']} values, at most {what['used']:.4g} radii from the middle ({ways}), {what['text']}")
    return 1 if found or values == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

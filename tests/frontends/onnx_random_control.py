"""Random models for onnx_random.py: loops that are unrolled, with branches and loops in them, and sequences."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from onnx_random_models import TYPES, Case, of


def untyped(name):
    value = helper.make_tensor_value_info(name, 0, None)
    value.type.Clear()
    return value


class Graph:
    """A graph under construction; names are its own by a prefix, which counts through the whole model."""

    def __init__(self, draw, outer=None):
        self.draw, self.nodes, self.constants, self.root = draw, [], [], outer.root if outer else self
        if outer is None:
            self.count = 0

    def name(self):
        self.root.count += 1
        return f"v{self.root.count}"

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **{key: value for key, value in attributes.items() if value is not None}))
        return names[0] if outputs == 1 else names

    def constant(self, values):
        name, values = self.name(), np.asarray(values)
        if self.draw.chance(0.5):
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(values)))
        else:
            self.constants.append(numpy_helper.from_array(values, name))
        return name

    def body(self, inputs, outputs):
        return helper.make_graph(self.nodes, self.name(), inputs, [untyped(one) for one in outputs], self.constants)


def finished(op, opset, graph, given, outputs, words):
    values = [helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape) for name, array in given.items()]
    graph.draw.random.shuffle(graph.constants)
    model = helper.make_model(helper.make_graph(graph.nodes, "g", values, [untyped(one) for one in outputs], graph.constants),
                              opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return Case(op, model, given, f"{op}-{opset} {words}")


def typed(draw, name, values, shaped=0.3):
    """A declaration of a body's input, with or without a shape."""
    return helper.make_tensor_value_info(name, TYPES[values.dtype], values.shape if draw.chance(shaped) else None)


def step(g, value, others):
    """Another value of the same shape, from this one and others of this shape, outer ones included."""
    how, other = g.draw.whole(0, 5), g.draw.one_of(*others)
    if how == 0:
        return g.node("Tanh", value)
    if how == 1:
        return g.node("Sub", value, other)
    if how == 2:
        return g.node("Add", g.node("Mul", value, g.constant(np.float32(g.draw.random.uniform(-1, 1)))), other)
    if how == 3:
        return g.node("Max", value, other)
    return g.node("Add", other, g.node("Sigmoid", value)) if how == 4 else other


def branch(g, number, value, others):
    """An If that the number of the turn decides: one of two steps."""
    condition = g.node("Equal", g.node("Mod", number, g.constant(np.int64(2))), g.constant(np.int64(g.draw.whole(0, 1))))
    parts = {}
    for key in ("then_branch", "else_branch"):
        inner = Graph(g.draw, g)
        parts[key] = inner.body([], [inner.node("Identity", step(inner, value, others))])
    return g.node("If", condition, **parts)


def loop(g, opset, state, values, others, depth):
    """Nodes of a Loop over a state; gives the names of its results and the words of its kind."""
    d, inner = g.draw, Graph(g.draw, g)
    number, condition = inner.name(), inner.name()
    names = [inner.name() for _ in state]
    inputs = [typed(d, number, np.array(0, np.int64), 1), typed(d, condition, np.array(True), 1)]
    inputs += [typed(d, name, value) for name, value in zip(names, values)]
    least, trips = d.one_of((0, 0), (1, 1), (1, 2)), d.one_of(None, d.whole(1, 4))
    stacked = d.whole(0, 2)
    results = []
    for name in names:
        others_in = [*others, *names]
        if depth < 1 and d.chance(0.25):
            made, _ = loop(inner, opset, [name], values[:1], others_in, depth + 1)
            results.append(made[0])
        elif d.chance(0.35):
            results.append(branch(inner, number, name, others_in))
        else:
            results.append(step(inner, name, others_in))
    if d.chance(0.3):
        results[0] = inner.node("Mul", results[0], inner.node("Cast", number, to=TensorProto.FLOAT))
    last = d.whole(1, 5)
    has_condition = trips is None or d.chance(0.5)
    going = inner.node("Less", number, inner.constant(np.int64(last))) if has_condition else inner.node("Identity", condition)
    parts = [inner.node("Neg", d.one_of(*results)) for _ in range(stacked)]
    body = inner.body(inputs, [going, *(inner.node("Identity", one) for one in results), *parts])
    first = g.constant(np.array(d.chance(0.9) or stacked > 0)) if has_condition else d.one_of("", g.constant(np.array(True)))
    trip = "" if trips is None else g.constant(np.array(trips if stacked else max(trips - least[0], 0), np.int64))
    made = g.node("Loop", trip, first, *state, outputs=len(results) + stacked, body=body)
    return [made] if isinstance(made, str) else made, f"trips {trips} condition {has_condition} stacked {stacked}"


@of("Loop")
def looped(d, op):
    opset, g = d.whole(13, 22), Graph(d)
    shape, count = d.shape(1, 2, 3), d.whole(1, 2)
    given = {f"x{i}": d.floats(shape) for i in range(count)}
    outside = g.node("Tanh", "x0")
    state = [g.node("Neg", name) if d.chance(0.3) else name for name in given]
    made, words = loop(g, opset, state, list(given.values()), [outside, *given], 0)
    return finished(op, opset, g, given, [g.node("Identity", one) for one in made], words)


@of("Scan")
def scanned(d, op):
    opset, g = d.whole(11, 22), Graph(d)
    turns, shape = d.whole(1, 4), d.shape(1, 2, 3)
    given, inputs, axes, directions = {"x": d.floats(shape)}, [], [], []
    inner = Graph(d, g)
    states = [inner.name() for _ in range(d.whole(0, 2))]
    parts = [inner.name() for _ in range(d.whole(1, 2))]
    for i, _ in enumerate(parts):
        axis = d.whole(0, len(shape))
        given[f"s{i}"] = d.floats((*shape[:axis], turns, *shape[axis:]))
        axes.append(d.one_of(axis, axis - len(shape) - 1))
        directions.append(d.whole(0, 1))
    inputs = [typed(d, name, given["x"]) for name in states + parts]
    results = [step(inner, name, [*parts, *states, "x"]) for name in states]
    stacks = [inner.node("Identity", step(inner, d.one_of(*parts), [*states, *results, "x"])) for _ in range(d.whole(0 if states else 1, 2))]
    lists = {"scan_input_axes": axes, "scan_input_directions": directions if d.chance(0.7) else None,
             "scan_output_axes": [d.whole(-len(shape) - 1, len(shape)) for _ in stacks] if stacks and d.chance(0.7) else None,
             "scan_output_directions": [d.whole(0, 1) for _ in stacks] if stacks and d.chance(0.7) else None}
    body = inner.body(inputs, [inner.node("Identity", one) for one in results] + stacks)
    begin = [g.node("Neg", "x") for _ in states]
    made = g.node("Scan", *begin, *(f"s{i}" for i in range(len(parts))), outputs=len(states) + len(stacks), body=body, num_scan_inputs=len(parts), **lists)
    return finished(op, opset, g, given, [made] if isinstance(made, str) else made, f"{lists} {shape} {turns}")


@of("SequenceAt", "SequenceInsert", "SequenceErase", "SequenceLength", "SplitToSequence", "ConcatFromSequence", "SequenceConstruct", "SequenceEmpty")
def sequence(d, op):
    opset, g = d.whole(13, 22), Graph(d)
    shape = d.shape(1, 3, 4)
    axis = d.whole(0, len(shape) - 1)
    given = {"x": d.floats(shape)}
    if op in ("SplitToSequence", "ConcatFromSequence"):
        extent = shape[axis]
        cut = d.whole(0, extent)
        sizes = d.one_of(None, np.int64(d.whole(1, 3)), np.array([cut, extent - cut], np.int64))
        split = [] if sizes is None else [g.constant(sizes)]
        keeps = d.one_of(None, 0, 1) if sizes is None else d.one_of(None, 1)  # ONNX Runtime does not pass over a 0 beside sizes
        parts = g.node("SplitToSequence", "x", *split, axis=d.one_of(axis, axis - len(shape)), keepdims=keeps)
        length = extent if sizes is None else 2 if sizes.shape else -(-extent // int(sizes))
        rest = len(shape) - (sizes is None and keeps == 0)
        new = 1 if rest < len(shape) else 0
        outputs = [g.node("ConcatFromSequence", parts, axis=d.one_of(axis, axis - len(shape)), new_axis=new if new else d.one_of(None, 0))]
    else:
        shapes = [shape[:axis] + (d.whole(1, 3),) + shape[axis + 1:] for _ in range(d.whole(1, 3))]
        parts, length = g.node("SequenceConstruct", *(g.node("Mul", "x", "x") if one == shape else g.constant(d.floats(one)) for one in shapes)), len(shapes)
        if op == "SequenceEmpty":
            parts, length = g.node("SequenceEmpty"), 0
        for _ in range(d.whole(1, 4)):
            place = [g.constant(d.one_of(np.int64, np.int32)(d.whole(-length, length)))] if d.chance(0.6) else []
            if length > 1 and d.chance(0.4):
                place = [g.constant(np.int64(d.whole(-length, length - 1)))] if place else []
                parts, length = g.node("SequenceErase", parts, *place), length - 1
            else:
                parts, length = g.node("SequenceInsert", parts, g.node("Sin", "x"), *place), length + 1
        outputs = [g.node("ConcatFromSequence", parts, axis=axis)]
    outputs += [g.node("SequenceAt", parts, g.constant(np.int64(d.whole(-length, length - 1)))), g.node("SequenceLength", parts)]
    if op == "SequenceLength":  # a loop that fills a sequence, and one that empties it
        inner, number, going, state = Graph(d, g), g.name(), g.name(), g.name()
        kept = helper.make_tensor_sequence_value_info(state, TensorProto.FLOAT, None)
        grown = inner.node("SequenceInsert", state, inner.node("Add", "x", inner.node("Cast", number, to=TensorProto.FLOAT)))
        inputs = [typed(d, number, np.array(0, np.int64), 1), typed(d, going, np.array(True), 1), kept]
        made = g.node("Loop", g.constant(np.int64(d.whole(1, 3))), g.constant(np.array(True)), parts,
                      body=inner.body(inputs, [inner.node("Identity", going), grown]))
        outputs.append(g.node("ConcatFromSequence", made, axis=axis))
    return finished(op, opset, g, given, outputs, f"{shape} axis {axis}")

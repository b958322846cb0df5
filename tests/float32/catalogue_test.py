#!/usr/bin/env python3
"""A catalogue of small adversarial networks: each has float executions that differ from the real value, or from one another, and a property
on that edge. Usage: catalogue_test.py BIN_DIRECTORY

Every row proves its own expectation: the real value and a few extreme executions that the model admits are computed here in exact arithmetic.
A property that some execution violates is never `unsat`; one that some execution keeps is never `sat`. Every answer has a certificate, which
assay-check accepts in its semantics with and without --exact; what holds for all executions is accepted about real arithmetic too, and a
certificate about real arithmetic is declined elsewhere."""
from dataclasses import dataclass, field
from fractions import Fraction
import json
import math
import os
import struct
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import cli_test
from cli_test import Run
from executions import BFLOAT16, BINARY16, BINARY32, BINARY64, TF32, flushed, summed, sums
from onnx_files import DOUBLE, FLOAT, INT64, model, node, tensor, value_info

FLUSH = "float32:binary32 accumulator=any_order flush_results=yes flush_operands=yes math=any-library"
UNFUSED = "float32:binary32 accumulator=any_order fma=no bias_in_product=no math=any-library"
TWO = Fraction(2)


def float32(x):
    """What a file that stores x as float32 holds."""
    return Fraction(struct.unpack("<f", struct.pack("<f", x))[0])


def decimal(x):
    """A fraction whose denominator is a product of powers of 2 and 5, in full."""
    x, places = Fraction(x), 0
    while (x * 10 ** places).denominator != 1:
        places += 1
    digits = str(abs(int(x * 10 ** places))).rjust(places + 1, "0")
    return ("-" if x < 0 else "") + (digits[:-places] + "." + digits[-places:] if places else digits)


HOLDS = {"<=": lambda a, b: a <= b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b, ">": lambda a, b: a > b}


@dataclass
class Row:
    """The unsafe set is: sum of coefficients times outputs, in relation to the bound. Outputs are given as one list of numbers for each execution.

    expected, by semantics:
      unsat, sat   as assay verify says; a certificate is accepted
      unknown      some execution is in the unsafe set and some is not: nothing may be proved
      open         the executions computed here agree (or the real value is known), and neither bounds nor candidate points show it
      vacuous      unsat, for the box has no number of the format
      declined     an execution may overflow
      unbounded    declined, because the kernel has no bound: executions differ"""
    network: bytes
    box: list
    real: list  # exact outputs at a point of the box; None where no point is enough
    executions: dict  # semantics -> several lists of outputs
    unsafe: tuple  # ({output: coefficient} or output, relation, bound)
    expected: dict = field(default_factory=dict)

    def terms(self):
        return self.unsafe[0] if isinstance(self.unsafe[0], dict) else {self.unsafe[0]: 1}

    def is_unsafe(self, outputs):
        value = sum(c * outputs[k] for k, c in self.terms().items())
        return HOLDS[self.unsafe[1]](value, self.unsafe[2])

    def query(self, outputs):
        names = [f"X_{i}" for i in range(len(self.box))] + [f"Y_{i}" for i in range(outputs)]
        terms = [f"Y_{k}" if c == 1 else f"(* {decimal(c)} Y_{k})" for k, c in self.terms().items()]
        total = terms[0] if len(terms) == 1 else f"(+ {' '.join(terms)})"
        return "".join(f"(declare-const {name} Real)\n" for name in names) + "".join(
            f"(assert (>= X_{i} {decimal(lo)}))\n(assert (<= X_{i} {decimal(hi)}))\n" for i, (lo, hi) in enumerate(self.box)
        ) + f"(assert ({self.unsafe[1]} {total} {decimal(self.unsafe[2])}))\n"


def at(*point):
    return [(x, x) for x in point]


def neuron(weights, kind=FLOAT):
    """One sum of products."""
    return model([node("MatMul", ["x", "w"], ["y"], "sum")], [value_info("x", [1, len(weights)], kind)], [value_info("y", [1, 1], kind)],
                 [tensor("w", [len(weights), 1], weights, kind)])


def unary(op, kind=FLOAT):
    return model([node(op, ["x"], ["y"], op.lower())], [value_info("x", [1], kind)], [value_info("y", [1], kind)], [])


def with_constants(nodes, inputs, outputs, constants):
    return model(nodes, [value_info(name, dims) for name, dims in inputs], [value_info(name, dims) for name, dims in outputs],
                 [tensor(name, dims, values, INT64 if values and isinstance(values[0], int) else FLOAT) for name, dims, values in constants])


def each(values):
    return [[value] for value in values]


ROWS = {}

# ---- orders of summation ----

ORDER1 = ([2.0**22] * 4 + [1.0] + [-2.0**22] * 4) * 15
ORDER2 = [2 / 512] * 512 + [2.0**24, -2.0**24]
ORDER3 = [1.0] * 512 + [2.0**24, -2.0**24]
for name, weights, edge in (("ORDER1", ORDER1, Fraction(15, 2)), ("ORDER2", ORDER2, Fraction(1)), ("ORDER3", ORDER3, Fraction(256))):
    terms = [Fraction(w) for w in weights]
    ROWS[name] = Row(neuron(weights), at(*[1] * len(weights)), [sum(terms)], {"float32": each(sums(terms)), "float32:cuda": each(sums(terms))},
                     (0, "<=", edge), {"real": "unsat", "float32": "unknown", "float32:cuda": "unknown"})
    ROWS[name + ", from above"] = Row(neuron(weights), at(*[1] * len(weights)), [sum(terms)], {"float32": each(sums(terms))},
                                      (0, ">=", sum(terms)), {"real": "sat", "float32": "unknown"})
    ROWS[name + ", in float64"] = Row(neuron(weights, DOUBLE), at(*[1] * len(weights)), [sum(terms)], {"float64": each(sums(terms, BINARY64))},
                                      (0, "<=", edge), {"real": "unsat", "float64": "unsat"})

for name, bits, kind, semantics, form in (("PREC", 24, FLOAT, "float32", BINARY32), ("PREC53", 53, DOUBLE, "float64", BINARY64)):
    terms = [TWO**bits, Fraction(1), -TWO**bits]
    ROWS[name] = Row(neuron([float(t) for t in terms], kind), at(1, 1, 1), [Fraction(1)], {semantics: each(sums(terms, form))},
                     (0, "<=", Fraction(1, 2)), {"real": "unsat", semantics: "unknown"})
terms = [TWO**24, Fraction(1), -TWO**24]
ROWS["PREC, in float64"] = Row(neuron([float(t) for t in terms], DOUBLE), at(1, 1, 1), [Fraction(1)], {"float64": each(sums(terms, BINARY64))},
                               (0, "<=", Fraction(1, 2)), {"real": "unsat", "float64": "unsat"})

# ---- fused operations ----

SIDE = 1 + TWO**-12
SQUARE = with_constants([node("Mul", ["x", "x"], ["p"], "square"), node("Sub", ["p", "c"], ["y"], "difference")], [("x", [1])], [("y", [1])],
                        [("c", [1], [float(1 + TWO**-11)])])
APART = BINARY32.nearest(BINARY32.nearest(SIDE * SIDE) - 1 - TWO**-11)
FUSED = BINARY32.nearest(SIDE * SIDE - 1 - TWO**-11)
ROWS["FMA"] = Row(SQUARE, at(SIDE), [TWO**-24], {"float32": [[APART], [FUSED]], UNFUSED: [[APART]]}, (0, "<=", Fraction(0)),
                  {"real": "unsat", "float32": "unknown", UNFUSED: "open"})

# The product is an output, too, and a fused sum does not read it. 1.375... squared lies half a unit below its rounded value, and the sum
# rounds down as far as it can.
FACTOR, ADDEND = Fraction(11534338, 2**23), Fraction(3669997, 2**25)
for name, step in (("FMA, read twice", None), ("FMA, read twice, through a slice", "Slice"), ("FMA, read twice, through a sign", "Neg")):
    nodes = [node("Mul", ["x", "x"], ["p"], "square")]
    if step == "Slice":
        nodes.append(node("Slice", ["p", "start", "end"], ["s"], "part"))
    if step == "Neg":
        nodes.append(node("Neg", ["p"], ["s"], "sign"))
    nodes.append(node("Sub", ["c", "s"], ["y"], "sum") if step == "Neg" else node("Add", ["s" if step else "p", "c"], ["y"], "sum"))
    extent = 1 if step == "Slice" else 2
    network = with_constants(nodes, [("x", [2])], [("y", [extent]), ("p", [2])], [("c", [1], [float(ADDEND)]), ("start", [1], [0]), ("end", [1], [1])])
    held = BINARY32.nearest(FACTOR * FACTOR)
    fused, apart = BINARY32.nearest(FACTOR * FACTOR + ADDEND), BINARY32.nearest(held + ADDEND)
    ROWS[name] = Row(network, at(FACTOR, FACTOR), [FACTOR * FACTOR + ADDEND] * extent + [FACTOR * FACTOR] * 2,
                     {"float32": [[y] * extent + [held] * 2 for y in (fused, apart)]}, ({0: 1, extent: -1}, "<=", ADDEND - Fraction(11, 5) * TWO**-24),
                     {"real": "unsat", "float32": "unknown"})

# A bias that joins the accumulation, after 2^24: the ones vanish one by one.
ONES = [Fraction(1)] * 512
TOGETHER, AFTER = summed([TWO**24, *ONES, -TWO**24]), summed([*ONES, TWO**24, -TWO**24])
BIG = ("b", [1], [2.0**24])
AFTER_BIAS = node("Sub", ["z", "b"], ["y"], "back")
for name, network, inputs, outputs in (
        ("BIAS", with_constants([node("MatMul", ["x", "w"], ["p"], "sum"), node("Add", ["p", "b"], ["z"], "bias"), AFTER_BIAS],
                                [("x", [1, 512])], [("y", [1, 1])], [("w", [512, 1], [1.0] * 512), BIG]), 512, 1),
        ("BIAS, after a transposition", with_constants(
            [node("MatMul", ["x", "w"], ["p"], "sum"), node("Transpose", ["p"], ["t"], "turn"), node("Add", ["t", "b"], ["z"], "bias"), AFTER_BIAS],
            [("x", [2, 512])], [("y", [2, 2])], [("w", [512, 2], [1.0] * 1024), BIG]), 1024, 4),
        ("BIAS, of a convolution, after Flatten", with_constants(
            [node("Conv", ["x", "w"], ["p"], "sum"), node("Flatten", ["p"], ["t"], "flat", axis=1), node("Add", ["t", "b"], ["z"], "bias"), AFTER_BIAS],
            [("x", [1, 1, 512])], [("y", [1, 1])], [("w", [1, 1, 512], [1.0] * 512), BIG]), 512, 1),
        ("BIAS, of constants", with_constants(
            [node("MatMul", ["a", "w"], ["p"], "sum"), node("Add", ["p", "b"], ["z"], "bias"), node("Sub", ["z", "b"], ["k"], "back"),
             node("Max", ["x", "k"], ["y"], "greater")],
            [("x", [1, 1])], [("y", [1, 1])], [("a", [1, 512], [1.0] * 512), ("w", [512, 1], [1.0] * 512), BIG]), 1, 1)):
    point = [-1] if name == "BIAS, of constants" else [1] * inputs
    outcomes = [[max(y, point[0]) if inputs == 1 else y] * outputs for y in (TOGETHER, AFTER)]
    ROWS[name] = Row(network, at(*point), [Fraction(512)] * outputs, {"float32": outcomes}, (0, "<=", Fraction(256)),
                     {"real": "unsat", "float32": "unknown"})

# ---- the ends of the range ----

ROWS["FTZ"] = Row(with_constants([node("Mul", ["x", "c"], ["y"], "scale")], [("x", [1])], [("y", [1])], [("c", [1], [2.0**127])]), at(TWO**-140), [TWO**-13],
                  {"float32": [[BINARY32.nearest(TWO**-140 * TWO**127)]], FLUSH: [[TWO**-13], [flushed(TWO**-140) * TWO**127]]}, (0, "<=", Fraction(0)),
                  {"real": "unsat", "float32": "unsat", FLUSH: "unknown"})
for op, x, kept, read_as_zero in (("Relu", TWO**-140, TWO**-140, 0), ("Ceil", TWO**-140, 1, 0), ("Floor", -TWO**-140, -1, 0), ("Sign", TWO**-140, 1, 0)):
    ROWS["FTZ, " + op] = Row(unary(op), at(x), [kept], {"float32": [[kept]], FLUSH: [[kept], [read_as_zero]]}, (0, "<=" if kept > 0 else ">=", Fraction(0)),
                             {"real": "unsat", "float32": "unsat", FLUSH: "unknown" if op == "Relu" else "unbounded"})
ROWS["FTZ, Greater"] = Row(with_constants([node("Greater", ["x", "zero"], ["g"], "test"), node("Where", ["g", "a", "b"], ["y"], "choice")],
                                          [("x", [1])], [("y", [1])], [("zero", [1], [0.0]), ("a", [1], [1.0]), ("b", [1], [-1.0])]),
                           at(TWO**-140), [1], {"float32": [[1]], FLUSH: [[1], [-1]]}, (0, "<=", Fraction(0)), {"real": "unsat", "float32": "unsat", FLUSH: "unbounded"})

ROWS["SUBNORMAL-PROD"] = Row(with_constants([node("Mul", ["x", "c"], ["y"], "scale")], [("x", [1])], [("y", [1])], [("c", [1], [2.0**-80])]), at(TWO**-80),
                             [TWO**-160], {"float32": [[BINARY32.nearest(TWO**-160)]]}, (0, "<=", Fraction(0)), {"real": "unsat", "float32": "open"})
# The factor of a whole sum enlarges what its products lost: (x w) 2^100, or x (2^100 w).
ALPHA = model([node("Gemm", ["x", "w", "c"], ["y"], "sum", alpha=2.0**100)], [value_info("x", [1, 1])], [value_info("y", [1, 1])],
              [tensor("w", [1, 1], [2.0**-80]), tensor("c", [1], [0])])
ROWS["SUBNORMAL-PROD, scaled"] = Row(ALPHA, at(TWO**-80), [TWO**-60],
                                     {"float32": [[BINARY32.nearest(BINARY32.nearest(TWO**-160) * TWO**100)], [BINARY32.nearest(TWO**-80 * BINARY32.nearest(TWO**20))]]},
                                     (0, "<=", TWO**-61), {"real": "unsat", "float32": "unknown"})
for name, op, factor in (("FTZ, the factor of a sum", "alpha", TWO**20), ("FTZ, the factor of a bias", "beta", TWO**100)):
    x, w, c = (TWO**-60, TWO**-70, Fraction(0)) if op == "alpha" else (Fraction(1), Fraction(0), TWO**-140)
    ROWS[name] = Row(model([node("Gemm", ["x", "w", "c"], ["y"], "sum", **{op: float(factor)})], [value_info("x", [1, 1])], [value_info("y", [1, 1])],
                           [tensor("w", [1, 1], [float(w)]), tensor("c", [1], [float(c)])]),
                     at(x), [(x * w + c) * factor], {FLUSH: [[(x * w + c) * factor], [(flushed(x * w) + flushed(c)) * factor]]}, (0, "<=", Fraction(0)),
                     {"real": "unsat", FLUSH: "unknown"})
HUGE = with_constants([node("Mul", ["x", "c"], ["p"], "huge"), node("Mul", ["p", "d"], ["y"], "small")], [("x", [1])], [("y", [1])],
                      [("c", [1], [3e38]), ("d", [1], [2.0**-100])])
LARGE = BINARY32.nearest(4 * float32(3e38))
ROWS["HUGE"] = Row(HUGE, [(1, 4)], [float32(3e38) * TWO**-98], {"float32": [[LARGE], [BINARY32.nearest(float32(3e38) * TWO**-100)]]},
                   (0, "<=", Fraction(-1)), {"real": "unsat", "float32": "declined"})
ROWS["HUGE, within the range"] = Row(HUGE, at(1), [float32(3e38) * TWO**-100], {"float32": [[BINARY32.nearest(float32(3e38) * TWO**-100)]]},
                                     (0, "<=", Fraction(-1)), {"real": "unsat", "float32": "unsat"})
# 2^126 - 2^126 + 1.75 2^127: the bias first, and the partial sum is beyond the range.
EDGE = [TWO**126, -TWO**126, Fraction(7, 4) * TWO**127]
for name, nodes in (("HUGE, bias first", [node("MatMul", ["x", "w"], ["p"], "sum"), node("Add", ["p", "b"], ["y"], "bias")]),
                    ("HUGE, bias of a Gemm", [node("Gemm", ["x", "w", "b"], ["y"], "sum")])):
    ROWS[name] = Row(with_constants(nodes, [("x", [1, 2])], [("y", [1, 1])], [("w", [2, 1], [2.0**126, -2.0**126]), ("b", [1], [1.75 * 2.0**127])]),
                     at(1, 1), [EDGE[2]], {"float32": [[summed(EDGE)], [summed([EDGE[2], EDGE[0], EDGE[1]])]]}, (0, ">=", Fraction(15, 8) * TWO**127),
                     {"real": "unsat", "float32": "declined"})
ROWS["HUGE, a mean"] = Row(model([node("ReduceMean", ["x"], ["y"], "mean", axes=[0], keepdims=1)], [value_info("x", [4])], [value_info("y", [1])], []),
                           at(*[TWO**127] * 4), [TWO**127], {"float32": [[summed([TWO**127] * 4)]]}, (0, "<=", Fraction(1)), {"real": "unsat", "float32": "declined"})
LARGEST = (2 - TWO**-23) * TWO**127
ROWS["HUGE, a factor in TF32"] = Row(neuron([2.0**-8]), at(LARGEST), [LARGEST / 256],
                                     {"float32": [[LARGEST / 256]], "float32:tf32": [[TF32.truncated(LARGEST) / 256], [TF32.away(LARGEST)]]},
                                     (0, ">=", TWO**121), {"real": "unsat", "float32": "unsat", "float32:tf32": "declined"})

# ---- formats of factors and of what is stored ----

FINE = 1 + TWO**-11
NARROW = {"float32": [[BINARY32.nearest(FINE)]], "float32:tf32": [[TF32.truncated(FINE)], [TF32.away(FINE)]], "bfloat16": [[BFLOAT16.nearest(FINE)]],
          "float16": [[BINARY16.nearest(FINE)]]}
ROWS["TF32 and BF16"] = Row(neuron([float(FINE)]), at(1), [FINE], NARROW, (0, "<=", 1 + TWO**-12),
                            {"real": "unsat", "float32": "unsat", "float32:cuda": "unsat", "float32:tf32": "unknown", "bfloat16": "open", "float16": "open"})
ROWS["TF32 and BF16, coarse"] = Row(neuron([float(FINE)]), at(1), [FINE], NARROW, (0, "<=", 1 - TWO**-8),
                                    {"real": "unsat", "float32": "unsat", "float32:tf32": "unsat", "float16": "unsat"})
COARSE = 1 + TWO**-7
STORED = BFLOAT16.nearest(BINARY32.nearest(COARSE * COARSE))
ROWS["BF16, a product of constants"] = Row(
    with_constants([node("Mul", ["a", "b"], ["k"], "constant"), node("Max", ["x", "k"], ["y"], "greater")], [("x", [1])], [("y", [1])],
                   [("a", [1], [float(COARSE)]), ("b", [1], [float(COARSE)])]),
    at(-10), [COARSE * COARSE], {"float32": [[COARSE * COARSE]], "bfloat16": [[STORED]], "float16": [[BINARY16.nearest(COARSE * COARSE)]]},
    (0, "<=", 1 + TWO**-6 + TWO**-15), {"real": "unsat", "float32": "unsat", "bfloat16": "open", "float16": "open"})
ADDED = with_constants([node("Add", ["x", "c"], ["y"], "sum")], [("x", [1])], [("y", [1])], [("c", [1], [2.0**-12])])
ROWS["FP16, what is stored"] = Row(ADDED, at(1 + TWO**-10), [1 + TWO**-10 + TWO**-12],
                                   {"float32": [[1 + TWO**-10 + TWO**-12]], "float16": [[BINARY16.nearest(1 + TWO**-10 + TWO**-12)]]},
                                   (0, "<=", 1 + TWO**-10), {"real": "unsat", "float32": "unsat", "float16": "open"})
OVER = with_constants([node("Mul", ["x", "x"], ["p"], "square"), node("Mul", ["p", "c"], ["y"], "small")], [("x", [1])], [("y", [1])], [("c", [1], [2.0**-10])])
ROWS["FP16, beyond 65504"] = Row(OVER, at(300), [Fraction(90000, 1024)], {"float32": [[Fraction(90000, 1024)]], "float16": [[BINARY16.nearest(Fraction(90000))]]},
                                 (0, "<=", Fraction(80)), {"real": "unsat", "float32": "unsat", "float16": "declined"})

# ---- cancellation and edges of properties ----

PAIR = [float32(1e17), -float32(1e17), float32(1e-3)]
ROWS["ZOMBORI"] = Row(model([node("Gemm", ["x", "w", "b"], ["z"], "switch"), node("Relu", ["z"], ["h"], "relu"), node("MatMul", ["h", "v"], ["y"], "amplifier")],
                            [value_info("x", [1, 2])], [value_info("y", [1, 1])],
                            [tensor("w", [2, 1], [1e17, -1e17]), tensor("b", [1], [1e-3]), tensor("v", [1, 1], [1000])]),
                      at(1, 1), [1000 * PAIR[2]], {"float32": [[BINARY32.nearest(1000 * s)] for s in sums(PAIR)]}, (0, "<=", Fraction(1, 2)),
                      {"real": "unsat", "float32": "unknown"})

SMALL = [Fraction(5, 4) * TWO**-24] * 4
for name, bias, word in (("JR-INACTIVE", -1 - 6 * TWO**-24, "unsat"), ("JR-INACTIVE, one unit higher", -1 - 4 * TWO**-24, "sat")):
    terms = [Fraction(1), *SMALL]
    network = model([node("Gemm", ["x", "w", "b"], ["z"], "inactive"), node("Relu", ["z"], ["h"], "relu"), node("MatMul", ["h", "v"], ["y"], "last")],
                    [value_info("x", [1, 5])], [value_info("y", [1, 1])],
                    [tensor("w", [5, 1], [float(t) for t in terms]), tensor("b", [1], [float(bias)]), tensor("v", [1, 1], [2.0**23])])
    outcomes = [[max(Fraction(0), s) * 2**23] for s in (summed([*terms, bias]), summed([*SMALL, Fraction(1), bias]))]
    ROWS[name] = Row(network, [(0, 1)] * 5, [max(Fraction(0), sum(terms) + bias) * 2**23], {"float32": outcomes}, (0, ">=", Fraction(1, 2)),
                     {"real": word, "float32": "unknown"})

MINUS = model([node("Sub", ["x", "u"], ["y"], "difference")], [value_info("x", [1]), value_info("u", [1])], [value_info("y", [1])], [])
HALF = Fraction(1, 2)
for name, unsafe, real, computed in (("CONSTIN, kept", (0, ">=", Fraction(1)), "unsat", "unsat"), ("CONSTIN, violated", (0, ">=", -HALF), "sat", "sat"),
                                     ("STRICT, of a difference", (0, "<", Fraction(0)), "unsat", "open"),
                                     ("STRICT, of a difference, reached", (0, "<=", Fraction(0)), "sat", "open")):
    ROWS[name] = Row(MINUS, at(HALF, HALF), [Fraction(0)], {"float32": [[Fraction(0)]]}, unsafe, {"real": real, "float32": computed})
ROWS["STRICT"] = Row(unary("Relu"), [(-1, 1)], [Fraction(0)], {"float32": [[Fraction(0)]]}, (0, "<", Fraction(0)), {"real": "unsat", "float32": "unsat", "bfloat16": "unsat"})
ROWS["STRICT, reached"] = Row(unary("Relu"), [(-1, 1)], [Fraction(0)], {"float32": [[Fraction(0)]], "bfloat16": [[Fraction(0)]]}, (0, "<=", Fraction(0)),
                              {"real": "sat", "float32": "sat", "bfloat16": "sat"})

# The least float32 number that is not below 0.1 lies 1.5e-9 above it.
TENTH = Fraction(1, 10)
ROWS["DECIMAL"] = Row(unary("Relu"), [(TENTH, 2 * TENTH)], [TENTH], {"float32": [[float32(0.1)]]}, (0, "<=", TENTH - Fraction(1, 10**12)), {"real": "unsat", "float32": "unsat"})
ROWS["DECIMAL, between two numbers"] = Row(unary("Relu"), [(TENTH, 2 * TENTH)], [TENTH], {"float32": [[float32(0.1)]]}, (0, "<=", TENTH + Fraction(1, 2 * 10**9)),
                                           {"real": "sat", "float32": "open"})
ROWS["DECIMAL, a point"] = Row(unary("Relu"), at(TENTH), [TENTH], {"float32": []}, (0, ">=", Fraction(0)), {"real": "sat", "float32": "vacuous", "bfloat16": "vacuous"})
ROWS["no float32 number"] = Row(unary("Relu"), [(1 + TWO**-30, 1 + TWO**-29)], [1 + TWO**-30], {"float32": []}, (0, ">=", Fraction(0)),
                                {"real": "sat", "float32": "vacuous", "float32:tf32": "vacuous"})
ROWS["no bfloat16 number"] = Row(unary("Relu"), [(1 + TWO**-12, 1 + TWO**-11)], [1 + TWO**-12], {"float32": [[1 + TWO**-12]], "bfloat16": []}, (0, ">=", Fraction(0)),
                                 {"real": "sat", "float32": "sat", "bfloat16": "vacuous", "float16": "vacuous"})

# exp within 4 units of the last place: as the nearest number, or two units below.
NEAR = Fraction(1, 2**27)
ROWS["SOFTTIE"] = Row(model([node("Softmax", ["x"], ["y"], "softmax", axis=1)], [value_info("x", [1, 2])], [value_info("y", [1, 2])], []), at(0, NEAR),
                      [None, Fraction(1, 2) + NEAR / 5],  # 1 / (1 + exp(-t)) > 1/2 + t / 5 for small positive t
                      {"float32": [[None, BINARY32.nearest(1 / BINARY32.nearest(1 + e))] for e in (BINARY32.nearest(1 - NEAR), 1 - TWO**-23)]},
                      (1, "<=", HALF), {"real": "unsat", "float32": "unknown"})

# ---- decisions, which enlarge what is lost ----

BELOW = 1 - TWO**-24
ROWS["FLOOR"] = Row(with_constants([node("Add", ["x", "one"], ["s"], "sum"), node("Floor", ["s"], ["y"], "floor")], [("x", [1])], [("y", [1])], [("one", [1], [1.0])]),
                    at(BELOW), [Fraction(1)], {"float32": [[Fraction(math.floor(BINARY32.nearest(BELOW + 1)))]]}, (0, ">=", Fraction(2)), {"real": "unsat", "float32": "open"})
ROWS["CAST"] = Row(model([node("Add", ["x", "one"], ["s"], "sum"), node("Cast", ["s"], ["y"], "cast", to=INT64)], [value_info("x", [1])], [value_info("y", [1], INT64)],
                         [tensor("one", [1], [1])]),
                   at(BELOW), [Fraction(1)], {"float32": [[Fraction(math.floor(BINARY32.nearest(BELOW + 1)))]]}, (0, ">=", Fraction(2)), {"real": "unsat", "float32": "open"})
ROWS["CAST, of an integer"] = Row(model([node("Cast", ["x"], ["f"], "cast", to=FLOAT), node("Sub", ["f", "big"], ["y"], "difference")], [value_info("x", [1], INT64)],
                                        [value_info("y", [1])], [tensor("big", [1], [2.0**24])]),
                                  at(2**24 + 1), [Fraction(1)], {"float32": [[BINARY32.nearest(Fraction(2**24 + 1)) - 2**24]]}, (0, "<=", Fraction(0)),
                                  {"real": "unsat", "float32": "open"})
PREC = [TWO**24, Fraction(1), -TWO**24]
ROWS["GREATER"] = Row(with_constants([node("MatMul", ["x", "w"], ["p"], "sum"), node("Greater", ["p", "half"], ["g"], "test"), node("Where", ["g", "a", "b"], ["y"], "choice")],
                                     [("x", [1, 3])], [("y", [1, 1])], [("w", [3, 1], [2.0**24, 1.0, -2.0**24]), ("half", [1], [0.5]), ("a", [1], [1.0]), ("b", [1], [-1.0])]),
                      at(1, 1, 1), [Fraction(1)], {"float32": [[1 if s > Fraction(1, 2) else -1] for s in sums(PREC)]}, (0, "<=", Fraction(0)),
                      {"real": "unsat", "float32": "unknown"})
ROWS["ARGMAX"] = Row(model([node("MatMul", ["x", "w"], ["p"], "logits"), node("ArgMax", ["p"], ["y"], "label", axis=1, keepdims=0)], [value_info("x", [1, 3])],
                           [value_info("y", [1], INT64)], [tensor("w", [3, 2], [2.0**24, 0.5, 1, 0, -2.0**24, 0])]),
                     at(1, 1, 1), [Fraction(0)], {"float32": [[0 if s >= Fraction(1, 2) else 1] for s in sums(PREC)]}, (0, ">=", Fraction(1)),
                     {"real": "unsat", "float32": "unknown"})

# ---- kernels of a runtime that the model names ----

# ONNX Runtime's Softplus is log(exp(x) + 1) for x <= 0, and its Softsign is (1 / (1 + |x|)) x.
ROWS["ONNX Runtime, Softplus"] = Row(unary("Softplus"), at(-30), [Fraction(9, 10**14)],  # log(1 + e^-30) and e^-30 lie between 9e-14 and 1e-13
                                     {"float32:onnxruntime": [[BINARY32.nearest(1 + Fraction(1, 10**13)) - 1]]}, (0, "<=", Fraction(0)),
                                     {"real": "unsat", "float32:onnxruntime": "open"})
SIGN = Fraction(1140601, 2**24)
QUOTIENT = BINARY32.nearest(SIGN / BINARY32.nearest(1 + SIGN))
RECIPROCAL = BINARY32.nearest(BINARY32.nearest(1 / BINARY32.nearest(1 + SIGN)) * SIGN)
ROWS["ONNX Runtime, Softsign"] = Row(unary("Softsign"), at(SIGN), [SIGN / (1 + SIGN)], {"float32:onnxruntime": [[QUOTIENT], [RECIPROCAL]]}, (0, ">=", RECIPROCAL),
                                     {"real": "unsat", "float32:onnxruntime": "unknown"})

# A margin between two logits: 2^24 + x - 2^24 against 1/2.
TWO_LOGITS = model([node("MatMul", ["x", "w"], ["y"], "logits")], [value_info("x", [1, 4])], [value_info("y", [1, 2])],
                   [tensor("w", [4, 2], [2.0**24, 0, 1, 0, -2.0**24, 0, 0, 0.5])])
ROWS["robust in real arithmetic alone"] = Row(TWO_LOGITS, [(1, 1), (0.75, 1), (1, 1), (1, 1)], [Fraction(3, 4), HALF],
                                              {"float32": [[s, HALF] for s in sums([TWO**24, Fraction(3, 4), -TWO**24])]}, ({0: 1, 1: -1}, "<=", Fraction(0)),
                                              {"real": "unsat", "float32": "unknown"})
# 1 is the only float32 number of the box.
ROWS["robust in float32 alone"] = Row(with_constants([node("Sub", ["x", "one"], ["d"], "difference"), node("Mul", ["d", "c"], ["y"], "scale")], [("x", [1])], [("y", [1])],
                                                     [("one", [1], [1.0]), ("c", [1], [2.0**31])]),
                                      [(1 - TWO**-30, 1 + TWO**-30)], [Fraction(2)], {"float32": [[Fraction(0)]]}, (0, ">=", Fraction(1)), {"real": "sat", "float32": "open"})


class Catalogue(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.network, self.question, self.proof = (os.path.join(self.folder.name, name) for name in ("m.onnx", "q.vnnlib", "proof"))

    def check(self, *words):
        return Run("assay-check", self.network, self.question, self.proof, *words)

    def expectation_is_right(self, row, semantics, word):
        """The executions at hand do not contradict the word, and where it says that they differ, they do."""
        outcomes = {row.is_unsafe(outputs) for outputs in row.executions.get(semantics, [])}
        if semantics == "real":
            self.assertTrue(word == "open" or row.is_unsafe(row.real) == (word == "sat"))
        elif word in ("unknown", "unbounded"):
            self.assertEqual(outcomes, {True, False}, "an execution on either side")
        elif word in ("unsat", "sat"):
            self.assertLessEqual(outcomes, {word == "sat"})
        elif word == "open":
            self.assertEqual(len(outcomes), 1)
        elif word == "vacuous":
            form = {"bfloat16": BFLOAT16, "float16": BINARY16}.get(semantics, BINARY32)
            lo, hi = row.box[0]
            self.assertGreater(Fraction(lo), form.truncated(Fraction(hi)))
        else:
            self.assertEqual(word, "declined")
            self.assertTrue(any(isinstance(y, float) for outputs in row.executions[semantics] for y in outputs), "an execution that overflows")

    def row_is_answered(self, row, outputs):
        for path, data in ((self.network, row.network), (self.question, row.query(outputs).encode())):
            with open(path, "wb") as file:
                file.write(data)
        for semantics, word in row.expected.items():
            with self.subTest(semantics=semantics):
                self.expectation_is_right(row, semantics, word)
                run = Run("assay", "verify", self.network, self.question, "--semantics", semantics, "--proof", self.proof, "--timeout", "20")
                if word in ("declined", "unbounded"):
                    self.assertEqual((run.out, run.exit), ("", 3), run.err)
                    self.assertRegex(run.err, "propagate_box.S4|execution.constant")
                    continue
                said = {"vacuous": "unsat", "open": "unknown"}.get(word, word)
                self.assertEqual((run.word, run.exit), (said, 0), run.err)
                self.assertEqual("VACUOUSLY" in run.err, word == "vacuous", run.err)
                if said == "unknown":
                    continue
                for words in ((), ("--exact",)):
                    checked = self.check("--semantics", semantics, *words)
                    self.assertEqual((checked.word, checked.exit), ("accepted", 0), checked.err)
                    self.assertEqual("(vacuous)" in checked.out, word == "vacuous", checked.out)
                    crossed = self.check("--semantics", "real", *words)
                    if word == "unsat":
                        self.assertEqual((crossed.word, crossed.exit), ("accepted", 0), "what holds for all executions holds in real arithmetic; " + crossed.err)
                    if word == "vacuous":
                        self.assertNotEqual(crossed.word, "accepted", "the box has points, and they are in the unsafe set")
                if word == "unsat" and semantics == "real":
                    floating = next(name for name in row.expected if name != "real")
                    crossed = self.check("--semantics", floating)
                    self.assertEqual((crossed.word, crossed.exit), ("declined", 3), crossed.err)
                    self.assertRegex(crossed.out + crossed.err, "check it with --semantics real, or .* --semantics '.*certificate.semantics|execution.constant")

    def test_two_orders_that_differ(self):
        """`unknown` shows an order of summation that violates and one that does not; from the outputs, anybody can tell."""
        for name in ("ORDER1", "ORDER1, from above"):
            row = ROWS[name]
            report = os.path.join(self.folder.name, "r.json")
            for path, data in ((self.network, row.network), (self.question, row.query(1).encode())):
                with open(path, "wb") as file:
                    file.write(data)
            run = Run("assay", "verify", self.network, self.question, "--semantics", "float32", "--timeout", "20", "--json=" + report)
            self.assertEqual(run.word, "unknown")
            self.assertIn("; at some point, executions may differ in the order of sums", run.err)
            with open(report, encoding="utf-8") as file:
                disputed = json.load(file)["disputed"]
            self.assertEqual([Fraction(x) for x in disputed["inputs"]], [1] * len(ORDER1))
            for side, violates in (("violating", True), ("keeping", False)):
                value = Fraction(float.fromhex(disputed[side]["outputs"][0]["hex"]))
                self.assertEqual(row.is_unsafe([value]), violates, disputed[side])
                self.assertIn(f"sums with their terms {disputed[side]['order']} give Y_0", run.err)


def test_of(row, outputs):
    return lambda self: self.row_is_answered(row, outputs)


for name, row in ROWS.items():
    outputs = len(row.real)
    setattr(Catalogue, "test_" + "".join(c if c.isalnum() else "_" for c in name), test_of(row, outputs))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    cli_test.BIN = sys.argv.pop(1)
    unittest.main()

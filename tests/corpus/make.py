#!/usr/bin/env python3
"""make.py [FOLDER]: writes the corpus of certificates (README.md) from the table below, into this folder or another one.

Needs Python and its standard library. Statements and their digests come from tools/twin, so that no file of the corpus rests on the C++ sources.
"""
import json
import pathlib
import shutil
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "twin"), str(ROOT / "tests" / "cli")]

from certificate import crc32c  # noqa: E402
from check import read_statement  # noqa: E402
from onnx_files import model, node, tensor, two_equal_neurons, value_info, varint  # noqa: E402


def network(nodes, inputs, tensors=(), outputs=("y",)):
    return model(nodes, [value_info(name, [1]) for name in inputs], [value_info(name, [1]) for name in outputs], list(tensors))


def declared(inputs, outputs=1):
    return "".join(f"(declare-const X_{i} Real)\n" for i in range(inputs)) + "".join(f"(declare-const Y_{i} Real)\n" for i in range(outputs))


def box(*ends):
    return "".join(f"(assert (>= X_{i} {lo}))\n(assert (<= X_{i} {hi}))\n" for i, (lo, hi) in enumerate(ends))


# Node numbers are those of the canonical graph (docs/reference/canonical-graph.md), which certificates name.
MODELS = {
    # 0 x, 1 relu, 2 the constant 1, 3 y = relu(x) + 1
    "relu": network([node("Relu", ["x"], ["h"], "hidden"), node("Add", ["h", "one"], ["y"], "last")], ["x"], [tensor("one", [1], [1.0])]),
    # 0 x [1, 2], 3 z, 4 relu, 7 y: two equal neurons, whose difference is 0
    "equal": two_equal_neurons(),
    "exp": network([node("Exp", ["x"], ["y"], "last")], ["x"]),              # 0 x, 1 y
    "product": network([node("Mul", ["a", "b"], ["y"], "last")], ["a", "b"]),    # 0 a, 1 b, 2 y
    "maximum": network([node("Max", ["a", "b"], ["y"], "last")], ["a", "b"]),    # 0 a, 1 b, 2 y
    # 0 x [1, 2], y = x0 + x1; squares that a property names follow
    "sum": model([node("Gemm", ["x", "w"], ["y"], "last")], [value_info("x", [1, 2])], [value_info("y", [1, 1])], [tensor("w", [2, 1], [1, 1])]),
}
UNIT = box((-1, 1))
SQUARE = box((-1, 1), (-1, 1))
# name: (model, property, whether some point satisfies the property)
STATEMENTS = {
    "low": ("relu", declared(1) + UNIT + "(assert (<= Y_0 0.5))\n", False),
    "at_least_one": ("relu", declared(1) + UNIT + "(assert (<= Y_0 1))\n", True),
    "above_x": ("relu", declared(1) + UNIT + "(assert (<= (- Y_0 X_0) 0.5))\n", False),
    "at_x": ("relu", declared(1) + UNIT + "(assert (<= (- Y_0 X_0) 1))\n", True),
    "two_rows": ("relu", declared(1) + UNIT + "(assert (<= Y_0 1.25))\n(assert (>= (+ X_0 Y_0) 2))\n", False),
    "either": ("relu", declared(1) + UNIT + "(assert (or (<= Y_0 1) (>= Y_0 1.5)))\n", True),
    "two_boxes": ("relu", declared(1) + "(assert (or (and (>= X_0 -1) (<= X_0 0) (<= Y_0 0.5)) (and (>= X_0 0) (<= X_0 1) (<= Y_0 0.5))))\n", False),
    "equal": ("equal", declared(2) + SQUARE + "(assert (or (<= Y_0 -0.25) (>= Y_0 0.25)))\n", False),
    "equal_reached": ("equal", declared(2) + SQUARE + "(assert (or (<= Y_0 -0.25) (>= Y_0 0)))\n", True),
    "exp": ("exp", declared(1) + UNIT + "(assert (<= (- Y_0 X_0) 0.5))\n", False),
    "exp_reached": ("exp", declared(1) + UNIT + "(assert (<= (- Y_0 X_0) 1))\n", True),
    "product": ("product", declared(2) + box((0, 1), (0, 1)) + "(assert (<= (- Y_0 (+ X_0 X_1)) -1.25))\n", False),
    "product_reached": ("product", declared(2) + box((0, 1), (0, 1)) + "(assert (<= (- Y_0 (+ X_0 X_1)) -1))\n", True),
    "maximum": ("maximum", declared(2) + SQUARE + "(assert (<= (- Y_0 X_0) -0.5))\n", False),
    "maximum_reached": ("maximum", declared(2) + SQUARE + "(assert (<= (- Y_0 X_0) 0))\n", True),
    "ball": ("sum", declared(2) + SQUARE + "(assert (<= (+ (* X_0 X_0) (* X_1 X_1)) 1))\n(assert (>= Y_0 1.5))\n", False),
    "ball_reached": ("sum", declared(2) + SQUARE + "(assert (<= (+ (* X_0 X_0) (* X_1 X_1)) 1))\n(assert (>= Y_0 1.375))\n", True),
}


def f32(value):
    return struct.pack("<f", value).hex()


def f64(value):
    return struct.pack("<d", value).hex()


def text(*coordinates):
    return varint(len(coordinates)).hex() + "".join(varint(len(c)).hex() + c.encode().hex() for c in coordinates)


BOXES = "0401 0403"                # of relu and of y
PROOF = f"0100 {BOXES} 070300 02"  # group 0, boxes, conclude case 0 by the checker's own slopes, end_group
TWO = f"0b0000 {f32(2)}"           # split x at 2: the half above has no point of the box
SLOPE_0 = "01 01 0100" + f32(0)    # lower slope 0 of relu (node 1): one array, of one element, kind 0
SLOPE_1 = "01 01 0100" + f32(1)
# relu - x >= 0, by slope 1 in the only leaf
CUT = f"11 02 0100{f32(1)} 0000{f32(-1)} 0001 {SLOPE_1}"
BY_CUT = f"070381 {SLOPE_0} 0100{f32(1)} 02"
EQUAL = "0100 0400 0403 050340 0404 0407"


def slopes(data):
    """above_x, concluded with the lower slopes of relu in an array with this count, kind and data."""
    return f"0100 {BOXES} 070301 01 01 {data} 02"


ACCEPTED = [  # folder, name, statement, records, why
    ("begin_group", "any_order", "two_boxes", f"0101 {BOXES} 070300 02 {PROOF}", "Groups may come in any order; each proves its own box."),
    ("end_group", "all_refuted", "low", PROOF, "The only case of the group is refuted where the group ends."),
    ("sweep", "whole", "low", "0100 030000 070300 02", "A sweep from node 0 derives every box on the way to the output."),
    ("sweep", "rounded", "low", "0100 030100 070300 02", "Bounds rounded outward to binary32 are bounds."),
    ("box", "in_order", "low", PROOF, "The box of y follows from that of relu, which follows from the input's."),
    ("box", "of_input", "low", f"0100 0400 {BOXES} 070300 02", "An input has its group's box; asking for it again does nothing."),
    ("boxes", "whole", "low", "0100 1200 070300 02", "Boxes of all nodes are enough here."),
    ("tighten", "claims", "low", f"0100 {BOXES} 050028 01 {f32(-1)}{f32(1)} 070300 02", "The claimed bounds of x are those of its box."),
    ("tighten", "mask", "low", f"0100 {BOXES} 050110 0101 01 070300 02", "Bounds of the elements of a mask, here of the only one."),
    ("define_hints", "named", "above_x", f"0100 {BOXES} 060001 {SLOPE_1} 08030000 02", "Hints with a name are used by a later conclusion."),
    ("define_hints", "ids_ascend", "low", f"0100 {BOXES} 060000 060700 070300 02", "Ids need not be consecutive."),
    ("conclude", "by_boxes", "low", PROOF, "y >= 1 by its box, which is above 1/2."),
    ("conclude", "by_slope", "above_x", f"0100 {BOXES} 070301 {SLOPE_1} 02", "With slope 1 relu(x) >= x, so y - x >= 1 > 1/2."),
    ("conclude", "two_rows", "two_rows", f"0100 {BOXES} 0702 01 0203{f32(2)}{f32(1)} 01 {SLOPE_1} 02", "2 (y - 5/4) + (2 - x - y) = y - x - 1/2, which is at least 1/2."),
    ("conclude_with", "own_beta", "above_x", f"0100 {BOXES} 060001 {SLOPE_1} {TWO} 0803000100{f32(0)} 0d 09 0e 02", "The named slopes, with a multiplier for the split that is open now."),
    ("empty", "half_outside", "low", f"0100 {TWO} {BOXES} 070300 0d 09 0e 02", "x >= 2 has no point of the box, so it refutes every case."),
    ("split_zero", "both_halves", "equal", f"{EQUAL} 0a0301 070301 01 04 02021400 0a0300 0702020501 04 020100 0100f797263e 0d 0702020501 04 020101 01007aa7813f 0e 0d "
     "07030101 04 02027280 0a0300 0702020501 04 020102 01003f44573f 0d 0702020101 04 020103 0e 0e 02", "The proof that FORMAT.md spells out: splits of both neurons at 0."),
    ("split_f32", "half_outside", "low", f"0100 {TWO} {BOXES} 070300 0d {BOXES} 070300 0e 02", "A threshold in binary32; both halves conclude."),
    ("split_f64", "half_outside", "low", f"0100 0c0000{f64(2.1)} {BOXES} 070300 0d 09 0e 02", "A threshold that binary32 does not have."),
    ("next", "both_refute", "low", f"0100 0a0000 {BOXES} 070300 0d {BOXES} 070300 0e 02", "Each half derives its own boxes and refutes the case."),
    ("done", "whole_after", "low", f"0100 0a0000 {BOXES} 070300 0d {BOXES} 070300 0e 02", "What both halves refute is refuted in the branch around them."),
    ("witness", "exact", "at_least_one", f"0f00 {text('-1/2')}", "relu(-1/2) + 1 = 1, which meets y <= 1 with equality."),
    ("tighten_by_cases", "one_leaf", "low", f"0100 {BOXES} 100308 0000 070300 02", "A tree may be a single leaf."),
    ("tighten_by_cases", "hull", "low", f"0100 {BOXES} 100308 {TWO} 0a0100 0000 0000 0000 070300 02", "The hull of what the leaves of a tree derive; the half x >= 2 is empty and does not count."),
    ("cut", "used", "above_x", f"0100 {BOXES} {CUT} {BY_CUT}", "With slope 0 the conclusion needs relu - x >= 0, which is the cut."),
    ("cut", "by_sign", "above_x", f"0100 {BOXES} 11 02 0100{f32(1)} 0000{f32(-1)} 0a0000 0001 {SLOPE_1} 0001 {SLOPE_0} {BY_CUT}", "For x <= 0 and x >= 0 apart; the lesser bound is the cut's."),
    ("array", "fill", "above_x", slopes("0100" + f32(1)), "Kind 0: one value for all elements."),
    ("array", "bits", "above_x", slopes("0101 01"), "Kind 1: a bit each."),
    ("array", "bytes", "above_x", slopes("0102 80"), "Kind 2: 128 / 128 = 1."),
    ("array", "floats", "above_x", slopes("0103" + f32(1)), "Kind 3: four bytes each."),
    ("array", "list_of_bytes", "above_x", slopes("0104 00 01 00 80"), "Kind 4: from zeros, the listed element is 128 / 128."),
    ("array", "list_of_floats", "above_x", slopes("0105 00 01 00" + f32(1)), "Kind 5: from zeros, the listed element is 1."),
    ("array", "list_on_named", "above_x", f"0100 {BOXES} 060001 {SLOPE_1} 070301 01 01 0104 01 00 02", "The base is the same array of named hints; nothing is listed."),
    ("line", "relu", "above_x", f"0100 {BOXES} 070301 01 01 0100{f32(0.875)} 02", "Any slope is sound; with 7/8 the bound is still above 1/2."),
    ("line", "exp", "exp", f"0100 0401 070301 01 01 0100{f32(1)} 02", "The line with slope 1 below exp is x + 1, so y - x >= 1."),
    ("line", "product", "product", f"0100 0402 070301 01 02 0100{f32(0)} 02", "McCormick's plane x + y - 1 below the product, mix 0."),
    ("line", "maximum", "maximum", f"0100 0402 070301 01 02 0100{f32(0)} 02", "The maximum is at least its first candidate."),
    ("back_substitution", "beta", "above_x", f"0100 {BOXES} {TWO} 070305 {SLOPE_1} 0100{f32(0.125)} 0d 09 0e 02", "1/8 (x - 2) is at most 0 in the half x <= 2: adding it is sound, and leaves 5/8."),
    ("ball", "support", "ball", f"0100 1200 0702 01 0203{f32(0)}{f32(1)} 00 02", "On the disc x0 + x1 <= sqrt(2), which is below 3/2; on the box it reaches 2."),
    ("frame", "two_frames", "low", [f"0100 {BOXES}", "070300 02"], "Where one frame ends and the next begins means nothing."),
    ("frame", "empty_frame", "low", ["", PROOF], "A frame may hold no record."),
]

REJECTED = [  # folder, name, statement, records, exit status and code of assay-check, why
    ("begin_group", "twice", "low", f"{PROOF} {PROOF}", 4, "certificate.structure", "Each group occurs once."),
    ("begin_group", "unknown", "low", f"{PROOF} 0101 {BOXES} 070300 02", 4, "certificate.structure", "There is one group, number 0."),
    ("begin_group", "inside", "two_boxes", f"0100 {BOXES} 0101 {BOXES} 070300 02 02", 4, "certificate.structure", "A group does not begin inside another one."),
    ("begin_group", "missing", "two_boxes", PROOF, 1, "certificate.open", "Without a witness every group must occur; group 1 does not."),
    ("end_group", "open_case", "low", f"0100 {BOXES} 02", 1, "certificate.open", "Nothing refutes the group's case."),
    ("end_group", "other_case", "equal_reached", "0100 1200 0a0301 070301 01 04 02021400 0d 070301 01 04 02027280 0e 02", 1, "certificate.open", "Case 1, which is reachable, is not refuted."),
    ("end_group", "in_split", "low", f"0100 {TWO} {BOXES} 070300 02", 4, "certificate.structure", "A split is open."),
    ("sweep", "too_late", "low", "0100 030003 070300 02", 1, "propagate_box.S2", "The sweep begins behind relu, whose box y needs."),
    ("sweep", "reachable", "at_least_one", "0100 030000 070300 02", 1, "conclude.S3", "y <= 1 is reachable: the least value is 0, and the row is not strict."),
    ("box", "operand_without_box", "low", "0100 0403 0401 070300 02", 1, "propagate_box.S2", "The box of y needs that of relu."),
    ("box", "unknown_node", "low", f"0100 {BOXES} 0404 070300 02", 4, "certificate.value", "The graph has four nodes, 0 to 3."),
    ("boxes", "too_late", "low", "0100 1203 070300 02", 1, "propagate_box.S2", "They begin behind relu, whose box y needs."),
    ("boxes", "reachable", "at_least_one", "0100 1200 070300 02", 1, "conclude.S3", "y <= 1 is reachable."),
    ("tighten", "claim", "low", f"0100 {BOXES} 050028 01 {f32(-1)}{f32(0.9999999)} 070300 02", 1, "tighten.S3", "x <= 0.9999999 does not follow: x reaches 1."),
    ("tighten", "false_claim", "at_least_one", f"0100 {BOXES} 050328 01 {f32(1.0000001)}{f32(2)} 070300 02", 1, "tighten.S3", "y >= 1.0000001 does not follow, and would refute a case that is reachable."),
    ("tighten", "of_constant", "low", f"0100 {BOXES} 050208 070300 02", 1, "tighten.S1", "Node 2 is a constant."),
    ("tighten", "selection", "low", f"0100 {BOXES} 050118 070300 02", 4, "certificate.value", "There is no selection 3."),
    ("tighten", "without_box", "low", "0100 0401 050308 0403 070300 02", 1, "back_substitution.S1", "y has no box yet."),
    ("define_hints", "same_id", "low", f"0100 {BOXES} 060000 060000 070300 02", 4, "certificate.hint", "Each id is greater than those in force."),
    ("define_hints", "outside", "low", f"060000 {PROOF}", 4, "certificate.structure", "Hints are defined in a branch."),
    ("conclude", "equality", "at_least_one", PROOF, 1, "conclude.S3", "The least value of y - 1 is 0, and the row is not strict."),
    ("conclude", "weak_slope", "above_x", f"0100 {BOXES} 070301 {SLOPE_0} 02", 1, "conclude.S3", "With slope 0 the bound of y - x is 0, which is not above 1/2."),
    ("conclude", "reachable", "at_x", f"0100 {BOXES} 070301 {SLOPE_1} 02", 1, "conclude.S3", "y - x = 1 for x >= 0: no slope shows more."),
    ("conclude", "negative_multiplier", "two_rows", f"0100 {BOXES} 0702 01 0203{f32(2)}{f32(-1)} 01 {SLOPE_1} 02", 1, "conclude.S2", "A multiplier of a row is not below 0."),
    ("conclude", "other_multipliers", "two_rows", f"0100 {BOXES} 0702 01 0203{f32(1)}{f32(1)} 01 {SLOPE_1} 02", 1, "conclude.S3", "(y - 5/4) + (2 - x - y) = 3/4 - x, which is -1/4 at x = 1."),
    ("conclude", "no_multipliers", "two_rows", f"0100 {BOXES} 070301 {SLOPE_1} 02", 1, "conclude.S1", "A case of two rows needs two multipliers."),
    ("conclude", "unknown_case", "low", f"0100 {BOXES} 07020200 02", 1, "conclude.S1", "The group has one case, at position 0."),
    ("conclude_with", "unknown_id", "above_x", f"0100 {BOXES} 060001 {SLOPE_1} 08030100 02", 4, "certificate.hint", "Hints 1 are not defined."),
    ("conclude_with", "out_of_force", "above_x", f"0100 {BOXES} {TWO} 060001 {SLOPE_1} 08030000 0d 08030000 0e 02", 4, "certificate.hint", "Hints end with the branch that defines them."),
    ("conclude_with", "reachable", "at_x", f"0100 {BOXES} 060001 {SLOPE_1} 08030000 02", 1, "conclude.S3", "y - x = 1 for x >= 0."),
    ("empty", "not_empty", "low", "0100 09 02", 1, "empty.S1", "The branch has points."),
    ("empty", "touching", "at_least_one", f"0100 0b0000{f32(1)} 0401 0403 070300 0d 09 0e 02", 1, "conclude.S3", "x >= 1 has the point 1, and y <= 1 is reachable."),
    ("split_zero", "of_constant", "low", f"0100 0a0200 {BOXES} 070300 0d {BOXES} 070300 0e 02", 1, "assume.S1", "Node 2 is a constant."),
    ("split_zero", "unknown_element", "low", f"0100 0a0001 {BOXES} 070300 0d {BOXES} 070300 0e 02", 4, "certificate.value", "x has one element, number 0."),
    ("split_f32", "not_a_number", "low", f"0100 0b0000 0000c07f {BOXES} 070300 0d {BOXES} 070300 0e 02", 4, "certificate.value", "A threshold is finite."),
    ("split_f32", "one_half", "low", f"0100 {TWO} {BOXES} 070300 02", 4, "certificate.structure", "The half above is missing."),
    ("split_f64", "infinite", "low", f"0100 0c0000 000000000000f07f {BOXES} 070300 0d {BOXES} 070300 0e 02", 4, "certificate.value", "A threshold is finite."),
    ("split_f64", "reachable", "at_least_one", f"0100 0c0000{f64(2.1)} {BOXES} 070300 0d 09 0e 02", 1, "conclude.S3", "y <= 1 is reachable in the half below."),
    ("next", "without_split", "low", f"0100 {BOXES} 070300 0d 02", 4, "certificate.structure", "No split is open."),
    ("next", "nothing_refuted", "low", f"0100 {TWO} {BOXES} 0d {BOXES} 070300 0e 02", 1, "certificate.open", "The half below refutes no case."),
    ("next", "boxes_forgotten", "low", f"0100 0a0000 {BOXES} 070300 0d 070300 0e 02", 1, "back_substitution.S1", "Boxes of the half below are forgotten; y has none in the half above."),
    ("next", "twice", "low", f"0100 {TWO} {BOXES} 070300 0d 09 0d 09 0e 02", 4, "certificate.structure", "A split has two halves."),
    ("done", "without_next", "low", f"0100 {TWO} {BOXES} 070300 0e 02", 4, "certificate.structure", "The half above is missing."),
    ("done", "nothing_refuted", "low", f"0100 0a0000 {BOXES} 070300 0d {BOXES} 0e 02", 1, "certificate.open", "The half above refutes no case."),
    ("done", "different_cases", "either", f"0100 0b0000{f32(0.25)} {BOXES} 07020200 0d {BOXES} 07020000 0e 02", 1, "certificate.open", "One half refutes case 1, the other case 0: around them neither is refuted."),
    ("witness", "outside", "at_least_one", f"0f00 {text('-1000001/1000000')}", 1, "satisfiable.S2", "The point lies outside of the box by a millionth."),
    ("witness", "row", "at_least_one", f"0f00 {text('1/1000000')}", 1, "satisfiable.S3", "y = 1.000001 there, above 1."),
    ("witness", "unsatisfiable", "low", f"0f00 {text('-1')}", 1, "satisfiable.S3", "No point satisfies y <= 1/2."),
    ("witness", "unknown_case", "at_least_one", f"0f01 {text('-1')}", 1, "satisfiable.S1", "The property has one case, number 0."),
    ("witness", "coordinates", "at_least_one", f"0f00 {text('-1', '-1')}", 1, "satisfiable.S1", "The network has one input element."),
    ("witness", "no_number", "at_least_one", f"0f00 {text('-1/0')}", 4, "certificate.value", "-1/0 is no rational number."),
    ("witness", "not_last", "at_least_one", f"0f00 {text('-1')} {PROOF}", 4, "certificate.structure", "A witness is the last record."),
    ("tighten_by_cases", "half_without_end", "low", f"0100 {BOXES} 100308 {TWO} 0000 070300 02", 4, "certificate.value", "The tree ends before the half above has a leaf."),
    ("tighten_by_cases", "of_constant", "low", f"0100 {BOXES} 100308 0a0200 0000 0000 070300 02", 1, "assume.S1", "Node 2 cannot be split."),
    ("tighten_by_cases", "with_claims", "low", f"0100 {BOXES} 100328 0000 070300 02", 4, "certificate.value", "There are no claims in a tree."),
    ("tighten_by_cases", "one_half_empty", "low", f"0100 {BOXES} 100108 {TWO} 0000 0000 09 02", 1, "empty.S1", "Only the half x >= 2 is empty."),
    ("cut", "reachable", "at_x", f"0100 {BOXES} {CUT} {BY_CUT}", 1, "conclude.S3", "y - x = 1 for x >= 0: no cut shows more."),
    ("cut", "half_multiplier", "above_x", f"0100 {BOXES} {CUT} 070381 {SLOPE_0} 0100{f32(0.5)} 02", 1, "conclude.S3", "Half of the cut raises the bound to 1/2, which is not above 1/2."),
    ("cut", "negative_multiplier", "above_x", f"0100 {BOXES} {CUT} 070381 {SLOPE_0} 0100{f32(-1)} 02", 1, "hints.cuts", "A multiplier of a cut is not below 0."),
    ("cut", "not_in_force", "above_x", f"0100 {BOXES} {BY_CUT}", 4, "certificate.hint", "No cut is in force, and the conclusion has a multiplier for one."),
    ("cut", "of_constant", "above_x", f"0100 {BOXES} 11 01 0200{f32(1)} 0000 {BY_CUT}", 1, "cut.S1", "Node 2 is a constant."),
    ("array", "too_long", "above_x", slopes("0200" + f32(1)), 4, "certificate.hint", "relu has one element."),
    ("array", "unknown_kind", "above_x", slopes("0106" + f32(1)), 4, "certificate.hint", "There are kinds 0 to 5."),
    ("array", "infinite", "above_x", slopes("0103" + f32(float("inf"))), 4, "certificate.hint", "A hint is finite."),
    ("array", "entry_outside", "above_x", slopes("0104 00 01 01 80"), 4, "certificate.hint", "The listed element is number 1 of one."),
    ("array", "unknown_base", "above_x", slopes("0104 01 00"), 4, "certificate.hint", "No hints 0 are in force."),
    ("line", "relu", "at_x", f"0100 {BOXES} 070301 01 01 0100{f32(0.875)} 02", 1, "conclude.S3", "y - x = 1 for x >= 0: no slope shows more."),
    ("line", "exp", "exp_reached", f"0100 0401 070301 01 01 0100{f32(1)} 02", 1, "conclude.S3", "exp(x) - x = 1 at 0, where the line touches."),
    ("line", "product", "product_reached", f"0100 0402 070301 01 02 0100{f32(0)} 02", 1, "conclude.S3", "x y - x - y = -1 at (1, 1), where the plane touches."),
    ("line", "product_other_plane", "product", f"0100 0402 070301 01 02 0100{f32(1)} 02", 1, "conclude.S3", "The plane 0 shows x y - x - y >= -2 only."),
    ("line", "maximum", "maximum_reached", f"0100 0402 070301 01 02 0100{f32(0)} 02", 1, "conclude.S3", "max(x, y) = x where y is less."),
    ("line", "maximum_other_candidate", "maximum", f"0100 0402 070301 01 02 0100{f32(1)} 02", 1, "conclude.S3", "The second candidate shows y - x >= -2 only."),
    ("back_substitution", "negative_beta", "above_x", f"0100 {BOXES} {TWO} 070305 {SLOPE_1} 0100{f32(-0.125)} 0d 09 0e 02", 1, "hints.beta", "A multiplier of a split is not below 0."),
    ("back_substitution", "too_much_beta", "above_x", f"0100 {BOXES} {TWO} 070305 {SLOPE_1} 0100{f32(0.25)} 0d 09 0e 02", 1, "conclude.S3", "With 1/4 (x - 2) the bound is 1/4, which is not above 1/2."),
    ("back_substitution", "beta_of_closed_split", "above_x", f"0100 {BOXES} 070305 {SLOPE_1} 0100{f32(0.25)} 02", 4, "certificate.hint", "No split is open."),
    ("back_substitution", "wrong_half", "at_x", f"0100 {BOXES} 0a0000 070305 {SLOPE_0} 0100{f32(1)} 0d 070305 {SLOPE_1} 0100{f32(0)} 0e 02", 1, "conclude.S3", "For x <= 0 the bound is 1, which y - x <= 1 reaches at 0."),
    ("ball", "reachable", "ball_reached", f"0100 1200 0702 01 0203{f32(0)}{f32(1)} 00 02", 1, "conclude.S3", "(0.7, 0.7) lies in the disc, and its sum is above 1.375."),
    ("frame", "count", "low", {"records": [PROOF], "count": 2}, 4, "certificate.frame", "The end frame says two frames of records; there is one."),
    ("frame", "unknown_type", "low", {"records": [PROOF], "more": [(3, "")]}, 4, "certificate.frame", "There are frames of type 1 and 2."),
    ("frame", "record_across", "low", [f"0100 {BOXES} 07", "0300 02"], 4, "certificate.frame", "A record never crosses frames."),
    ("frame", "without_end", "low", {"records": [PROOF], "cut": 7}, 4, "certificate.truncated", "The file ends before its end frame."),
    ("frame", "more_bytes", "low", {"records": [PROOF], "tail": "00"}, 4, "certificate.frame", "Nothing follows the end frame."),
    ("frame", "checksum", "low", {"records": [PROOF], "damage": -16}, 4, "certificate.checksum", "A byte of the records is damaged."),
    ("frame", "unknown_record", "low", f"0100 {BOXES} 13 070300 02", 4, "certificate.record", "There is no record of type 19."),
    ("frame", "long_varint", "low", f"0100 {BOXES} 04 8100 070300 02", 4, "certificate.varint", "A varint in its shortest form is required."),
    ("header", "other_statement", "low", {"records": [PROOF], "digest_of": "at_least_one"}, 1, "certificate.digest", "The digest is that of another statement."),
    ("header", "version", "low", {"records": [PROOF], "version": 2}, 4, "certificate.version", "There is version 1."),
    ("header", "magic", "low", {"records": [PROOF], "magic": "ASSAI"}, 4, "certificate.magic", "The file does not start with ASSAY."),
    ("header", "semantics", "low", {"records": [PROOF], "semantics": "real arithmetik"}, 3, "certificate.semantics", "No semantics has this name."),
]


def frame(kind, payload):
    body = bytes([kind]) + varint(len(payload)) + payload
    return body + struct.pack("<I", crc32c(body))


def certificate(digests, statement, given):
    """The bytes: `given` are the records in hexadecimal digits, a list of them for several frames, or a dict that says what is wrong with the file."""
    wrong = given if isinstance(given, dict) else {"records": given if isinstance(given, list) else [given]}
    semantics = wrong.get("semantics", "real arithmetic").encode()
    header = wrong.get("magic", "ASSAY").encode() + bytes([wrong.get("version", 1)]) + digests[wrong.get("digest_of", statement)] + bytes([len(semantics)]) + semantics
    out = header + struct.pack("<I", crc32c(header))
    for kind, records in [(1, r) for r in wrong["records"]] + wrong.get("more", []):
        out += frame(kind, bytes.fromhex(records))
    out += frame(2, varint(wrong.get("count", len(wrong["records"]))))
    if "damage" in wrong:
        out = bytearray(out)
        out[wrong["damage"]] ^= 1
    return bytes(out[:len(out) - wrong.get("cut", 0)]) + bytes.fromhex(wrong.get("tail", ""))


def write(folder):
    digests, files = {}, {}
    scratch = folder / ".part"
    scratch.mkdir(parents=True, exist_ok=True)
    for name, (net, text_, _) in STATEMENTS.items():
        paths = [scratch / "model.onnx", scratch / "property.vnnlib"]
        paths[0].write_bytes(MODELS[net])
        paths[1].write_text(text_)
        statement = read_statement(*map(str, paths))[2]
        digests[name] = statement.digest
        files[name] = {"model.onnx": MODELS[net], "property.vnnlib": text_.encode(), "statement.assay-statement": statement.file}
    shutil.rmtree(scratch)
    rows = [("accept", *row[:4], 0, "", row[4]) for row in ACCEPTED] + [("reject", *row) for row in REJECTED]
    for verdict, rule, name, statement, records, exit_status, code, why in rows:
        case = folder / verdict / rule / name
        case.mkdir(parents=True)
        for file, data in files[statement].items():
            (case / file).write_bytes(data)
        (case / "certificate.assay").write_bytes(certificate(digests, statement, records))
        word = "accepted" if verdict == "accept" else "declined" if exit_status == 3 else "rejected"
        (case / "expected.json").write_text(json.dumps({"verdict": word, "exit": exit_status, "code": code, "satisfiable": STATEMENTS[statement][2], "why": why}, indent=2) + "\n")
    return len(rows)


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1]) if sys.argv[1:] else pathlib.Path(__file__).resolve().parent
    for verdict in ("accept", "reject"):
        shutil.rmtree(place / verdict, ignore_errors=True)
    print(f"{write(place)} cases")

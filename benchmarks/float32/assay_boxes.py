"""Boxes of nodes as `assay bounds` proves them, and properties that state nothing but input boxes."""
import decimal
import json
import pathlib
import subprocess

import numpy as np


class Refused(Exception):
    """assay gave no bounds; the text says why."""


class Group:
    """One input box and the boxes of all nodes that follow from it, in the order of the graph, inputs among them."""

    def __init__(self, json_group):
        self.nodes = [Node(node) for node in json_group["nodes"]]
        self.inputs = [node for node in self.nodes if node.op == "input"]
        self.outputs = [node for node in self.nodes if node.is_output]
        self.by_name = {node.name: node for node in self.nodes}  # of several nodes with one name, the last has the ONNX value


class Node:
    def __init__(self, json_node):
        self.name, self.op, self.is_output = json_node["name"], json_node["op"], json_node["output"]
        self.shape = json.loads(json_node["shape"])
        self.lo, self.hi = numbers(json_node["lo"]), numbers(json_node["hi"])


def numbers(listed):
    return np.array([x["value"] if isinstance(x.get("value"), (int, float)) else float.fromhex(x["hex"]) for x in listed])


def bounds(assay, model, prop, folder, semantics, timeout=60):
    """One Group for each input box of the property that is not empty."""
    path = pathlib.Path(folder) / "bounds.json"
    path.unlink(missing_ok=True)
    command = [str(assay), "bounds", str(model), str(prop), "--semantics", semantics, "--method", "ibp", f"--json={path}"]
    try:
        ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Refused(f"no boxes within {timeout} s") from None
    said = " ".join(ran.stderr.split())[:300]
    if not path.exists():
        raise Refused(said or f"exit status {ran.returncode}")
    with open(path) as file:
        report = json.load(file)
    if "groups" not in report:
        raise Refused(said or json.dumps(report)[:300])
    return [Group(group) for group in report["groups"]]


def decimal_of(x):
    return format(decimal.Decimal(float(x)), "f")


def write_property(path, outputs, boxes):
    """A property whose cases are the boxes, pairs (lo, hi) over all elements of the inputs; its rows on the outputs say nothing."""
    size = len(boxes[0][0])
    lines = [f"(declare-const X_{i} Real)" for i in range(size)] + [f"(declare-const Y_{i} Real)" for i in range(outputs)]
    lines.append("(assert (or")
    for lo, hi in boxes:
        sides = " ".join(f"(>= X_{i} {decimal_of(lo[i])}) (<= X_{i} {decimal_of(hi[i])})" for i in range(size))
        lines.append(f"  (and {sides} (<= Y_0 0.0))")
    lines.append("))")
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def find_property(folder, name):
    """The property, or its gzipped form."""
    plain, packed = folder / name, folder / (name + ".gz")
    return plain if plain.exists() else packed

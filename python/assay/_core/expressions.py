"""Expressions: regions as they are written down, node by node, with the shapes so far."""
from __future__ import annotations

import math
from typing import Any, Sequence

from . import shapes
from .arrays import Bits
from .vocabulary import attributes_of, completed, leading

Node = dict[str, Any]
_PRODUCTS = ("matmul", "gemm", "conv", "conv_transpose")


class Value:
    """The result of an operation in an expression: an element type and a shape, no elements. `assay.ops` adds the operators."""

    __slots__ = ("expression", "key", "dtype", "shape")

    def __init__(self, expression: Expression, key: tuple[str, int], dtype: str, shape: shapes.Shape) -> None:
        self.expression, self.key, self.dtype, self.shape = expression, key, dtype, shape


def _work(op: str, operands: Sequence[Value], shape: shapes.Shape) -> int:
    """The elements that an operation computes, with those that it adds up."""
    if op == "matmul" and operands[0].shape:
        return math.prod(shape) * operands[0].shape[-1]
    return math.isqrt(math.prod(math.prod(one.shape) for one in operands[:2]) * math.prod(shape)) if op in _PRODUCTS else math.prod(shape)


class Expression:
    """Operands first, then nodes. Arrays that are met on the way become operands of their own, behind the given ones."""

    def __init__(self) -> None:
        self.operands: list[tuple[str, shapes.Shape]] = []
        self.captured: list[Bits] = []  # the last operands
        self.nodes: list[Node] = []
        self.work = 0  # the elements of all results; of a product of m x k and k x n numbers, m k n for each of a batch

    def operand(self, dtype: str, shape: shapes.Shape, kind: type[Value] = Value) -> Value:
        self.operands.append((dtype, shape))
        return kind(self, ("operand", len(self.operands) - 1), dtype, shape)

    def capture(self, bits: Bits, kind: type[Value] = Value) -> Value:
        self.captured.append(bits)
        return self.operand(bits.dtype, bits.shape, kind)

    def apply(self, op: str, operands: Sequence[Value], attributes: dict[str, Any], kind: type[Value] = Value) -> Value:
        rank = len(operands[leading(op, len(operands))].shape) if operands else 0
        plain = completed(op, attributes_of(op, attributes, rank))
        dtype, shape = shapes.result_of(op, [one.dtype for one in operands], [one.shape for one in operands], plain)
        node: Node = {"op": op, "operands": [one.key for one in operands]}
        if plain:
            node["attributes"] = plain
        self.nodes.append(node)
        self.work += _work(op, operands, shape)
        return kind(self, ("node", len(self.nodes) - 1), dtype, shape)

    def constant(self, bits: Bits, kind: type[Value] = Value) -> Value:
        """A number of the expression itself."""
        array = bits.numpy()
        data = [int(one) for one in array.ravel()] if bits.dtype not in shapes.REALS else [float(one) for one in array.ravel()]
        self.nodes.append({"op": "constant", "dtype": bits.dtype, "shape": list(bits.shape), "data": data})
        return kind(self, ("node", len(self.nodes) - 1), bits.dtype, bits.shape)

    def region(self, results: Sequence[Value]) -> tuple[list[Node], list[int]]:
        """Nodes and outputs as a trace numbers them."""
        def number(key: tuple[str, int]) -> int:
            return key[1] + (len(self.operands) if key[0] == "node" else 0)

        nodes = [{**node, "operands": [number(key) for key in node["operands"]]} if "operands" in node else dict(node) for node in self.nodes]
        return nodes, [number(one.key) for one in results]

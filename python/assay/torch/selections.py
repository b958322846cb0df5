"""Writes of a Function to the elements that a mask selects: `r[x < 0] = 0.5 * r[x < 0]` chooses by a condition, as `where` does.

How many elements there are, and which, is decided by numbers. Where they are taken as given, a formula holds at the recorded point alone. So what is
computed of selected elements is computed of all, too, and what is written back is a choice between that and what was there.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from .nodes import Nodes, Ref, operand
from .recorder import Call, Tape

SELECTING = ("index", "masked_select")
WRITING = ("index_put", "_index_put_impl", "masked_scatter")
EACH = {"add", "sub", "rsub", "mul", "div", "neg", "abs", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "square", "pow", "reciprocal", "sin", "cos", "tan", "tanh", "sigmoid", "relu",
        "clamp", "clamp_min", "clamp_max", "erf", "sign", "maximum", "minimum", "where", "gt", "lt", "ge", "le", "eq", "ne", "clone", "_to_copy", "atan", "sinh", "cosh"}  # of element by element
DRAWING = ("bernoulli", "normal", "uniform", "rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "random", "exponential", "multinomial", "poisson")
SHAPED = ("view", "_unsafe_view", "reshape", "expand", "squeeze", "unsqueeze", "alias", "detach")


@dataclass
class Selected:
    """Elements that a mask selects: the mask, and the value of which they are a part."""

    mask: torch.Tensor
    whole: int


class Selecting(Tape):
    """Records writes to selected elements of Functions as choices."""

    def __init__(self, model: Any = None) -> None:
        self.selected: dict[int, Selected] = {}  # values that are parts of others
        super().__init__(model)

    def run(self, function: Any, op: str, args: Any, kwargs: Any, tensors: list[torch.Tensor], writes: list[str]) -> Any:
        """Of what selects nothing there are no values: the tensor itself says of what it is no element."""
        returned = super().run(function, op, args, kwargs, tensors, writes)
        if isinstance(returned, torch.Tensor) and not returned.numel() and tensors and self.in_function():
            with self.aside():
                values = [self.value(one) if one.numel() else None for one in tensors]
                part = self.taken_by_mask(args, values) if op in SELECTING else None
                if op in EACH:
                    part = self.computed_of_all(Call(function, op, None, None, None, [], []), tensors, values, args, kwargs, returned)
                if part is not None:
                    returned._assay_selected = part  # type: ignore[attr-defined]
        return returned

    def part(self, tensor: torch.Tensor, value: int | None) -> Selected | None:
        return self.selected.get(value) if value is not None else getattr(tensor, "_assay_selected", None)

    def settle(self, call: Call, tensors: list[torch.Tensor], refs: list[Ref], args: Any, kwargs: Any, results: list[torch.Tensor | None]) -> None:
        of = {id(ref): v for ref, v in call.operands}
        values = [of.get(id(ref)) for ref in refs]
        is_watched = call.op in (*SELECTING, *WRITING) or any(v in self.selected for v in values)
        if not is_watched or not self.in_function():
            super().settle(call, tensors, refs, args, kwargs, results)
            if call.op in DRAWING and not self.in_backward() and self.in_function():  # what Python decides by it is another one each time
                with self.aside():
                    self.decided.update(self.value(one) for one in results if one is not None)
            return None
        if call.op in WRITING and (chosen := self.as_choice(call, tensors, refs, args, values)) is not None:
            call, refs, args = chosen
            return super().settle(call, tensors, refs, args, {}, results)
        super().settle(call, tensors, refs, args, kwargs, results)
        if len(results) == 1 and results[0] is not None:
            with self.aside():
                part = None
                if call.op in SELECTING:
                    part = self.taken_by_mask(args, values)
                elif call.op in EACH:
                    part = self.computed_of_all(call, tensors, values, args, kwargs, results[0])
                elif call.op in SHAPED and values[0] is not None and results[0].numel() == tensors[0].numel():
                    part = self.selected.get(values[0])
                if part is not None:
                    self.selected[self.value(results[0])] = part
                elif call.op in (*SELECTING, *WRITING) and self.is_placed(args):
                    self.placed.append(self.in_function())
        return None

    def is_placed(self, args: Any) -> bool:
        """Whether inputs decide at which places."""
        places = args[1] if isinstance(args[1], (list, tuple)) else [args[1]]
        return any(isinstance(one, torch.Tensor) and self.value(one) in self.decided | self.counted for one in places)

    def mask_of(self, args: Any) -> torch.Tensor | None:
        """The only index, if it is a mask of the first axes that numbers decide."""
        masks = args[1] if isinstance(args[1], (list, tuple)) else [args[1]]
        mask = masks[0] if masks else None
        if len(masks) != 1 or mask is None or mask.dtype != torch.bool or not mask.dim() or mask.shape != args[0].shape[:mask.dim()]:
            return None
        return mask if self.value(mask) in self.decided | self.bars else None

    def taken_by_mask(self, args: Any, values: list[int | None]) -> Selected | None:
        mask = self.mask_of(args)
        return None if mask is None or values[0] is None else Selected(mask.clone(), values[0])

    def as_choice(self, call: Call, tensors: list[torch.Tensor], refs: list[Ref], args: Any, values: list[int | None]) -> Any:
        """Express a write to the elements of a mask as a choice between the new values and the old ones.

        The new values are one number, or the values that were computed of all elements.
        """
        with self.aside():
            mask = self.mask_of(args)
        if mask is None or len(tensors) != 3 or len(args) > 3 and args[3] or values[1] is None:
            return None
        part = self.part(tensors[2], values[2])
        is_number = tensors[2].dim() == 0 or tensors[2].numel() == 1 and values[2] not in self.decided | self.bars
        if part is None and is_number and values[2] is not None:  # no part of one element
            number = Nodes([args[0]]).reshape(refs[2], [])
        elif part is not None and torch.equal(part.mask, mask) and self.memory.values[part.whole].tensor.shape == args[0].shape:
            whole = self.memory.values[part.whole].tensor
            number = operand(whole)
            call = replace(call, operands=[*call.operands, (number, part.whole)])
        else:
            return None
        wide = Nodes([args[0]]).reshape(refs[1], [*mask.shape, *[1] * (args[0].dim() - mask.dim())])
        call = replace(call, function=torch.ops.aten.where.self)
        return call, [refs[0], wide, number], (mask, tensors[2], args[0])

    def computed_of_all(self, call: Call, tensors: list[torch.Tensor], values: list[int | None], args: Any, kwargs: Any, result: torch.Tensor) -> Selected | None:
        """The same operation on all elements, with the numbers that it gave for those that are selected."""
        parts = [one for tensor, v in zip(tensors, values) if (one := self.part(tensor, v)) is not None]
        if not parts:
            return None
        mask, shape = parts[0].mask, self.memory.values[parts[0].whole].tensor.shape
        whole: dict[int, int] = {}
        for tensor, v in zip(tensors, values):
            if (part := self.part(tensor, v)) is not None:
                whole[id(tensor)] = part.whole
            elif v is not None and tensor.dim() == 0:
                whole[id(tensor)] = v
            else:
                return None
        if any(not torch.equal(one.mask, mask) or self.memory.values[one.whole].tensor.shape != shape for one in parts):
            return None
        held = {key: self.memory.values[v].tensor for key, v in whole.items()}
        ran, named = tree_map(lambda one: held[id(one)].clone() if isinstance(one, torch.Tensor) else one, (args, kwargs))
        found = call.function(*ran, **named)
        if found.shape != shape or found.dtype != result.dtype:
            return None
        found[mask] = result
        given = {key: operand(tensor) for key, tensor in held.items()}
        ran, named = tree_map(lambda one: held[id(one)] if isinstance(one, torch.Tensor) else one, (args, kwargs))
        super().settle(Call(call.function, call.op, None, None, None, [(given[key], v) for key, v in whole.items()], []), list(held.values()), list(given.values()), ran, named, [found])
        return Selected(mask, self.value(found))


__all__ = ["Selecting"]

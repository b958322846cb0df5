"""From an ATen operation to nodes: by its rule, or by its decomposition into operations that have one."""
from __future__ import annotations

from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from .nodes import Meaningless, Nodes, Ref, Unknown, operand
from .rules_basic import BASIC
from .rules_distance import DISTANCE
from .rules_index import INDEX
from .rules_layout import LAYOUT
from .rules_groups import GROUPS
from .rules_linear import LINEAR
from .rules_loss import LOSS
from .rules_norm import NORM
from .rules_pieces import PIECES
from .rules_reduce import REDUCE
from .rules_sample import SAMPLE

# By the name of the operation without its overload; what writes in place has the meaning of what does not.
RULES = BASIC | LAYOUT | LINEAR | GROUPS | REDUCE | NORM | LOSS | INDEX | SAMPLE | PIECES | DISTANCE

# Whose kernels on 16 bits store some of their steps in 16 bits, too (docs/reference/pytorch.md); those of all others compute in float32 and round once.
STORE_STEPS = {"_log_softmax", "logsumexp", "mse_loss_backward", "glu_backward", "avg_pool2d_backward", "avg_pool3d_backward",
               "huber_loss", "huber_loss_backward", "sigmoid_backward", "smooth_l1_loss", "smooth_l1_loss_backward", "soft_margin_loss_backward"}

MOVES = ("reshape", "permute", "slice", "concat", "pad", "gather", "expand", "constant", "place")  # which round nothing


def written(function: Any) -> list[str]:
    """The names of the arguments that an operation says it writes."""
    return [a.name for a in function._schema.arguments if a.alias_info is not None and a.alias_info.is_write]


def short_name(function: Any) -> str:
    """The name that rules have."""
    name = str(function).split(".")[1] if "." in str(function) else str(function)
    return name[:-1] if name.endswith("_") and not name.endswith("__") and written(function) else name


def listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (tuple, list)) else [results]


class Decomposed(TorchDispatchMode):
    """Runs a decomposition on the recorded tensors, and writes what each of its operations means."""

    def __init__(self, nodes: Nodes, refs: dict[int, Ref]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.nodes, self.refs = nodes, dict(refs)
        self.kept: list[Any] = []  # or the id of a tensor is given to another one

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        known = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor) and id(t) in self.refs]
        if known and not hasattr(function, "_schema"):
            raise Unknown(str(function))
        refs = tree_map(lambda t: self.refs.get(id(t), t) if isinstance(t, torch.Tensor) else t, (args, kwargs)) if known else None
        if hasattr(function, "_schema") and written(function) and args and isinstance(args[0], torch.Tensor) and self.is_view(args[0]):
            raise Unknown(f"{function}: a decomposition that writes a part of a tensor")
        results = function(*args, **kwargs)
        self.kept.append((args, kwargs, results))
        if refs is not None:
            inner = Nodes([t if isinstance(t, torch.Tensor) else None for t in listed(results)], self.nodes.known)
            inner.given = self.nodes.given
            for tensor, ref in zip(listed(results), meaning(function, inner, *refs)):
                if isinstance(tensor, torch.Tensor) and ref is not None:
                    ref.tensor = tensor if ref.tensor is None else ref.tensor
                    self.refs[id(tensor)] = ref
        return results


    def is_view(self, target: torch.Tensor) -> bool:
        """Whether another tensor of the decomposition has a part of this one, or this one of it."""
        others = [one for one in tree_flatten(self.kept)[0] if isinstance(one, torch.Tensor) and one is not target and id(one) in self.refs]
        return any(one.untyped_storage()._cdata == target.untyped_storage()._cdata for one in others)


def with_constants(nodes: Nodes, args: Any) -> Any:
    """Tensors that came from nothing that was recorded are constants."""
    def one(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        constant = operand(value)
        if not value.is_complex() and not value.dtype.is_floating_point:
            constant = nodes.constant(value, value.dtype)
            constant.is_fixed = True
        elif not value.is_complex():
            constant = nodes.constant(value, value.dtype)
        return constant
    return tree_map(one, args)


def meaning(function: Any, nodes: Nodes, args: Any, kwargs: Any) -> list[Ref | None]:
    """Return the meaning of each result of an operation; raise Unknown if no rule says it. Arguments have Refs in place of tensors."""
    name = short_name(function)
    why: Exception | None = None
    if name in RULES and str(function).startswith("aten."):
        given = with_constants(nodes, args), with_constants(nodes, kwargs)
        kept = len(nodes.given)
        try:
            nodes.storing = "steps" if name in STORE_STEPS else ""
            return listed(RULES[name](nodes, *given[0], **given[1]))
        except Meaningless:
            raise
        except (Unknown, NotImplementedError, TypeError, IndexError, KeyError, ValueError, AttributeError, AssertionError, RuntimeError) as error:
            del nodes.given[kept:]
            why = error
    decomposition = decomposition_table.get(function)
    if decomposition is None or written(function):
        raise Unknown(f"{function}: {why or 'it has no meaning here'}")
    nodes.storing = "steps"
    return loosened(nodes, decomposed(decomposition, nodes, args, kwargs))


def decomposed(decomposition: Any, nodes: Nodes, args: Any, kwargs: Any) -> list[Ref | None]:
    """The nodes of a decomposition, as it runs on these values."""
    refs: dict[int, Ref] = {}
    def tensor_of(ref: Any) -> Any:
        if not isinstance(ref, Ref):
            return ref
        if ref.tensor is None:
            raise Unknown("a decomposition of a value whose values were not recorded")
        alias = ref.tensor.detach()
        refs[id(alias)] = ref
        held.append(alias)
        return alias
    held: list[torch.Tensor] = []
    flat, spec = tree_flatten((args, kwargs))
    args, kwargs = tree_unflatten([tensor_of(one) for one in flat], spec)
    mode = Decomposed(nodes, refs)
    try:
        with torch.no_grad(), mode:
            results = decomposition(*args, **kwargs)
    except Unknown:
        raise
    except Exception as error:
        raise Unknown(f"its decomposition: {error}") from error
    return [finished_part(nodes, mode.refs.get(id(one)), one) for one in listed(results)]


def loosened(nodes: Nodes, found: list[Ref | None]) -> list[Ref | None]:
    """A kernel rounds in an order that its decomposition need not have: a few roundings more are admitted."""
    return [nodes.loose(one) if one is not None and one.dtype.is_floating_point and not one.is_complex and one.node is not None
            and one.node["op"] not in MOVES else one for one in found]


def finished_part(nodes: Nodes, ref: Ref | None, tensor: Any) -> Ref | None:
    if not isinstance(tensor, torch.Tensor):
        return None
    return ref if ref is not None else nodes.constant(tensor, tensor.dtype)

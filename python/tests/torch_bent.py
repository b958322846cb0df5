"""Kernels that are wrong by a little, under the recorder: right programs, of which one operation's result is bent."""
from __future__ import annotations

from typing import Any, Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import assay.torch as recorder


class Bent(TorchDispatchMode):
    """Bends the greatest element of what an operation gives, each time that it runs while `is_on`."""

    def __init__(self, op: str, by: float, which: int = 0) -> None:
        super().__init__()
        self.op, self.by, self.which, self.is_on, self.count = op, by, which, False, 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        if self.is_on and str(function).split(".")[1] == self.op:
            wrong = [one for one in tree_leaves(found) if one.is_floating_point()][self.which].detach()
            wrong[torch.unravel_index(wrong.abs().argmax(), wrong.shape)] *= 1 + self.by
            self.count += 1
        return found


def judged(function: Callable[..., Any], inputs: list[Any], bent: Bent | None = None, in_product: bool = False) -> tuple[Any, Any]:
    """The recording of one run with its backward pass, and the report."""
    bent = bent or Bent("", 0.0)
    with bent, recorder.record({f"x{i}": one for i, one in enumerate(inputs)}) as run:
        bent.is_on = not in_product
        found = function(*inputs)
        bent.is_on = in_product
        outputs = [one for one in tree_leaves(found) if one.requires_grad]
        torch.autograd.backward(outputs, [torch.randn_like(one) for one in outputs])
    assert not bent.op or bent.count
    return run, recorder.judge(run)

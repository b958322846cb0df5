"""Forward mode: which tensors move by which tangents, seen at the functions that the program calls."""
from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, Iterator

import torch
import torch.autograd
from torch._C import _functorch as functorch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from .drawn import Drawn
from .memory import Refused
from .nodes import operand
from .outside import arriving
from .reads import ASKED, CASTS, KINDS, READS, SIZES, TOLD, Read, numbers_of
from .selections import Selecting

STOPS = (torch.Tensor.detach, torch.detach, torch.Tensor.data.__get__)  # type: ignore[attr-defined]  # what they give has no tangent
ZEROS = torch.ops.aten._efficientzerotensor.default
SAME_ZEROS = torch.ops.aten._new_zeros_with_same_feature_meta.default  # like the second argument, of the first one's type


@dataclass
class Moves:
    """The claim of one dual level: if the tensors `start` move by their tangents, so do those of `found`."""

    start: dict[int, int] = field(default_factory=dict)  # value -> its tangent's
    found: dict[int, int] = field(default_factory=dict)
    detached: set[int] = field(default_factory=set)


class Watch(TorchFunctionMode):
    """Hands what the program calls to the recorder, while a dual level is open."""

    def __init__(self, run: "Moving") -> None:
        super().__init__()
        self.run = run

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in READS:
            return self.run.read(function, args, kwargs or {})
        if function in ASKED:
            self.run.note_asked(ASKED[function])
        if function in SIZES and args:
            self.run.note_size(args[0])
            return self.run.sized(function(*args, **(kwargs or {})))
        if function in TOLD and args:
            return self.run.counts(function(*args, **(kwargs or {})), TOLD[function])
        if function in KINDS:
            self.run.note_kind(KINDS[function])
        self.run.arriving.append(arriving(args, kwargs) if self.run.live else "")
        self.run.cast = CASTS.get(function, "")
        reads = self.run.hands_out and any(type(one) in (Read, Drawn) for one in tree_leaves((args, kwargs)))
        if self.run.hands_out:
            args, kwargs = numbers_of(args), numbers_of(kwargs or {})
        try:
            if forward_ad._current_level < 0:
                return self.run.made_of(function(*args, **(kwargs or {})), reads)
            return self.run.called(function, args, kwargs or {})
        finally:
            self.run.arriving.pop()
            self.run.cast = ""


class Moving(Selecting):
    """Writes down tangents beside the tensors that carry them."""

    def __init__(self, model: Any = None) -> None:
        super().__init__(model)
        self.moves: list[Moves] = []
        self.seeing: Watch | None = None
        self.entering: Any = None

    def watch_forward(self) -> None:
        """From now on, until `unwatch_forward`."""
        self.entering, self.seeing = forward_ad.enter_dual_level, Watch(self)

        def enter() -> Any:
            self.moves.append(Moves())
            return self.entering()
        forward_ad.enter_dual_level = enter
        self.seeing.__enter__()

    def watching(self) -> "Watch":
        """For a backward pass: PyTorch sets the mode aside when it begins one."""
        return Watch(self)

    def unwatch_forward(self, *error: Any) -> None:
        assert self.seeing is not None
        self.seeing.__exit__(*error)
        forward_ad.enter_dual_level = self.entering

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is ZEROS:  # zeros without memory
            function, kwargs = torch.ops.aten.zeros.default, {key: one for key, one in (kwargs or {}).items() if key in ("dtype", "device")}
        with torch._C.DisableTorchFunction():  # what the recorder itself calls
            if forward_ad._current_level < 0:
                return super().__torch_dispatch__(function, types, args, kwargs)
            if any(isinstance(one, torch.Tensor) and one.is_meta for one in tree_leaves((args, kwargs))):
                return function(*args, **(kwargs or {}))  # shapes that are tried
            if function is SAME_ZEROS and not (kwargs or {}).get("self_num_batch_dims"):
                function, args, kwargs = torch.ops.aten.zeros_like.default, (args[1],), {"dtype": args[0].dtype}
            return super().__torch_dispatch__(function, types, args, kwargs)

    def called(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A function of the program's, and the tangents of what goes in and comes out."""
        if not self.moves:
            raise Refused("a level of forward mode was opened before the recording began; open it inside")
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        if function is torch._VF._make_dual:  # type: ignore[attr-defined]
            return self.begin(function, args, kwargs)
        moving = list(self.pairs(given))
        returned = function(*args, **kwargs)
        if function is torch._VF._unpack_dual:  # type: ignore[attr-defined]
            self.stop(returned[0], moving)
        elif function in STOPS:
            self.stop(returned, moving)
        else:
            list(self.pairs([one for one in tree_leaves(returned) if isinstance(one, torch.Tensor)]))
        return returned

    def begin(self, function: Any, args: Any, kwargs: Any) -> Any:
        x, x_dot = self.plain(args[0]), self.plain(args[1] if len(args) > 1 else kwargs["tangent"])
        if x is None or x_dot is None:
            raise Refused("forward mode ran inside of forward mode or of torch.func.vmap (jacfwd), which is not recorded")
        with self.alone():
            now, value = self.moves[-1], self.value(x)
            if value in now.start or value in now.found:
                raise Refused(f"'{self.memory.values[value].name}' is given a second tangent: forward mode inside of forward mode is not recorded")
            now.start[value] = self.value(x_dot)
        returned = function(*args, **kwargs)
        list(self.pairs([returned]))
        return returned

    def pairs(self, tensors: list[torch.Tensor]) -> Iterator[torch.Tensor]:
        """Yield the tensors that move, and note the values and tangents that they hold."""
        now = self.moves[-1]
        for one in tensors:
            if not one.is_floating_point() and not one.is_complex() or one.is_meta:
                continue
            with self.aside():
                tangent = torch._VF._unpack_dual(one, level=0)[1]  # type: ignore[attr-defined]
            if tangent is None:
                continue
            yield one
            x, x_dot = self.plain(one), self.plain(tangent)
            if x is None or x_dot is None or x_dot._is_zerotensor() or not x.numel():
                continue
            with self.alone():
                value = self.value(x)
                if value not in now.start and value not in now.detached and value not in self.inputs:  # else something opaque gave it
                    now.found.setdefault(value, self.value(x_dot))

    def stop(self, found: torch.Tensor, moving: list[torch.Tensor]) -> None:
        """Note that a tensor made of one that moves does not move itself: it is another value."""
        inner = self.plain(found)
        if not moving or inner is None:
            return
        with self.alone():
            source, ref = self.value(inner), operand(inner)
            value = self.memory.loose(inner, self.memory.values[source].name + ".detach")
            self.append("detach", [(ref, source)], [ref], [value])
            self.memory.mark(inner, self.history(inner), value)
            self.moves[-1].detached.add(value)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Run the recorder's own computations outside of torch.func's levels."""
        with temporarily_clear_interpreter_stack(), self.aside():
            yield

    @staticmethod
    def plain(one: torch.Tensor) -> torch.Tensor | None:
        """The tensor inside of one of torch.func's; none, if there are several levels."""
        inner = functorch.get_unwrapped(one) if functorch.is_functorch_wrapped_tensor(one) else one
        return None if functorch.is_functorch_wrapped_tensor(inner) or inner.shape != one.shape else inner

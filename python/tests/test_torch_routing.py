"""Routings that read and write rows by the places of the greatest numbers, and attention: right ones pass, and ones with a fault fail."""
from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
from assay import GradcheckError, gradcheck  # noqa: E402
from assay.testing import _linearity, _repeats  # noqa: E402
import assay.torch as recorder  # noqa: E402

CHOSEN = 2


class Base(torch.autograd.Function):
    """A fault of the backward pass: a dropped "term", one wrong "row" or "column"; none."""

    fault = ""

    @staticmethod
    def through_softmax(p: Any, slope: Any) -> Any:
        return p * (slope if Base.fault == "term" else slope - (slope * p).sum(-1, keepdim=True))

    @staticmethod
    def bent(found: Any) -> Any:
        if Base.fault == "row":
            found[found.shape[0] // 2] = 0
        if Base.fault == "column":
            found[..., 1] *= 1.5
        return found


class ByGather(Base):
    """What the chosen experts gave for each token."""

    @staticmethod
    def forward(ctx: Any, experts: Any, logits: Any) -> Any:
        top, at = logits.topk(CHOSEN, -1)
        p = torch.softmax(top, -1)
        chosen = experts.gather(1, at[..., None].expand(-1, -1, experts.shape[-1]))
        ctx.save_for_backward(chosen, p, at)
        ctx.shape = experts.shape
        return (chosen * p[..., None]).sum(1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        chosen, p, at = ctx.saved_tensors
        slope = (chosen * g[:, None, :]).sum(-1)
        experts = torch.zeros(ctx.shape).scatter(1, at[..., None].expand(-1, -1, ctx.shape[-1]), g[:, None, :] * p[..., None])
        return Base.bent(experts), torch.zeros(ctx.shape[:2]).scatter(1, at, Base.through_softmax(p, slope))


class ByIndex(Base):
    """The best expert alone, by a place that the run computes of real numbers."""

    @staticmethod
    def forward(ctx: Any, experts: Any, logits: Any) -> Any:
        p = torch.softmax(logits, -1)
        weight, at = p.max(-1)
        tokens = torch.arange(len(p))
        ctx.save_for_backward(experts[tokens, at], p, weight, at, tokens)
        ctx.shape = experts.shape
        return experts[tokens, at] * weight[:, None]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        chosen, p, weight, at, tokens = ctx.saved_tensors
        slope, experts = torch.zeros_like(p), torch.zeros(ctx.shape)
        slope[tokens, at] = (chosen * g).sum(-1)
        experts[tokens, at] = g * weight[:, None]
        return Base.bent(experts), Base.through_softmax(p, slope)


class Dispatched(Base):
    """Tokens sorted by their experts, which scale them, and added up."""

    @staticmethod
    def forward(ctx: Any, x: Any, scales: Any, logits: Any) -> Any:
        top, at = logits.topk(CHOSEN, -1)
        p = torch.softmax(top, -1)
        order = at.flatten().argsort()
        token, expert = order // CHOSEN, at.flatten()[order]
        rows, factors, shares = x.index_select(0, token), scales.index_select(0, expert), p.flatten()[order]
        ctx.save_for_backward(rows, factors, shares, p, at, order, token, expert)
        ctx.shapes = scales.shape, logits.shape
        return torch.zeros_like(x).index_add(0, token, rows * factors * shares[:, None])

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        rows, factors, shares, p, at, order, token, expert = ctx.saved_tensors
        given = g.index_select(0, token)
        x = torch.zeros_like(g).index_add(0, token, given * factors * shares[:, None])
        scales = torch.zeros(ctx.shapes[0]).index_add(0, expert, given * rows * shares[:, None])
        slope = torch.zeros(p.numel()).scatter(0, order, (given * rows * factors).sum(-1)).view_as(p)
        return Base.bent(x), scales, torch.zeros(ctx.shapes[1]).scatter(1, at, Base.through_softmax(p, slope))


class Attention(Base):
    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any) -> Any:
        p = torch.softmax(q @ k.transpose(-2, -1) * 0.5, -1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        q, k, v, p = ctx.saved_tensors
        scores = Base.through_softmax(p, g @ v.transpose(-2, -1)) * 0.5
        return Base.bent(scores @ k), scores.transpose(-2, -1) @ q, p.transpose(-2, -1) @ g


CASES = {"gather": (ByGather, [(6, 3, 4), (6, 3)]), "index": (ByIndex, [(5, 3, 4), (5, 3)]), "dispatch": (Dispatched, [(6, 4), (3, 4), (6, 3)]),
         "attention": (Attention, [(4, 3, 2)] * 3), "gather of long rows": (ByGather, [(24, 4, 64), (24, 4)]), "index of long rows": (ByIndex, [(24, 4, 64), (24, 4)])}


@pytest.mark.parametrize("fault", ["", "term", "row", "column"])
@pytest.mark.parametrize("name", CASES)
def test_routings_and_attention(name: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, shapes = CASES[name]
    monkeypatch.setattr(Base, "fault", fault)
    if not fault:
        assert gradcheck(function.apply, shapes)
        return
    with pytest.raises(GradcheckError) as found:
        gradcheck(function.apply, shapes)
    assert found.value.failed, str(found.value)


@pytest.mark.parametrize("fault", ["", "term", "row"])
def test_large_ones_are_judged_two_at_a_time_and_at_fewer_rows(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a million numbers are."""
    monkeypatch.setattr(Base, "fault", fault)
    for module, name, value in ((_repeats, "MANY", 0), (_linearity, "MANY", 2**9), (_linearity, "ENOUGH", 2**6)):
        monkeypatch.setattr(module, name, value)
    shapes = [(8, 9, 4)] * 3
    if not fault:
        assert gradcheck(Attention.apply, shapes)
        return
    with pytest.raises(GradcheckError) as found:
        gradcheck(Attention.apply, shapes)
    assert found.value.failed, str(found.value)


def test_rows_that_are_put_into_zeros_read_no_zeros() -> None:
    """A product that is linear in the rows is judged by one column, where a choice among rows and zeros is judged as a whole."""
    experts, logits = torch.randn(24, 4, 64, requires_grad=True), torch.randn(24, 4, requires_grad=True)
    with recorder.record({"experts": experts, "logits": logits}) as run:
        ByGather.apply(experts, logits).backward(torch.randn(24, 64))
    (put,) = (one for one in run.regions if one.name.endswith(": scatter") and run.memory.values[one.results[0]].tensor.numel() > 2**12)
    assert len(put.operands) == 1 and recorder.judge(run).passed


def test_operands_of_products_of_matrices_are_stored_once() -> None:
    """PyTorch expands them to the shape that they have, and views that: of the Function's arguments alone there are copies."""
    inputs = [torch.randn(4, 3, 2, requires_grad=True) for _ in range(3)]
    with recorder.record({str(i): one for i, one in enumerate(inputs)}) as run:
        Attention.apply(*inputs).backward(torch.randn(4, 3, 2))
    names = [one.name for one in run.memory.values]
    assert [one for one in names if "expand" in one or "view" in one] == ["expand", "expand#2"], names
    assert recorder.judge(run).passed


def views_twice(x: Any) -> Any:
    h = x * 2
    return h * h.view(h.shape)


def writes_a_view(x: Any) -> Any:
    h = x * 2
    h.view(h.shape).add_(1)
    return h * h


def views_what_it_is_given(x: Any) -> Any:
    return x.view(x.shape) * x


SLOPES = {views_twice: lambda x: 8 * x, writes_a_view: lambda x: 4 * (2 * x + 1), views_what_it_is_given: lambda x: 2 * x}


@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize("function", SLOPES, ids=lambda one: one.__name__)
def test_views_of_the_same_elements_are_the_same_value(function: Any, factor: int) -> None:
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return function(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, = ctx.saved_tensors
            given = g.view(g.shape).clone()
            given.view(g.shape).mul_(factor)
            return SLOPES[function](x) * given.view(g.shape)
    if factor == 1:
        assert gradcheck(Own.apply, [(3, 4)])
        assert gradcheck(Own.apply, [(3, 4)], kinks="pytorch")
        return
    with pytest.raises(GradcheckError) as found:
        gradcheck(Own.apply, [(3, 4)])
    assert found.value.failed, str(found.value)

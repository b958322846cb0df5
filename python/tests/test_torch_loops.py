"""Functions that decide again and again by numbers of their inputs: what a loop counts or keeps is found or undecided by name, right loops pass."""
from __future__ import annotations

import functools
import itertools

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
import numpy  # noqa: E402

import assay.torch as recorder  # noqa: E402
from assay import GradcheckError, gradcheck  # noqa: E402
from test_torch_reads import of_forward  # noqa: E402
from torch_runs import summary  # noqa: E402
from wrong_cotangents import of_square, own  # noqa: E402

S = (4, 3)


def counted(numbers):
    count = 0
    for v in numbers:
        if v > 0:
            count += 1
    return count


def longest(numbers):
    best = now = 0
    for v in numbers:
        now = now + 1 if v > 0 else 0
        best = max(best, now)
    return best


def place_of_largest(numbers):
    at = 0
    for i, v in enumerate(numbers):
        if v > numbers[at]:
            at = i
    return at


def ended_at(numbers):
    for i, v in enumerate(numbers):
        if v < 0:
            break
    return i


def prefix(numbers):
    i = 0
    while i < len(numbers) and numbers[i] > 0:
        i += 1
    return i


def appended(numbers):
    found = []
    for v in numbers:
        if v > 0:
            found.append(v)
    return len(found)


def has(row):
    for v in row:
        if v > 1:
            return True
    return False


def inversions(numbers):
    return sum(1 for i, j in itertools.combinations(range(len(numbers)), 2) if numbers[i] > numbers[j])


def caught(numbers):
    count = 0
    for v in numbers:
        try:
            if v > 0:
                raise KeyError
        except KeyError:
            count += 1
    return count


def of_tensors(numbers):
    found = torch.zeros(12)
    for i, v in enumerate(numbers):
        if v > 0:
            found[i] = 1.0
    return found.sum()


def of_arrays(numbers):
    found = numpy.zeros(())
    for v in numbers:
        if v > 0:
            found += 1
    return found


FOUND = {
    "exceptions that are caught": lambda x: caught(x.flatten().tolist()) == 9, "a tensor of a loop": lambda x: bool(of_tensors(x.flatten().tolist()) == 9),
    "an array of a loop": lambda x: of_arrays(x.flatten().tolist()) == 9,
    **{f"{k} of a loop": lambda x, k=k: counted(x.flatten().tolist()) == k for k in (1, 4, 9, 11)}, "more than 8": lambda x: counted(x.flatten().tolist()) > 8,
    "tensors of a loop": lambda x: counted(x.flatten()) == 9, "a list of a loop": lambda x: appended(x.flatten().tolist()) == 7,
    "a sum": lambda x: sum(v > 0 for v in x.flatten().tolist()) == 9, "ones": lambda x: sum(1 for v in x.flatten().tolist() if v > 0) == 9,
    "a fold": lambda x: functools.reduce(lambda count, v: count + (v > 0), x.flatten().tolist(), 0) == 9, "choices": lambda x: sum(1 if v > 0 else 0 for v in x.flatten().tolist()) == 9}
KEPT = {
    "'at'": lambda x: place_of_largest(x.flatten().tolist()) == 7, "one of two numbers": lambda x: longest(x.flatten().tolist()) == 8, "'i'": lambda x: ended_at(x.flatten().tolist()) == 7,
    "'i' ": lambda x: prefix(x.flatten().tolist()) == 8, "what it returns": lambda x: sum(has(row) for row in x.tolist()) == 3 and x.sum() < -20, "'i' of a generator": lambda x: inversions(x.flatten().tolist()) == 64}
CALLS = {"index": lambda numbers: numbers.index(max(numbers)) == 7, "count": lambda numbers: [v > 0 for v in numbers].count(True) == 9,
         "key": lambda numbers: max(range(12), key=lambda i: numbers[i]) == 4, "pairs": lambda numbers: max((v, i) for i, v in enumerate(numbers))[1] == 7}


@pytest.mark.parametrize("name", FOUND)
def test_a_count_between_none_and_all_is_driven(name: str) -> None:
    with pytest.raises(GradcheckError) as found:
        gradcheck(of_square(lambda g, x: (3 if FOUND[name](x) else 2) * x * g), [S])
    assert found.value.failed, str(found.value)


@pytest.mark.parametrize("name", KEPT)
def test_what_a_loop_keeps_is_undecided_by_name(name: str) -> None:
    with pytest.raises(GradcheckError, match=f"a repeated decision that keeps {name.partition(' of a ')[0].strip()} at test_torch_loops.py:") as found:
        gradcheck(of_square(lambda g, x: (3 if KEPT[name](x) else 2) * x * g), torch.linspace(-2, 3, 12).reshape(S).flip(0).requires_grad_())
    assert found.value.undecided and "gradient.unreached" in str(found.value)


@pytest.mark.parametrize("name", CALLS)
def test_a_place_that_a_call_finds_is_undecided_by_name(name: str) -> None:
    with pytest.raises(GradcheckError, match="the place or number that a call finds at test_torch_loops.py:") as found:
        gradcheck(of_square(lambda g, x: (3 if CALLS[name](x.flatten().tolist()) else 2) * x * g), torch.linspace(-2, 3, 12).roll(3).reshape(S).requires_grad_())
    assert found.value.undecided


def test_a_count_of_a_forward_pass_is_found() -> None:
    with pytest.raises(GradcheckError) as found:
        gradcheck(of_forward(lambda x: counted(x.flatten().tolist()) == 9), [S])
    assert found.value.failed


def by_elements(g, x):
    found = torch.zeros_like(g).flatten()
    for i, v in enumerate(x.flatten().tolist()):
        if v > 0:
            found[i] = g.flatten()[i] * 2 * x.flatten()[i]
        else:
            found[i] += 2 * (g.flatten()[i] * x.flatten()[i])
    return found.reshape(g.shape)


def of_relu(g, x):
    found = torch.zeros_like(g)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] <= 0:
                continue
            found[i, j] += g[i, j]
    return found


def by_largest(g, x):
    numbers = x.abs().flatten().tolist()
    largest = numbers[0]
    for v in numbers:
        if v > largest:
            largest = v
    return 2 * (x / largest) * g * largest


def of_norms(g, x):
    total = 0.0
    for row in x:
        if row.norm() > 1:
            total = total + row.sum() * 0
    return 2 * x * g + total


RIGHT = {
    "elements": of_square(by_elements), "the largest": of_square(by_largest), "sums of tensors": of_square(of_norms),
    "an early end": of_square(lambda g, x: 2 * x * g if any(v > 1 for v in x.flatten().tolist()) else g * x * 2)}


@pytest.mark.parametrize("name", RIGHT)
def test_right_loops_pass(name: str) -> None:
    assert gradcheck(RIGHT[name], [S])


def test_a_right_loop_over_pieces_is_not_accused() -> None:
    """The formula of the side that was taken is no formula for the other one."""
    with pytest.raises(GradcheckError, match="A loop decides by one number after the other .test_torch_loops.py:") as found:
        gradcheck(own(torch.relu, of_relu), [S])
    assert found.value.undecided


PROPERTIES = {
    "what a tensor is a view of": lambda x: x._base is not None and x.dim() == 7, "how often a tensor was written": lambda x: x._version > 5, "where a tensor begins in its memory": lambda x: x.storage_offset() == 64,
    "the node that made a tensor": lambda x: "Tanh" in str(x.grad_fn), "whether a tensor keeps its gradient": lambda x: x.retains_grad, "which result of its node": lambda x: x.output_nr == 1,
    "the hooks of a tensor": lambda x: bool(x._backward_hooks), "whether a tensor was made for inference": lambda x: x.is_inference(), "whether a tensor is negative by a bit": lambda x: x.is_neg(),
    "is_batchedtensor": lambda x: torch._C._functorch.is_batchedtensor(x)}
TURNS = itertools.cycle([0] * 500 + [1])


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_that_is_no_number_of_an_operand_is_undecided_by_name(name: str) -> None:
    for function in (of_square(lambda g, x: (3 if PROPERTIES[name](x) else 2) * x * g), of_forward(PROPERTIES[name])):
        with pytest.raises(GradcheckError, match=f"a Function asks for {name}.* at test_torch_loops.py:") as found:
            gradcheck(function, [S])
        assert found.value.undecided


def test_two_tensors_of_one_base_are_undecided() -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return (2 if a._base is not None and a._base is b._base else 1) * g * b, g * a
    with pytest.raises(GradcheckError, match="what a tensor is a view of|in one memory") as found:
        gradcheck(Product.apply, [S, S])
    assert found.value.undecided


def test_guards_may_ask_and_starts_may_be_handed_on() -> None:
    def backward(g, x):
        if x._version > 5 or x.storage_offset() > 1000:
            raise ValueError("written")
        return 2 * torch.as_strided(x.contiguous(), x.shape, x.contiguous().stride(), x.contiguous().storage_offset()) * g
    assert gradcheck(of_square(backward), [S])


def test_an_iterator_that_does_not_tell_where_it_is_is_undecided() -> None:
    with pytest.raises(GradcheckError, match="reads a number that it keeps, and that is another one in each call .TURNS at"):
        gradcheck(of_square(lambda g, x: (3 if next(TURNS) else 2) * x * g), [S])


def test_what_is_wrong_for_fewer_axes_is_undecided() -> None:
    with pytest.raises(GradcheckError, match="gradients are right for inputs of the shapes .4, 3., and wrong for ..:"):
        gradcheck(of_square(lambda g, x: (3 if x.dim() == 0 else 2) * x * g), [S])


def test_a_comparison_on_one_side_is_named_with_its_line() -> None:
    class Bent(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.where(x <= 3, x * x, 6 * x - 9)

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return torch.where(x <= 3, 2 * x, torch.full_like(x, 6.0)) * g
    with pytest.raises(GradcheckError, match="le at 3, above it at test_torch_loops.py:.*backward of Bent: le at 3, above it at test_torch_loops.py:"):
        gradcheck(Bent.apply, torch.linspace(-2, 2, 12).requires_grad_())


def newton(term=0.0, steps=12):
    """Square roots by steps, whose backward is the derivative of their limit, but for a term."""
    class Newton(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.ones_like(x)
            for _ in range(steps):
                y = 0.5 * (y + x / y)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g / (2 * y) * (1 + term * x)
    return Newton.apply


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_the_derivative_of_a_limit_is_undecided_and_no_larger_difference_is(kind):
    x = torch.linspace(0.5, 1.5, 12, dtype=kind).reshape(S).requires_grad_()
    with pytest.raises(GradcheckError, match="differ by less than a rounding: an iteration that stops early") as found:
        gradcheck(newton(), x)
    assert found.value.undecided
    for wrong in (newton(1e-3), newton(1e-5), newton(steps=3)):
        with pytest.raises(GradcheckError) as found:
            gradcheck(wrong, x)
        assert found.value.failed


def test_the_derivative_of_a_limit_is_undecided_in_a_program_that_asks_for_gradients_itself():
    def penalised(x):
        y = newton()(x)
        slope, = torch.autograd.grad(y.sum(), x, retain_graph=True)
        return y + slope.detach()
    with pytest.raises(GradcheckError, match="an iteration that stops early") as found:
        gradcheck(penalised, torch.linspace(0.5, 1.5, 12).reshape(S).requires_grad_())
    assert found.value.undecided


def test_the_derivative_of_a_limit_is_undecided_in_a_recording_and_in_a_step():
    """By the operations that were recorded, at other numbers: nothing of the program runs again."""
    def settle(factor, steps=40):
        class Settle(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = torch.zeros_like(x)
                for _ in range(steps):
                    y = torch.tanh(0.5 * y + x)
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, g):
                (y,) = ctx.saved_tensors
                return g * factor * (1 - y * y) / (1 - 0.5 * (1 - y * y))
        return Settle.apply
    for function, is_right in ((newton(), True), (settle(1.0), True), (newton(3e-6), False), (settle(1 + 2.0**-19), False), (settle(1.0, 6), False)):
        torch.manual_seed(0)
        x = torch.linspace(0.5, 1.5, 12).reshape(S).requires_grad_()
        with recorder.record({"x": x}) as run:
            (function(x) * torch.randn(S)).sum().backward()
        report = recorder.judge(run)
        assert report.undecided if is_right else report.failed, summary(report)
        assert ("an iteration that stops early" in report.text) == is_right
        report = recorder.step({"x": x}, lambda: (function(x * 1.0) * torch.randn(S)).sum())
        assert report.undecided if is_right else report.failed, summary(report)


def test_a_constant_that_is_off_is_wrong_where_nothing_iterates() -> None:
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            y = x
            for _ in range(4):
                y = y * x  # rounds, whose results do not settle
            return y

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 5 * x ** 4 * (1 + 2.0**-22)
    with pytest.raises(GradcheckError) as found:
        gradcheck(Power.apply, torch.linspace(0.5, 1.5, 12).reshape(S).requires_grad_())
    assert found.value.failed

"""Functions that decide by what they read off their inputs, or ask of their surroundings: wrong ones are found or undecided by name, right ones pass."""
from __future__ import annotations

import contextvars
import json
import gc
import inspect
import itertools
import logging
import math
import multiprocessing
import os
import pickle
import random
import resource
import struct
import sys
import threading
import time
import warnings

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
import numpy  # noqa: E402

import assay.torch  # noqa: E402
from assay import GradcheckError, GradcheckWarning, gradcheck  # noqa: E402
from wrong_cotangents import of_square  # noqa: E402


def is_refused(x):
    try:
        assert (x < 5).all()
    except AssertionError:
        return True
    return False


def of_forward(decides):
    """x * x, whose forward pass decides by its input what its backward gives."""
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.is_other = decides(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return (3 if ctx.is_other else 2) * ctx.saved_tensors[0] * g
    return Square.apply


# What is compared, or asked of all elements, is driven; inputs on both sides are judged.
FOUND = {
    "a list": lambda x: x.tolist()[0][0] > 7, "a truth value": lambda x: bool(x[0, 0] > 7), "of all": lambda x: (x > 5).all(), "equal rows": lambda x: torch.equal(x[0], x[1]),
    "a rounded number": lambda x: round(x[0, 0].item()) == 9, "a rest": lambda x: x[0, 0].item() % 16 > 9, "a power": lambda x: x[0, 0].item() ** 2 > 90,
    "an order": lambda x: x.flatten().argsort()[:11].tolist() == list(range(11)), "an integer": lambda x: x.to(torch.int64)[0, 0].item() == 9,
    "all of a generator": lambda x: all(v > 1 for v in x.flatten().tolist()), "none of a generator": lambda x: not any(v < 1 for v in x.flatten().tolist()),
    "a count of a generator": lambda x: sum(v > 1 for v in x.flatten().tolist()) == 12, "a tensor of a number": lambda x: bool(torch.tensor(x[0, 0].item()) > 7),
    "a tensor of numbers": lambda x: bool((torch.tensor(x.tolist()) > 5).all()), "a full tensor": lambda x: bool(torch.full((), x[0, 0].item()).gt(7)),
    "a number in a tensor": lambda x: 5.25 in x, "an exception that is caught": lambda x: is_refused(x),
    "one number exactly": lambda x: x[0, 0].item() == 7.25}
# Of these nothing tells what they decide.
UNKNOWN = {
    "float": lambda x: float(x[0, 0]) > 7, "int": lambda x: int(x[0, 0]) > 7, "complex": lambda x: complex(x[0, 0]).real > 7, "numpy": lambda x: x.detach().numpy()[0, 0] > 7,
    "array": lambda x: numpy.asarray(x.detach()).max() > 9, "dlpack": lambda x: numpy.from_dlpack(x.detach())[0, 0] > 9, "data_ptr": lambda x: x.data_ptr() == 64,
    "reduce_ex": lambda x: len(pickle.dumps(x.detach())) == 7, "index": lambda x: [0] * 11 + [1] == [x.flatten().argmax()] or [0.0] * 11 + [1.0] == 1 or ([0] * 12)[x.argmax()],
    "str": lambda x: str(x[0, 0].item()).startswith("9"), "hash": lambda x: hash(x[0, 0].item()) == 9, "float ": lambda x: math.log(abs(x[0, 0].item()) + 1) > 3,
    "float  ": lambda x: struct.pack("f", x[0, 0].item())[3] == 65, "hex": lambda x: x[0, 0].item().hex() == "0x1.2p+3", "is_integer": lambda x: x[0, 0].item().is_integer(),
    "str or repr": lambda x: "9.2500" in repr(x), "str or repr ": lambda x: str(x).count("-") == 12, "format": lambda x: "9.2500" in f"x = {x}", "format ": lambda x: f"{x[0, 0]:.2f}" == "9.25",
    "the size of what they select": lambda x: len((x > 3).nonzero()) == 12, "the size of what they select ": lambda x: len(x.unique()) < x.numel()}


# Integers that a backward makes of numbers. The given inputs lie within the first step.
FAR_STEPS = {"round": lambda x: torch.round(x / 1000), "floor": lambda x: torch.floor(x.abs() / 64), "trunc": lambda x: torch.trunc(x / 99),
             "int32": lambda x: (x / 128).to(torch.int32), "long": lambda x: (x / 128).long()}


@pytest.mark.parametrize("name", FAR_STEPS)
def test_steps_that_no_input_reached_are_named_or_found(name: str) -> None:
    wrong = of_square(lambda g, x: 2 * x * g + g * FAR_STEPS[name](x))
    with pytest.raises(GradcheckError, match="no input lay where the Function takes another branch"):
        gradcheck(wrong, torch.linspace(-2, 2, 12).reshape(4, 3).requires_grad_())
    with pytest.raises(GradcheckError, match="failed"):
        gradcheck(wrong, [(4, 3)])


def test_steps_on_both_sides_pass() -> None:
    assert gradcheck(of_square(lambda g, x: 2 * x * g + 0 * g * torch.round(8 * x)), torch.linspace(-2, 2, 12).reshape(4, 3).requires_grad_())


@pytest.mark.parametrize("name", FOUND)
def test_a_decision_by_a_number_of_an_input_is_driven(name: str) -> None:
    with pytest.raises(GradcheckError) as found:
        gradcheck(of_square(lambda g, x: (3 if FOUND[name](x) else 2) * x * g), [(4, 3)])
    assert found.value.failed, str(found.value)


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_read_that_cannot_be_followed_is_undecided(name: str) -> None:
    with pytest.raises(GradcheckError, match=f"numbers of its inputs by {name.strip()} at test_torch_reads.py:") as found:
        gradcheck(of_square(lambda g, x: (3 if UNKNOWN[name](x) else 2) * x * g), [(4, 3)])
    assert found.value.undecided and "gradient.unreached" in str(found.value)
    assert gradcheck(of_square(lambda g, x: (3 if UNKNOWN[name](x) else 2) * x * g), [(4, 3)], allow_unreached=True)


def test_a_side_that_no_draw_reaches_is_undecided() -> None:
    for decides in (lambda x: x.argmax() == 5 and x.max() > 900, lambda x: torch.allclose(x[0], x[1] + 1), lambda x: x.argmax().item() * 0 == 5):
        with pytest.raises(GradcheckError) as found:
            gradcheck(of_square(lambda g, x: (3 if decides(x) else 2) * x * g), [(4, 3)])
        assert "gradient.unreached" in str(found.value) or found.value.failed


@pytest.mark.parametrize("decides", [lambda x: bool(x[0, 0] > 7), lambda x: (x > 3).all(), lambda x: int(x.max()) > 9, lambda x: x.argmax().item() == 5, lambda x: x.tolist()[0][0] > 7,
                                     lambda x: len((x > 3).nonzero()) == 12], ids=["bool", "all", "int", "place", "list", "count"])
def test_what_a_forward_pass_reads_for_its_backward_is_looked_at(decides) -> None:
    with pytest.raises(GradcheckError):
        gradcheck(of_forward(decides), [(4, 3)])


def guarded(x):
    assert bool(torch.isfinite(x).all()), "numbers"
    if (x != x).any():
        raise ValueError("NaN")
    if x.max().item() > 1e30:
        raise ValueError("too large")
    assert x.abs().max().item() < 1e30
    return x


class Largest(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        at = x.argmax(1, keepdim=True)
        ctx.save_for_backward(at)
        ctx.shape = x.shape
        return x.gather(1, at)

    @staticmethod
    def backward(ctx, g):
        return torch.zeros(ctx.shape).scatter(1, ctx.saved_tensors[0], g)


class Chosen(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, places):
        ctx.save_for_backward(places)
        ctx.shape = x.shape
        return x[places]

    @staticmethod
    def backward(ctx, g):
        found = torch.zeros(ctx.shape)
        for k, at in enumerate(ctx.saved_tensors[0].tolist()):
            found[at] += g[k]
        return found, None


RIGHT = {
    "both sides": lambda g, x: 2 * x * g if x.max().item() > 7 else x * g * 2, "guards": lambda g, x: 2 * guarded(x) * g, "a printed input": lambda g, x: (print(x, f"{x.sum():.3f}"), 2 * x * g)[1],
    "any": lambda g, x: 2 * x * g if (x > 0).any() else x * g * 2, "two numbers": lambda g, x: 2 * x * g if x[0, 0].item() > x[1, 1].item() else x * g * 2,
    "a scale": lambda g, x: (lambda s: (2 * x / s) * g * s)(max(x.abs().max().item(), 1e-6)), "a loop": lambda g, x: 2 * x * g if sum(x.flatten().tolist()) < 9 else g * x * 2,
    "a number in a tensor": lambda g, x: 2 * x * g + 0 * torch.tensor(x.max().item()).clamp(-1, 1), "a filled tensor": lambda g, x: 2 * x * g * torch.full((1,), 1.0)}


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_pass(name: str) -> None:
    assert gradcheck(of_square(RIGHT[name]), [(4, 3)])


def test_right_ones_with_places_pass() -> None:
    assert gradcheck(Largest.apply, [(4, 3)])
    assert gradcheck(lambda x: Chosen.apply(x, torch.tensor([0, 2, 2])), [(4, 3)])
    assert gradcheck(of_square(lambda g, x: 2 * guarded(x) * g), torch.randn(4, 3, requires_grad=True))


def test_a_program_that_takes_no_followed_numbers_runs_again() -> None:
    """What follows a number is no float: where a call refuses it, the run is made once more without."""
    def backward(g, x):
        return 2 * x * g if json.dumps(x.max().item()) else g
    with pytest.raises(GradcheckError, match="numbers of its inputs by item at") as found:
        gradcheck(of_square(backward), [(4, 3)])
    assert found.value.undecided


def test_windows_between_thresholds_are_drawn() -> None:
    for window in (lambda x: (x > 7) & (x < 7.01), lambda x: x == 7.25, lambda x: x.floor() == 9, lambda x: x.int() == 9):
        with pytest.raises(GradcheckError) as found:
            gradcheck(of_square(lambda g, x: torch.where(window(x), 3, 2) * x * g), [(4, 3)])
        assert found.value.failed, str(found.value)


def test_a_table_that_is_read_at_places_of_an_input_does_not_pass() -> None:
    with pytest.raises(GradcheckError, match="numbers of its inputs by index at|inputs on thresholds") as found:
        gradcheck(of_square(lambda g, x: torch.tensor([2.0] * 4095 + [3.0])[x.abs().long() % 4096] * x * g), [(4, 3)])
    assert found.value.undecided or "recorded" in str(found.value)  # the last entry is wrong, and thresholds may find it


def test_a_recorded_run_takes_plain_numbers() -> None:
    x = torch.randn(4, 3, requires_grad=True)
    kinds = []
    with assay.torch.record({"x": x}) as run:
        of_square(lambda g, x: (kinds.append(type(x[0, 0].item())), 2 * x * g)[1])(x).sum().backward()
    assert kinds == [float] and assay.torch.judge(run).passed


LEVEL = contextvars.ContextVar("level", default=0)


def can_open(path):
    try:
        with open(path):
            return True
    except OSError:
        return False


def depth():
    frame, count = sys._getframe(), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


ASKS = {"_getframe": lambda: depth() < 8, "currentframe": lambda: "gradcheck" not in inspect.currentframe().f_code.co_filename and False, "time": lambda: time.time() % 86400 > 86399,
        "the environment": lambda: os.environ.get("NO_SUCH_NAME") == "1", "the environment ": lambda: "NO_SUCH_NAME" in os.environ, "random": lambda: random.Random().random() < 1e-9,
        "urandom": lambda: os.urandom(8) < b"\0\0\0\1", "current_thread": lambda: threading.current_thread().name != "MainThread", "getpid": lambda: os.getpid() == 1,
        "gettrace": lambda: sys.gettrace() is not None and False, "getrefcount": lambda: sys.getrefcount(None) < 0, "get_count": lambda: gc.get_count()[0] < 0,
        "sys.modules": lambda: "no_such_module" in sys.modules, "sys.argv": lambda: "--no-such-option" in sys.argv, "sys.path": lambda: "/no/such/folder" in sys.path,
        "sys": lambda: "--no-such-option" in getattr(sys, "argv"), "is_autocast_enabled": torch.is_autocast_enabled, "get_default_dtype": lambda: torch.get_default_dtype() == torch.float16,
        "get_autocast_dtype": lambda: torch.get_autocast_dtype("cpu") == torch.float16, "is_available": torch.cuda.is_available, "exists": lambda: os.path.exists("/no/such/file"),
        "open": lambda: can_open("/no/such/file"), "isatty": lambda: sys.__stdout__.isatty() and False, "globals": lambda: "no_such_name" in globals(), "id": lambda: id(ASKS) % 16 == 1,
        "ContextVar.get": lambda: LEVEL.get() == 5, "getrusage": lambda: resource.getrusage(0).ru_maxrss < 5, "_current_graph_task_id": lambda: torch._C._current_graph_task_id() > 10**6,
        "is_compiling": torch.compiler.is_compiling, "current_process": lambda: multiprocessing.current_process().name != "MainProcess",
        "are_deterministic_algorithms_enabled": lambda: torch.are_deterministic_algorithms_enabled() and False, "initial_seed": lambda: torch.initial_seed() == 77, "get_rng_state": lambda: torch.random.get_rng_state()[0] == 300, "get_worker_info": lambda: torch.utils.data.get_worker_info() is not None,
        "is_scripting": torch.jit.is_scripting, "isEnabledFor": lambda: logging.getLogger("no such").isEnabledFor(5), "torch.jit._trace._trace_module_map": lambda: torch.jit._trace._trace_module_map is not None}


@pytest.mark.parametrize("name", ASKS)
def test_what_is_asked_of_the_surroundings_is_undecided(name: str) -> None:
    function = of_square(lambda g, x: (3 if ASKS[name]() else 2) * x * g)
    with pytest.raises(GradcheckError, match=f"a Function asks for {name.strip()} at test_torch_reads.py:") as found:
        gradcheck(function, [(4, 3)])
    assert found.value.undecided and "gradient.unreached" in str(found.value)
    assert gradcheck(function, [(4, 3)], allow_unreached=True)


def test_a_gradient_that_an_input_has_already_is_no_operand() -> None:
    with pytest.raises(GradcheckError, match="a Function asks for the gradient that a tensor has already at test_torch_reads.py:") as found:
        gradcheck(of_square(lambda g, x: (2 if x.grad is None else 3) * x * g), [(4, 3)])
    assert found.value.undecided


def of_counts(count):
    """x * x, wrong where a count of calls is large, or written and not read."""
    return of_square(lambda g, x: (3 if count() else 2) * x * g)


class Held:
    calls = 0


def held():
    Held.calls += 1
    return Held.calls > 1000


def listed(calls):
    calls.append(1)
    return len(calls) > 1000


def in_place(calls):
    calls[0] += 1
    return calls[0] > 1000


def in_a_tensor():
    steps = torch.zeros(())

    def counts():
        steps.add_(1)
        return float(steps) > 100000
    return counts


@pytest.mark.parametrize("make", [
    lambda: held, lambda: (lambda calls=[]: listed(calls)), lambda: (lambda calls=[0]: in_place(calls)), lambda: (lambda numbers=iter(range(10**6)): next(numbers) > 1000),
    lambda: (lambda numbers=itertools.count(): next(numbers) > 1000), lambda: (lambda numbers=(n for n in range(10**6)): next(numbers) > 1000),
    in_a_tensor], ids=["class", "list", "number", "iterator", "count", "generator", "tensor"])
def test_a_count_of_calls_is_undecided(make) -> None:
    with pytest.raises(GradcheckError, match="reads a number that it keeps, and that is another one in each call") as found:
        gradcheck(of_counts(make()), [(4, 3)])
    assert found.value.undecided and "test_torch_reads.py:" in str(found.value)


def test_a_count_that_nothing_reads_passes() -> None:
    calls, total = [], [0]

    def counts():
        calls.append(1)
        total[0] += 1
        Held.calls += 1
        return False
    assert gradcheck(of_counts(counts), [(4, 3)])
    table = {}
    assert gradcheck(of_square(lambda g, x: g * 2 * x * table.setdefault(x.shape, 1.0)), [(4, 3)])


def test_conversions_have_the_word_of_the_program() -> None:
    for word, convert in {"to": lambda x: x.to(torch.int32), "long": lambda x: x.long(), "int": lambda x: x.int(), "type": lambda x: x.type(torch.int64)}.items():
        with pytest.raises(GradcheckError, match=f"backward of Square: {word} at 1,") as found:
            gradcheck(of_square(lambda g, x: 2 * x * g + g * convert(x / 99)), torch.linspace(-2, 2, 12).reshape(4, 3).requires_grad_())
        assert "_to_copy" not in str(found.value)


def test_what_runs_outside_of_functions_may_ask() -> None:
    assert gradcheck(lambda x: of_square(lambda g, x: 2 * x * g)(x) * (2 if time.time() > 0 and os.environ.get("NO_SUCH_NAME") is None else 3), [(4, 3)])


def test_a_random_number_decides_nothing() -> None:
    with pytest.raises(GradcheckError) as found:
        gradcheck(of_square(lambda g, x: (3 if float(torch.rand(())) < 0.001 else 2) * x * g), [(4, 3)])
    assert found.value.undecided


@pytest.mark.parametrize("decides", [lambda x: torch.rand(()) < 0.001, lambda x: torch.rand(()).item() < 0.001, lambda x: (torch.rand(x.shape) < 0.0001).any()],
                         ids=["tensor", "item", "any"])
def test_a_random_number_of_a_forward_pass_decides_nothing(decides) -> None:
    with pytest.raises(GradcheckError, match="no input lay where the Function takes another branch") as found:
        gradcheck(of_forward(decides), [(4, 3)])
    assert found.value.undecided


def of_marked(second):
    """x * x, and a second result that is marked as not differentiable."""
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            found = second(x)
            ctx.mark_non_differentiable(found)
            return x * x, found

        @staticmethod
        def backward(ctx, g, _):
            return 2 * ctx.saved_tensors[0] * g
    return Two.apply


def test_a_result_that_is_marked_as_not_differentiable() -> None:
    """Of one that operands move a gradient is lost, where the output is computed from it."""
    with pytest.raises(GradcheckError, match="as not differentiable") as found:
        gradcheck(lambda x: torch.mul(*of_marked(lambda x: x * x * x)(x)), [(4, 3)])
    assert found.value.undecided and "gradient.detached" in str(found.value)
    with pytest.warns(GradcheckWarning, match="cut off"):
        assert gradcheck(of_marked(lambda x: x * x * x), [(4, 3)])
    for mask in (lambda x: (x > 0).float(), lambda x: x.sign(), lambda x: x.floor()):
        assert gradcheck(lambda x: torch.mul(*of_marked(mask)(x)), [(4, 3)])
        with warnings.catch_warnings():
            warnings.simplefilter("error", GradcheckWarning)  # a step has no gradient to lose
            assert gradcheck(of_marked(mask), [(4, 3)])


def test_a_recorded_run_names_what_a_forward_pass_decides() -> None:
    x = torch.rand(4, 3, requires_grad=True)
    with assay.torch.record({"x": x}) as run:
        of_forward(lambda x: bool((x > 3).all()) and x.max().item() > 9)(x).sum().backward()
    report = assay.torch.judge(run)
    assert report.passed and any("truth value, where it is true" in one for one in report.unreached)

"""Backwards that are right in one recorded run alone: they keep numbers between calls, look at who calls them, or read numbers of their inputs."""
from __future__ import annotations

import subprocess

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
from assay import GradcheckError, gradcheck  # noqa: E402
from assay.testing import _repeats  # noqa: E402
from assay.torch import record  # noqa: E402
from assay.torch.gates import judging  # noqa: E402
from wrong_cotangents import of_square  # noqa: E402


def counted(is_wrong):
    """Wrong in some of its calls."""
    calls = []

    def backward(g, x):
        calls.append(1)
        return (3 if is_wrong(len(calls)) else 2) * x * g
    return of_square(backward)


def kept_by_shape(is_fresh):
    kept = {}

    def backward(g, x):
        if is_fresh or x.shape not in kept:
            kept[x.shape] = (2 * x).detach().clone()
        return kept[x.shape] * g
    return of_square(backward)


def kept_by_the_forward():
    """The first operand of each shape is kept."""
    kept = {}

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = kept.setdefault(x.shape, x.detach().clone())
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.x * g
    return Square.apply


@pytest.mark.parametrize("is_wrong", [lambda n: n == 2, lambda n: n % 2 == 0, lambda n: n > 1, lambda n: n > 20], ids=["second", "even", "later", "much later"])
def test_a_backward_that_counts_its_calls_is_found(is_wrong) -> None:
    with pytest.raises(GradcheckError) as found:
        gradcheck(counted(is_wrong), [(4, 3)])
    assert found.value.failed, str(found.value)


@pytest.mark.parametrize("make", [lambda: kept_by_shape(False), kept_by_the_forward])
def test_numbers_of_an_earlier_run_do_not_pass(make) -> None:
    for inputs in ([(4, 3)], torch.randn(4, 3, requires_grad=True)):
        with pytest.raises(GradcheckError) as found:
            gradcheck(make(), inputs)
        assert "gradient.repeated" in str(found.value) or found.value.failed, str(found.value)


@pytest.mark.parametrize("is_recorded", [lambda: torch._C._len_torch_dispatch_stack() > 0, lambda: torch.utils._python_dispatch._get_current_dispatch_mode() is not None,
                                         lambda: torch._C._len_torch_function_stack() > 0])
def test_a_backward_that_is_right_only_while_it_is_recorded_is_undecided(is_recorded) -> None:
    with pytest.raises(GradcheckError) as found:
        gradcheck(of_square(lambda g, x: (2 if is_recorded() else 1) * x * g), [(4, 3)])
    assert found.value.undecided and "gradient.unrecorded" in str(found.value)


FOUND = {"second": lambda: counted(lambda n: n == 2), "later": lambda: counted(lambda n: n > 1), "kept": lambda: kept_by_shape(False), "kept forward": kept_by_the_forward,
         "never right": lambda: counted(lambda n: True)}


@pytest.mark.parametrize("name", FOUND)
def test_further_runs_of_many_numbers_are_judged_beside_the_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two programs at a time find what one after the other does."""
    monkeypatch.setattr(_repeats, "MANY", 0)
    with pytest.raises(GradcheckError) as found:
        gradcheck(FOUND[name](), [(4, 3)])
    assert "gradient.repeated" in str(found.value) or found.value.failed, str(found.value)
    assert gradcheck(kept_by_shape(True), [(4, 3)])


def test_a_gate_that_nobody_waits_for_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    with record({"x": (x := torch.randn(64, 64, requires_grad=True))}) as run:
        of_square(lambda g, x: 2 * x * g)(x).sum().backward()
    begun = []

    class Popen(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            begun.append(self)
    monkeypatch.setattr(subprocess, "Popen", Popen)
    with pytest.raises(KeyError), judging(run):
        raise KeyError
    assert [one.returncode for one in begun] and all(one.returncode is not None for one in begun)
    with judging(run) as wait:
        assert wait().passed


class Last(torch.autograd.Function):
    """Keeps its operand where the next forward pass finds it."""

    kept: list = []

    @staticmethod
    def forward(ctx, x):
        Last.kept[:] = [x.detach().clone()]
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * Last.kept[0] * g


class Stacked(Last):
    """Right where backward passes come in the opposite order."""

    @staticmethod
    def forward(ctx, x):
        Stacked.kept.append(x.detach().clone())
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * Stacked.kept.pop() * g


@pytest.mark.parametrize("function", [Last, Stacked])
def test_what_the_last_forward_pass_kept_is_of_another_graph(function) -> None:
    with pytest.raises(GradcheckError, match="between a forward pass and its backward pass") as found:
        gradcheck(function.apply, [(4, 3)])
    assert found.value.failed and "gradient.repeated" in str(found.value)


def test_right_ones_pass() -> None:
    assert gradcheck(kept_by_shape(True), [(4, 3)])
    assert gradcheck(of_square(lambda g, x: 2 * x * g), [(4, 3)])
    own = torch.Generator()

    class Dropped(torch.autograd.Function):
        """Whose mask is another one each time, by a generator that nobody sets back."""

        @staticmethod
        def forward(ctx, x):
            ctx.mask = (torch.rand(x.shape, generator=own) > 0.3).to(x.dtype)
            return x * ctx.mask

        @staticmethod
        def backward(ctx, g):
            return g * ctx.mask
    assert gradcheck(Dropped.apply, [(4, 3)])
    assert gradcheck(lambda x: Dropped.apply(torch.nn.functional.dropout(x * x)), [(4, 3)])


def test_given_inputs_of_a_kind_pass() -> None:
    """Symmetric ones stay symmetric, and sorted ones sorted, when they are moved."""
    class Traced(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return (a * a.mT).sum()

        @staticmethod
        def backward(ctx, g):
            a, = ctx.saved_tensors
            return 2 * g * a.mT
    a = torch.randn(3, 3)
    assert gradcheck(Traced.apply, (a + a.T).requires_grad_())


READS_WRONG = {
    "a number above a threshold": lambda g, x: (3 if x[0, 0].item() > 7 else 2) * x * g,
    "a number that is computed on": lambda g, x: (3 if 7 < 2 * abs(x[0, 0].item()) + 1 else 2) * x * g if abs(x[0, 0].item()) < 40 else 2 * x * g,
    "the largest": lambda g, x: (3 if x.max().item() >= 64 else 2) * x * g,
    "one of a list": lambda g, x: (3 if any(v < -64 for v in x.flatten().tolist()) else 2) * x * g}
READS_RIGHT = {
    "the same on both sides": lambda g, x: 2 * x * g if x[0, 0].item() > 7 else x * g * 2,
    "a scale that is not too small": lambda g, x: (lambda s: (2 * x / s) * g * s)(2.0 if x.abs().max().item() < 1e-3 else 1.0),
    "shapes": lambda g, x: 2 * x * g if x.numel() > 0 and x.dim() == 2 and x.shape[0] < 99 else 2 * x * g,
    "an order": lambda g, x: 2 * x * g if len(sorted(x.flatten().tolist())) == x.numel() else g,
    "infinities": lambda g, x: 2 * x * g if x[0, 0].item() < float("inf") else 2 * x * g}


@pytest.mark.parametrize("name", READS_WRONG)
def test_a_number_that_the_backward_reads_is_a_branch(name: str) -> None:
    with pytest.raises(GradcheckError) as found:
        gradcheck(of_square(READS_WRONG[name]), [(4, 3)])
    assert found.value.failed, str(found.value)


@pytest.mark.parametrize("name", READS_RIGHT)
def test_right_ones_that_read_numbers_pass(name: str) -> None:
    assert gradcheck(of_square(READS_RIGHT[name]), [(4, 3)])


def test_a_side_that_no_input_reaches_is_undecided() -> None:
    """Given tensors are not drawn again."""
    with pytest.raises(GradcheckError, match="gt of a number that was read, at 7, above it") as found:
        gradcheck(of_square(READS_WRONG["a number above a threshold"]), torch.rand(4, 3, requires_grad=True))
    assert found.value.undecided and "gradient.unreached" in str(found.value)


def of_ctx(backward):
    """x * x, with a backward that is given ctx."""
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.passes, ctx.kept, ctx.twice = 0, None, 2 * x.detach()
            return x * x

        @staticmethod
        def backward(ctx, g):
            ctx.passes += 1
            return backward(ctx, g, *ctx.saved_tensors)
    return Square.apply


def kept_product(ctx, g, x):
    ctx.kept = 2 * x * g if ctx.kept is None else ctx.kept
    return ctx.kept


def freed(ctx, g, x):
    twice, ctx.twice = ctx.twice, None
    return twice * g


def kept_factor(ctx, g, x):
    ctx.kept = 2 * x if ctx.kept is None else ctx.kept
    return ctx.kept * g


PASSES_WRONG = {"counted": lambda ctx, g, x: (3 if ctx.passes > 1 else 2) * x * g, "only the third": lambda ctx, g, x: (3 if ctx.passes == 3 else 2) * x * g,
                "a buffer that is written": lambda ctx, g, x: ctx.twice.mul_(g), "the first product kept": kept_product}
PASSES_RIGHT = {"a factor kept": kept_factor, "a buffer that is freed": freed}


@pytest.mark.parametrize("name", PASSES_WRONG)
def test_a_second_pass_over_one_graph_that_is_wrong_is_found(name: str) -> None:
    with pytest.raises(GradcheckError, match="a second backward pass over one graph") as found:
        gradcheck(of_ctx(PASSES_WRONG[name]), [(4, 3)])
    assert found.value.failed


@pytest.mark.parametrize("name", PASSES_RIGHT)
def test_right_second_passes_pass(name: str) -> None:
    assert gradcheck(of_ctx(PASSES_RIGHT[name]), [(4, 3)])


@pytest.mark.parametrize("is_other", [lambda g: torch.is_grad_enabled(), lambda g: g.requires_grad, lambda g: g.grad_fn is not None], ids=["mode", "requires", "node"])
def test_a_backward_that_looks_at_whether_gradients_are_enabled_is_undecided(is_other) -> None:
    with pytest.raises(GradcheckError, match="create_graph=True") as found:
        gradcheck(of_square(lambda g, x: (3 if is_other(g) else 2) * x * g), [(4, 3)])
    assert found.value.undecided


@pytest.mark.parametrize("use", [lambda y, x: y, lambda y, x: y + 3 * x], ids=["alone", "with another use"])
def test_a_backward_that_writes_to_its_cotangent_is_undecided(use) -> None:
    def written(g, x):
        g.mul_(2)
        return x * g
    with pytest.raises(GradcheckError, match="writes to its cotangent") as found:
        gradcheck(lambda x: use(of_square(written)(x), x), [(4, 3)])
    assert found.value.undecided and "gradient.cotangent" in str(found.value)


def for_each_tensor(keep):
    """A product of matrices whose backward keeps the transposed weights for the tensor that holds them."""
    kept = {}

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            ctx.key = hash(w)
            return x @ w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g @ keep(kept, w, ctx.key), x.t() @ g
    return Product.apply


def as_attribute(kept, w, key):
    if not hasattr(w, "turned"):
        w.turned = w.detach().t().contiguous()
    return w.turned


KEPT = {"by its hash": lambda kept, w, key: kept.setdefault(key, w.detach().t().contiguous()), "as an attribute": as_attribute,
        "by the tensor": lambda kept, w, key: kept[w] if w in kept.keys() else kept.setdefault(w, w.detach().t().contiguous())}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_for_a_tensor_does_not_pass(name: str) -> None:
    """An optimiser writes other numbers into the same tensor."""
    given, before = torch.randn(3, 5, requires_grad=True), torch.randn(3, 5)
    given.data.copy_(before)
    for inputs, params in (([(4, 3), (3, 5)], None), ([(4, 3)], {"w": given})):
        function = for_each_tensor(KEPT[name]) if params is None else lambda x, f=for_each_tensor(KEPT[name]): f(x, given)
        with pytest.raises(GradcheckError, match="gradient.repeated") as found:
            gradcheck(function, inputs, params=params)
        assert found.value.undecided
    assert torch.equal(given, before) and given._version == 0
    assert gradcheck(for_each_tensor(lambda kept, w, key: w.t()), [(4, 3), (3, 5)])


def test_memory_that_a_backward_writes_again_does_not_pass() -> None:
    """The gradient of one layer is written over by that of another, before it is read."""
    memory = {}

    def written(g, x):
        return torch.mul(2 * x, g, out=memory.setdefault((x.shape, x.dtype), torch.empty_like(x)))
    with pytest.raises(GradcheckError, match="one backward pass is of both graphs") as found:
        gradcheck(of_square(written), [(4, 3)])
    assert found.value.failed


def test_a_result_whose_memory_the_next_call_writes_does_not_pass() -> None:
    memory = {}

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, is_wrong):
            ctx.save_for_backward(x)
            kept = memory.setdefault(x.shape, torch.empty_like(x)) if is_wrong else torch.empty_like(x)
            kept.data.copy_(torch.sin(x))
            return kept.detach()

        @staticmethod
        def backward(ctx, g):
            return g * torch.cos(ctx.saved_tensors[0]), None
    with pytest.raises(GradcheckError, match="wrote into an earlier result") as found:
        gradcheck(lambda x: Sine.apply(x, True), [(4, 3)])
    assert found.value.failed
    assert gradcheck(lambda x: Sine.apply(x, False), [(4, 3)])

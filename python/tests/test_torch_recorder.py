"""The recorder on programs: views, writes in place, several results, second derivatives, optimisers, opaque operations."""
from __future__ import annotations

from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
from torch import nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import assay.torch as recorder  # noqa: E402
from torch_runs import summary  # noqa: E402


def judged(parameters: dict[str, Any], body: Callable[[], None]) -> Any:
    with recorder.record(parameters) as run:
        body()
    return recorder.judge(run)


def leaf(*shape: int) -> Any:
    return torch.randn(shape).requires_grad_()


def weighted(y: Any) -> Any:
    return (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape)).sum()


def written_views(a: Any) -> Any:
    h = a * 1
    h[0].mul_(2)
    h[:, 1] = h[:, 2] * 3
    h.t()[2].add_(a[0, 0])
    return h


class Two(torch.autograd.Function):
    """A Function with two results."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2, x * x

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        return 2 * g + 3 * h  # the second result's derivative is 2 x


def norms(a: Any, epsilon: float = 1e-5) -> Any:
    means, variances = torch.zeros(4), torch.ones(4)
    b = F.batch_norm(F.layer_norm(a, (4,), eps=epsilon), means, variances, training=True)
    return F.group_norm(b * b, 2) + F.instance_norm(a[None].exp())[0]


def with_slopes(a: Any) -> Any:
    y = a.sin()
    slope, = torch.autograd.grad(y.sum(), a, retain_graph=True)
    return y * slope + slope.detach()


PASSES: dict[str, Callable[[Any], Any]] = {
    "a gradient as a constant": with_slopes, "views of columns that are written": lambda a: written_views(a.t().clone().t()),
    "views that are written": written_views,
    "parts of a tensor": lambda a: (lambda x, y, z: x * y - z.exp())(*a[:, :3].chunk(3, 1)),
    "two parts with one cotangent": lambda a: (lambda x, y: x + y)(*a[:, :2].chunk(2, 1)),
    "rows": lambda a: (lambda x, y, z: x * y + z)(*a.unbind(0)),
    "detached": lambda a: a * a.detach(), "the same tensor thrice": lambda a: a * a * a,
    "a mask as an index": lambda a: (a[a > 0] ** 2).sum() * a, "indices that numbers decide": lambda a: a.gather(1, a.argsort(1)) * a,
    "places that are rounded down": lambda a: a.flatten()[((a.flatten().argsort() - 5) // 3 + (a.flatten().argsort() - 5) // -4) % a.numel()] * a.flatten(),
    "the greatest elements": lambda a: a.topk(2, 1).values * 2, "dropout": lambda a: F.dropout(a.tanh(), 0.3),
    "checkpointing": lambda a: torch.utils.checkpoint.checkpoint(lambda x: F.dropout(x.tanh(), 0.3).exp(), a * 1, use_reentrant=False),
    "norms in a checkpoint": lambda a: torch.utils.checkpoint.checkpoint(norms, a, use_reentrant=False),
    "roots and logarithms": lambda a: (a * a + 1).sqrt().log() * (a * a + 1).rsqrt(), "the constants of mathematics": lambda a: torch.erf(a) + torch.log2(a * a + 1),
    "a variance": lambda a: a.var(1) * a.std(1),
}


@pytest.mark.parametrize("name", PASSES)
def test_right_programs_pass(name: str) -> None:
    torch.manual_seed(3)
    a = leaf(3, 4)
    report = judged({"a": a}, lambda: weighted(PASSES[name](a)).backward())
    assert report.passed, summary(report)
    assert report.counts["failed"] == 0 and report.counts["passed"] > 0


@pytest.mark.parametrize("name", ["log1p", "expm1", "erf", "atanh", "sinh", "tanh", "softplus"])
def test_functions_at_numbers_of_all_sizes(name: str) -> None:
    """Near 0 a formula loses digits that a function keeps."""
    torch.manual_seed(3)
    sizes = 2.0 ** torch.randint(-30, 0, (400,))
    function = getattr(torch, name, None) or getattr(F, name)
    a = (torch.rand(400) * sizes * torch.where(torch.rand(400) < 0.5, -0.9, 0.9)).requires_grad_()
    report = judged({"a": a}, lambda: weighted(function(a)).backward())
    assert not report.failed, summary(report)
    with recorder.record({}) as run:
        function(torch.rand(400) * 10)
    assert name == "atanh" or not recorder.judge(run).failed


def test_roots_of_doubles() -> None:
    """MKL's are not the nearest numbers."""
    torch.manual_seed(3)
    a = (torch.rand(400, dtype=torch.float64) + 0.5).requires_grad_()
    report = judged({"a": a}, lambda: (a.sqrt() * 3 + a.pow(0.5)).sum().backward())
    assert not report.failed and report.counts["vacuous"] == 0, summary(report)


def test_a_second_derivative_is_told() -> None:
    torch.manual_seed(3)
    def body(function: Any) -> None:
        a = leaf(3, 4)
        slope, = torch.autograd.grad(weighted(function(a)), a, create_graph=True)
        (slope * slope).sum().backward()
    for function in (lambda a: torch.mul(*a.chunk(2, 1)), lambda a: a.softmax(1) + F.mish(a), lambda a: F.layer_norm(a, (4,))):
        assert judged({}, lambda: body(function)).passed


def test_comparisons_with_infinities() -> None:
    infinity = float("inf")
    a = torch.tensor([1.0, infinity, -infinity, float("nan"), 0.0])
    with recorder.record({"a": a}) as run:
        for sign in (1, -1):
            found = [a == sign * infinity, a.eq(torch.tensor(sign * infinity)), torch.ne(a, sign * infinity), torch.tensor([[sign * infinity]]) == a]
    assert found[0].tolist() == [False, False, True, False, False]
    report = recorder.judge(run)
    assert report.passed and not run.opaque, summary(report)


def test_memory_that_nobody_wrote_is_zero() -> None:
    del (lambda: [torch.full((6,), float("nan")) for _ in range(64)])()[:]  # what an allocation may find
    a = leaf(2)
    with recorder.record({"a": a}) as run:
        filled = [torch.empty(6).index_copy(0, torch.tensor([0, 3]), a) for _ in range(16)]
        weighted(torch.stack(filled)).backward()
    assert all(one[1:3].tolist() == [0.0, 0.0] for one in filled)
    report = recorder.judge(run)
    assert report.passed, summary(report)


def pairs(a: Any) -> Any:
    return torch.view_as_complex(a.reshape(-1, 2))


# Programs whose constants, truth values or complex numbers were once recorded as something else.
COMMON = {
    "polar": lambda a: torch.polar(a.abs(), a), "sizes of complex numbers": lambda a: pairs(a).abs(), "directions": lambda a: pairs(a).sgn(),
    "complex by real": lambda a: pairs(a) * a.flatten()[:4] / (a.flatten()[:4].abs() + 1), "constants of doubles": lambda a: (a.double() * 0.1 + 1e-7) / 3.3,
    "products of truth values": lambda a: a * ((a.detach() > 0) * (a.detach() < 1) + (a.detach() < -1)), "quantiles": lambda a: a.quantile(0.3, 1),
    "numbers in place of NaN": lambda a: torch.nan_to_num(torch.where(a > 0, a, a.new_tensor(float("nan")))), "a divergence": lambda a: torch.distributions.kl_divergence(
        torch.distributions.Normal(a, a.exp()), torch.distributions.Normal(0.0, 1.0)),
    "a category": lambda a: torch.distributions.Categorical(logits=a).log_prob(torch.tensor([0, 1])), "a zero of the program's": lambda a: torch.where(a > 0, a * a, torch.zeros(())),
    "a zero of a checkpoint": lambda a: torch.utils.checkpoint.checkpoint(lambda z: torch.where(z > 0, z.tanh(), torch.zeros(())), a, use_reentrant=False)}


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8])
def test_bytes_that_are_read_as_another_type_are_opaque(dtype: torch.dtype) -> None:
    a = torch.tensor([[1.0, -2.0]], requires_grad=True)
    report = judged({"a": a}, lambda: (a * a * (a.detach().view(dtype).sum() > 0)).sum().backward())
    assert not report.passed and not report.failed and "view.dtype" in report.text, summary(report)


def test_numbers_in_place_of_nan_leave_nan_in_the_gradient() -> None:
    a = torch.tensor([[1.0, -2.0]], requires_grad=True)
    report = judged({"a": a}, lambda: torch.nan_to_num(a / a.detach().sign().clamp(0)).sum().backward())
    assert not report.passed and "gradient.finite" in report.text, summary(report)


@pytest.mark.parametrize("name", COMMON)
def test_common_programs(name: str) -> None:
    torch.manual_seed(7)
    a = torch.randn(2, 4, dtype=torch.float64 if "doubles" in name else torch.float32, requires_grad=True)
    def body() -> None:
        y = COMMON[name](a)
        y = torch.view_as_real(y) if y.is_complex() else y
        (y * torch.randn(y.shape, dtype=y.dtype)).sum().backward()
    report = judged({"a": a}, body)
    assert report.passed, summary(report)


def test_a_step_with_scaled_gradients() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    optimizer, scaler = torch.optim.Adamax(model.parameters(), 0.1), torch.amp.GradScaler("cpu", growth_interval=2)
    for factor, scale in ((1.0, 2.0**16), (1.0, 2.0**17), (float("inf"), 2.0**16)):  # the last step is left out
        before = [one.detach().clone() for one in model.parameters()]
        with recorder.record(model) as run:
            with torch.autocast("cpu", dtype=torch.float16):
                loss = F.cross_entropy(model(torch.randn(4, 6)), torch.tensor([0, 1, 2, 1]))
            scaler.scale(loss * factor).backward()
            scaler.step(optimizer)
            scaler.update()
        optimizer.zero_grad()
        assert scaler.get_scale() == scale
        report = recorder.judge(run)
        assert not run.opaque and not report.failed, summary(report)
        assert report.passed or factor != 1, summary(report)
        assert any(bool((one != old).any()) for one, old in zip(model.parameters(), before)) == (factor == 1)


def test_conversions_between_float32_and_float64() -> None:
    a = leaf(5)
    report = judged({"a": a}, lambda: (a.double() * 0.1).float().square().sum().backward())
    assert report.passed and report.counts["unsupported"] == 0, summary(report)


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_a_pass_from_float32_and_float64(factor: float) -> None:
    """Outputs of both types, and in between a product that nobody knows. A wrong one is still found."""
    a, b = leaf(3), leaf(3)
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * factor
    def body(function: Any) -> None:
        x = Scaled.apply(a)
        torch.autograd.backward([(x * b).sum(), function(x.double() * 0.1).square().sum()])
    report = judged({"a": a, "b": b}, lambda: body(torch.tanh))
    assert (report.passed, report.failed) == (factor == 1, factor != 1), summary(report)
    report = judged({"a": a, "b": b}, lambda: body(torch.lgamma))
    assert report.undecided if factor == 1 else report.failed, summary(report)


class Inner(torch.autograd.Function):
    """A Function whose backward differentiates, as those of implicit layers and adjoint equations do."""

    factor = 1.0

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return torch.tanh(x * w)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = (one.detach().requires_grad_() for one in ctx.saved_tensors)
        with torch.enable_grad():
            slopes = torch.autograd.grad(torch.tanh(x * w), (x, w), g)
        return slopes[0] * Inner.factor, slopes[1]


def test_passes_inside_of_passes() -> None:
    for factor, passes in ((1.0, True), (1.5, False)):
        Inner.factor = factor
        a, b = leaf(3, 4), leaf(3, 4)
        report = judged({"a": a, "b": b}, lambda: weighted(Inner.apply(a * 2, b)).backward())
        assert (report.passed, report.failed) == (passes, not passes), summary(report)


class Solver(torch.autograd.Function):
    """x * w, whose backward differentiates another function, which has the same derivative at w = 1."""

    power = 2

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = (one.detach().requires_grad_() for one in ctx.saved_tensors)
        with torch.enable_grad():
            slope, = torch.autograd.grad(x * w ** Solver.power, x, g)
        return slope, g * x


def test_a_backward_that_differentiates_another_function_is_not_accused_where_its_numbers_are_right() -> None:
    """An adjoint equation gives the derivative up to the error of its solver. Numbers that are wrong at the recorded point fail."""
    for weight, power, verdict in ((1.0, 2, "undecided"), (1.5, 2, "failed"), (1.5, 1, "passed")):
        Solver.power = power
        a, w = leaf(3, 4), torch.full((3, 4), weight).requires_grad_()
        report = judged({"a": a, "w": w}, lambda: weighted(Solver.apply(a * 2, w)).backward())
        assert report.verdict == verdict and ("up to the error of a solver" in report.headline) == (verdict == "undecided"), summary(report)


WAITS: dict[str, Callable[[Any, Any], Any]] = {
    "a comparison": lambda a, y: torch.where(a > 0, a * 2, y), "zeros": lambda a, y: a * 2 + torch.zeros_like(a) - y, "random numbers": lambda a, y: torch.rand_like(a) * y,
    "places": lambda a, y: y.gather(1, a.argmax(1, True)), "dropout": lambda a, y: F.dropout(a, 0.4) + y}


@pytest.mark.parametrize("name", WAITS)
def test_a_function_whose_result_is_read_late(name: str) -> None:
    """What runs in between, and has no node, is not taken for the Function."""
    for factor in (1.0, 1.5):
        Inner.factor = factor
        a = leaf(3, 4)
        report = judged({"a": a}, lambda: weighted(WAITS[name](a, Inner.apply(a, a))).backward())
        assert report.passed if factor == 1.0 else report.failed, summary(report)


def test_views_that_lie_where_an_operand_does() -> None:
    """A backward reads the operand, and no other view of the same elements."""
    Inner.factor = 1.0
    for later in (lambda h: h.view(h.shape).sin(), lambda h: h.transpose(0, 1).cos()):
        a, b = torch.randn(1, 1).requires_grad_(), torch.randn(1, 1).requires_grad_()
        def body() -> None:
            h = a.view(1, 1)
            y = Inner.apply(h, b)
            (weighted(later(h)) + weighted(y)).backward()
        report = judged({"a": a, "b": b}, body)
        assert report.passed, summary(report)


def test_a_checkpoint_that_adds_to_gradients_by_itself_is_refused() -> None:
    net, a = torch.nn.Linear(4, 2), leaf(3, 4)
    with pytest.raises(recorder.Refused, match="use_reentrant=False"), recorder.record(net):
        weighted(torch.utils.checkpoint.checkpoint(lambda x: net(x).tanh(), a, use_reentrant=True)).backward()
    assert judged({"a": a}, lambda: weighted(a.sin()).backward()).passed


@pytest.mark.parametrize("factor", [1.0, 1.01])
def test_a_function_inside_of_a_checkpoint_is_the_one_of_the_forward_pass(factor: float) -> None:
    """The backward pass computes it again, in its own forward method, where gradients are off."""
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, = ctx.saved_tensors
            return g * x.cos() * factor

    a = leaf(3, 2)
    report = judged({"a": a}, lambda: weighted(torch.utils.checkpoint.checkpoint(lambda v: Sine.apply(v) * v, a, use_reentrant=False)).backward())
    assert report.passed == (factor == 1), summary(report)
    assert report.failed == (factor != 1), summary(report)


def test_a_norm_that_a_checkpoint_runs_again_with_another_epsilon_is_found() -> None:
    a, epsilons = leaf(3, 4), iter((1e-5, 1e-3))
    report = judged({"a": a}, lambda: weighted(torch.utils.checkpoint.checkpoint(lambda x: norms(x, next(epsilons)), a, use_reentrant=False)).backward())
    assert report.failed, summary(report)


def test_transformations_of_functions_are_refused() -> None:
    with pytest.raises(recorder.Refused, match="torch.func"), recorder.record():
        torch.func.grad(lambda z: (z**3).sum())(torch.randn(3))


def test_a_decomposition_that_writes_a_part_is_opaque() -> None:
    """And no function is accused of what was not understood."""
    with recorder.record() as run:
        torch.renorm(torch.randn(3, 4), 2, 0, 1.0)
        torch.special.bessel_j0(torch.randn(3))
        torch.linalg.cross(torch.randn(3), torch.randn(3))
    assert not recorder.judge(run, "audit").failed


PLAIN = {"group": lambda: torch.nn.GroupNorm(3, 6, affine=False), "group, one": lambda: torch.nn.GroupNorm(1, 6), "batch": lambda: torch.nn.BatchNorm2d(6, affine=False),
         "instance": lambda: torch.nn.InstanceNorm2d(6), "layer": lambda: torch.nn.LayerNorm(5, elementwise_affine=False), "layer, no bias": lambda: torch.nn.LayerNorm(5, bias=False),
         "root mean square": lambda: torch.nn.RMSNorm(5, elementwise_affine=False)}


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last], ids=str)
@pytest.mark.parametrize("name", PLAIN)
def test_normalisations_without_parameters_and_in_both_layouts(name: str, layout: Any) -> None:
    """Kernels take the difference from the mean first, or a factor and a term; which one is known."""
    for seed in range(3):
        torch.manual_seed(seed)
        a = torch.randn(4, 6, 5, 5).contiguous(memory_format=layout).mul_(3.0**seed).requires_grad_()
        report = judged({"a": a}, lambda: weighted(PLAIN[name]()(a)).backward())
        assert not report.failed and report.undecided_share < 0.001, summary(report)


def test_a_function_with_two_results_is_judged() -> None:
    torch.manual_seed(3)
    a = leaf(3, 2)
    report = judged({"a": a}, lambda: weighted(torch.mul(*Two.apply(a * 1))).backward())
    assert report.failed
    assert any(one.rule == "gradient.product" for one in report.findings)


def test_a_hook_that_doubles_a_gradient_is_found() -> None:
    torch.manual_seed(3)
    a = leaf(3, 3)
    def body() -> None:
        h = torch.tanh(a)
        h.register_hook(lambda g: g * 2)
        h.exp().sum().backward()
    assert judged({"a": a}, body).failed


def test_a_damaged_value_is_refused() -> None:
    a = leaf(4)
    def body() -> None:
        h = a * 1
        h.detach().numpy()[0] = 9.0
        (h * 2).sum().backward()
    with pytest.raises(recorder.Refused, match="outside of PyTorch"):
        judged({"a": a}, body)


def test_a_second_derivative() -> None:
    torch.manual_seed(3)
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), leaf(5, 3)
    with recorder.record(model) as run:
        run.input("x", x)
        slope, = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        ((slope.norm(dim=1) - 1) ** 2).mean().backward()
    report = recorder.judge(run)
    assert report.passed, summary(report)
    assert len(run.claims) == 2


@pytest.mark.parametrize("repeated", [lambda w: w.expand(3, -1, -1), lambda w: w.unfold(2, 2, 1), lambda w: w.detach().expand(3, -1, -1) + w],
                         ids=["expanded", "windows", "expanded without a history"])
def test_steps_of_parameters_that_were_read_repeatedly(repeated: Any) -> None:
    """The largest view of a parameter has elements that share memory; the optimizer writes the parameter, and the next step reads it."""
    torch.manual_seed(3)
    w = leaf(1, 1, 4)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def body() -> None:
        for _ in range(2):
            optimizer.zero_grad()
            weighted(repeated(w).tanh()).backward()
            optimizer.step()
    report = judged({"w": w}, body)
    assert report.passed, summary(report)


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01), lambda p: torch.optim.Adam(p, 0.01),
                                  lambda p: torch.optim.AdamW(p, 0.01), lambda p: torch.optim.RMSprop(p, 0.01),
                                  lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, foreach=True), lambda p: torch.optim.Adam(p, 0.01, foreach=True, amsgrad=True),
                                  lambda p: torch.optim.AdamW(p, 0.01, foreach=True), lambda p: torch.optim.Adagrad(p, 0.01, foreach=True),
                                  lambda p: torch.optim.RMSprop(p, 0.01, foreach=True, centered=True, momentum=0.5)],
                         ids=["SGD", "Adam", "AdamW", "RMSprop", "SGD, foreach", "Adam, foreach", "AdamW, foreach", "Adagrad, foreach", "RMSprop, foreach"])
def test_steps_of_optimisers(make: Any) -> None:
    torch.manual_seed(3)
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), torch.randn(5, 3)
    optimiser = make(model.parameters())
    with recorder.record(model) as run:
        for _ in range(2):
            optimiser.zero_grad()
            F.mse_loss(model(x), torch.ones(5, 2)).backward()
            optimiser.step()
    report = recorder.judge(run)
    assert report.passed, summary(report)
    assert any("optim" in region.name or region.name.startswith("add") or region.name == "addcdiv" for region in run.regions)


def test_an_lstm_takes_its_steps_one_by_one_or_is_opaque() -> None:
    torch.manual_seed(3)
    lstm, start = nn.LSTM(3, 4), (torch.randn(1, 2, 4), torch.randn(1, 2, 4))
    enabled = torch._C._get_mkldnn_enabled()
    def report(twice: bool = False, **options: Any) -> Any:
        torch.manual_seed(5)
        with recorder.record(lstm, **options) as run:
            y = lstm(torch.randn(3, 2, 3), start)[0]
            if twice:
                y.register_hook(lambda g: g * 2)
            (y * torch.randn(3, 2, 4)).sum().backward()
        return recorder.judge(run)
    assert report().passed and report(twice=True).failed
    fused = report(keeps_fused=True)
    assert fused.exit_code == 3 and fused.counts["failed"] == 0
    assert not enabled or "mkldnn_rnn_layer" in fused.text
    assert torch._C._get_mkldnn_enabled() == enabled


def test_a_write_without_a_history_that_changes_something_is_opaque() -> None:
    """One that changes nothing, as the clamp of a variance that is large enough, is judged."""
    torch.manual_seed(3)
    a = leaf(5)
    def body(lowest: float) -> None:
        h = a.exp().clone()
        with torch.no_grad():
            h.clamp_(min=lowest)
        weighted(h * h).backward()
    assert judged({"a": a}, lambda: body(0.0)).passed
    assert judged({"a": a}, lambda: body(1.0)).exit_code == 3


def test_an_opaque_operation_never_passes() -> None:
    """What surrounds it is judged: a wrong gradient beside it is found."""
    torch.manual_seed(3)
    layer = nn.Linear(3, 3)
    with recorder.record(layer) as run:
        torch.lgamma(layer(torch.randn(3, 3)) + 5).sum().backward()
    report = recorder.judge(run)
    assert report.exit_code == 3
    assert any(one.rule == "audit.opaque" for one in report.findings)
    assert report.counts["unsupported"] > 0 and 0 < report.undecided_share < 0.5
    assert not any(one.kind == "fail" for one in report.findings), summary(report)
    with recorder.record(layer) as run:
        h = layer(torch.randn(3, 3)) + 5 * torch.eye(3)
        h.register_hook(lambda g: g * 2)
        torch.logdet(h).backward()
    assert recorder.judge(run).failed


def test_a_forward_pass_alone_is_audited() -> None:
    with recorder.record(layer := nn.Linear(3, 2)) as run:
        layer(torch.randn(4, 3))
    report = recorder.judge(run)
    assert report.passed and report.json["schema"] == "assay.audit/1"


def test_step_of_a_model() -> None:
    torch.manual_seed(3)
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    before = model.weight.detach().clone()
    report = recorder.step(model, lambda: model(x).square().mean(), torch.optim.SGD(model.parameters(), 0.1))
    assert report.passed, summary(report)
    assert not torch.equal(before, model.weight)


@pytest.mark.parametrize("count", [2, 3, 8, 17, 130])
def test_statistics_of_nearly_equal_numbers(count: int) -> None:
    """PyTorch merges moments (Welford): its variance is about means that round, which counts where the deviation is small. One that is off by a thousandth fails."""
    x = (1 + 0.01 * torch.randn(16, count, generator=torch.Generator().manual_seed(1))).requires_grad_()
    with recorder.record({"x": x}) as run:
        F.layer_norm(x, (count,)).square().sum().backward()
    report = recorder.judge(run)
    assert not report.failed, report.text
    inverse, = [one.tensor for one in run.memory.values if one.name == "native_layer_norm#3"]
    inverse.mul_(1 + 2.0**-10)
    assert recorder.judge(run).failed

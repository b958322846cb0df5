"""Values that leave the graph and come back as numbers, what is detached, compiled programs, and branches that no input reached."""
from __future__ import annotations

import math
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
import numpy as np  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import assay.torch as recorder  # noqa: E402
from assay import GradcheckError, GradcheckWarning, gradcheck  # noqa: E402
from torch_runs import summary  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:Converting a tensor:UserWarning")


def leaf() -> Any:
    return torch.tensor([0.75, -1.5, 2.25, 3.0], requires_grad=True)


def own(forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *given: Any) -> Any:
            ctx.save_for_backward(*given)
            return forward(*given)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return backward(g, *ctx.saved_tensors)
    return Own.apply


def scaled(x: Any) -> Any:
    return x.square().sum().item() * x.sin()


LOST: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x.cos() * x.mean().item(), "float": lambda x: x / float(x.max()), "tolist": lambda x: x + torch.tensor([v * v for v in x.tolist()]),
    "numpy": lambda x: x.sin() * torch.from_numpy(np.exp(x.detach().numpy())), "an array": lambda x: x * torch.as_tensor(np.asarray(x.detach()) + 1),
    "mathematics of Python": lambda x: x * math.exp(x[1].item()), "a tensor full of it": lambda x: x * torch.full((4,), x.sum().item()),
    "memory filled with it": lambda x: x * torch.zeros(4).fill_(x.sum().item() + 1), "an argument by name": lambda x: torch.add(x, x.exp(), alpha=x.sum().item()),
    "memory that is shared": lambda x: x * torch.from_dlpack(x.detach()).sin(),
    "a part of a tensor of it": lambda x: x * torch.tensor([v + 1 for v in x.tolist()])[2], "inside of a Function": own(scaled, lambda g, x: g * x.square().sum().item() * x.cos()),
    "a Function whose backward knows": own(scaled, lambda g, x: g * x.square().sum() * x.cos() + 2 * x * (g * x.sin()).sum())}


@pytest.mark.parametrize("name", LOST)
def test_numbers_that_leave_and_come_back_do_not_pass(name: str) -> None:
    """Whether the function is run again at other inputs, or one run is looked at."""
    with pytest.raises(GradcheckError, match="the graph") as found:
        gradcheck(LOST[name], leaf())
    assert not found.value.report.failed and found.value.report.left
    x = leaf()
    with recorder.record({"x": x}) as run:
        (LOST[name](x) * torch.tensor([1.0, -2.0, 3.0, 0.5])).sum().backward()
    report = recorder.judge(run)
    assert not report.passed and not report.failed, summary(report)
    assert " the graph" in report.text and "test_torch_outside.py:" in report.left[0]


@pytest.mark.parametrize("is_module", [False, True])
def test_numbers_of_what_is_made_inside_of_a_recording_are_seen(is_module: bool) -> None:
    for lose, what in ((lambda y: y * y.max().item(), "left"), (lambda y: y * y.exp().detach(), "detached"), (lambda y: y * torch.nn.Parameter(y.data.clone()), "detached")):
        with recorder.record() as run:
            y = torch.nn.Linear(3, 2)(torch.randn(4, 3)) if is_module else torch.randn(4, requires_grad=True)
            lose(y).square().sum().backward()
        report = recorder.judge(run)
        assert getattr(report, what) and report.exit_code == (3 if what == "left" else 0), summary(report)


class Counting:
    """A function with a state of its own."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, x: Any) -> Any:
        self.count += 1
        return x.sin() * (0.5 + self.count)


HARMLESS: dict[str, Callable[[Any], Any]] = {
    "a number that is looked at": lambda x: (x.sum().item(), x.sin() * 0.3)[1], "a decision": lambda x: x * 2.5 if x.sum() > 0 else x * 0.1,
    "a whole number": lambda x: x * int(x.sum()), "a text": lambda x: (f"{x}", x * 0.3)[1], "a tensor of written numbers": lambda x: (x.max().item(), x * torch.tensor([1.0, 2.0, 0.7, 4.0]))[1],
    "a state": Counting(), "numbers of Python's generator": lambda x: x * np.random.rand(4).astype(np.float32).item(2), "a norm in training": torch.nn.Sequential(
        torch.nn.Unflatten(0, (2, 2)), torch.nn.BatchNorm1d(2), torch.nn.Tanh())}


@pytest.mark.parametrize("name", HARMLESS)
def test_numbers_that_stay_outside_are_no_fault(name: str) -> None:
    inputs = torch.tensor([0.75, -1.5, 2.25, 3.0], requires_grad=True) if "norm" not in name else torch.randn(4).requires_grad_()
    assert gradcheck(HARMLESS[name], inputs)


def test_steps_of_training_with_losses_that_are_looked_at() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    with recorder.record(model) as run:
        for _ in range(2):
            loss = (model(torch.randn(5, 4)) * 0.7).square().mean()
            loss.item()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.9)
            optimizer.step()
            optimizer.zero_grad()
    report = recorder.judge(run)
    assert report.passed and len(report.left) == 2 and not report.detached, summary(report)


def test_parameters_are_left_as_they_were() -> None:
    layer = torch.nn.Linear(4, 2)
    before = {name: (one.data_ptr(), one._version, one.clone()) for name, one in layer.named_parameters()}
    assert gradcheck(layer, [(3, 4)], params=layer.parameters())
    for name, one in layer.named_parameters():
        pointer, version, values = before[name]
        assert one.data_ptr() == pointer and one._version == version and torch.equal(one, values)
    with pytest.raises(GradcheckError, match="the graph"):
        gradcheck(lambda x: x.sin() * layer.weight.sum().item(), [(3,)], params=layer.parameters())


def test_what_is_detached_is_named() -> None:
    def straight_through(x: Any) -> Any:
        return x + (x.round() - x).detach()
    with pytest.warns(GradcheckWarning, match=r"cut off by .*: sub.detach"):
        assert gradcheck(straight_through, leaf())
    with pytest.warns(GradcheckWarning, match="x.detach|input 0.detach"):
        assert gradcheck(lambda x: x * x.data, leaf())
    def without(x: Any) -> Any:
        with torch.no_grad():
            size = x.square().sum()
        return x * size
    with pytest.warns(GradcheckWarning, match="sum"):
        assert gradcheck(without, leaf())
    with pytest.warns(GradcheckWarning, match="sin.detach"):  # a result that no other one is computed from
        assert gradcheck(lambda x: (x * 2, x.sin().detach()), leaf())
    for again in (lambda y: y.data.exp().requires_grad_(), lambda y: torch.nn.Parameter(y.data.exp())):  # a new leaf, which has a gradient of its own
        x = leaf()
        assert recorder.step({"x": x}, lambda: (x * again(x)).sum()).detached == ["exp"]


def test_a_backward_pass_in_two_parts_is_right() -> None:
    """A detached value asks for a gradient, which begins the second pass, as where a part of a model is run again to save memory."""
    net, last = torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)
    for factor in (1, 2):
        for one in (*net.parameters(), *last.parameters()):
            one.grad = None
        with recorder.record(torch.nn.ModuleDict({"net": net, "last": last})) as run:
            middle = net(torch.randn(5, 4)).tanh()
            part = middle.detach().requires_grad_()
            last(part).square().sum().backward()
            middle.backward(factor * part.grad)
        report = recorder.judge(run)
        assert report.passed and report.detached == ["tanh.detach"], summary(report)


@pytest.mark.parametrize("cut", [lambda x: x.detach(), lambda x: x.data, lambda x: torch.no_grad()(torch.sin)(x)])
def test_a_gradient_of_which_every_way_is_cut_is_no_pass(cut: Any) -> None:
    with pytest.raises(GradcheckError, match="gradient.detached") as found:
        gradcheck(lambda x, w: cut(x) * w, (leaf(), leaf()))
    assert not found.value.report.failed
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
    with recorder.record(net) as run:
        net[1](cut(net[0](torch.randn(5, 4)))).square().sum().backward()
    report = recorder.judge(run)
    assert report.exit_code == 3 and {one.case for one in report.findings} == {"gradient of '0.weight'", "gradient of '0.bias'"}
    assert report.detached and recorder.judge(run, detached=["0.weight", "0.bias"]).passed and recorder.judge(run, detached=True).passed


@pytest.mark.filterwarnings("ignore::assay.GradcheckWarning")
def test_a_step_of_a_detached_value_has_no_gradient_to_lose() -> None:
    assert gradcheck(lambda x, w: torch.where(x > 0, w, 2 * w) * x.detach().sign(), (leaf(), leaf()))


def test_functions_of_nothing() -> None:
    free = torch.randn(4, requires_grad=True)
    with pytest.raises(ValueError, match="depends on an input"):
        gradcheck(lambda x: free * 2, leaf())
    for nothing in (lambda x: None, lambda x: x[:0] * 2, lambda x: torch.zeros(3), lambda x: x.argmax()):
        with pytest.raises(ValueError, match="the function returned None|no result of the function"):
            gradcheck(nothing, leaf())
    with recorder.record() as run:
        pass
    with pytest.raises(ValueError, match="no operation was recorded"):
        recorder.judge(run)
    net, x = torch.nn.Linear(4, 3), torch.randn(5, 4)
    for loss in (lambda: torch.tensor(net(x).square().sum().item(), requires_grad=True) * 1, lambda: free.square().sum()):
        report = recorder.step(net, loss)
        assert report.exit_code == 3 and [one.rule for one in report.findings] == ["gradient.nothing"], summary(report)


def test_options_that_nobody_has_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown option 'most_undecide'"):
        gradcheck(torch.sin, leaf(), most_undecide=0.1)
    with pytest.raises(ValueError, match="'any' or 'pytorch'"):
        gradcheck(torch.sin, leaf(), kinks="none")


def test_kinks_of_pytorch() -> None:
    """At a kink any value between the slopes is right, unless PyTorch's own is asked for."""
    x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    half = own(torch.relu, lambda g, x: g * torch.where(x == 0, 0.5, (x > 0).float()))
    assert gradcheck(half, x) and gradcheck(torch.relu, x, kinks="pytorch")
    assert not gradcheck(half, x, kinks="pytorch", raise_exception=False)


def test_a_product_of_zeros_can_be_allowed() -> None:
    below = -torch.rand(4, 3) - 1
    assert not gradcheck(torch.relu, below.requires_grad_(), raise_exception=False)
    assert gradcheck(torch.relu, below, allow_dead=True)


# Compiled programs.

def doubled(graph: Any, _: Any) -> Any:
    return lambda *given: tuple(2 * one for one in graph(*given))


def compiled() -> Any:
    return torch.compile(lambda x: torch.sin(x) * x, backend=doubled)


class WithCompiled(torch.nn.Module):
    """A module with a compiled part."""

    def __init__(self, in_place: bool) -> None:
        super().__init__()
        self.first, self.part = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
        if in_place:
            self.part.compile(backend="eager")
        else:
            self.part = torch.compile(self.part, backend="eager")

    def forward(self, x: Any) -> Any:
        return self.part(self.first(x))


COMPILED: dict[str, Callable[[], Any]] = {
    "a function": compiled, "in a function": lambda: (lambda f: lambda x: f(x).sum() + x)(compiled()), "made while it runs": lambda: lambda x: compiled()(x),
    "a submodule": lambda: WithCompiled(False), "a submodule in place": lambda: WithCompiled(True),
    "in a Function": lambda: (lambda f: own(f, lambda g, x: g * (x.sin() + x * x.cos())))(compiled()),
    "a Function": lambda: torch.compile(own(torch.sin, lambda g, x: g * x.cos()), backend="eager")}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_programs_are_refused(name: str) -> None:
    with pytest.raises(recorder.Refused, match="torch.compile"):
        gradcheck(COMPILED[name](), leaf())
    assert gradcheck(torch.sin, leaf())


@pytest.mark.filterwarnings("ignore")
def test_scripted_programs_are_refused() -> None:
    for one in (torch.jit.script(torch.nn.Linear(4, 4)), torch.jit.trace(lambda x: x * 2, (leaf(),)), torch.jit.trace(torch.nn.Linear(4, 4), (leaf(),))):
        with pytest.raises(recorder.Refused, match="torch.jit"):
            gradcheck(lambda x, one=one: one(x) + x, leaf())
        assert one(leaf()).shape == (4,)


def test_compiled_programs_that_run_eagerly_are_judged() -> None:
    function = compiled()
    with torch.compiler.set_stance("force_eager"):
        assert gradcheck(function, leaf())
    x = leaf()
    assert torch.equal(function(x), 2 * x.sin() * x)  # and is compiled afterwards


# Branches.

WRONG_BEYOND: dict[str, tuple[Any, Any]] = {  # the right backward, and one that is wrong where small numbers do not come
    "relu6": (F.relu6, (lambda g, x: g * ((x > 0) & (x < 6)), lambda g, x: g * (x > 0))),
    "hardtanh": (lambda x: F.hardtanh(x, -12, 12), (lambda g, x: g * (x.abs() < 12), lambda g, x: g)),
    "one end": (lambda x: x.clamp(max=25), (lambda g, x: g * (x < 25), lambda g, x: g)),
    "softplus": (F.softplus, (lambda g, x: g * torch.where(x > 20, 1, torch.sigmoid(x)), lambda g, x: g * torch.where(x > 20, 0, torch.sigmoid(x)))),
    "softplus, one formula": (F.softplus, (lambda g, x: g * torch.sigmoid(x), lambda g, x: g * torch.where(x > 20, 2, torch.sigmoid(x)))),
    "hardswish": (F.hardswish, (lambda g, x: g * torch.where(x >= 3, 1, torch.where(x <= -3, 0, (2 * x + 3) / 6)), lambda g, x: g * (2 * x + 3) / 6)),
    "far": (lambda x: torch.where(x > 60, 3 * x, x), (lambda g, x: g * torch.where(x > 60, 3, 1), lambda g, x: g)),
    "near": (lambda x: torch.where(x.abs() < 1e-5, 3 * x, x), (lambda g, x: g * torch.where(x.abs() < 1e-5, 3, 1), lambda g, x: g)),
    "of the backward alone": (torch.sin, (lambda g, x: g * x.cos(), lambda g, x: g * torch.where(x.abs() > 30, 0, x.cos()))),
    "huber": (lambda x: F.huber_loss(x, torch.zeros_like(x), reduction="none", delta=40.0), (lambda g, x: g * x.clamp(-40, 40), lambda g, x: g * x)),
    "after an exponential": (lambda x: x.exp().clamp(max=500), (lambda g, x: g * torch.where(x.exp() < 500, x.exp(), 0), lambda g, x: g * x.exp()))}


@pytest.mark.parametrize("name", WRONG_BEYOND)
def test_drawn_inputs_reach_both_sides_of_thresholds(name: str) -> None:
    forward, (right, wrong) = WRONG_BEYOND[name]
    assert gradcheck(own(forward, right), [(4, 5)])
    with pytest.raises(GradcheckError) as found:
        gradcheck(own(forward, wrong), [(4, 5)])
    assert found.value.report.failed


def test_branches_that_no_input_reached_are_named() -> None:
    with pytest.warns(GradcheckWarning, match="relu at 0, below it"):
        assert gradcheck(lambda x: F.relu(x.square() + 1), [(3, 4)])
    with pytest.raises(GradcheckError, match="gradient.unreached") as found:  # nothing tells what its backward does there
        gradcheck(own(lambda x: torch.where(x.square() + 1 < 0, x, x.sin()), lambda g, x: g * x.cos()), [(3, 4)])
    assert not found.value.report.failed and [one.partition(" at test")[0] for one in found.value.report.unreached] == ["lt at 0, below it"]


BEHIND_EQUALITIES = {"eq": lambda x: x == 0.3, "ne": lambda x: ~(x != 0.3), "isclose": lambda x: torch.isclose(x, torch.tensor(0.3))}


@pytest.mark.parametrize("name", BEHIND_EQUALITIES)
def test_equalities_are_met(name: str) -> None:
    meets = BEHIND_EQUALITIES[name]
    backward = lambda factor: own(torch.square, lambda g, x: 2 * x * g * torch.where(meets(x), factor, 1.0))  # noqa: E731
    assert gradcheck(backward(1.0), [(4, 3)])
    with pytest.raises(GradcheckError) as found:
        gradcheck(backward(5.0), [(4, 3)])
    assert found.value.report.failed


def test_equalities_that_no_input_met_are_named() -> None:
    wrong = own(torch.square, lambda g, x: 2 * x * g * torch.where(x * x == 2, 5.0, 1.0))  # of which there is no float32
    right = own(lambda x: torch.where(x == 0, 1.0, x.sin() / x), lambda g, x: g * torch.where(x == 0, 0.0, (x * x.cos() - x.sin()) / (x * x)))
    given = torch.tensor([1.0, 2.0, -1.0], requires_grad=True)
    for f, inputs, name in ((wrong, [(4, 3)], "backward of Own: eq at 2"), (wrong, [given], "backward of Own: eq at 2"), (right, [given], "eq at 0")):
        with pytest.raises(GradcheckError, match=f"{name}, equal to it.*allow_unreached=True") as found:
            gradcheck(f, inputs)
        assert found.value.undecided and any(one.startswith(f"{name}, equal to it at ") for one in found.value.report.unreached)
        with pytest.warns(GradcheckWarning, match=f"{name}, equal to it"):
            assert gradcheck(f, inputs, allow_unreached=True)
    assert gradcheck(right, [(4, 3)]) and gradcheck(right, [torch.tensor([0.0, 1.0], requires_grad=True)])
    with pytest.warns(GradcheckWarning, match="eq at 2, equal to it"):
        assert gradcheck(lambda x: torch.where(x * x == 2, 2 * x, x.sin()), [(4, 3)], allow_dead=True)


def test_a_function_is_undecided_where_given_inputs_do_not_come() -> None:
    """Inputs of the user's are taken as they are: nothing is drawn that would reach the other side."""
    x, near = torch.tensor([1.0, 2.0, -1.0], requires_grad=True), torch.tensor([1.0, 7.0, -1.0], requires_grad=True)
    forgets, knows = own(F.relu6, lambda g, x: g * (x > 0)), own(F.relu6, lambda g, x: g * ((x > 0) & (x < 6)))
    with pytest.raises(GradcheckError, match=r"hardtanh at 6, above it.*allow_unreached=True") as found:
        gradcheck(forgets, [x])
    assert found.value.undecided and not gradcheck(forgets, [x], raise_exception=False)
    with pytest.warns(GradcheckWarning, match="hardtanh at 6, above it"):
        assert gradcheck(forgets, [x], allow_unreached=True)
    assert gradcheck(knows, [near]) and not gradcheck(forgets, [near], raise_exception=False, allow_unreached=True)
    assert gradcheck(F.relu6, [x])  # PyTorch's own backward is no Function of the user's
    with pytest.raises(ValueError, match="allow_unreached"):
        gradcheck(knows, [near], allow_unreached="yes")


def test_a_recorded_step_names_the_sides_of_a_function_that_nothing_reached() -> None:
    def judged(*steps: Any) -> Any:
        with recorder.record() as run:
            for x in steps:
                (own(F.relu6, lambda g, x: g * (x > 0))(x) + F.relu6(x)).sum().backward()
        return recorder.judge(run)
    low = torch.tensor([1.0, -1.0], requires_grad=True)
    report = judged(low)
    assert report.passed and [one.partition(" at test")[0] for one in report.unreached] == ["hardtanh at 6, above it"]
    assert not judged(low, torch.tensor([7.0, 1.0], requires_grad=True)).unreached


def test_a_number_that_left_is_told_in_one_sentence() -> None:
    with pytest.raises(GradcheckError, match=r"^undecided: .*test_torch_outside.py:\d+: item\(\) took '.*' out of the graph and the number came back"):
        gradcheck(lambda x: x * x.sum().item(), leaf())


def compared(read: Any, factor: float) -> Any:
    class Item(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.is_large = read(x).item() > 3.0
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * (factor if ctx.is_large else 2.0)
    return Item.apply


def test_a_number_that_is_only_compared_is_a_threshold() -> None:
    """The recorder must not record operations of its own on the number, which would come back as constants."""
    for read in (lambda x: x.max(), lambda x: x.sum(), lambda x: x.flatten()[0]):
        assert gradcheck(compared(read, 2.0), [(4, 3)])
    with pytest.raises(GradcheckError, match="^failed: .*1.25 times the derivative"):
        gradcheck(compared(lambda x: x.max(), 2.5), [(4, 3)])
    with pytest.raises(GradcheckError, match=r"^undecided: .*item\(\) took 'max' out of the graph, and Own used the number"):
        gradcheck(own(lambda x: x * x.max().item(), lambda g, x: g), leaf())


def test_inputs_of_another_kind_are_refused_in_words() -> None:
    for wrong in (3, "x", [2.5], None):
        with pytest.raises(ValueError, match="wrong argument at inputs: expected a tensor, a shape"):
            gradcheck(torch.sin, wrong)


def test_errors_have_the_names_that_users_write() -> None:
    assert GradcheckError.__module__ == GradcheckWarning.__module__ == "assay"

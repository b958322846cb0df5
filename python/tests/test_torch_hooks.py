"""Hooks that change a gradient are found, each kind of them, and hooks that leave it alone pass."""
from __future__ import annotations

from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
import assay.torch  # noqa: E402
from assay import GradcheckError, gradcheck  # noqa: E402

Change = Callable[[Any], Any]


def halved(g: Any) -> Any:
    return None if g is None else g * 0.5


def kept(g: Any) -> Any:
    return None


def each(change: Change, gradients: Any) -> Any:
    return None if change is kept else tuple(change(g) for g in gradients)


def on_result(y: Any, install: Callable[[Any], Any]) -> Any:
    y = y.sin()
    install(y)
    return y * 2


def set_gradient(p: Any, change: Change) -> None:
    if change is not kept:
        p.grad = change(p.grad)


def write_gradient(p: Any, change: Change) -> None:
    if change is not kept:
        p.grad.mul_(0.5)


def accumulator(p: Any) -> Any:
    return p.view_as(p).grad_fn.next_functions[0][0]


def global_hook(m: Any, change: Change) -> Any:
    return torch.nn.modules.module.register_module_full_backward_hook(lambda mod, gi, go: each(change, gi) if mod is m[1] else None)


def keep(m: Any, one: Any) -> Any:
    m.kept = one
    return one


# name -> what installs the hook; it may give a function of the model's result.
KINDS: dict[str, Callable[[Any, Change], Any]] = {
    "Tensor.register_hook on a leaf": lambda m, c: m[0].weight.register_hook(c),
    "Tensor.register_hook on a result": lambda m, c: lambda y: on_result(y, lambda z: z.register_hook(c)),
    "Tensor.register_hook that writes in place": lambda m, c: m[0].weight.register_hook(lambda g: None if c is kept else (g.mul_(0.5), None)[1]),
    "register_post_accumulate_grad_hook, in place": lambda m, c: m[0].weight.register_post_accumulate_grad_hook(lambda p: write_gradient(p, c)),
    "register_post_accumulate_grad_hook, another tensor": lambda m, c: m[0].weight.register_post_accumulate_grad_hook(lambda p: set_gradient(p, c)),
    "Node.register_hook": lambda m, c: lambda y: on_result(y, lambda z: z.grad_fn.register_hook(lambda gi, go: each(c, gi))),
    "Node.register_prehook": lambda m, c: lambda y: on_result(y, lambda z: z.grad_fn.register_prehook(lambda go: each(c, go))),
    "Node.register_prehook of a leaf": lambda m, c: keep(m, accumulator(m[0].weight)).register_prehook(lambda go: each(c, go)),
    "Node.register_hook of a leaf": lambda m, c: keep(m, accumulator(m[0].weight)).register_hook(lambda gi, go: write_gradient(m[0].weight, c)),
    "register_full_backward_hook": lambda m, c: m[1].register_full_backward_hook(lambda mod, gi, go: each(c, gi)),
    "register_full_backward_pre_hook": lambda m, c: m[1].register_full_backward_pre_hook(lambda mod, go: each(c, go)),
    "register_backward_hook": lambda m, c: m[1].register_backward_hook(lambda mod, gi, go: each(c, gi)),
    "register_module_full_backward_hook": global_hook,
    "register_multi_grad_hook": lambda m, c: torch.autograd.graph.register_multi_grad_hook([m[2].bias], lambda g: None if c is kept else (g.mul_(0.5), None)[1], mode="any"),
}


def model() -> Any:
    torch.manual_seed(4)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def verdicts(name: str, change: Change) -> tuple[str, bool]:
    """Of a recorded step, and of gradcheck."""
    m = model()
    found = KINDS[name](m, change)
    try:
        after = found if not hasattr(found, "remove") else torch.sin
        with assay.torch.record(m) as run:
            after(m(torch.randn(5, 3))).square().sum().backward()
        return assay.torch.judge(run).verdict, gradcheck(lambda x: after(m(x)), [(5, 3)], params=m.parameters(), raise_exception=False)
    finally:
        if hasattr(found, "remove"):
            found.remove()


@pytest.mark.parametrize("name", KINDS)
def test_a_hook_that_halves_is_found(name: str) -> None:
    assert verdicts(name, halved) == ("failed", False)


@pytest.mark.parametrize("name", KINDS)
def test_a_hook_that_changes_nothing_passes(name: str) -> None:
    assert verdicts(name, kept) == ("passed", True)


@pytest.mark.parametrize("name", [one for one in KINDS if "in place" not in one and one not in ("Node.register_hook of a leaf", "register_multi_grad_hook")])
def test_a_hook_that_clips_large_ones_is_not_passed(name: str) -> None:
    """No gradient of the run comes to the threshold."""
    assert verdicts(name, lambda g: None if g is None else g.clamp(-1e4, 1e4))[1] is False


def test_what_is_saved_and_comes_back_otherwise_is_not_passed() -> None:
    def function(pack: Change, unpack: Change) -> Callable[[Any], Any]:
        def computed(x: Any) -> Any:
            with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
                return x.sin() * x
        return computed
    assert gradcheck(function(lambda t: t, lambda t: t), [(4, 3)])
    for pack, unpack in ((lambda t: t * 1.0, lambda t: t * 0.5), (lambda t: t.detach().numpy().copy(), lambda a: torch.from_numpy(a * 0.5)), (lambda t: t.half(), lambda t: t.float())):
        assert not gradcheck(function(pack, unpack), [(4, 3)], raise_exception=False)


@pytest.mark.parametrize("sets_to_none", [True, False])
def test_steps_inside_of_a_backward_pass_are_right(sets_to_none: bool) -> None:
    """Optimisers that run as soon as a gradient is there, and take it away."""
    m = model()
    for p in m.parameters():
        optimizer = torch.optim.AdamW([p], lr=0.1)
        p.register_post_accumulate_grad_hook(lambda _, o=optimizer: (o.step(), o.zero_grad(set_to_none=sets_to_none))[1])
    before = m[0].weight.detach().clone()
    with assay.torch.record(m) as run:
        m(torch.randn(5, 3)).square().sum().backward()
    assert assay.torch.judge(run).passed and not torch.equal(before, m[0].weight)
    before = m[0].weight.detach().clone()
    assert gradcheck(m, [(5, 3)], params=m.parameters())
    assert torch.equal(before, m[0].weight)


def test_the_finding_names_the_tensor_and_the_line() -> None:
    m = model()
    m[0].weight.register_post_accumulate_grad_hook(lambda p: write_gradient(p, halved))
    with pytest.raises(GradcheckError) as found:
        gradcheck(m, [(5, 3)], params=dict(m.named_parameters()))
    line = str(found.value).splitlines()[0]
    assert found.value.failed and "a hook changed the gradient of '0.weight'" in line and "test_torch_hooks.py:" in line
